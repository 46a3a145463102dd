"""Orders out of Shopify's order export: the reader, and the half that stores them.

The export has one row a line item; the fields of the order stand on its first row alone. It does
not tell which items were sold finally, nor which payments are disputed.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import BinaryIO, Literal

from agent.domain.ids import CustomerId
from agent.ports import Customer, ShopOrder
from agent.providers.csv_records import Broken, Record, records
from agent.providers.shopify_rows import (
    OPTIONAL,
    REQUIRED,
    BadRow,
    ImportedOrder,
    Row,
    read_group,
)
from storage import ledger, shop
from storage.shop import NewCustomer, StoredOrder
from storage.transaction import Store, Tx

SOURCE = "shopify"

_BATCH = 200


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How many orders were new, the same as before, or changed; and the rows left out."""

    added: int
    unchanged: int
    updated: int
    bad: list[BadRow]


def count_lines(file: BinaryIO) -> int:
    """Return how many lines a file has, the number that `import_orders` counts up to."""
    return sum(1 for _ in file)


def read_orders(lines: Iterable[bytes]) -> Iterator[ImportedOrder | BadRow]:
    """Read an export line by line, holding one order at a time.

    Whatever cannot be read is a BadRow, at least one for each order that is left out, and reading
    goes on with the next order. A header that will not do is one BadRow and the end.
    """
    rows = records(lines)
    columns = _columns(next(rows, None))
    if isinstance(columns, BadRow):
        yield columns
        return
    seen: dict[str, int] = {}
    for group in _groups(_row(record, columns) for record in rows):
        first = group[0]
        reference = shop.reference_of(first.name)
        if reference is not None and reference in seen:
            problem = f"the order stands in row {seen[reference]} already"
            yield BadRow(first.number, first.name, "Name", problem)
            continue
        if reference is not None:
            seen[reference] = first.number
        yield from read_group(group)


def _columns(header: Record | Broken | None) -> dict[str, int] | BadRow:
    """Return where each column of interest stands."""
    if header is None:
        return BadRow(1, "", "header", "the file is empty")
    if isinstance(header, Broken):
        return BadRow(header.number, "", "header", header.problem)
    names = [cell.strip() for cell in header.cells]
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        problem = f"this is no order export: there is no column {', '.join(missing)}"
        return BadRow(header.number, "", "header", problem)
    twice = [name for name in (*REQUIRED, *OPTIONAL) if names.count(name) > 1]
    if twice:
        return BadRow(header.number, "", "header", f"two columns are called {', '.join(twice)}")
    return {name: names.index(name) for name in (*REQUIRED, *OPTIONAL) if name in names}


