"""The sentences of the offline model about results, outcomes and orders."""

from collections.abc import Callable, Sequence

from agent.providers.offline_orders import SeenOrder
from agent.providers.offline_transcript import Step
from agent.providers.offline_words import (
    OFFER_AGAIN,
    OFFER_PERSON,
    SOMETHING_ELSE,
    offer_refund,
    quote,
)

_WHAT_I_DO = (
    "I can refund an order or a part of it, tell where an order is, explain the shop's rules, or "
    'look how a refund request stands. For example: "refund $5 on ORD-1001" or "where is my '
    'order?".'
)
GREETING = f"Hello! What can I do for you? {_WHAT_I_DO}"
CLARIFY = f"I am not sure what you mean. {_WHAT_I_DO}"
ABOUT = (
    "I am the shop's automated assistant, not a person. I can help with refunds, orders, the "
    "shop's rules and news on requests, and I can pass you to a person of our team at any time."
)
THANKED = f"You are welcome! {SOMETHING_ELSE}"
GOODBYE = "Goodbye, and thank you for writing to us!"
FINE = f"All right. {SOMETHING_ELSE}"
WITHDRAW = (
    "All right, I will not ask for anything new. A request that is already with our team can be "
    f"taken back by a person. {OFFER_PERSON}"
)
REPLACE = (
    "I cannot arrange a replacement or store credit myself, but a person of our team can, or I can "
    f"ask for a refund instead. {OFFER_PERSON}"
)
SORRY = "I am sorry about that."
CANCEL = "I cannot stop a parcel myself, but I can ask for your money back."
NO_ORDERS = "I see no orders of yours."
SIGN_IN = "Please sign in to the shop first, so that I can see your own orders and help you."
UNABLE = f"I am sorry, I could not do that just now. {OFFER_PERSON}"
UNREADABLE_RESULT = f"I am sorry, I cannot see how that stands at the moment. {OFFER_PERSON}"
HANDED_OFF = "I have passed our conversation to a person of the team, who will answer you here."
CHECKING = (
    "we are checking with the payment provider whether it went through. I will tell you here as "
    "soon as we know."
)

_REVIEW = (
    "Your request for a refund of {amount} on {order} needs a quick review by our team. I will "
    "tell you here as soon as they have decided."
)

DECLINED = f"Our team has already declined exactly this request for {{order}}. {OFFER_PERSON}"

_PAID = (
    "The last refund on {order} has been paid. If you would like more back, please tell me how "
    "much."
)
# What is said instead of asking again, for how the last request ended.
NOT_AGAIN: dict[str, str] = {
    "rejected": DECLINED,
    "executed": _PAID,
    "superseded_executed": _PAID,
    "checking": f"About {{order}}: {CHECKING}",
    "unknown": f"About {{order}}: {CHECKING}",
    "pending_approval": "Your request for {order} is still waiting for a quick review by our team.",
}

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
    "already_rejected": DECLINED,
    "too_many_open": (
        "Several of your requests are still waiting for our team. Please let them decide those "
        "first."
    ),
    "stopped": (
        f"Refunds are paused at the moment, so nothing was paid for {{order}}. {OFFER_PERSON}"
    ),
    "breaker_open": (
        "Refunds are paused for a moment, so nothing was paid for {order}. Please try again in a "
        "minute or I can pass you to a person."
    ),
    "not_verified": SIGN_IN,
}

# What the customer hears for each way a request can end.
_ENDED: dict[str, str] = {
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
    "stale": (
        "The refund of {amount} on {order} was not paid, because the order changed in the "
        f"meantime.{{reason}} {OFFER_AGAIN}"
    ),
    "unknown": f"About the refund of {{amount}} on {{order}}: {CHECKING}",
    "cancelled": "The request for {amount} on {order} was taken back; nothing was paid.",
    "withdrawn": "The request for {amount} on {order} was taken back; nothing was paid.",
    "superseded": "A person of our team has replaced the request for {amount} on {order}.",
}

# How a request stands, by the status that `refund_status` shows.
_STANDS: dict[str, str] = {
    "pending": "{what} is still waiting for a quick review by our team.",
    "approved": "{what} has been approved and is on its way to be paid.",
    "declined": "{what} was declined by our team.",
    "expired": "{what} ended because no one decided in time; nothing was paid.",
    "withdrawn": "{what} was withdrawn.",
    "replaced": "{what} was replaced by a newer one.",
    "checking": "{what} is being checked with the payment provider.",
    "done": "{amount} has been refunded on {order}.",
    "failed": "{what} could not be completed; no money moved.",
}
_BEING_WORKED_ON = "{what} is being worked on."

_DELIVERY: dict[str, str] = {
    "unfulfilled": "it is being prepared and has not left the warehouse yet",
    "processing": "it is being prepared and has not left the warehouse yet",
    "partial": "a part of it has been shipped",
    "fulfilled": "it has been shipped",
    "shipped": "it has been shipped",
    "in_transit": "it is on its way",
    "delivered": "it has been delivered",
    "returned": "it has been returned",
    "restocked": "it has been returned",
}
_MONEY: dict[str, str] = {
    "cancelled": "the order is cancelled",
    "unpaid": "it has not been paid",
    "refunded": "it has been refunded in full",
    "partly_refunded": "{refunded} of it has been refunded and {remaining} is left",
}
_NOTHING_LEFT: dict[str, str] = {
    "cancelled": "{order} is cancelled and no payment is left on it to refund.",
    "unpaid": "{order} has not been paid, so there is nothing to refund.",
}
MOST_LISTED = 5
_MOST_REQUESTS = 3


