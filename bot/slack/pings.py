"""What brings a request up again: for its group, for people on call, for the senior group."""

from dataclasses import dataclass

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.escalation import Level
from agent.domain.roles import Role
from bot.slack import buttons
from bot.slack.blocks import (
    Block,
    Row,
    actions,
    context,
    emoji,
    fallback,
    line,
    lines,
    link,
    moment,
    plain,
    rich,
    utc,
    word,
)
from bot.slack.groups import Groups, naming, of_tier
from bot.slack.notices import Note
from bot.slack.parts import taken_words
from bot.slack.states import ended_words, look_of, phrase, progress_words, tier_words
from bot.slack.text import clip, visible
from storage.pings import Ping

_PLAIN, _NAME = 2_900, 200
_LOOKS = {
    Level.REMINDER: ("alarm_clock", "⏰"),
    Level.ONCALL: ("pager", "📟"),
    Level.SENIOR: ("rotating_light", "🚨"),
}


@dataclass(frozen=True, slots=True)
class Urging:
    """What such a message is drawn from: the request and the level as they are now.

    `url` is where its card is, None where that is beside it or not known; `senior` is the role of
    the senior group.
    """

    view: ApprovalView
    level: Level
    ping: Ping | None
    groups: Groups
    senior: Role
    url: str | None = None


def ping_note(urging: Urging) -> Note:
    """Return the message: urgent while the request waits, and how it ended from then on."""
    approval = urging.view.approval
    if approval.status is not Status.PENDING:
        return _over(urging)
    name, sign = _LOOKS[urging.level]
    rows = [
        [emoji(name), word(" "), *_named(urging), word(_what(approval), "bold")],
        [word(f"{_why(urging)} until "), moment(approval.expires_at), word(".")],
        [word(_votes(urging.view))],
        *([] if urging.url is None else [[link(urging.url, "Open its card")]]),
        *_standing(urging),
    ]
    seen = urging.ping is not None and urging.ping.acknowledged_by is not None
    quiet = seen or urging.level is Level.REMINDER
    blocks = [
        rich(lines(*rows)),
        context(plain(approval.id)),
        actions(
            f"ping:{approval.id}:{urging.level.key}:{'seen' if seen else 'new'}",
            *([] if quiet else [buttons.seen_button(approval, urging.level)]),
            buttons.take_over_button(approval),
        ),
    ]
    told = f"{sign} {_what(approval)}: {_why(urging)} until {utc(approval.expires_at)}."
    return Note(blocks, fallback(told))


def ping_line() -> Note:
    """Return the line under a card that says that people on call know of it."""
    name, sign = _LOOKS[Level.ONCALL]
    told = "People on call were told, in their channel: the time to decide is running out."
    return Note([rich(line(emoji(name), word(f" {told}")))], fallback(f"{sign} {told}"))


def _over(urging: Urging) -> Note:
    approval, told = urging.view.approval, clip(visible(ended_words(urging.view)), _PLAIN)
    look = look_of(approval)
    head = [emoji(look.emoji), word(" "), word(_what(approval), "bold")]
    rows = [[*head, word(f" · {told}")], *_seen(urging)]
    text = f"{look.sign} {_what(approval)}: {told}"
    return Note([rich(lines(*rows)), context(plain(approval.id))], fallback(text))


def _named(urging: Urging) -> Row:
    match urging.level:
        case Level.REMINDER:
            return naming(urging.groups, *of_tier(urging.view.approval.tier))
        case Level.ONCALL:
            return naming(urging.groups, Role.ONCALL)
        case Level.SENIOR:
            return naming(urging.groups, urging.senior)


def _what(approval: Approval) -> str:
    order = "" if approval.order_id is None else f" on order {approval.order_id}"
    return clip(visible(f"{phrase(approval)}{order}"), _NAME)


def _why(urging: Urging) -> str:
    approval = urging.view.approval
    who = tier_words(approval.tier)
    match urging.level:
        case Level.REMINDER:
            return f"It still waits for {who},"
        case Level.ONCALL:
            return f"Its time is running out: it waits for {who},"
        case Level.SENIOR:
            return f"Nobody decided in time. It gets more time once, and waits for {who},"


def _votes(view: ApprovalView) -> str:
    names = [clip(visible(v.actor_name), _NAME) for v in view.votes if v.verdict == "approve"]
    if not names:
        return "Nobody has voted yet."
    return f"{progress_words(view, ' approvals')}: {', '.join(names)}."


def _standing(urging: Urging) -> list[Row]:
    taken = taken_words(urging.view.approval)
    return [*_seen(urging), *([taken] if taken else [])]


def _seen(urging: Urging) -> list[Row]:
    ping = urging.ping
    if ping is None or ping.acknowledged_by is None or ping.acknowledged_at is None:
        return []
    name = clip(visible(ping.acknowledged_by), _NAME)
    told: list[Block] = [emoji("eyes"), word(" Acknowledged by "), word(name, "bold")]
    return [[*told, word(" · "), moment(ping.acknowledged_at)]]
