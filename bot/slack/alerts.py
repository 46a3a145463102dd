"""Alerts for people on call, drawn from their row as it is now."""

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import ApprovalView
from bot.slack import buttons
from bot.slack.blocks import (
    Block,
    Row,
    actions,
    context,
    emoji,
    fallback,
    header,
    line,
    lines,
    moment,
    plain,
    rich,
    word,
)
from bot.slack.notices import Note
from bot.slack.text import clip, visible

_PLAIN = 2_900
_NAME = 200
_TITLES = {
    AlertKind.BREAKER_OPENED: "Refund breaker opened",
    AlertKind.BREAKER_MISSING: "The refund breaker is missing",
    AlertKind.CLOCK_STEP: "The clock stepped back",
    AlertKind.STOP_THROWN: "Everything is stopped",
    AlertKind.UNKNOWN_OUTCOME: "Nobody knows yet what became of a request",
    AlertKind.CONTRADICTION: "A late answer contradicts the record",
    AlertKind.CAME_BACK: "A refund came back",
    AlertKind.BREAK_GLASS: "Somebody broke the glass",
    AlertKind.CORRUPT_ROW: "A stored request is damaged",
    AlertKind.DELIVERIES_STUCK: "Messages do not get through",
    AlertKind.STALE_HEARTBEAT: "A part of the desk gives no sign of life",
    AlertKind.SLACK_TROUBLE: "Trouble with Slack",
}


def alert_note(alert: Alert, view: ApprovalView | None) -> Note:
    """Return the message of an alert: open with buttons, seen by somebody, or over."""
    title, sign = _TITLES[alert.kind], "🚨" if alert.is_open else "✅"
    told = clip(visible(_text(alert), lines=True), _PLAIN)
    blocks = [header(f"{sign} {title}"), rich(line(word(told)))]
    if view is not None:
        blocks.append(context(plain(view.approval.id)))
    rows = _standing(alert)
    if rows:
        blocks.append(rich(lines(*rows)))
    if alert.is_open and alert.acknowledged_by is None:
        blocks.append(actions(_row_id(alert), buttons.acknowledge_button(alert.subject)))
    over = "" if alert.is_open else "Over. "
    return Note(blocks, fallback(f"{sign} {over}{title}: {told}"))


def alert_line(alert: Alert, text: str) -> Note:
    """Return a line in an alert's thread: what is new about it, or how it ended."""
    told = clip(visible(text, lines=True), _PLAIN)
    name, sign = ("rotating_light", "🚨") if alert.is_open else ("white_check_mark", "✅")
    return Note([rich(line(emoji(name), word(f" {told}")))], fallback(f"{sign} {told}"))


def _standing(alert: Alert) -> list[Row]:
    """Return who looks into it and how it ended, as far as that goes."""
    rows: list[Row] = []
    if alert.acknowledged_by is not None and alert.acknowledged_at is not None:
        name = clip(visible(alert.acknowledged_by), _NAME)
        seen = [emoji("eyes"), word(" Acknowledged by "), word(name, "bold"), word(" · ")]
        rows.append([*seen, moment(alert.acknowledged_at)])
    if alert.ended is not None and alert.ended_at is not None:
        words = clip(visible(alert.ended, lines=True), _PLAIN)
        over = [emoji("white_check_mark"), word(f" {words}", "bold"), word(" · ")]
        rows.append([*over, moment(alert.ended_at)])
    return rows


def _row_id(alert: Alert) -> str:
    """Return the block id of the buttons: a new one whenever they change."""
    return f"alert:{int(alert.opened_at.timestamp())}:{alert.subject}"[:255]


def _text(alert: Alert) -> str:
    text: Block | object = alert.body.get("text")
    return text if isinstance(text, str) else ""