def refund_words(step: Step, order: SeenOrder | None) -> str:
    """Return what became of one proposal; `done` is said of executed ones only."""
    result = step.result
    message = result.get("message")
    said = quote(message) if isinstance(message, str) else ""
    about = {
        "amount": _display(result.get("amount")) or _asked_amount(step),
        "order": str(result.get("order_id") or step.arguments.get("order_id") or "your order"),
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
        case _, str(error) if error in _ENDED:
            return _ENDED[error].format(**about)
        case _, str():
            return f"{said} {OFFER_PERSON}" if said else UNABLE
        case _:
            return UNREADABLE_RESULT


def _instead(order: SeenOrder | None) -> str:
    """Return what to offer when an order's final-sale items stand in the way."""
    if order is None or order.returnable.minor <= 0:
        return OFFER_PERSON
    return offer_refund(order.returnable, order.id)


def outcome_words(fields: dict[str, object]) -> str:
    """Return the one message that tells the customer how a request ended."""
    about = {
        "amount": _display(fields.get("amount")) or "your request",
        "order": str(fields.get("order_id") or "your order"),
        "reason": _reason(fields.get("reason")),
    }
    outcome = str(fields.get("outcome"))
    if outcome in {"executed", "superseded_executed"} and fields.get("ok") is not False:
        return _executed_words(fields, about)
    if outcome in _ENDED:
        return _ENDED[outcome].format(**about)
    return f"There is news about {about['order']} that I cannot read. {OFFER_PERSON}"


def _executed_words(fields: dict[str, object], about: dict[str, str]) -> str:
    edited = fields.get("edited")
    if not isinstance(edited, dict) or edited.get("from") == edited.get("to"):
        return "Good news: {amount} has been refunded on {order}.".format(**about)
    paid = _display(edited.get("to")) or about["amount"]
    asked = _display(edited.get("from")) or "another amount"
    return (
        f"A person of our team changed the amount from {asked} to {paid}, and {paid} has been "
        f"refunded on {about['order']}.{about['reason']}"
    )


def stands_words(requests: Sequence[dict[str, object]]) -> str:
    """Return how refund requests stand, newest first as they came."""
    if not requests:
        return (
            "I see no refund requests of yours. Tell me the order and the amount if you would "
            "like one."
        )
    return " ".join(_stands(request) for request in requests[:_MOST_REQUESTS])


def _stands(request: dict[str, object]) -> str:
    amount, order = _display(request.get("amount")), str(request.get("order_id") or "your order")
    words = _STANDS.get(str(request.get("status")), _BEING_WORKED_ON)
    what = f"Your request for {amount or 'a refund'} on {order}"
    return words.format(what=what, amount=amount or "Your money", order=order)


def order_words(order: SeenOrder) -> str:
    """Return where an order stands: items, delivery, money."""
    delivery = order.fulfillment.lower().replace(" ", "_")
    known = _DELIVERY.get(delivery) or (f"delivery: {quote(order.fulfillment)}" if delivery else "")
    money = _MONEY.get(order.status, "").format(refunded=order.refunded, remaining=order.remaining)
    facts = [money] if order.status == "cancelled" else [fact for fact in (known, money) if fact]
    return f"{order.brief()}: {'; '.join(facts) or 'nothing special to report'}."


def left_words(order: SeenOrder) -> str:
    """Return how much of an order can still be refunded."""
    return f"{order.remaining} of {order.id} can still be refunded."


def no_request_words(order: SeenOrder) -> str:
    """Return that nobody asked for a refund of an order, and what was refunded of it anyway."""
    back = f" {order.refunded} of it has been refunded." if order.refunded.minor > 0 else ""
    return f"I see no refund request for {order.id}.{back}"


def nothing_left_words(order: SeenOrder) -> str:
    """Return why nothing of an order can be refunded."""
    words = _NOTHING_LEFT.get(
        order.status, "{order} has been refunded in full already; nothing is left to refund."
    )
    return words.format(order=order.id)


def listing(orders: Sequence[SeenOrder], show: Callable[[SeenOrder], str]) -> str:
    """Return some orders in a row, and how many more there are."""
    shown = [show(order) for order in orders[:MOST_LISTED]]
    more = len(orders) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def passages_words(passages: Sequence[object]) -> str:
    """Return what the shop's rules say, or that they are silent."""
    texts = [str(p["text"]) for p in passages if isinstance(p, dict) and p.get("text")]
    if not texts:
        return f"I found no rule of the shop about that. {OFFER_PERSON}"
    return f"{texts[0]} {SOMETHING_ELSE}"


def _display(value: object) -> str:
    """Return an amount as text, however the result shows it; empty if it shows none."""
    if isinstance(value, dict):
        value = value.get("display")
    return value if isinstance(value, str) else ""


def _asked_amount(step: Step) -> str:
    return f"{step.arguments.get('amount', '')} {step.arguments.get('currency', '')}".strip()


def _reason(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    words = quote(value)
    return f" The reason: {words}" if words.endswith((".", "!", "?")) else f" The reason: {words}."
