"""The embedded shop: customers, orders and their lines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, exists, func, insert, or_, select, text

from agent.domain.ids import CustomerId
from agent.domain.money import Money
from agent.ports import Customer, OrderLine, ShopOrder
from storage.outside_tables import customers, order_lines, orders
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

MOST_ORDERS = 50

_REFERENCE = re.compile(r"[A-Z0-9][A-Z0-9._-]{0,39}")

_CUSTOMER = select(customers).where(customers.c.id == bindparam("customer"))
_CUSTOMERS_BY_EMAIL = select(customers.c.id, customers.c.email).where(
    customers.c.email.in_(bindparam("emails", expanding=True))
)
_NEWEST_CUSTOMERS = (
    select(customers)
    .order_by(customers.c.created_at.desc(), customers.c.id)
    .limit(bindparam("limit"))
)
_MATCHING_CUSTOMERS = _NEWEST_CUSTOMERS.where(
    or_(
        func.lower(customers.c.name).like(bindparam("pattern"), escape="\\"),
        customers.c.email.like(bindparam("pattern"), escape="\\"),
        exists().where(
            orders.c.customer_id == customers.c.id, orders.c.reference == bindparam("reference")
        ),
    )
)
_ADD_CUSTOMERS = text(
    "INSERT INTO customers (id, name, email, created_at)"
    " VALUES (:id, :name, :email, :created_at) ON CONFLICT DO NOTHING"
)
_ORDERS_BY_REFERENCE = select(orders).where(
    orders.c.reference.in_(bindparam("references", expanding=True))
)
_RANKED = (
    select(
        orders,
        func.row_number()
        .over(partition_by=orders.c.customer_id, order_by=(orders.c.placed_at.desc(), orders.c.id))
        .label("rank"),
    )
    .where(orders.c.customer_id.in_(bindparam("customers", expanding=True)))
    .subquery()
)
_ORDERS_OF = (
    select(_RANKED)
    .where(_RANKED.c.rank <= MOST_ORDERS)
    .order_by(_RANKED.c.customer_id, _RANKED.c.rank)
)
_LINES = (
    select(order_lines)
    .where(order_lines.c.order_id.in_(bindparam("orders", expanding=True)))
    .order_by(order_lines.c.order_id, order_lines.c.line)
)
_SAVE_ORDERS = text(
    "INSERT INTO orders (id, reference, customer_id, currency, total_minor, paid, cancelled,"
    " fulfillment, placed_at, source) VALUES (:id, :reference, :customer_id, :currency,"
    " :total_minor, :paid, :cancelled, :fulfillment, :placed_at, :source)"
    " ON CONFLICT (id) DO UPDATE SET customer_id = excluded.customer_id,"
    " currency = excluded.currency, total_minor = excluded.total_minor, paid = excluded.paid,"
    " cancelled = excluded.cancelled, fulfillment = excluded.fulfillment,"
    " placed_at = excluded.placed_at, source = excluded.source"
)
_DROP_LINES = delete(order_lines).where(
    order_lines.c.order_id.in_(bindparam("orders", expanding=True))
)
_ADD_LINES = insert(order_lines)


@dataclass(frozen=True, slots=True)
class NewCustomer:
    """A customer to be known by e-mail; `id` counts only if the e-mail is new."""

    customer: Customer
    since: datetime


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """An order and where it came from: the demo, or an import."""

    order: ShopOrder
    source: str


def reference_of(written: str) -> str | None:
    """Return what a person's `#w2611340` is stored as, None if no order can be called so."""
    reference = written.strip().removeprefix("#").upper()
    return reference if _REFERENCE.fullmatch(reference) else None


def customer(tx: Tx, customer_id: CustomerId) -> Customer | None:
    """Return the customer, None if there is nobody of that id."""
    row = tx.one(_CUSTOMER, customer=customer_id)
    return None if row is None else _customer(row)


def newest_customers(tx: Tx, limit: int) -> tuple[Customer, ...]:
    """Return at most `limit` customers, the newest first."""
    return tuple(_customer(row) for row in tx.all(_NEWEST_CUSTOMERS, limit=limit))


def find_customers(tx: Tx, words: str, limit: int) -> tuple[Customer, ...]:
    """Return customers whose name or e-mail holds `words`, or who have an order called so."""
    escaped = re.sub(r"([\\%_])", r"\\\1", words.strip().lower())
    rows = tx.all(
        _MATCHING_CUSTOMERS,
        pattern=f"%{escaped}%",
        reference=reference_of(words),
        limit=limit,
    )
    return tuple(_customer(row) for row in rows)


