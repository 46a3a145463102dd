"""The demo catalogue shows every case that the desk has to deal with."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.money import Money
from agent.ports import Accepted, PaymentView, RefundRequest, ShopOrder
from agent.providers.demo_shop import seed_demo_shop
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from storage.transaction import Store
from tests.support.doubles import START, CountingIds, HandClock


@pytest.fixture
def payments(store: Store, clock: HandClock, ids: CountingIds) -> LedgerPayments:
    seed_demo_shop(store, clock.now())
    return LedgerPayments(store, clock, ids)


@pytest.fixture
def orders(store: Store, payments: LedgerPayments) -> list[tuple[ShopOrder, PaymentView]]:
    found = EmbeddedShop(store).directory("", 50)
    return [
        (order, payments.view(order.id, order.total.currency))
        for one in found
        for order in one.orders
    ]


def left(view: PaymentView) -> int:
    return view.captured.minor - sum(one.amount.minor for one in view.refunds)


def is_plain(order: ShopOrder, view: PaymentView) -> bool:
    usual = order.total.currency == "USD" and order.paid and not view.disputed
    return usual and order.final_sale_total().minor == 0 and left(view) >= 800


def test_there_are_enough_orders_and_customers(
    orders: list[tuple[ShopOrder, PaymentView]],
) -> None:
    assert len(orders) >= 16
    assert len({order.customer_id for order, _ in orders}) >= 5
    assert len({order.id for order, _ in orders}) == len(orders)


CASES: dict[str, Callable[[ShopOrder, PaymentView], bool]] = {
    "over 500": lambda order, _: (
        order.total.currency == "USD" and 50000 < order.total.minor <= 200000
    ),
    "over 2,000": lambda order, _: order.total.currency == "USD" and order.total.minor > 200000,
    "partly refunded": lambda order, view: 0 < left(view) < order.total.minor,
    "final sale as a whole": lambda order, _: order.final_sale_total() == order.total,
    "final sale in part": lambda order, _: 0 < order.final_sale_total().minor < order.total.minor,
    "cancelled and never paid": lambda order, view: (
        order.cancelled and not order.paid and view.captured.minor == 0
    ),
    "euro": lambda order, view: order.total.currency == "EUR" and left(view) > 0,
    "yen": lambda order, view: order.total.currency == "JPY" and left(view) > 0,
    "disputed": lambda order, view: view.disputed and left(view) == order.total.minor,
    "an approver's, over the limit": lambda order, _: (
        order.customer_id == "cus_ben" and 5000 < order.total.minor <= 50000
    ),
}


def test_each_case_has_an_order(orders: list[tuple[ShopOrder, PaymentView]]) -> None:
    shown = {name for name, case in CASES.items() if any(case(*order) for order in orders)}
    assert shown == set(CASES)


def test_the_first_order_is_a_chair(store: Store, payments: LedgerPayments) -> None:
    chair = EmbeddedShop(store).order("ORD-1001")
    assert chair is not None
    assert chair.total == Money(16000, "USD")
    assert [line.quantity for line in chair.lines if "chair" in line.name] == [1]
    assert left(payments.view("ORD-1001", "USD")) == 16000


def test_one_customer_has_two_open_orders(orders: list[tuple[ShopOrder, PaymentView]]) -> None:
    waiting = Counter(
        order.customer_id
        for order, view in orders
        if order.fulfillment == "unfulfilled" and is_plain(order, view)
    )
    assert waiting == {"cus_david": 2}


def test_small_refunds_can_be_spread_over_three_customers(
    orders: list[tuple[ShopOrder, PaymentView]],
) -> None:
    plain = Counter(order.customer_id for order, view in orders if is_plain(order, view))
    three = plain.most_common(3)
    assert len(three) == 3
    assert sum(count for _, count in three) >= 8


def test_the_approver_shops_as_a_customer(store: Store, payments: LedgerPayments) -> None:
    ben = EmbeddedShop(store).customer(CustomerId("cus_ben"))
    assert ben is not None
    assert ben.name == "Ben Ortiz"
    assert payments.view("ORD-1008", "USD").captured == Money(12900, "USD")


def test_orders_were_placed_in_the_last_weeks(
    orders: list[tuple[ShopOrder, PaymentView]],
) -> None:
    assert all(
        START - timedelta(days=30) < order.placed_at < START - timedelta(hours=12)
        for order, _ in orders
    )
    assert all(
        order.placed_at < refund.at < START for order, view in orders for refund in view.refunds
    )


def test_customers_are_listed_as_the_catalogue_has_them(
    store: Store, payments: LedgerPayments
) -> None:
    assert payments.book()
    names = [one.customer.name for one in EmbeddedShop(store).directory("", 50)]
    assert names[:2] == ["Clara Nguyen", "David Okafor"]


def test_a_second_start_changes_nothing(
    store: Store, payments: LedgerPayments, clock: HandClock
) -> None:
    paid = payments.refund(
        RefundRequest("rd-1", ApprovalId("apr_1"), "ORD-1001", Money(500, "USD"))
    )
    assert isinstance(paid, Accepted)
    before = (EmbeddedShop(store).directory("", 50), payments.book())
    clock.advance(days=3)
    seed_demo_shop(store, clock.now())
    assert (EmbeddedShop(store).directory("", 50), payments.book()) == before
