"""The approval card: a picture of the row, drawn afresh each time, never read back."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from agent.domain.approvals import ApprovalView, Status, Vote
from agent.domain.deadlines import is_past
from agent.domain.ids import ApprovalId
from bot.slack import parts
from bot.slack.blocks import (
    Block,
    actions,
    button,
    emoji,
    fields,
    header,
    line,
    lines,
    mention,
    moment,
    plain,
    quote,
    rich,
    section,
    utc,
    weight,
    word,
)
from bot.slack.names import Action
from bot.slack.parts import People
from bot.slack.states import (
    LOOKS,
    category_words,
    deciding_votes,
    outcome,
    progress_words,
    subject,
    title,
)
from bot.slack.targets import Target
from bot.slack.text import NO_LIMIT, clip, clip_bytes, escape, visible

# Slack refuses a message at about 13,200 counted characters; the product stays well below.
BUDGET = 9_000
_TEXT_BYTES = 3_800
_CONFIRM_LIMIT = 300
# How much of each free text a brief card shows: the largest that fits.
_BRIEF_LIMITS = (300, 100, 30)


@dataclass(frozen=True, slots=True)
class Card:
    """A card ready to post. `complete` tells that every bound field is on it, nothing cut."""

    blocks: list[Block]
    text: str
    complete: bool


def approval_card(
    view: ApprovalView,
    now: datetime,
    people: People,
    *,
    classic: bool = False,
    replacement_url: str | None = None,
) -> Card:
    """Draw the card of an approval as it stands.

    `people` gives the Slack user ids of actors, `classic` leaves out the newer block types,
    `replacement_url` points to the card that superseded this one. A request that does not fit is
    drawn briefly, with Review in place of Approve.
    """
    approval = view.approval
    blocks = [
        header(title(approval)),
        *_present(parts.difference(approval, people)),
        fields(parts.facts(view)),
        parts.reasons(approval),
        *parts.words(view),
        *_present(parts.money(approval, classic=classic)),
        parts.payload(approval),
        parts.small_print(approval),
        *_progress(view, now, people),
        *(_ending(view, now, people, replacement_url) or [_decide(view)]),
    ]
    if weight(blocks) > BUDGET:
        return brief_card(view, now, people, replacement_url=replacement_url)
    return Card(blocks, fallback_text(view), complete=True)


def brief_card(
    view: ApprovalView, now: datetime, people: People, *, replacement_url: str | None = None
) -> Card:
    """Draw the card of a request that is too long for one: Review shows all of it."""
    approval = view.approval
    blocks: list[Block] = []
    for limit in _BRIEF_LIMITS:
        blocks = [
            header(title(approval)),
            *_present(parts.difference(approval, people)),
            fields([(label, clip(value, limit)) for label, value in parts.facts(view)]),
            parts.reasons(approval, limit),
            *parts.words(view, limit),
            parts.small_print(approval),
            *_progress(view, now, people),
            *(_ending(view, now, people, replacement_url, limit) or _review_only(view)),
        ]
        if weight(blocks) <= BUDGET:
            break
    return Card(blocks, fallback_text(view), complete=False)


def fallback_text(view: ApprovalView) -> str:
    """Return what screen readers and notifications say: order, amount, risk, state."""
    approval = view.approval
    order = "" if approval.order_id is None else f" on order {approval.order_id}"
    why = "; ".join(finding.text for finding in approval.findings)
    state = (
        f"Waiting until {utc(approval.expires_at)}, {progress_words(view)} approvals."
        if approval.status is Status.PENDING
        else f"{LOOKS[approval.status].verdict}."
    )
    told = f"{title(approval)}{order}. {why}. {state}"
    return clip_bytes(escape(visible(told)), _TEXT_BYTES)


def _present(block: Block | None) -> list[Block]:
    return [] if block is None else [block]


def _block_id(view: ApprovalView) -> str:
    base = f"act:{view.approval.id}:{view.approval.revision}"
    return f"{base}:{len(view.votes)}" if view.votes else base


def _decide(view: ApprovalView) -> Block:
    approval = view.approval
    value = Target.of(approval).text()
    approve = button(Action.APPROVE, "Approve", value, "primary")
    approve["confirm"] = {
        "title": plain(f"Approve this {subject(approval).lower()}?"),
        "text": plain(_confirm_words(view)),
        "confirm": plain("Approve"),
        "deny": plain("Not yet"),
    }
    edit = [] if approval.amount is None else [button(Action.EDIT, "Edit", value)]
    return actions(
        _block_id(view),
        approve,
        *edit,
        button(Action.REJECT, "Reject", value, "danger"),
        button(Action.REVIEW, "Details", value),
    )


def _review_only(view: ApprovalView) -> list[Block]:
    value = Target.of(view.approval).text()
    return [
        section(
            "This request is too long for a card. Review shows all of it, and it can be approved "
            "only there."
        ),
        actions(_block_id(view), button(Action.REVIEW, "Review", value, "primary")),
    ]


def _confirm_words(view: ApprovalView) -> str:
    approval = view.approval
    what = approval.tool if approval.amount is None else str(approval.amount)
    order = "" if approval.order_id is None else f" on order {visible(approval.order_id)}"
    person = visible(view.customer_name) or "the customer"
    words = f"{what}{order} goes to {person}. Approvals so far: {progress_words(view)}."
    return words[:_CONFIRM_LIMIT]


def _progress(view: ApprovalView, now: datetime, people: People) -> list[Block]:
    votes = [vote for vote in view.votes if vote.verdict == "approve"]
    waiting = view.approval.status is Status.PENDING and not is_past(view.approval.expires_at, now)
    if not votes or not waiting:
        return []
    return [
        rich(
            line(
                word(f"{progress_words(view)} approvals", "bold"),
                word(": "),
                *_signatures(votes, people),
            )
        )
    ]


def _ending(
    view: ApprovalView,
    now: datetime,
    people: People,
    replacement_url: str | None,
    limit: int = NO_LIMIT,
) -> list[Block]:
    """Return who, when and what in place of the buttons; nothing while people can decide."""
    approval = view.approval
    if approval.status is Status.PENDING and not is_past(approval.expires_at, now):
        return []
    if approval.status in {Status.PENDING, Status.EXPIRED}:
        return [_lapsed(view, people)]
    look = LOOKS[approval.status]
    votes = deciding_votes(view)
    signed = [word(" by "), *_signatures(votes, people)] if votes else []
    rows = [[emoji(look.emoji), word(f" {look.verdict}", "bold"), *signed]]
    if told := clip(visible(outcome(approval)), limit):
        rows.append([word(told)])
    rows += [[word(category_words(v.category))] for v in votes if v.category is not None]
    if approval.superseded_by is not None:
        rows.append(_replaced_by(approval.superseded_by, replacement_url))
    reasons = [quote(clip(visible(v.reason, lines=True), limit)) for v in votes if v.reason]
    return [rich(lines(*rows), *reasons)]


def _lapsed(view: ApprovalView, people: People) -> Block:
    look = LOOKS[Status.EXPIRED]
    rows = [
        [
            emoji(look.emoji),
            word(f" {look.verdict}", "bold"),
            word(" · "),
            moment(view.approval.expires_at),
            word(". Nobody decided in time; nothing was paid."),
        ]
    ]
    if votes := deciding_votes(view):
        rows.append([word(f"{progress_words(view)} had approved: "), *_signatures(votes, people)])
    rows.append([word("What still waits is in this app's Home tab.", "italic")])
    return rich(lines(*rows))


def _replaced_by(successor: ApprovalId, url: str | None) -> list[Block]:
    told = [word("The edited request is "), word(successor, "code")]
    if url is None:
        return [*told, word(".")]
    return [*told, word(": "), {"type": "link", "url": url, "text": "open its card"}]


def _signatures(votes: list[Vote] | tuple[Vote, ...], people: People) -> Iterator[Block]:
    for index, vote in enumerate(votes):
        if index:
            yield word(", ")
        user = None if vote.actor_id is None else people.get(vote.actor_id)
        yield mention(user, visible(vote.actor_name))
        yield word(" · ")
        yield moment(vote.at)