def ensure_customers(tx: Tx, newcomers: Sequence[NewCustomer]) -> dict[str, CustomerId]:
    """Store whoever's e-mail is new, and return the id behind each e-mail."""
    if not newcomers:
        return {}
    # One order for everybody who writes: two imports then wait for each other and never deadlock.
    ordered = sorted(newcomers, key=lambda newcomer: newcomer.customer.email)
    rows = [
        {
            "id": newcomer.customer.id,
            "name": newcomer.customer.name,
            "email": newcomer.customer.email,
            "created_at": to_micros(newcomer.since),
        }
        for newcomer in ordered
    ]
    tx.put(_ADD_CUSTOMERS, *rows)
    known = tx.all(_CUSTOMERS_BY_EMAIL, emails=[row["email"] for row in rows])
    return {row["email"]: CustomerId(row["id"]) for row in known}


def order(tx: Tx, reference: str) -> ShopOrder | None:
    """Return the order stored under a reference as `reference_of` makes it."""
    found = orders_by_reference(tx, [reference]).get(reference)
    return None if found is None else found.order


def orders_by_reference(tx: Tx, references: Sequence[str]) -> dict[str, StoredOrder]:
    """Return the orders that exist, by reference."""
    rows = tx.all(_ORDERS_BY_REFERENCE, references=list(references))
    read = zip(rows, _with_lines(tx, rows), strict=True)
    return {row["reference"]: StoredOrder(order, row["source"]) for row, order in read}


def orders_of(tx: Tx, customer_ids: Sequence[CustomerId]) -> tuple[ShopOrder, ...]:
    """Return the customers' orders, each customer's newest first and at most `MOST_ORDERS`."""
    return _with_lines(tx, tx.all(_ORDERS_OF, customers=list(customer_ids)))


def save_orders(tx: Tx, changed: Mapping[str, ShopOrder], source: str) -> None:
    """Store orders with their lines under their references; what was there is replaced."""
    if not changed:
        return
    rows = [_order_row(reference, changed[reference], source) for reference in sorted(changed)]
    tx.put(_SAVE_ORDERS, *rows)
    tx.change(_DROP_LINES, orders=[order.id for order in changed.values()])
    lines = [
        _line_row(order.id, number, line)
        for order in changed.values()
        for number, line in enumerate(order.lines, start=1)
    ]
    tx.put(_ADD_LINES, *lines)


def _order_row(reference: str, order: ShopOrder, source: str) -> dict[str, object]:
    return {
        "id": order.id,
        "reference": reference,
        "customer_id": order.customer_id,
        "currency": order.total.currency,
        "total_minor": order.total.minor,
        "paid": int(order.paid),
        "cancelled": int(order.cancelled),
        "fulfillment": order.fulfillment,
        "placed_at": to_micros(order.placed_at),
        "source": source,
    }


def _line_row(order_id: str, number: int, line: OrderLine) -> dict[str, object]:
    return {
        "order_id": order_id,
        "line": number,
        "name": line.name,
        "sku": line.sku,
        "quantity": line.quantity,
        "price_minor": line.price.minor,
        "final_sale": int(line.final_sale),
    }


def _customer(row: Row) -> Customer:
    return Customer(CustomerId(row["id"]), row["name"], row["email"])


def _with_lines(tx: Tx, rows: Sequence[Row]) -> tuple[ShopOrder, ...]:
    if not rows:
        return ()
    currencies = {row["id"]: row["currency"] for row in rows}
    lines: dict[str, list[OrderLine]] = {order_id: [] for order_id in currencies}
    for line in tx.all(_LINES, orders=list(currencies)):
        order_id = line["order_id"]
        lines[order_id].append(
            OrderLine(
                name=line["name"],
                sku=line["sku"],
                quantity=line["quantity"],
                price=Money(line["price_minor"], currencies[order_id]),
                final_sale=bool(line["final_sale"]),
            )
        )
    return tuple(_order(row, lines[row["id"]]) for row in rows)


def _order(row: Row, lines: Sequence[OrderLine]) -> ShopOrder:
    return ShopOrder(
        id=row["id"],
        customer_id=CustomerId(row["customer_id"]),
        placed_at=from_micros(row["placed_at"]),
        total=Money(row["total_minor"], row["currency"]),
        paid=bool(row["paid"]),
        cancelled=bool(row["cancelled"]),
        fulfillment=row["fulfillment"],
        lines=tuple(lines),
    )
