"""Every message that is not a card: thread lines, on-call alerts, hand-offs, private answers."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.domain.approvals import ApprovalView, Status
from agent.domain.payload import Json, Payload
from agent.domain.privacy import Known, mask
from agent.domain.wording import request_words
from agent.steps.hand_off import MAX_REVISIONS_EXCEEDED
from bot.slack.blocks import (
    Block,
    bullets,
    emoji,
    fallback,
    fields,
    header,
    line,
    quote,
    rich,
    section,
    weight,
    word,
)
from bot.slack.cards import BUDGET
from bot.slack.parts import masked
from bot.slack.states import (
    closed_by,
    deciding_votes,
    look_in_history,
    look_of,
    outcome,
    phrase,
    revoke_reason,
)
from bot.slack.text import chunks, clip, unescape, visible

_PLAIN = 2_900
# How many pieces of plain text a message takes, and what ends a line in it.
_SECTIONS = 10
_LINES = {"plain_text", "mrkdwn", "rich_text_section", "rich_text_quote", "rich_text_preformatted"}
_NAME = 200
# How much of each text a hand-off shows: the largest that fits a message.
_WORDS = (1_500, 500, 150, 40, 20)
# An id of ours is never cut; of a request with more reasons than this the number is told.
_ID, _REASONS = 30, 3


@dataclass(frozen=True, slots=True)
class Note:
    """A message ready to post: blocks, and the text for notifications and screen readers."""

    blocks: list[Block]
    text: str


def plainly(note: Note) -> Note:
    """Return a message that says the same in literal text, for where Slack refuses its blocks."""
    said = "\n".join(words for block in note.blocks if (words := "".join(_texts(block)).strip()))
    pieces = chunks(said or unescape(note.text), _PLAIN)
    return Note([section(piece) for piece in pieces[:_SECTIONS]], note.text)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts within a block; buttons say nothing that anybody could press."""
    if isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict) and value.get("type") != "actions":
        own = value.get("text")
        if isinstance(own, str):
            yield unescape(own) if value.get("type") == "mrkdwn" else own
        for one in value.values():
            yield from _texts(one)
        yield "\n" if value.get("type") in _LINES else ""


def thread_line(view: ApprovalView, status: Status) -> Note:
    """Return the line under a card that says what has just happened to the request.

    `status` is what it came to then; a line about an earlier one tells nothing of what came later.
    """
    approval = view.approval
    look = look_of(approval, status)
    now = approval.status is status
    after = outcome(approval, stopped=view.stopped) if now else ""
    told = f"{phrase(approval)}: {look.verdict.lower()}{_actors(view, status)}. {after}"
    words = visible(told).strip()
    reasons = [quote(clip(visible(text, lines=True), _PLAIN)) for text in _reasons(view, status)]
    blocks = [rich(line(emoji(look.emoji), word(f" {clip(words, _PLAIN)}")), *reasons)]
    return Note(blocks, fallback(f"{look.sign} {words}"))


def mail_line(view: ApprovalView, problem: str) -> Note:
    """Return the line that says that the customer could not be told by mail, and why."""
    words = clip(visible(f"{request_words(view.approval)}: no mail reaches the customer."), _PLAIN)
    # A server likes to repeat the address.
    why = quote(clip(visible(masked(view, problem)), _PLAIN))
    return Note([rich(line(emoji("email"), word(f" {words}")), why)], fallback(words))


def _actors(view: ApprovalView, status: Status) -> str:
    approval = view.approval
    closer = closed_by(approval) if status is approval.status else None
    if closer is not None:
        return f" by {closer}"
    votes = deciding_votes(view) if status in {Status.APPROVED, Status.REJECTED} else ()
    names = [f"{v.actor_name}{' (broke the glass)' if v.break_glass else ''}" for v in votes]
    return f" by {', '.join(names)}" if names else ""


def _reasons(view: ApprovalView, status: Status) -> list[str]:
    """Return what people gave as their reason, whole, where it belongs to this news."""
    if status is Status.CANCELLED:
        return [revoke_reason(view.approval)] if revoke_reason(view.approval) else []
    votes = deciding_votes(view) if status in {Status.APPROVED, Status.REJECTED} else ()
    wanted = [vote for vote in votes if status is Status.REJECTED or vote.break_glass]
    return [vote.reason for vote in wanted if vote.reason]


