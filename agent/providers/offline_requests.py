"""The customer's requests as the transcript tells of them: what was asked for, how it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.domain.conversation import ChatMessage
from agent.domain.errors import InvalidInput
from agent.domain.money import MAX_MINOR, Money, parse_money
from agent.providers.offline_transcript import (
    Step,
    Turn,
    calls_in,
    read_object,
    read_outcome,
    read_step,
)

PENDING = "pending"
REFUND, EMAIL = "issue_refund", "send_email"

# How a request stands right after the call that asked for it.
_AT_ONCE = {
    "pending_approval": PENDING,
    "executed": "executed",
    "checking": "unknown",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One refund or e-mail that was asked for.

    `status` is `pending` or the name of an outcome; `first_id` is what the call's result named,
    `id` what stands in its place after a person's edit; `edited` is the payload of that edit.
    `amount` is empty where it is not about money.
    """

    first_id: str
    id: str
    tool: str
    arguments: dict[str, object]
    order_id: str
    amount: str
    status: str
    edited: dict[str, object] | None = None


def requests_of(turn: Turn) -> tuple[Request, ...]:
    """Return the requests made before this turn, oldest first."""
    return _requests(turn.earlier)


def waiting(turn: Turn) -> tuple[Request, ...]:
    """Return the requests that wait for people, as far as the transcript tells."""
    return tuple(request for request in requests_of(turn) if request.status == PENDING)


def request_of(turn: Turn, step: Step) -> Request | None:
    """Return the request that an earlier call made, None where it made none."""
    named = str(step.result.get("approval_id"))
    return next((one for one in requests_of(turn) if one.first_id == named), None)


def edited_refund(turn: Turn, order_id: str, amount: str, currency: str) -> Request | None:
    """Return the request of exactly this refund that a person has changed for good."""
    try:
        asked = str(parse_money(amount, currency))
    except InvalidInput:
        return None
    return next(
        (
            one
            for one in requests_of(turn)
            if one.edited is not None
            and one.tool == REFUND
            and (one.order_id, one.amount) == (order_id, asked)
        ),
        None,
    )


def edited_email(turn: Turn, arguments: Mapping[str, object]) -> Request | None:
    """Return the request of exactly this e-mail that a person has changed for good."""
    told = ("template", "order_id", "to", "subject", "body")
    return next(
        (
            one
            for one in requests_of(turn)
            if one.edited is not None
            and one.tool == EMAIL
            and all(one.arguments.get(name) == arguments.get(name) for name in told)
        ),
        None,
    )


def amount_in(value: object) -> str:
    """Return the amount of a result, an outcome or a payload as text, empty if there is none.

    It stands there as text, as an object with `display`, as minor units, or within a payload.
    """
    match value:
        case str():
            return value
        case {"display": str(display)}:
            return display
        case {"minor": int(minor), "currency": str(currency)} if abs(minor) <= MAX_MINOR:
            try:
                return str(Money(minor, currency))
            except InvalidInput:
                return ""
        case {"amount": inner}:
            return amount_in(inner)
        case _:
            return ""


def order_in(value: object) -> str:
    """Return the order that a payload, a result or an outcome names, empty if it names none."""
    named = value.get("order_id") if isinstance(value, dict) else None
    return named if isinstance(named, str) else ""


def _requests(messages: Sequence[ChatMessage]) -> tuple[Request, ...]:
    found: list[Request] = []
    calls = calls_in(messages)
    for message in messages:
        step = read_step(message, calls)
        if step is not None and step.name in {REFUND, EMAIL}:
            _asked(found, step)
        elif step is not None and step.name == "withdraw_request":
            if step.result.get("ok") is True:
                _change(found, str(step.result.get("approval_id")), status="cancelled")
        elif message.role == "system":
            _told(found, message)
    return tuple(found)


def _asked(found: list[Request], step: Step) -> None:
    named, result = step.result.get("approval_id"), step.result
    status = _AT_ONCE.get(str(result.get("status") or result.get("error")))
    if not isinstance(named, str) or status is None:
        return
    # An identical request that waits already is one and the same.
    if all(one.id != named for one in found):
        request = Request(
            first_id=named,
            id=named,
            tool=step.name,
            arguments=step.arguments,
            order_id=order_in(result) or order_in(step.arguments),
            amount=amount_in(result),
            status=status,
        )
        found.append(request)


def _told(found: list[Request], message: ChatMessage) -> None:
    fields = read_object(message.content)
    outcome = read_outcome(message)
    named = str(fields.get("approval_id"))
    if outcome is not None:
        status = str(outcome.get("outcome"))
        _change(found, named, status=status)
    elif fields.get("event") == "human_edit":
        _edited(found, fields, named)
    elif fields.get("event") == "asked_again":
        before = str(fields.get("instead_of"))
        _change(found, before, status=PENDING, now=named)


def _change(found: list[Request], named: str, *, status: str, now: str | None = None) -> None:
    for place, one in enumerate(found):
        if one.id == named:
            found[place] = replace(one, id=now or named, status=status)


def _edited(found: list[Request], fields: dict[str, object], named: str) -> None:
    """Put a person's edit in the place of the request whose payload it began with."""
    before, after = fields.get("from"), fields.get("to")
    for place, one in enumerate(found):
        same = one.tool == fields.get("tool") and one.status == PENDING and _is_of(one, before)
        if same and isinstance(after, dict):
            found[place] = replace(one, id=named, edited=after)
            return


def _is_of(request: Request, payload: object) -> bool:
    """Tell whether a payload is what a request was bound to."""
    if not isinstance(payload, dict) or order_in(payload) != request.order_id:
        return False
    if request.tool == REFUND:
        return amount_in(payload) == request.amount
    names = ("template",) if request.arguments.get("template") else ("subject", "body")
    return all(payload.get(name) == request.arguments.get(name) for name in names)
