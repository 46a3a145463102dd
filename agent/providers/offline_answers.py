"""The sentences of the offline model about itself, orders and rules."""

from collections.abc import Callable, Sequence

from agent.providers.offline_offers import OFFER_PERSON, SOMETHING_ELSE
from agent.providers.offline_orders import SeenOrder
from agent.providers.offline_words import quote

_WHAT_I_DO = (
    "I can refund an order or a part of it, tell where an order is, explain the shop's rules, "
    "e-mail you how to return something, look how a request stands, or take it back. For example: "
    '"refund $5 on ORD-1001" or "where is my order?".'
)
GREETING = f"Hello! What can I do for you? {_WHAT_I_DO}"
CLARIFY = f"I am not sure what you mean. {_WHAT_I_DO}"
ABOUT = (
    "I am the shop's automated assistant, not a person. I can help with refunds, orders, "
    "e-mails, the shop's rules and news on requests, and I can pass you to a person of our team at "
    "any time."
)
THANKED = f"You are welcome! {SOMETHING_ELSE}"
GOODBYE = "Goodbye, and thank you for writing to us!"
FINE = f"All right. {SOMETHING_ELSE}"
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
