"""The shop in the desk's own database, as the port promises it."""

from datetime import datetime, timedelta

from agent.domain.ids import CustomerId
from agent.domain.money import Money
from agent.ports import Customer, OrderLine, ShopOrder
from agent.providers.embedded_shop import EmbeddedShop
from storage import shop as stored
from storage.shop import NewCustomer
from storage.transaction import Store
from tests.support.doubles import START

NORA = Customer(CustomerId("cus_nora"), "Nora Lind", "nora.lind@example.com")
PETE = Customer(CustomerId("cus_pete"), "Pete 100% Grant", "pete_grant@example.com")


def an_order(name: str, customer: Customer = NORA, at: datetime = START) -> ShopOrder:
    return ShopOrder(
        id=name,
        customer_id=customer.id,
        placed_at=at,
        total=Money(8000, "USD"),
        paid=True,
        cancelled=False,
        fulfillment="fulfilled",
        lines=(
            OrderLine("Cushion", "CSH-1", 2, Money(2500, "USD"), final_sale=False),
            OrderLine("Blanket", "", 1, Money(3000, "USD"), final_sale=True),
        ),
    )


def save(store: Store, *orders: ShopOrder) -> EmbeddedShop:
    with store.transaction() as tx:
        stored.ensure_customers(
            tx, [NewCustomer(NORA, START), NewCustomer(PETE, START + timedelta(days=1))]
        )
        stored.save_orders(
            tx, {stored.reference_of(one.id) or "": one for one in orders}, source="shopify"
        )
    return EmbeddedShop(store)


def test_an_order_is_found_however_a_person_writes_it(store: Store) -> None:
    order = an_order("#W2611340")
    shop = save(store, order, an_order("#W2611341"))
    written = ["#W2611340", "W2611340", "w2611340", "  #w2611340 ", "#w2611340\n"]
    assert [shop.order(reference) for reference in written] == [order] * 5


def test_what_is_no_order_is_none(store: Store) -> None:
    shop = save(store, an_order("#W2611340"))
    written = ["", "#", "##W2611340", "W26113401", "W261134", "W2611340\x00", "\ud800", "W'; --"]
    assert [shop.order(reference) for reference in (*written, "%", "x" * 99)] == [None] * 10


def test_a_customer_is_found_by_id(store: Store) -> None:
    shop = save(store)
    assert shop.customer(NORA.id) == NORA
    assert shop.customer(CustomerId("cus_nobody")) is None
    assert shop.customer(CustomerId("cus\x00")) is None


def test_orders_of_a_customer_come_newest_first_and_at_most_fifty(store: Store) -> None:
    orders = [an_order(f"N-{n}", at=START + timedelta(hours=n)) for n in range(52)]
    shop = save(store, *orders, an_order("P-1", PETE))
    assert shop.orders_of(NORA.id) == tuple(reversed(orders[2:]))
    assert shop.orders_of(PETE.id) == (an_order("P-1", PETE),)
    assert shop.orders_of(CustomerId("cus_nobody")) == ()


def test_a_saved_order_replaces_what_was_there(store: Store) -> None:
    save(store, an_order("N-1"))
    changed = ShopOrder(
        id="N-1",
        customer_id=PETE.id,
        placed_at=START + timedelta(days=2),
        total=Money(100, "EUR"),
        paid=False,
        cancelled=True,
        fulfillment="unfulfilled",
        lines=(OrderLine("Vase", "VAS-1", 1, Money(100, "EUR"), final_sale=False),),
    )
    assert save(store, changed).order("N-1") == changed


def test_a_known_address_keeps_its_customer(store: Store) -> None:
    save(store)
    again = Customer(CustomerId("cus_other"), "N. Lind", NORA.email)
    with store.transaction() as tx:
        assert stored.ensure_customers(tx, [NewCustomer(again, START)]) == {NORA.email: NORA.id}
    assert EmbeddedShop(store).customer(NORA.id) == NORA
    assert EmbeddedShop(store).customer(again.id) is None


def test_the_directory_shows_the_newest_customers_with_their_orders(store: Store) -> None:
    shop = save(store, an_order("N-1"), an_order("P-1", PETE))
    found = shop.directory("", 50)
    assert [(one.customer, [o.id for o in one.orders]) for one in found] == [
        (PETE, ["P-1"]),
        (NORA, ["N-1"]),
    ]
    assert [one.customer for one in shop.directory(" ", 1)] == [PETE]


def test_the_directory_can_be_searched(store: Store) -> None:
    shop = save(store, an_order("N-1"), an_order("P-1", PETE))
    nora, pete = NORA.name, PETE.name
    wanted = {
        "LIND": [nora],
        "example.com": [pete, nora],
        "#n-1": [nora],
        "n-": [],
        "100%": [pete],
        "%": [pete],
        "e_g": [pete],
        "\\": [],
        "nobody": [],
        "\x00": [],
    }
    found = {words: [one.customer.name for one in shop.directory(words, 50)] for words in wanted}
    assert found == wanted
