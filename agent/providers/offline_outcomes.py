"""The sentences of the offline model about requests: what became of one, and how it stands."""

from collections.abc import Sequence

from agent.providers.offline_answers import SIGN_IN, UNABLE, UNREADABLE_RESULT
from agent.providers.offline_offers import OFFER_AGAIN, OFFER_PERSON, offer_refund
from agent.providers.offline_orders import SeenOrder
from agent.providers.offline_requests import EMAIL, REFUND, Request, amount_in, order_in
from agent.providers.offline_transcript import Step
from agent.providers.offline_words import quote

_TOLD_HERE = "I will tell you here as soon as"
_CHECKING = (
    f"we are checking with the payment provider whether it went through. {_TOLD_HERE} we know."
)
_MAIL_CHECKING = f"we are checking whether it left. {_TOLD_HERE} we know."

_REVIEW = (
    "Your request for a refund of {amount} on {order} needs a quick review by our team. "
    f"{_TOLD_HERE} they have decided."
)
_MAIL_REVIEW = (
    f"{{what}} needs a quick review by our team before it is sent. {_TOLD_HERE} they have decided."
)
_DECLINED = f"Our team has already declined exactly this request for {{order}}. {OFFER_PERSON}"
_MAIL_DECLINED = f"Our team has already declined exactly this e-mail. {OFFER_PERSON}"
_EDITED = (
    "A person of our team has changed exactly this request for {order}, and that is final. "
    f"{OFFER_PERSON}"
)
_MAIL_EDITED = (
    f"A person of our team has changed exactly this e-mail, and that is final. {OFFER_PERSON}"
)

# What is said instead of asking for money again, for how the last request ended.
_NOT_AGAIN: dict[str, str] = {
    "rejected": _DECLINED,
    "executed": (
        "The last refund on {order} has been paid. If you would like more back, please tell me how "
        "much."
    ),
    "unknown": f"About {{order}}: {_CHECKING}",
    "pending": "Your request for {order} is still waiting for a quick review by our team.",
}
# An e-mail that was sent may well be sent once more.
_MAIL_NOT_AGAIN: dict[str, str] = {
    "rejected": _MAIL_DECLINED,
    "unknown": f"About the e-mail: {_MAIL_CHECKING}",
    "pending": "The e-mail is still waiting for a quick review by our team.",
}

_TOO_MANY_OPEN = (
    "Several of your requests are still waiting for our team. Please let them decide those first."
)
# What the customer hears for each error of a refused refund.
_REFUSED: dict[str, str] = {
    "not_found": "I could not find the order {order} among your orders.",
    "over_remaining": "I cannot refund {amount} on {order}. {left}",
    "not_paid": "{order} has not been paid, so there is nothing to refund.",
    "disputed": (
        "The payment of {order} is disputed with your bank. The bank decides it, so I cannot "
        f"refund it here. {OFFER_PERSON}"
    ),
    "final_sale": "{order} holds final-sale items, which cannot be refunded. {instead}",
    "wrong_currency": (
        "I cannot refund {amount} on {order}: it was paid in {currency}. Tell me the amount in "
        "{currency} and I will ask for it."
    ),
    "invalid_amount": (
        "I cannot refund {amount}: a refund must be more than zero and a plain amount of money, "
        "such as 12.50."
    ),
    "invalid_arguments": (
        "I could not ask for {amount}: our system does not take that. Please tell me the order and "
        "a plain amount, such as 12.50."
    ),
    "already_rejected": _DECLINED,
    "already_edited": _EDITED,
    "too_many_open": _TOO_MANY_OPEN,
    "stopped": (
        f"Refunds are paused at the moment, so nothing was paid for {{order}}. {OFFER_PERSON}"
    ),
    "breaker_open": (
        "Refunds are paused for a moment, so nothing was paid for {order}. Please try again in a "
        "minute or I can pass you to a person."
    ),
    "not_verified": SIGN_IN,
}
# The same for e-mails.
_MAIL_REFUSED: dict[str, str] = {
    "not_found": "I could not find {order} among your orders, so nothing was sent.",
    "not_available": f"I cannot send e-mails at the moment, so nothing was sent. {OFFER_PERSON}",
    "invalid_arguments": f"I could not send that e-mail: {{said}}. {OFFER_PERSON}",
    "already_rejected": _MAIL_DECLINED,
    "already_edited": _MAIL_EDITED,
    "too_many_open": _TOO_MANY_OPEN,
    "stopped": f"E-mails are paused at the moment, so nothing was sent. {OFFER_PERSON}",
    "not_verified": SIGN_IN,
}

