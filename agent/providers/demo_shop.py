"""The demo catalogue: a small invented shop, ShopStream, whose orders show every case."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from agent.domain.ids import CustomerId
from agent.domain.money import Money, parse_money
from agent.ports import Customer, OrderLine, ShopOrder
from storage import ledger, shop
from storage.shop import NewCustomer
from storage.transaction import Store

SOURCE = "demo"

_CATALOGUE = Path(__file__).with_name("demo_shop.yml")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Line(_Strict):
    name: str
    sku: str
    price: str
    quantity: int = 1
    final_sale: bool = False


class _Order(_Strict):
    id: str
    hours_ago: int
    lines: list[_Line]
    currency: str = "USD"
    fulfillment: str = "fulfilled"
    paid: bool = True
    cancelled: bool = False
    disputed: bool = False
    refunded: str | None = None
    refunded_hours_ago: int = 0

    def money(self, text: str) -> Money:
        """Return an amount in the order's currency."""
        return parse_money(text, self.currency)

    def sold(self, customer_id: CustomerId, now: datetime) -> ShopOrder:
        """Return the order as the shop shows it."""
        lines = tuple(
            OrderLine(one.name, one.sku, one.quantity, self.money(one.price), one.final_sale)
            for one in self.lines
        )
        total = sum(line.price.minor * line.quantity for line in lines)
        return ShopOrder(
            id=self.id,
            customer_id=customer_id,
            placed_at=now - timedelta(hours=self.hours_ago),
            total=Money(total, self.currency),
            paid=self.paid,
            cancelled=self.cancelled,
            fulfillment=self.fulfillment,
            lines=lines,
        )


class _Customer(_Strict):
    id: str
    name: str
    email: str
    orders: list[_Order]


class _Catalogue(_Strict):
    customers: list[_Customer]

    def newcomers(self, now: datetime) -> Iterator[NewCustomer]:
        """Yield the customers, each a minute older than the one before: lists keep their order."""
        for age, one in enumerate(self.customers):
            customer = Customer(CustomerId(one.id), one.name, one.email)
            yield NewCustomer(customer, now - timedelta(minutes=age))


def seed_demo_shop(store: Store, now: datetime) -> None:
    """Store the demo catalogue, its orders placed in the weeks before `now`.

    What is there already stays as it is, with its dates and with whatever was refunded since.
    """
    catalogue = _catalogue()
    with store.transaction() as tx:
        owners = shop.ensure_customers(tx, list(catalogue.newcomers(now)))
        references = [order.id for one in catalogue.customers for order in one.orders]
        known = shop.orders_by_reference(tx, references)
        fresh = [
            (order, order.sold(owners[one.email], now))
            for one in catalogue.customers
            for order in one.orders
            if order.id not in known
        ]
        shop.save_orders(tx, {sold.id: sold for _, sold in fresh}, SOURCE)
        captured = [
            ledger.Payment(sold.id, sold.total if sold.paid else order.money("0"), order.disputed)
            for order, sold in fresh
        ]
        ledger.save_payments(tx, captured)
        for order, sold in fresh:
            if order.refunded is None:
                continue
            at = now - timedelta(hours=order.refunded_hours_ago)
            ledger.catch_up(tx, {sold.id: order.money(order.refunded)}, at)


@cache
def _catalogue() -> _Catalogue:
    """Read the catalogue, once in a process."""
    return _Catalogue.model_validate(yaml.safe_load(_CATALOGUE.read_text("utf-8")))
