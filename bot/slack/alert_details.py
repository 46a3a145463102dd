"""What an alert of each kind says beside its sentence, and the buttons that help; pure."""

from datetime import datetime

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import ApprovalView, Status
from agent.domain.deadlines import LOOKS_TO_SETTLE, RESEND_WINDOW
from agent.domain.money import Money
from agent.domain.payload import Json, Payload
from agent.ports import DeliveryKind
from agent.tools.registry import EFFECTS
from bot.slack import buttons
from bot.slack.blocks import (
    Block,
    Row,
    bullets,
    fields,
    line,
    lines,
    moment,
    rich,
    utc,
    word,
)
from bot.slack.parts import customer_name
from bot.slack.states import HELD
from bot.slack.targets import BreakerTarget, hand_off_target
from bot.slack.text import clip, visible

_REFUNDS = 25
_NAME, _PROBLEM = 200, 500
_MEANS_STOPPED = (
    "Nothing runs and nothing is sent again. Requests can still be decided; what is approved "
    "waits. A refund manager lifts the stop."
)
_MESSAGES: dict[str, str] = {
    DeliveryKind.CARD: "The card of a request",
    DeliveryKind.CARD_UPDATE: "The update of a card",
    DeliveryKind.THREAD: "A line below a card",
    DeliveryKind.QUESTION: "A question in a card's thread",
    DeliveryKind.ANSWER: "An answer in a card's thread",
    DeliveryKind.EPHEMERAL: "An answer to one person",
    DeliveryKind.HAND_OFF: "A customer who needs a person",
    DeliveryKind.HAND_OFF_UPDATE: "The update of a customer who needs a person",
    DeliveryKind.HAND_OFF_LINE: "A line of a conversation with a person",
    DeliveryKind.REVIEW: "A question for a review",
    DeliveryKind.REVIEW_UPDATE: "The update of a review",
    DeliveryKind.ALERT: "An alert",
    DeliveryKind.ALERT_UPDATE: "The update of an alert",
    DeliveryKind.ALERT_LINE: "A line below an alert",
    DeliveryKind.PING: "A reminder",
    DeliveryKind.PING_UPDATE: "The update of a reminder",
    DeliveryKind.PING_LINE: "A line below a reminder",
    DeliveryKind.DIGEST: "The digest of what waits",
    DeliveryKind.DAILY_DIGEST: "The digest of the day",
    DeliveryKind.MAIL_LINE: "A line about a mail to a customer",
    "page": "A mail to people on call",
    "customer_mail": "A mail to a customer",
}


def details_of(alert: Alert, view: ApprovalView | None) -> list[Block]:
    """Return what belongs to an alert of this kind; what to do next only while it lasts."""
    match alert.kind:
        case AlertKind.BREAKER_OPENED:
            return _breaker(alert)
        case AlertKind.STOP_THROWN:
            return [rich(line(word(_MEANS_STOPPED)))] if alert.is_open else []
        case AlertKind.UNKNOWN_OUTCOME if view is not None:
            return _unknown(alert, view)
        case AlertKind.DELIVERIES_STUCK:
            return _stuck(alert.body)
        case AlertKind.STALE_HEARTBEAT:
            return _silent(alert.body)
        case _:
            return []


def buttons_of(alert: Alert, view: ApprovalView | None) -> list[Block]:
    """Return the buttons of an alert that lasts."""
    seen = alert.acknowledged_by is not None
    row = [] if seen else [buttons.acknowledge_button(alert.subject)]
    match alert.kind:
        case AlertKind.BREAKER_OPENED:
            target = BreakerTarget(generation=_number(alert.body, "generation"))
            return [*row, buttons.reset_button(target), buttons.stop_button()]
        case AlertKind.STOP_THROWN:
            return [*row, buttons.lift_button()]
        case AlertKind.UNATTENDED:
            where, number = text_of(alert.body, "conversation_id"), _number(alert.body, "number")
            waiting = hand_off_target(where, number)
            return row if waiting is None else [*row, buttons.reply_button(waiting)]
        case _:
            pass
    if view is None:
        return row
    if alert.kind is AlertKind.UNKNOWN_OUTCOME and view.approval.status is Status.UNKNOWN:
        row.append(buttons.settle_button(view.approval))
    return [*row, buttons.details_button(view.approval)]