# What the customer hears for each way a refund can end.
_ENDED: dict[str, str] = {
    "executed": "Good news: {amount} has been refunded on {order}.",
    "rejected": (
        f"Our team has declined the refund of {{amount}} on {{order}}.{{reason}} {OFFER_PERSON}"
    ),
    "expired": (
        "No one decided in time about the refund of {amount} on {order}, so nothing was paid. "
        f"{OFFER_AGAIN} If you would rather talk to a person, just say so."
    ),
    "failed": (
        "The refund of {amount} on {order} could not be completed; no money moved. "
        f"{OFFER_PERSON}"
    ),
    "came_back": (
        "The refund of {amount} on {order} came back: your bank did not take it, so the money has "
        f"not reached you. {OFFER_PERSON}"
    ),
    "stale": (
        "The refund of {amount} on {order} was not paid, because something changed in the "
        f"meantime.{{reason}} {OFFER_AGAIN}"
    ),
    "unknown": f"About the refund of {{amount}} on {{order}}: {_CHECKING}",
    "cancelled": "The request for {amount} on {order} was taken back; nothing was paid.",
    "called_off": (
        "Our team has called off the refund of {amount} on {order}; nothing was paid. "
        f"{OFFER_PERSON}"
    ),
}
_MAIL_ENDED: dict[str, str] = {
    "executed": "Good news: {what} has been sent.",
    "rejected": (f"Our team has declined {{what}}, so it was not sent.{{reason}} {OFFER_PERSON}"),
    "expired": (
        "No one decided in time about {what}, so nothing was sent. "
        f"{OFFER_AGAIN} If you would rather talk to a person, just say so."
    ),
    "failed": f"Sorry, {{what}} could not be sent. {OFFER_PERSON}",
    "stale": (
        "Sorry, {what} was not sent, because something changed in the meantime.{reason} "
        f"{OFFER_AGAIN}"
    ),
    "unknown": f"About {{what}}: {_MAIL_CHECKING}",
    "cancelled": "Your request for {what} was taken back; nothing was sent.",
    "called_off": f"Our team has called off {{what}}; nothing was sent. {OFFER_PERSON}",
}

# How a request stands, by the status that `refund_status` shows.
_STANDS: dict[str, str] = {
    "pending": "{what} is still waiting for a quick review by our team.",
    "approved": "{what} has been approved and is on its way to be paid.",
    "declined": "{what} was declined by our team.",
    "expired": "{what} ended because no one decided in time; nothing was paid.",
    "withdrawn": "{what} was taken back; nothing was paid.",
    "replaced": "{what} was replaced by a newer one.",
    "checking": "{what} is being checked with the payment provider.",
    "done": "{amount} has been refunded on {order}.",
    "failed": "{what} could not be completed; the money has not reached you.",
}
_MAIL_STANDS: dict[str, str] = {
    "pending": "{what} is still waiting for a quick review by our team.",
    "approved": "{what} has been approved and is on its way.",
    "declined": "{what} was declined by our team.",
    "expired": "{what} ended because no one decided in time; nothing was sent.",
    "withdrawn": "{what} was taken back; nothing was sent.",
    "replaced": "{what} was replaced by a newer one.",
    "checking": "{what} may have left; we are checking it.",
    "done": "{what} has been sent.",
    "failed": "{what} could not be sent.",
}
_BEING_WORKED_ON = "{what} is being worked on."
_MOST_REQUESTS = 3


