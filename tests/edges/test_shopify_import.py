"""Importing an order export: twice doubles nothing, and no refund is lost or counted twice."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.ports import Accepted, RefundRequest
from agent.providers.demo_shop import seed_demo_shop
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.providers.shopify_csv import ImportReport, import_orders, read_orders
from storage.transaction import Store
from tests.support.doubles import START, CountingIds, HandClock
from tests.support.order_export import export, line, more, small_export
from tests.support.shared_data import full_export

CUSHIONS = RefundRequest("rd-1", ApprovalId("apr_1"), "#T1", Money(2000, "USD"))


@pytest.fixture
def payments(store: Store, clock: HandClock, ids: CountingIds) -> LedgerPayments:
    return LedgerPayments(store, clock, ids)


def load(store: Store, *lines: bytes) -> ImportReport:
    return import_orders(store, read_orders(lines), START, lambda _: None)


def refunded(payments: LedgerPayments, order_id: str = "#T1") -> list[int]:
    return sorted(one.amount.minor for one in payments.view(order_id, "USD").refunds)


def test_orders_customers_and_refunds_are_stored(store: Store, payments: LedgerPayments) -> None:
    assert load(store, *small_export()) == ImportReport(9, 0, 0, [])
    shop = EmbeddedShop(store)
    slippers, lamp, kettle = (shop.order(name) for name in ("S2001", "S2002", "S2003"))
    assert slippers is not None
    assert lamp is not None
    assert kettle is not None
    nora = shop.customer(slippers.customer_id)
    assert nora is not None
    assert (nora.name, nora.email) == ("Nora Lind", "nora.lind@example.com")
    assert nora.id == "cus_05b763f579d933bd"
    assert shop.orders_of(nora.id) == (lamp, slippers)
    assert (slippers.id, slippers.paid, len(slippers.lines)) == ("#S2001", True, 2)
    assert (kettle.paid, kettle.cancelled) == (False, True)
    view = payments.view("#S2002", "USD")
    assert view.captured == Money(12000, "USD")
    assert [(one.key, one.amount) for one in view.refunds] == [
        ("import-#S2002-2000", Money(2000, "USD"))
    ]
    assert payments.view("#S2004", "USD").captured == Money(0, "USD")


def test_the_same_file_again_changes_nothing(store: Store, payments: LedgerPayments) -> None:
    load(store, *small_export())
    before = (EmbeddedShop(store).directory("", 50), payments.book())
    assert load(store, *small_export()) == ImportReport(0, 9, 0, [])
    assert (EmbeddedShop(store).directory("", 50), payments.book()) == before


def test_a_bad_order_is_left_out_and_the_others_are_stored(store: Store) -> None:
    report = load(store, *export(line(Total="x"), more(), line(Name="#T2")))
    assert (report.added, len(report.bad)) == (1, 1)
    assert EmbeddedShop(store).order("T1") is None
    assert EmbeddedShop(store).order("T2") is not None


def test_a_changed_order_is_stored_as_the_file_has_it_now(
    store: Store, payments: LedgerPayments
) -> None:
    load(store, *export(line(Financial_Status="pending", Fulfillment_Status=""), more()))
    assert payments.view("#T1", "USD").captured == Money(0, "USD")
    assert load(store, *export(line(Total="95.00"))) == ImportReport(0, 0, 1, [])
    order = EmbeddedShop(store).order("T1")
    assert order is not None
    assert (order.total, order.fulfillment) == (Money(9500, "USD"), "fulfilled")
    assert [one.name for one in order.lines] == ["Cushion"]
    assert payments.view("#T1", "USD").captured == Money(9500, "USD")


def test_an_order_keeps_the_number_it_first_came_with(store: Store) -> None:
    load(store, *export(line()))
    assert load(store, *export(line(Name="t1"))) == ImportReport(0, 1, 0, [])
    order = EmbeddedShop(store).order("T1")
    assert order is not None
    assert order.id == "#T1"


def test_a_higher_refunded_amount_adds_the_difference(
    store: Store, payments: LedgerPayments
) -> None:
    load(store, *export(line(Refunded_Amount="10.00")))
    again = export(line(Refunded_Amount="25.00"))
    assert load(store, *again) == ImportReport(0, 0, 1, [])
    assert load(store, *again) == ImportReport(0, 1, 0, [])
    assert refunded(payments) == [1000, 1500]


def test_a_lower_refunded_amount_takes_nothing_away(store: Store, payments: LedgerPayments) -> None:
    load(store, *export(line(Refunded_Amount="25.00")))
    assert load(store, *export(line(Refunded_Amount="10.00"))) == ImportReport(0, 1, 0, [])
    assert refunded(payments) == [2500]


@pytest.mark.parametrize(
    ("shown", "refunds"),
    [
        # Exported before the desk paid 20.00, or by a shop that has not heard of it.
        ("0.00", [2000]),
        # Exported after it.
        ("20.00", [2000]),
        # Exported after it and after 15.00 more that were paid back outside the desk.
        ("35.00", [1500, 2000]),
    ],
)
def test_a_refund_of_the_desk_is_neither_lost_nor_counted_twice(
    store: Store, payments: LedgerPayments, shown: str, refunds: list[int]
) -> None:
    load(store, *export(line()))
    assert isinstance(payments.refund(CUSHIONS), Accepted)
    for _ in range(2):
        load(store, *export(line(Refunded_Amount=shown)))
        assert refunded(payments) == refunds
    answer = payments.refund(CUSHIONS)
    assert isinstance(answer, Accepted)
    assert answer.replayed


def test_an_import_and_a_refund_of_the_desk_add_up(store: Store, payments: LedgerPayments) -> None:
    load(store, *export(line(Refunded_Amount="10.00")))
    payments.refund(CUSHIONS)
    load(store, *export(line(Refunded_Amount="30.00")))
    assert refunded(payments) == [1000, 2000]
    rest = replace(CUSHIONS, key="rd-2", amount=Money(5000, "USD"))
    assert isinstance(payments.refund(rest), Accepted)


def test_an_order_of_the_demo_is_never_overwritten(store: Store) -> None:
    seed_demo_shop(store, START)
    before = EmbeddedShop(store).order("ORD-1001")
    report = load(store, *export(line(Name="#ord-1001"), line(Name="#T2")))
    assert report.added == 1
    (row,) = report.bad
    assert (row.row_number, row.order_name) == (2, "#ord-1001")
    assert row.problem == "the number belongs to an order that came from the demo"
    assert EmbeddedShop(store).order("ORD-1001") == before


def test_an_order_never_changes_its_currency(store: Store) -> None:
    load(store, *export(line()))
    (row,) = load(store, *export(line(Currency="EUR"))).bad
    assert (row.field, row.problem) == ("Currency", "the order is known in USD already")


def test_an_order_may_move_to_another_address(store: Store) -> None:
    load(store, *export(line()))
    assert load(store, *export(line(Email="new@example.com"))).updated == 1
    order = EmbeddedShop(store).order("T1")
    assert order is not None
    owner = EmbeddedShop(store).customer(order.customer_id)
    assert owner is not None
    assert owner.email == "new@example.com"


def test_a_customer_of_the_demo_is_known_by_the_address(store: Store) -> None:
    seed_demo_shop(store, START)
    load(store, *export(line(Email="Ben.Ortiz@example.com")))
    order = EmbeddedShop(store).order("T1")
    assert order is not None
    assert order.customer_id == "cus_ben"


def test_progress_counts_the_lines_of_the_file(store: Store) -> None:
    rows = [line(Name=f"#T{number}") for number in range(250)]
    rows[220:220] = [line(Name="#X", Total="x")]
    seen: list[int] = []
    report = import_orders(store, read_orders(export(*rows)), START, seen.append)
    assert seen == [201, 252]
    assert (report.added, len(report.bad)) == (250, 1)


def test_imports_of_one_file_at_once_store_it_once(store: Store, payments: LedgerPayments) -> None:
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: load(store, *small_export()), range(4)))
    assert [report.bad for report in reports] == [[]] * 4
    assert sorted(refund.key for refund in payments.book()) == [
        "import-#S2002-2000",
        "import-#S2003-6400",
    ]
    assert load(store, *small_export()) == ImportReport(0, 9, 0, [])


def test_the_full_export_comes_in_once(store: Store, payments: LedgerPayments) -> None:
    for expected in (ImportReport(1000, 0, 0, []), ImportReport(0, 1000, 0, [])):
        with full_export().open("rb") as lines:
            assert import_orders(store, read_orders(lines), START, lambda _: None) == expected
    assert len(payments.book()) == 102
    order = EmbeddedShop(store).order("#W2611340")
    assert order is not None
    assert [one.name for one in order.lines if "Office Chair" in one.name] == [
        "Office Chair - fabric / black / fixed / standard"
    ]
