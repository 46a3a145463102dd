"""Every message that is not a card: thread lines, on-call alerts, hand-offs, private answers."""

from dataclasses import dataclass
from datetime import datetime

from agent.domain.approvals import ApprovalView, Status
from agent.domain.money import Money
from agent.domain.payload import Json, Payload
from bot.slack.blocks import (
    Block,
    actions,
    bullets,
    button,
    context,
    emoji,
    fields,
    header,
    line,
    lines,
    moment,
    plain,
    quote,
    rich,
    section,
    weight,
    word,
)
from bot.slack.cards import BUDGET
from bot.slack.names import Action
from bot.slack.states import LOOKS, deciding_votes, outcome, subject
from bot.slack.targets import BreakerTarget
from bot.slack.text import clip, clip_bytes, escape, visible

_TEXT_BYTES = 3_800
_PLAIN = 2_900
_REFUNDS = 25
_NAME = 200
# How much of each text a hand-off shows: the largest that fits a message.
_WORDS = (1_500, 500, 150)


@dataclass(frozen=True, slots=True)
class Note:
    """A message ready to post: blocks, and the text for notifications and screen readers."""

    blocks: list[Block]
    text: str


def thread_line(view: ApprovalView, status: Status) -> Note:
    """Return the line under a card that says what has just happened to the request."""
    look = LOOKS[status]
    approval = view.approval
    votes = deciding_votes(view)
    decided = status in {Status.APPROVED, Status.REJECTED} and votes
    by = f" by {', '.join(visible(vote.actor_name) for vote in votes)}" if decided else ""
    what = (
        subject(approval)
        if approval.amount is None
        else f"{subject(approval)} of {approval.amount}"
    )
    # A line about an earlier status must not tell the outcome of a later one.
    after = outcome(approval) if approval.status is status else ""
    told = visible(f"{what}: {look.verdict.lower()}{by}. {after}".strip())
    reasons = [
        quote(clip(visible(vote.reason, lines=True), _PLAIN))
        for vote in votes
        if status is Status.REJECTED and vote.reason
    ]
    blocks = [rich(line(emoji(look.emoji), word(f" {clip(told, _PLAIN)}")), *reasons)]
    return Note(blocks, _fallback(f"{look.sign} {told}"))


def private_answer(text: str) -> Note:
    """Return what one person alone reads, such as why a click did not count."""
    told = clip(visible(text, lines=True), _PLAIN)
    return Note([section(told)], _fallback(told))


def oncall(text: str, approval_id: str | None) -> Note:
    """Return an alert for the people on call."""
    told = clip(visible(text, lines=True), _PLAIN)
    named = [] if approval_id is None else [context(plain(visible(approval_id[:_NAME])))]
    return Note(
        [rich(line(emoji("rotating_light"), word(f" {told}"))), *named], _fallback(f"🚨 {told}")
    )


def hand_off(body: Payload) -> Note:
    """Return the call for a person: who asks, why, and what they wrote last."""
    customer = _text(body, "customer") or "A visitor who is not signed in"
    said = [text for text in _list(body, "words") if isinstance(text, str)]
    blocks: list[Block] = []
    for limit in _WORDS:
        quoted = [quote(clip(visible(text, lines=True), limit)) for text in said]
        blocks = [
            header("🙋 A customer needs a person"),
            fields(
                [
                    ("Customer", clip(visible(customer), _NAME)),
                    ("Conversation", clip(visible(_text(body, "conversation_id") or "-"), _NAME)),
                ]
            ),
            rich(
                line(word("Why, in the agent's words", "bold")),
                quote(clip(visible(_text(body, "reason"), lines=True), limit)),
            ),
            *([rich(line(word("The customer wrote", "bold")), *quoted)] if quoted else []),
        ]
        if weight(blocks) <= BUDGET:
            break
    return Note(
        blocks, _fallback(f"🙋 A customer needs a person: {clip(visible(customer), _NAME)}")
    )


def breaker_opened(body: Payload) -> Note:
    """Return the alert that automatic refunds are paused, with what filled the window."""
    ran = [row for row in _list(body, "refunds") if isinstance(row, dict)]
    target = BreakerTarget(generation=_number(body, "generation")).text()
    retry_at = _time(_text(body, "retry_at"))
    until = (
        [word("until a person resets it")]
        if retry_at is None
        else [word("until "), moment(retry_at)]
    )
    limit = f"The limit is {_number(body, 'max')} in {_number(body, 'window_s')} seconds."
    why = _text(body, "why")
    rows = [
        [word("Automatic refunds are paused "), *until, word(".")],
        [word(f"{visible(why).capitalize()}. {limit}" if why else limit)],
    ]
    listed = [bullets(*(line(*_ran(row)) for row in ran[:_REFUNDS]))] if ran else []
    more = (
        [line(word(f"… and {len(ran) - _REFUNDS} more", "italic"))] if len(ran) > _REFUNDS else []
    )
    blocks = [
        header("🚨 Refund breaker opened"),
        rich(lines(*rows)),
        *([rich(line(word("What ran before", "bold")), *listed, *more)] if ran else []),
        actions(
            f"breaker:{_number(body, 'generation')}",
            button(Action.BREAKER_ACKNOWLEDGE, "Acknowledge", target, "primary"),
            button(Action.BREAKER_RESET, "Reset", target, "danger"),
        ),
    ]
    told = f"🚨 Refund breaker opened: {len(ran)} automatic refunds ran. {limit}"
    return Note(blocks, _fallback(told))


def _ran(row: dict[str, Json]) -> list[Block]:
    minor, currency = row.get("minor"), row.get("currency")
    amount = (
        str(Money(minor, currency))
        if isinstance(minor, int) and isinstance(currency, str)
        else "unknown amount"
    )
    at = _time(_text(row, "at"))
    when = "" if at is None else f" at {at:%H:%M:%S} UTC"
    return [
        word(amount, "bold"),
        word(f" on {clip(visible(_text(row, 'order_id') or '-'), _NAME)}{when} · "),
        word(visible(_text(row, "conversation_id") or "-")[:_NAME], "code"),
    ]


def _fallback(text: str) -> str:
    return clip_bytes(escape(text), _TEXT_BYTES)


def _text(body: dict[str, Json], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _number(body: dict[str, Json], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def _list(body: dict[str, Json], name: str) -> list[Json]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
