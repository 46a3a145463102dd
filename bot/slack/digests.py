"""One message in place of many: the queue while it is long, and what the last day brought."""

from datetime import datetime

from agent.domain.approvals import Approval
from agent.domain.digest import Queue
from agent.domain.escalation import Level
from agent.domain.payload import Json, Payload
from agent.domain.policy_words import TOOLS
from agent.domain.roles import Role, Tier
from bot.slack.blocks import (
    Row,
    bullets,
    context,
    fallback,
    header,
    line,
    lines,
    moment,
    ours,
    rich,
    word,
)
from bot.slack.groups import Groups, naming, of_tier
from bot.slack.notices import Note
from bot.slack.states import phrase, tier_words
from bot.slack.text import clip, visible

_NAME, _REASON = 200, 300
_MINUTE, _HOUR = 60, 3600
# In this order.
_OUTCOMES = {
    "executed": "carried out",
    "failed": "failed",
    "rejected": "denied by people",
    "superseded": "edited",
    "stale": "gone stale",
    "cancelled": "withdrawn",
}


def queue_note(queue: Queue, level: Level, groups: Groups) -> Note:
    """Return the digest that stands for the reminders, or for the pings of people on call."""
    aside = naming(groups, Role.ONCALL) if level is Level.ONCALL else []
    told = f"{queue.total} {'request waits' if queue.total == 1 else 'requests wait'}"
    rows = [[*aside, word("The oldest has waited since "), moment(queue.oldest), word(".")]]
    rows += [
        [word(f"{number} ", "bold"), word(f"for {tier_words(tier)}"), *_whose(level, groups, tier)]
        for tier, number in queue.tiers
    ]
    blocks = [
        header(f"📋 {told}"),
        rich(lines(*rows)),
        rich(
            line(word("Ends first", "bold")),
            bullets(*(line(*_ends(approval)) for approval in queue.soonest)),
        ),
        context(
            ours("While so many wait, this stands for one message each. All are in the Home tab.")
        ),
    ]
    return Note(blocks, fallback(f"📋 {told} for people to decide."))


def _whose(level: Level, groups: Groups, tier: Tier) -> Row:
    return [] if level is Level.ONCALL else [word(" · "), *naming(groups, *of_tier(tier))]


def _ends(approval: Approval) -> Row:
    order = "" if approval.order_id is None else f" on order {approval.order_id}"
    what = clip(visible(f"{phrase(approval)}{order}"), _NAME)
    return [word(f"{what} · "), moment(approval.expires_at)]


def day_note(body: Payload) -> Note:
    """Return the digest of a day from its numbers, as `agent.domain.digest.Day.body` has them."""
    blocks = [header("📊 The last day at the desk"), rich(lines(_span(body), *_numbers(body)))]
    edits = [one for one in _list(body, "edits") if isinstance(one, dict)]
    if edits:
        said = bullets(*(line(*_edit(one)) for one in edits))
        blocks.append(rich(line(word("Why requests were edited most", "bold")), said))
    ended = sum(_number(one, "number") for one in _rows(body, "outcomes"))
    told = f"{ended} requests decided, {_sum(body, 'expired')} not in time"
    return Note(blocks, fallback(f"📊 The last day at the desk: {told}."))


def _span(body: Payload) -> Row:
    since, until = (_time(body, name) for name in ("since", "until"))
    return [word("From "), moment(since), word(" to "), moment(until)]


def _numbers(body: Payload) -> list[Row]:
    rows: list[Row] = [_outcomes(tool, body) for tool in TOOLS if _of_tool(tool, body)]
    rows = rows or [[word("Nobody had to decide anything.")]]
    rows.append(_expired(body))
    waits = body.get("waits")
    if isinstance(waits, dict):
        rows.append(_waits(waits))
    approvers = [_person(one) for one in _rows(body, "approvers")]
    if approvers:
        rows.append([word("Approved by ", "bold"), word(", ".join(approvers))])
    automatic, openings = _sum(body, "automatic"), _number(body, "breaker_openings")
    rows.append([word("Without a person ", "bold"), word(f"{automatic} carried out")])
    if openings:
        times = "once" if openings == 1 else f"{openings} times"
        rows.append([word("The refund breaker opened ", "bold"), word(times)])
    rows.append([word("Waiting now ", "bold"), word(str(_number(body, "waiting")))])
    return rows


def _of_tool(tool: str, body: Payload) -> dict[str, int]:
    found = [one for one in _rows(body, "outcomes") if one.get("tool") == tool]
    return {str(one.get("status")): _number(one, "number") for one in found}


def _outcomes(tool: str, body: Payload) -> Row:
    numbers = _of_tool(tool, body)
    told = [f"{numbers[way]} {words}" for way, words in _OUTCOMES.items() if way in numbers]
    return [word(f"{TOOLS[tool].partition(' (')[0]} ", "bold"), word(" · ".join(told))]


def _expired(body: Payload) -> Row:
    expired, unseen = _sum(body, "expired"), _number(body, "unseen")
    blind = f"; of {unseen} nobody could see the card" if unseen else ""
    return [
        word("Not decided in time ", "bold"),
        word(f"{expired}{blind}. Nobody has denied these." if expired else "none"),
    ]


def _waits(waits: dict[str, Json]) -> Row:
    half, most = (_duration(_number(waits, name)) for name in ("median_s", "p90_s"))
    told = f"half within {half}, nine of ten within {most} ({_number(waits, 'number')} decided)"
    return [word("Time to a decision ", "bold"), word(told)]


def _person(one: dict[str, Json]) -> str:
    return f"{clip(visible(str(one.get('text'))), _NAME)} {_number(one, 'number')}"


def _edit(one: dict[str, Json]) -> Row:
    said = clip(visible(str(one.get("text"))), _REASON)
    times = _number(one, "number")
    return [
        word("once: " if times == 1 else f"{times} times: "),
        word(said or "no reason given", "italic"),
    ]


def _duration(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"


def _sum(body: Payload, name: str) -> int:
    return sum(_number(one, "number") for one in _rows(body, name))


def _rows(body: Payload, name: str) -> list[dict[str, Json]]:
    return [one for one in _list(body, name) if isinstance(one, dict)]


def _list(body: Payload, name: str) -> list[Json]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _number(body: dict[str, Json], name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def _time(body: Payload, name: str) -> datetime:
    return datetime.fromisoformat(str(body[name]))