def refund_words(step: Step, order: SeenOrder | None) -> str:
    """Return what became of one proposal; `done` is said of executed ones only."""
    result = step.result
    said = _said(result)
    about = {
        "amount": amount_in(result.get("amount")) or _asked_amount(step),
        "order": order_in(result) or order_in(step.arguments) or "your order",
        "currency": order.total.currency if order else "another currency",
        "left": said or (f"Only {order.remaining} is left." if order else ""),
        "instead": _instead(order),
        "reason": "",
    }
    match result.get("status"), result.get("error"):
        case "pending_approval", _:
            return _REVIEW.format(**about)
        case "executed", _:
            return "Done: I have refunded {amount} on {order}.".format(**about)
        case ("checking", _) | (_, "unknown"):
            return _ENDED["unknown"].format(**about)
        case _, str(error) if error in _REFUSED:
            return _REFUSED[error].format(**about)
        case _, "failed":
            return _ENDED["failed"].format(**about)
        case _, str():
            return f"{said} {OFFER_PERSON}" if said else UNABLE
        case _:
            return UNREADABLE_RESULT


def email_words(step: Step, subject: str) -> str:
    """Return what became of one proposed e-mail; `sent` is said of executed ones only."""
    result = step.result
    said = _said(result).rstrip(".")
    what = f'the e-mail "{quote(subject)}"' if subject else "the e-mail"
    order = order_in(step.arguments) or "such an order"
    about = {"what": what, "order": order, "said": said, "reason": ""}
    match result.get("status"), result.get("error"):
        case "pending_approval", _:
            return _sentence(_MAIL_REVIEW.format(**about))
        case "executed", _:
            where = "your address" if not step.arguments.get("to") else _addresses(step)
            return f"Done: I have sent {what} to {where}."
        case ("checking", _) | (_, "unknown"):
            return _MAIL_ENDED["unknown"].format(**about)
        case _, str(error) if error in _MAIL_REFUSED:
            return _MAIL_REFUSED[error].format(**about)
        case _, "failed":
            return _MAIL_ENDED["failed"].format(**about)
        case _, str():
            return f"{said}. {OFFER_PERSON}" if said else UNABLE
        case _:
            return UNREADABLE_RESULT


def outcome_words(fields: dict[str, object]) -> str:
    """Return the one message that tells the customer how a request ended."""
    outcome, told = _ending(fields), _MAIL_ENDED if fields.get("tool") == EMAIL else _ENDED
    about = {
        "amount": amount_in(fields.get("amount")) or "your request",
        "order": order_in(fields) or "your order",
        "what": _mail_about(fields),
        "reason": _reason(outcome, fields.get("reason")),
    }
    if fields.get("tool", REFUND) not in (REFUND, EMAIL) or outcome not in told:
        return f"There is news about {about['order']} that I cannot read. {OFFER_PERSON}"
    words = _sentence(told[outcome].format(**about))
    return f"{_edit_words(fields)} {words}".lstrip()


def edited_words(request: Request) -> str:
    """Return that a person's edit stands in the place of what is asked for again."""
    if request.tool == EMAIL:
        return _MAIL_EDITED
    after = request.edited or {}
    return (
        f"A person of our team has changed your request for {request.amount} on "
        f"{request.order_id} to {amount_in(after)} on {order_in(after)}, and that is final. "
        f"{OFFER_PERSON}"
    )


def not_again_words(request: Request) -> str | None:
    """Return why a request is not made once more, None where it may be."""
    told = _MAIL_NOT_AGAIN if request.tool == EMAIL else _NOT_AGAIN
    words = told.get(request.status)
    return None if words is None else words.format(order=request.order_id or "your order")


