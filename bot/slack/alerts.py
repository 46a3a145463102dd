"""Alerts for people on call, drawn from their row as it is now; pure."""

from dataclasses import dataclass

from agent.domain.alerts import Alert, AlertKind, is_over_when_seen
from agent.domain.approvals import ApprovalView
from agent.domain.payload import Payload
from bot.slack.alert_details import buttons_of, details_of, text_of
from bot.slack.blocks import (
    Block,
    actions,
    context,
    emoji,
    fallback,
    header,
    line,
    moment,
    moment_token,
    ours,
    plain,
    quote,
    rich,
    word,
)
from bot.slack.notices import Note
from bot.slack.text import clip, visible

# A cut says how much is missing, and a context takes 2,900 with that.
_PLAIN = 2_800
_NAME = 200
_BLOCK_ID = 255
_LOOKS_INTO = ("Looked into by", " since ")


@dataclass(frozen=True, slots=True)
class _Look:
    """The sign of an alert while it lasts, its title then, and its title when it is over."""

    sign: str
    title: str
    past: str


_LOOKS = {
    AlertKind.BREAKER_OPENED: _Look("🚨", "Refund breaker opened", "Refund breaker was open"),
    AlertKind.BREAKER_MISSING: _Look(
        "🚨", "The refund breaker is gone", "The refund breaker was gone"
    ),
    AlertKind.CLOCK_STEP: _Look("🕰️", "The clock stepped back", "The clock stepped back"),
    AlertKind.STOP_THROWN: _Look("🛑", "Everything is stopped", "Everything was stopped"),
    AlertKind.UNKNOWN_OUTCOME: _Look("🔎", "Outcome unknown", "Outcome known"),
    AlertKind.CONTRADICTION: _Look(
        "🚨", "A late answer contradicts the record", "A late answer contradicted the record"
    ),
    AlertKind.CAME_BACK: _Look("↩️", "A refund came back", "A refund came back"),
    AlertKind.BREAK_GLASS: _Look("🔨", "The glass was broken", "The glass was broken"),
    AlertKind.CORRUPT_ROW: _Look(
        "🚨", "A stored request is damaged", "A stored request is damaged"
    ),
    AlertKind.DELIVERIES_STUCK: _Look("📭", "Messages are stuck", "Messages were stuck"),
    AlertKind.STALE_HEARTBEAT: _Look(
        "💤", "A part of the desk is silent", "A part of the desk was silent"
    ),
    AlertKind.SLACK_TROUBLE: _Look("🚨", "Trouble with Slack", "There was trouble with Slack"),
    AlertKind.UNATTENDED: _Look(
        "🙋", "A customer waits for a person", "A customer waited for a person"
    ),
    AlertKind.BLOCKS_REFUSED: _Look(
        "🧩", "Slack refused a message as it was drawn", "Slack refused a message as it was drawn"
    ),
}


def alert_note(alert: Alert, view: ApprovalView | None) -> Note:
    """Return the message of an alert: open with buttons, looked into by somebody, or over.

    `view` is the request that it is about, as it is now. After the end all that was said stays,
    below how it ended.
    """
    look = _LOOKS[alert.kind]
    sign, title = (look.sign, look.title) if alert.is_open else ("✅", look.past)
    told, reason = _words(alert.body, "text"), _words(alert.body, "reason")
    blocks = [
        header(f"{sign} {title}"),
        *_said(alert, told, reason),
        *details_of(alert, view),
        *_seen(alert),
        context(*_small_print(alert)),
        *_buttons(alert, view),
    ]
    news = f"{told} {reason}".strip() if alert.ended is None else visible(alert.ended)
    return Note(blocks, fallback(f"{sign} {title}. {clip(news, _PLAIN)}"))


def _words(body: Payload, name: str) -> str:
    return clip(visible(text_of(body, name), lines=True), _PLAIN)


def _said(alert: Alert, told: str, reason: str) -> list[Block]:
    """Return what it is about; once it has ended by itself, how, and below that what it was."""
    quoted = [quote(reason)] if reason else []
    if alert.ended is None or is_over_when_seen(alert.kind):
        return [rich(line(word(told)), *quoted)]
    ended = clip(visible(alert.ended, lines=True), _PLAIN)
    was = [context(plain(told))] if told else []
    return [rich(line(word(ended, "bold"))), *was, *([rich(*quoted)] if quoted else [])]


def alert_line(alert: Alert, text: str) -> Note:
    """Return a line in an alert's thread: what is new about it, or how it ended."""
    told = clip(visible(text, lines=True), _PLAIN)
    name, sign = ("rotating_light", "🚨") if alert.is_open else ("white_check_mark", "✅")
    return Note([rich(line(emoji(name), word(f" {told}")))], fallback(f"{sign} {told}"))


def _seen(alert: Alert) -> list[Block]:
    """Return who looks into it, or has seen it, and since when."""
    if alert.acknowledged_by is None or alert.acknowledged_at is None:
        return []
    name = clip(visible(alert.acknowledged_by), _NAME)
    looks, since = ("Seen by", ", ") if is_over_when_seen(alert.kind) else _LOOKS_INTO
    told = [emoji("eyes"), word(f" {looks} "), word(name, "bold"), word(since)]
    return [rich(line(*told, moment(alert.acknowledged_at)))]


def _small_print(alert: Alert) -> list[Block]:
    since = f"Since {moment_token(alert.opened_at)}"
    until = "" if alert.ended_at is None else f" · over {moment_token(alert.ended_at)}"
    about = alert.approval_id or text_of(alert.body, "approval_id")
    return [ours(f"{since}{until}"), *([plain(clip(visible(about), _NAME))] if about else [])]


def _buttons(alert: Alert, view: ApprovalView | None) -> list[Block]:
    """Return the row of buttons while it lasts; its id is new whenever the row changes."""
    if not alert.is_open:
        return []
    row = buttons_of(alert, view)
    mark = f"{'seen' if alert.acknowledged_by else 'open'}:{int(alert.opened_at.timestamp())}"
    status = "" if view is None else f":{view.approval.status}"
    return [actions(f"alert:{mark}{status}:{alert.subject}"[:_BLOCK_ID], *row)] if row else []