def private_answer(text: str) -> Note:
    """Return what one person alone reads, such as why a click did not count."""
    told = clip(visible(text, lines=True), _PLAIN)
    return Note([section(told)], fallback(told))


def hand_off(body: Payload) -> Note:
    """Return the call for a person: who asks, why, what they wrote, and all that was asked before.

    The whole history is on it; its texts are cut as far as the message needs.
    """
    customer = _masked(body, _text(body, "customer")) or "A visitor who is not signed in"
    blocks: list[Block] = []
    for limit in _WORDS:
        blocks = [
            header("🙋 A customer needs a person"),
            fields(
                [
                    ("Customer", clip(visible(customer), min(limit, _NAME))),
                    ("Conversation", _id(body, "conversation_id", limit)),
                    ("Run", _id(body, "run_id", limit)),
                ]
            ),
            _why(body, limit),
            *_history(body, limit),
            *_said(body, limit),
        ]
        if weight(blocks) <= BUDGET:
            break
    told = f"🙋 A customer needs a person: {clip(visible(customer), _NAME)}"
    declined = f". {_declined(body)}" if _text(body, "reason") == MAX_REVISIONS_EXCEEDED else ""
    return Note(blocks, fallback(f"{told}{declined}"))


def _id(body: Payload, name: str, limit: int) -> str:
    return clip(visible(_text(body, name) or "-"), max(limit, _ID))


def _declined(body: Payload) -> str:
    """Return why people take over: as many declined requests as the policy lets be."""
    return f"Declined {_number(body, 'rejections')} times: a person takes over"


def _why(body: Payload, limit: int) -> Block:
    reason = _text(body, "reason")
    if reason == MAX_REVISIONS_EXCEEDED:
        return rich(line(word(_declined(body), "bold")))
    return rich(
        line(word("Why, in the agent's words", "bold")),
        quote(clip(visible(_masked(body, reason), lines=True), limit)),
    )


def _said(body: Payload, limit: int) -> list[Block]:
    said = [text for text in _list(body, "words") if isinstance(text, str)]
    quoted: list[Block] = []
    for text in said:
        # Slack draws neighbouring quotations as one.
        quoted += [line(word("and then", "italic"))] if quoted else []
        quoted.append(quote(clip(visible(_masked(body, text), lines=True), limit)))
    return [rich(line(word("The customer wrote", "bold")), *quoted)] if quoted else []


def _history(body: Payload, limit: int) -> list[Block]:
    """Return every request of the conversation with how it ended and why, oldest first."""
    past = [entry for entry in _list(body, "history") if isinstance(entry, dict)]
    if not past:
        return []
    listed = bullets(*(line(*_past(body, entry, limit)) for entry in past))
    return [rich(line(word("What was asked before", "bold")), listed)]


def _past(body: Payload, entry: dict[str, Json], limit: int) -> list[Block]:
    look = look_in_history(_text(entry, "status"))
    told = [
        emoji(look.emoji),
        word(f" {clip(visible(_text(entry, 'what')), limit)} · "),
        word(clip(look.title, limit), "bold"),
        word("  "),
        word(clip(visible(_text(entry, "approval_id") or "-"), max(limit, _ID)), "code"),
    ]
    reasons = [text for text in _list(entry, "reasons") if isinstance(text, str)]
    for reason in reasons[:_REASONS]:
        told += [word("\n"), word(clip(visible(_masked(body, reason)), limit), "italic")]
    if len(reasons) > _REASONS:
        told += [word("\n"), word(f"… and {len(reasons) - _REASONS} more", "italic")]
    return told


def _masked(body: Payload, text: str) -> str:
    """Return a text as a channel may read it: what reaches a person is masked, as on a card."""
    return mask(text, Known(_text(body, "name")))


def _text(body: dict[str, Json], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _number(body: dict[str, Json], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def _list(body: dict[str, Json], name: str) -> list[Json]:
    value = body.get(name)
    return value if isinstance(value, list) else []
