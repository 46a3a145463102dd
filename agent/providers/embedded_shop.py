"""The shop in the desk's own database: the demo catalogue and imported orders."""

from dataclasses import dataclass

from typing_extensions import override

from agent.domain.ids import CustomerId
from agent.ports import Customer, Shop, ShopOrder
from storage import shop
from storage.transaction import Store


@dataclass(frozen=True, slots=True)
class CustomerOrders:
    """A customer with the newest of their orders."""

    customer: Customer
    orders: tuple[ShopOrder, ...]


class EmbeddedShop(Shop):
    """Shop over the desk's own tables; each call is one reading transaction of its own."""

    def __init__(self, store: Store) -> None:
        """Keep the store; the tables are filled by the demo or an import."""
        self._store = store

    @override
    def customer(self, customer_id: CustomerId) -> Customer | None:
        if not customer_id.isprintable():
            return None
        with self._store.transaction(write=False) as tx:
            return shop.customer(tx, customer_id)

    @override
    def order(self, reference: str) -> ShopOrder | None:
        stored = shop.reference_of(reference)
        if stored is None:
            return None
        with self._store.transaction(write=False) as tx:
            return shop.order(tx, stored)

    @override
    def orders_of(self, customer_id: CustomerId) -> tuple[ShopOrder, ...]:
        with self._store.transaction(write=False) as tx:
            return shop.orders_of(tx, [customer_id])

    def directory(self, words: str, limit: int) -> tuple[CustomerOrders, ...]:
        """Return at most `limit` customers, newest first, with their newest orders.

        `words`, unless blank, narrows it to names and e-mails that hold them, and to whoever has
        an order called so.
        """
        if not words.isprintable():
            return ()
        with self._store.transaction(write=False) as tx:
            found = (
                shop.find_customers(tx, words, limit)
                if words.strip()
                else shop.newest_customers(tx, limit)
            )
            orders = shop.orders_of(tx, [customer.id for customer in found])
        return tuple(
            CustomerOrders(one, tuple(o for o in orders if o.customer_id == one.id))
            for one in found
        )
