"""What happened to a request, out of the trail, and each try to carry it out; for people's eyes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.domain.audit import AuditType
from agent.domain.payload import Json, Payload
from agent.domain.roles import Channel
from bot.slack.blocks import Block, Row, code_block, lines, moment, quote, rich, word
from bot.slack.paging import Entry
from bot.slack.parts import changes
from bot.slack.text import chunks, visible
from storage.attempts import Attempt

_PIECE = 2_900
# Of a change this much is shown here; the request itself shows all it was changed to.
_DIFFERENCE = 1_400
_TAGS: Mapping[str, str] = {
    AuditType.PROPOSAL_PARKED: "Put before people",
    AuditType.PROPOSAL_ALLOWED: "Allowed by the policy",
    AuditType.PROPOSAL_JOINED: "Asked for once more, and joined to this request",
    AuditType.APPROVAL_APPROVED: "The request is approved",
    AuditType.APPROVAL_REJECTED: "The request is rejected",
    AuditType.APPROVAL_EDITED: "Replaced by an edit",
    AuditType.APPROVAL_EXPIRED: "Expired: nobody decided in time",
    AuditType.APPROVAL_PINGED: "People were reminded",
    AuditType.APPROVAL_ESCALATED: "Escalated: others get one more period",
    AuditType.APPROVAL_TAKEN: "Looks into it",
    AuditType.PING_POSTED: "The reminder was posted",
    AuditType.PING_ACKNOWLEDGED: "Saw the reminder",
    AuditType.APPROVAL_WITHDRAWN: "Withdrawn",
    AuditType.APPROVAL_REVOKED: "Called off",
    AuditType.APPROVAL_STALE: "Held back by the last check",
    AuditType.APPROVAL_ASKED_AGAIN: "Asked again",
    AuditType.APPROVAL_CORRUPT: "The stored request was found damaged",
    AuditType.EXECUTION_CLAIMED: "A try begins",
    AuditType.EXECUTION_ENDED: "The other side gave a clear answer",
    AuditType.EXECUTION_FINISHED: "What had been accepted is done",
    AuditType.EXECUTION_UNKNOWN: "No clear answer",
    AuditType.EXECUTION_RETURNED: "The try provably never began",
    AuditType.EXECUTION_SETTLED: "Settled by a person's word",
    AuditType.PROVIDER_HEARD: "The provider sent word",
    AuditType.QUESTION_ASKED: "Asked a question",
    AuditType.QUESTION_ANSWERED: "The question was answered",
    AuditType.QUESTION_UNANSWERED: "The question got no answer",
    AuditType.CUSTOMER_TOLD: "The customer was told",
    AuditType.CUSTOMER_MAILED: "The customer was told by mail",
    AuditType.CUSTOMER_MAIL_FAILED: "No mail reached the customer",
    AuditType.CARD_POSTED: "The card was posted",
    AuditType.CARD_REVEALED: "Saw what is masked",
    AuditType.DELIVERY_FAILED: "A message could not be delivered",
    AuditType.SLACK_ACTED: "Clicked or sent",
    AuditType.ALERT_RAISED: "People on call were called",
    AuditType.ALERT_POSTED: "The alert was posted",
    AuditType.ALERT_AMENDED: "The alert says more",
    AuditType.ALERT_ACKNOWLEDGED: "Looks into the alert",
    AuditType.ALERT_ENDED: "The alert is over",
    AuditType.BREAKER_TRIAL: "It was the breaker's one trial",
    AuditType.BREAKER_CLOSED: "The breaker closed",
    AuditType.REVIEW_ASKED: "Picked for a look afterwards",
    AuditType.REVIEW_ANSWERED: "Looked at afterwards",
    AuditType.AUTOMATIC_PAUSED: "Nothing more runs by itself for this customer",
    AuditType.AUTOMATIC_RESUMED: "The policy decides again for this customer",
}
_VOTES = {"approve": "Voted to approve", "reject": "Voted to reject", "edit": "Edited"}
_CHANNELS: Mapping[str, str] = {
    Channel.SLACK: "in Slack",
    Channel.WEB: "on the web",
    Channel.EMAIL: "by e-mail",
    Channel.API: "over the API",
    Channel.CLI: "on the command line",
    Channel.CHAT: "in the chat",
    Channel.POLICY: "by the policy",
    Channel.TIMER: "by itself",
}
# What is told of a fact beside its words, as far as it holds it.
_TOLD = (
    "code",
    "action_id",
    "callback_id",
    "level",
    "asked_of",
    "attempt",
    "message",
    "problem",
    "category",
    "evidence",
    "reference",
    "refund_id",
    "provider_status",
    "reply",
    "state",
    "why",
    "what",
    "new_approval_id",
    "supersedes",
)


@dataclass(frozen=True, slots=True)
class Happening:
    """One fact of the trail about a request; `who` is the name of whoever did it."""

    at: datetime
    type: str
    who: str
    channel: str
    approval_id: str
    data: Payload


def history_entry(happening: Happening) -> Entry:
    """Return one fact in words: what, who and when, what it says, and what people wrote."""
    data = happening.data
    changed, below = _changes(happening)
    rows = [_heading(happening), *_told(data), *changed]
    texts = [
        ("", _text(data, "question")),
        ("", _text(data, "reason")),
        ("Note, for staff only: ", _text(data, "note")),
    ]
    said = [
        rich(quote(piece))
        for label, text in texts
        if text
        for piece in chunks(visible(f"{label}{text}", lines=True), _PIECE)
    ]
    parted = [rich(lines(*piece)) for piece in _in_pieces(rows)]
    return [*parted, *(rich(block) for block in below), *said]


def attempt_entry(attempt: Attempt) -> Entry:
    """Return one try: its key, when it began and ended, and the whole answer."""
    ended = [word("no answer yet")] if attempt.ended_at is None else [moment(attempt.ended_at)]
    head = [
        word(f"Try {attempt.number}", "bold"),
        word(" · "),
        moment(attempt.started_at),
        word(" to "),
        *ended,
    ]
    key = [word("Key "), word(visible(attempt.key), "code")]
    outcome = [word(f"Outcome: {visible(attempt.outcome or 'open')}")]
    answer = "" if attempt.answer is None else json.dumps(attempt.answer, ensure_ascii=False)
    shown = visible(answer)
    pieces = [rich(code_block(piece)) for piece in chunks(shown, _PIECE)] if shown else []
    return [rich(lines(head, key, outcome)), *pieces]


def _heading(happening: Happening) -> Row:
    who = [word(" · "), word(visible(happening.who))] if happening.who else []
    channel = _CHANNELS.get(happening.channel) or visible(happening.channel)
    return [
        word(_words(happening), "bold"),
        *who,
        word(f" · {channel} · "),
        moment(happening.at),
    ]


def _words(happening: Happening) -> str:
    verdict = _text(happening.data, "verdict")
    match happening.type:
        case AuditType.VOTE_CAST if happening.data.get("break_glass") is True:
            return "Broke the glass and approved alone"
        case AuditType.VOTE_CAST:
            return _VOTES.get(verdict, visible(verdict))
        case AuditType.DECISION_REFUSED:
            return f"Tried to {visible(verdict) or 'act'}, in vain"
        case kind:
            # A later version may write facts that this one has no words for.
            return _TAGS.get(kind, visible(kind))


def _told(data: Payload) -> list[Row]:
    rows: list[Row] = []
    for name in _TOLD:
        value = data.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            label = word(f"{name.replace('_', ' ')}: ")
            rows += [[label, word(piece)] for piece in chunks(visible(str(value)), _PIECE)]
    return rows


def _changes(happening: Happening) -> tuple[list[Row], list[Block]]:
    """Return what an edit changed, before and after: lines, and what stands below them."""
    before, after = happening.data.get("original"), happening.data.get("edited")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [], []
    return changes(before, after, _DIFFERENCE)


def _in_pieces(rows: list[Row]) -> list[list[Row]]:
    """Part the lines so that no block is too long; a line that is too long itself stands alone."""
    pieces: list[list[Row]] = [[]]
    size = 0
    for row in rows:
        length = sum(len(str(part.get("text", ""))) for part in row)
        if pieces[-1] and size + length > _PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(row)
        size += length
    return pieces


def _text(data: Mapping[str, Json], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""
