"""Reads about orders: `lookup_order` and `list_orders`."""

from typing import Annotated, Literal

from pydantic import Field

from agent.desk import Desk
from agent.domain.money import Money, money_json
from agent.domain.payload import Json, Payload
from agent.ports import ShopOrder
from agent.tools.base import Arguments, Caller, failure, read_tool

OrderReference = Annotated[str, Field(min_length=1, max_length=64, description="e.g. ORD-1001")]


class LookupOrder(Arguments):
    """Arguments of `lookup_order`."""

    order_id: OrderReference


class ListOrders(Arguments):
    """Arguments of `list_orders`: none."""


OrderStatus = Literal["paid", "partly_refunded", "refunded", "cancelled", "unpaid"]


def order_status(order: ShopOrder, captured: Money, refunded: Money) -> OrderStatus:
    """Return one word for where an order stands."""
    if order.cancelled:
        return "cancelled"
    if captured.minor <= 0:
        return "unpaid"
    if refunded.minor <= 0:
        return "paid"
    return "partly_refunded" if captured.exceeds(refunded) else "refunded"


def describe_order(desk: Desk, order: ShopOrder) -> dict[str, Json]:
    """Return an order with its money, as the model and the customer may see it."""
    payment = desk.payments.view(order.id, order.total.currency)
    returned = Money(sum(r.amount.minor for r in payment.refunds), order.total.currency)
    lines: list[Json] = [
        {
            "name": line.name,
            "quantity": line.quantity,
            "price": money_json(line.price),
            "final_sale": line.final_sale,
        }
        for line in order.lines
    ]
    return {
        "order_id": order.id,
        "status": order_status(order, payment.captured, returned),
        "fulfillment": order.fulfillment,
        "placed_at": order.placed_at.date().isoformat(),
        "currency": order.total.currency,
        "total": money_json(order.total),
        "refunded": money_json(returned),
        "remaining": money_json(payment.captured.minus(returned)),
        "disputed": payment.disputed,
        "lines": lines,
    }


def own_order(desk: Desk, caller: Caller, reference: str) -> ShopOrder | None:
    """Return the order if it is the caller's own; somebody else's looks like none at all."""
    order = desk.shop.order(reference)
    if order is None or caller.customer_id is None or order.customer_id != caller.customer_id:
        return None
    return order


def _lookup(desk: Desk, caller: Caller, arguments: Arguments) -> Payload:
    if not isinstance(arguments, LookupOrder):
        raise TypeError("lookup_order takes LookupOrder")
    order = own_order(desk, caller, arguments.order_id)
    if order is None:
        return failure("not_found", "No such order was found for this customer.")
    return {"ok": True, "order": describe_order(desk, order)}


def _list(desk: Desk, caller: Caller, _arguments: Arguments) -> Payload:
    if caller.customer_id is None:
        return failure("not_verified", "Please sign in to the shop first.")
    found = desk.shop.orders_of(caller.customer_id)
    return {"ok": True, "orders": [describe_order(desk, order) for order in found]}


LOOKUP_ORDER = read_tool(
    "lookup_order",
    "Show one order of the customer: items, money paid, refunded and left, delivery.",
    LookupOrder,
    _lookup,
)

LIST_ORDERS = read_tool(
    "list_orders",
    "List the customer's own orders, newest first.",
    ListOrders,
    _list,
)