def _row(record: Record | Broken, columns: dict[str, int]) -> Row:
    cells = dict.fromkeys((*REQUIRED, *OPTIONAL), "")
    if isinstance(record, Broken):
        cells["Name"] = record.start[:40]
        return Row(record.number, record.number, cells, record.problem)
    for name, index in columns.items():
        cells[name] = " ".join(record.cells[index].split())
    return Row(record.number, record.last, cells)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows of one order after the other."""
    group: list[Row] = []
    for row in rows:
        if group and not row.belongs_to(group[0].name):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


_Outcome = Literal["added", "unchanged", "updated"]


def import_orders(
    store: Store,
    orders: Iterable[ImportedOrder | BadRow],
    now: datetime,
    on_progress: Callable[[int], None],
) -> ImportReport:
    """Store what `read_orders` yields, in transactions of 200 orders; returns what became of it.

    `on_progress` is told after each of them how many lines of the file are done (`count_lines`
    says how many there are). An import that was cut short is finished by starting it again.

    An order is known by its number, a customer by the e-mail address; a known customer keeps id
    and name. The same file again changes nothing; an order that changed is stored as the file has
    it now. An order of the demo catalogue is never overwritten.

    Refunds: `Refunded Amount` is the whole sum ever paid back on the order, by whomever, refunds
    of the desk included, for they go through the same payment provider. The book of refunds is
    only ever added to: what the file shows above the sum of all refunds in the book was paid back
    outside the desk, and becomes one more refund under a key made of the order and that sum. So a
    refund of the desk is never removed, and never counted twice, whether the file was exported
    before it (the file shows less: nothing to add) or after it (the file shows it: nothing more).
    """
    outcomes: Counter[_Outcome] = Counter()
    bad: list[BadRow] = []
    for batch in _batches(orders):
        good = [one for one in batch if isinstance(one, ImportedOrder)]
        bad += [one for one in batch if isinstance(one, BadRow)]
        with store.transaction() as tx:
            stored = _store(tx, good, now)
        for outcome in stored:
            if isinstance(outcome, BadRow):
                bad.append(outcome)
            else:
                outcomes[outcome] += 1
        last = batch[-1]
        on_progress(last.last_row if isinstance(last, ImportedOrder) else last.row_number)
    return ImportReport(outcomes["added"], outcomes["unchanged"], outcomes["updated"], bad)


def customer_id_of(email: str) -> CustomerId:
    """Return the id that a customer gets at the first import: the same for the same address."""
    return CustomerId(f"cus_{hashlib.sha256(email.lower().encode()).hexdigest()[:16]}")


def _batches(
    orders: Iterable[ImportedOrder | BadRow],
) -> Iterator[list[ImportedOrder | BadRow]]:
    rest = iter(orders)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _store(tx: Tx, batch: Sequence[ImportedOrder], now: datetime) -> list[_Outcome | BadRow]:
    known = shop.orders_by_reference(tx, [order.reference for order in batch])
    outcomes: list[_Outcome | BadRow] = []
    taken: list[ImportedOrder] = []
    for order in batch:
        clash = _clash(order, known.get(order.reference))
        if clash is None:
            taken.append(order)
        else:
            outcomes.append(clash)
    owners = shop.ensure_customers(tx, _customers(taken))
    pairs = [(one, _shop_order(one, known.get(one.reference), owners)) for one in taken]
    unchanged = _unchanged(tx, pairs, known)
    changed = [(told, order) for told, order in pairs if order.id not in unchanged]
    _save(tx, changed, now)
    outcomes += ["unchanged"] * len(unchanged)
    outcomes += ["updated" if told.reference in known else "added" for told, _ in changed]
    return outcomes


def _clash(told: ImportedOrder, stored: StoredOrder | None) -> BadRow | None:
    """Return why an order may not replace what is stored under its number."""
    if stored is None:
        return None
    if stored.source != SOURCE:
        problem = f"the number belongs to an order that came from the {stored.source}"
        return BadRow(told.row_number, told.name, "Name", problem)
    currency = stored.order.total.currency
    if told.total.currency != currency:
        problem = f"the order is known in {currency} already"
        return BadRow(told.row_number, told.name, "Currency", problem)
    return None


def _customers(orders: Sequence[ImportedOrder]) -> list[NewCustomer]:
    """Return who stands behind the orders, each once, a customer since the first of them."""
    found: dict[str, NewCustomer] = {}
    for order in sorted(orders, key=lambda order: order.placed_at):
        if order.email not in found:
            customer = Customer(customer_id_of(order.email), order.customer_name, order.email)
            found[order.email] = NewCustomer(customer, order.placed_at)
    return list(found.values())


def _shop_order(
    told: ImportedOrder, stored: StoredOrder | None, owners: Mapping[str, CustomerId]
) -> ShopOrder:
    return ShopOrder(
        id=told.name if stored is None else stored.order.id,
        customer_id=owners[told.email],
        placed_at=told.placed_at,
        total=told.total,
        paid=told.captured.minor > 0 and not told.cancelled,
        cancelled=told.cancelled,
        fulfillment=told.fulfillment,
        lines=told.lines,
    )


def _unchanged(
    tx: Tx, pairs: Sequence[tuple[ImportedOrder, ShopOrder]], known: Mapping[str, StoredOrder]
) -> set[str]:
    """Return the ids of the orders of which the file tells nothing new."""
    ids = [order.id for _, order in pairs]
    payments, paid_back = ledger.payments(tx, ids), ledger.paid_back(tx, ids)

    def is_known(told: ImportedOrder, order: ShopOrder) -> bool:
        stored, payment = known.get(told.reference), payments.get(order.id)
        return (
            stored is not None
            and stored.order == order
            and payment is not None
            and payment.captured == told.captured
            and told.refunded.minor <= paid_back.get(order.id, 0)
        )

    return {order.id for told, order in pairs if is_known(told, order)}


def _save(tx: Tx, pairs: Sequence[tuple[ImportedOrder, ShopOrder]], now: datetime) -> None:
    shop.save_orders(tx, {told.reference: order for told, order in pairs}, SOURCE)
    payments = [ledger.Payment(order.id, told.captured, disputed=False) for told, order in pairs]
    ledger.save_payments(tx, payments)
    ledger.catch_up(tx, {order.id: told.refunded for told, order in pairs}, now)