def taken_back_words(asked: dict[str, object]) -> str:
    """Return that a request, as `refund_status` or the transcript shows it, was taken back."""
    words = request_words(asked)
    undone = {EMAIL: "nothing will be sent", REFUND: "nothing will be paid"}
    rest = undone.get(str(asked.get("tool")), "nothing of it will be carried out")
    return f"I have taken back {words}; {rest}."


def request_words(asked: dict[str, object]) -> str:
    """Return a request for the middle of a sentence, e.g. `the refund of 5.00 USD on ORD-1`."""
    if asked.get("tool") == EMAIL:
        return _mail_about(asked)
    amount, order = amount_in(asked.get("amount")), order_in(asked)
    if not amount and not order:
        return "your request"
    return f"the refund of {amount or 'money'} on {order or 'your order'}"


def stands_words(requests: Sequence[dict[str, object]]) -> str:
    """Return how requests stand, newest first as they came."""
    if not requests:
        return (
            "I see no refund requests of yours. Tell me the order and the amount if you would "
            "like one."
        )
    return " ".join(_stands(request) for request in requests[:_MOST_REQUESTS])


def _stands(request: dict[str, object]) -> str:
    amount, order = amount_in(request.get("amount")), order_in(request) or "your order"
    what = f"Your request for {amount or 'a refund'} on {order}"
    told = _STANDS
    if request.get("tool") == EMAIL:
        what, told = _sentence(_mail_about(request)), _MAIL_STANDS
    words = told.get(str(request.get("status")), _BEING_WORKED_ON)
    return words.format(what=what, amount=amount or "Your money", order=order)


def _ending(fields: dict[str, object]) -> str:
    """Return how a request ended, with the endings told apart that share a status."""
    outcome = str(fields.get("outcome"))
    if outcome == "executed" and fields.get("ok") is not True:
        return ""
    if outcome == "failed" and fields.get("error") == "came_back":
        return "came_back"
    if outcome == "cancelled" and "team" in str(fields.get("reason")):
        return "called_off"
    return outcome


def _edit_words(fields: dict[str, object]) -> str:
    """Return what a person had changed before it ended so, empty if nothing was."""
    edited = fields.get("edited")
    if not isinstance(edited, dict) or edited.get("from") == edited.get("to"):
        return ""
    before, after = edited.get("from"), edited.get("to")
    if fields.get("tool") == EMAIL:
        return "A person of our team changed the e-mail."
    changes = []
    if amount_in(before) != amount_in(after):
        changes.append(f"the amount from {amount_in(before)} to {amount_in(after)}")
    if order_in(before) != order_in(after):
        changes.append(f"the order from {order_in(before)} to {order_in(after)}")
    return f"A person of our team changed {' and '.join(changes) or 'the request'}."


def _mail_about(fields: dict[str, object]) -> str:
    order = order_in(fields)
    return f"the e-mail about {order}" if order else "the e-mail"


def _instead(order: SeenOrder | None) -> str:
    """Return what to offer when an order's final-sale items stand in the way."""
    if order is None or order.returnable.minor <= 0:
        return OFFER_PERSON
    return offer_refund(order.returnable, order.id)


def _addresses(step: Step) -> str:
    to = step.arguments.get("to")
    return ", ".join(str(one) for one in to) if isinstance(to, list) else "you"


def _asked_amount(step: Step) -> str:
    return f"{step.arguments.get('amount', '')} {step.arguments.get('currency', '')}".strip()


def _said(result: dict[str, object]) -> str:
    message = result.get("message")
    return quote(message) if isinstance(message, str) else ""


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _reason(outcome: str, value: object) -> str:
    """Return why it ended so, as a sentence, where a reason is meant for the customer."""
    if outcome not in {"rejected", "stale"} or not isinstance(value, str) or not value.strip():
        return ""
    if outcome == "stale" and "policy" in value:
        # What the policy asks of the team is no news for a customer.
        return ""
    words = quote(value)
    return f" The reason: {words}" if words.endswith((".", "!", "?")) else f" The reason: {words}."