def text_of(body: Payload, name: str) -> str:
    """Return a text of an alert's body, empty where there is none."""
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _breaker(alert: Alert) -> list[Block]:
    body = alert.body
    limit = f"The limit is {_number(body, 'max')} in {_number(body, 'window_s')} seconds."
    rows: list[Row] = [[word(limit)]]
    retry_at, failed = _time(text_of(body, "retry_at")), _number(body, "failed_trials")
    if alert.is_open and retry_at is not None:
        rows.append([word("From "), moment(retry_at), word(" one refund may run, as a trial.")])
    if failed:
        why = clip(visible(text_of(body, "why")), _PROBLEM)
        tried = "One trial has failed" if failed == 1 else f"{failed} trials have failed"
        rows.append([word(f"{tried}: {why}.", "bold")])
    ran = [row for row in _list(body, "refunds") if isinstance(row, dict)]
    if not ran:
        return [rich(lines(*rows))]
    listed = bullets(*(line(*_ran(row)) for row in ran[:_REFUNDS]))
    more = [line(word(f"… and {len(ran) - _REFUNDS} more", "italic"))] if ran[_REFUNDS:] else []
    return [rich(lines(*rows)), rich(line(word("What ran before", "bold")), listed, *more)]


def _ran(row: dict[str, Json]) -> Row:
    minor, currency = row.get("minor"), row.get("currency")
    amount = (
        str(Money(minor, currency))
        if isinstance(minor, int) and isinstance(currency, str)
        else "unknown amount"
    )
    at = _time(text_of(row, "at"))
    when = "" if at is None else f" at {at:%H:%M:%S} UTC"
    return [
        word(amount, "bold"),
        word(f" on {clip(visible(text_of(row, 'order_id') or '-'), _NAME)}{when} · "),
        word(visible(text_of(row, "conversation_id") or "-")[:_NAME], "code"),
    ]


def _unknown(alert: Alert, view: ApprovalView) -> list[Block]:
    approval = view.approval
    first = approval.first_sent_at
    facts = fields(
        [
            ("Customer", clip(visible(customer_name(view)) or "-", _NAME)),
            ("Order", clip(visible(approval.order_id or "-"), _NAME)),
            ("First try", "-" if first is None else utc(first)),
            ("Tries", str(approval.attempts)),
        ]
    )
    return [facts, rich(lines(_what_next(view)))] if alert.is_open else [facts]


def _what_next(view: ApprovalView) -> Row:
    """Return when a person's word counts: not before the desk has asked often enough itself."""
    approval = view.approval
    effect = EFFECTS.get(approval.tool)
    if effect is not None and not effect.can_look:
        return [
            word(
                "The desk cannot ask what became of it. A refund manager settles it with evidence."
            )
        ]
    held = f" {HELD}" if view.stopped else ""
    told = [word(f"The desk keeps asking.{held} A refund manager can settle it with evidence")]
    if approval.first_sent_at is not None:
        told += [word(" from "), moment(approval.first_sent_at + RESEND_WINDOW)]
    looks = f"{LOOKS_TO_SETTLE} looks in vain ({approval.clean_looks} so far)"
    return [*told, word(f", after {looks}.")]


def _stuck(body: Payload) -> list[Block]:
    problems = [one for one in _list(body, "problems") if isinstance(one, dict)]
    if not problems:
        return []
    return [rich(bullets(*(line(*_problem(one)) for one in problems)))]


def _problem(one: dict[str, Json]) -> Row:
    kind = text_of(one, "kind")
    what = _MESSAGES.get(kind) or clip(visible(kind), _NAME)
    problem = clip(visible(text_of(one, "problem") or "no answer"), _PROBLEM)
    return [word(f"{what}: "), word(problem, "code")]


def _silent(body: Payload) -> list[Block]:
    since, problem = _time(text_of(body, "since")), text_of(body, "problem")
    rows: list[Row] = []
    if since is not None:
        rows.append([word("The last sign of life was at "), moment(since), word(".")])
    if problem:
        rows.append([word(clip(visible(problem), _PROBLEM), "code")])
    return [rich(lines(*rows))] if rows else []


def _number(body: Payload, name: str) -> int:
    value = body.get(name)
    return value if isinstance(value, int) else 0


def _list(body: Payload, name: str) -> list[Json]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
