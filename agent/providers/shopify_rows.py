"""One order of Shopify's export: from its rows to what they say, or what is wrong with them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.domain.money import Money, exponent, parse_money
from agent.ports import OrderLine
from storage.shop import reference_of

# Without `Refunded Amount` a refund made in the shop could be paid a second time.
REQUIRED = (
    "Name",
    "Email",
    "Financial Status",
    "Currency",
    "Total",
    "Refunded Amount",
    "Created at",
    "Lineitem quantity",
    "Lineitem name",
    "Lineitem price",
)
OPTIONAL = (
    "Fulfillment Status",
    "Cancelled at",
    "Billing Name",
    "Shipping Name",
    "Lineitem sku",
    "Outstanding Balance",
)
_ORDER_FIELDS = ("Financial Status", "Currency", "Total")

_FULLY_PAID = {"paid", "partially_refunded", "refunded"}
_PARTLY_PAID = {"partially_paid"}
_NOT_PAID = {"pending", "authorized", "voided", "expired", "unpaid"}

_EMAIL = re.compile(r"[^\s@,;<>\x00-\x1f\x7f]{1,64}@[^\s@,;<>\x00-\x1f\x7f]{1,189}")
_QUANTITY = re.compile(r"[0-9]{1,6}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_YEARS = range(1990, 2100)


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read or stored, and why; its whole order is left out.

    `row_number` is the line of the file, the header being 1; `order_name` is empty where the row
    does not tell; `field` is the column, or `row` and `header` for what is larger than one.
    """

    row_number: int
    order_name: str
    field: str
    problem: str

    @override
    def __str__(self) -> str:
        """Return the sentence for a person."""
        what = f"order {self.order_name}" if self.order_name else "it"
        return f"row {self.row_number}, {self.field}: {self.problem} ({what} is left out)"


@dataclass(frozen=True, slots=True)
class ImportedOrder:
    """An order as the export tells it, from line `row_number` to line `last_row` of the file.

    `refunded` is the whole sum paid back so far; `email` is in lower case.
    """

    row_number: int
    last_row: int
    name: str
    reference: str
    email: str
    customer_name: str
    placed_at: datetime
    total: Money
    captured: Money
    refunded: Money
    cancelled: bool
    fulfillment: str
    lines: tuple[OrderLine, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row by column; `broken` says why nothing but the name can be trusted."""

    number: int
    last: int
    cells: dict[str, str]
    broken: str = ""

    @property
    def name(self) -> str:
        """Return the order's number as the row has it."""
        return self.cells["Name"]

    def is_first(self) -> bool:
        """Tell whether the fields of an order stand on this row."""
        return any(self.cells.get(field) for field in _ORDER_FIELDS)

    def belongs_to(self, order_name: str) -> bool:
        """Tell whether the row goes on with an order; one without a proper name does."""
        nameless = not self.is_first() and reference_of(self.name) is None
        return nameless or self.name == order_name

    def check(self) -> None:
        """Raise InvalidInput if the row could not be read."""
        if self.broken:
            raise InvalidInput("row", self.broken)

    def need(self, field: str) -> str:
        """Return what stands in the column; raises InvalidInput if nothing does."""
        value = self.cells[field]
        if not value:
            raise InvalidInput(field, "is missing")
        return value

    def text(self, field: str, most: int) -> str:
        """Return words of at most `most` characters; raises InvalidInput for longer or odd ones."""
        value = self.cells[field]
        if len(value) > most:
            raise InvalidInput(field, f"is longer than {most} characters")
        if _CONTROL.search(value):
            raise InvalidInput(field, "holds control characters")
        return value

    def money(self, field: str, currency: str) -> Money:
        """Return an amount of zero or more; raises InvalidInput for anything else."""
        amount = parse_money(self.need(field), currency, field=field, padded=True)
        if amount.minor < 0:
            raise InvalidInput(field, f"{self.cells[field]} is negative")
        return amount

    def time(self, field: str) -> datetime:
        """Return the moment; raises InvalidInput for what is no date with time and zone."""
        value = self.need(field)
        try:
            moment = datetime.strptime(value, "%Y-%m-%d %H:%M:%S %z")
        except ValueError:
            moment = None
        if moment is None or moment.year not in _YEARS:
            raise InvalidInput(
                field, f"{value[:40]!r} is not a date such as 2026-10-01 08:00:00 +0000"
            )
        return moment.astimezone(UTC)


def read_group(rows: Sequence[Row]) -> Iterator[ImportedOrder | BadRow]:
    """Yield the order of these rows, or what is wrong with each of them."""
    first = rows[0]
    bad: list[BadRow] = []
    order: ImportedOrder | None = None
    lines: list[OrderLine] = []
    for row in rows:
        try:
            if row is first:
                order = _read_order(row, rows[-1].last)
            else:
                _check_following(row)
            if order is not None:
                lines.append(_read_line(row, order.total.currency))
        except InvalidInput as wrong:
            bad.append(BadRow(row.number, first.name[:40], wrong.field, wrong.problem))
    if order is None or bad:
        yield from bad
    else:
        yield replace(order, lines=tuple(lines))


def _read_order(row: Row, last_row: int) -> ImportedOrder:
    """Return what the first row tells of the order, as yet without lines."""
    row.check()
    reference = reference_of(row.need("Name"))
    if reference is None:
        raise InvalidInput("Name", f"{row.name[:40]!r} is not an order number such as #1001")
    if not row.is_first():
        raise InvalidInput("Financial Status", "the first row of the order is missing")
    email = row.need("Email").lower()
    if not _EMAIL.fullmatch(email):
        raise InvalidInput("Email", f"{email[:40]!r} is not an e-mail address")
    currency = row.need("Currency").upper()
    try:
        exponent(currency)
    except InvalidInput as unknown:
        raise InvalidInput("Currency", unknown.problem) from unknown
    total = row.money("Total", currency)
    captured = _captured(row, total)
    return ImportedOrder(
        row_number=row.number,
        last_row=last_row,
        name=row.name,
        reference=reference,
        email=email,
        customer_name=row.text("Billing Name", 200) or row.text("Shipping Name", 200) or email,
        placed_at=row.time("Created at"),
        total=total,
        captured=captured,
        refunded=_refunded(row, captured),
        cancelled=bool(row.cells["Cancelled at"]) and bool(row.time("Cancelled at")),
        fulfillment=row.text("Fulfillment Status", 40).lower() or "unfulfilled",
        lines=(),
    )


def _check_following(row: Row) -> None:
    row.check()
    row.need("Name")
    if row.is_first():
        raise InvalidInput("Name", "the order has begun already")


def _captured(row: Row, total: Money) -> Money:
    status = row.need("Financial Status").lower()
    if status in _FULLY_PAID:
        return total
    if status in _NOT_PAID:
        return Money(0, total.currency)
    if status not in _PARTLY_PAID:
        raise InvalidInput("Financial Status", f"{status[:40]!r} is not known")
    outstanding = row.money("Outstanding Balance", total.currency)
    if outstanding.exceeds(total):
        raise InvalidInput("Outstanding Balance", f"{outstanding} is more than the total {total}")
    return total.minus(outstanding)


def _refunded(row: Row, captured: Money) -> Money:
    field = "Refunded Amount"
    refunded = (
        row.money(field, captured.currency) if row.cells[field] else Money(0, captured.currency)
    )
    if refunded.exceeds(captured):
        raise InvalidInput(field, f"{refunded} is more than the {captured} that were paid")
    if refunded.minor == 0 and row.cells["Financial Status"].lower().endswith("refunded"):
        raise InvalidInput(field, f"is zero for an order that is {row.cells['Financial Status']}")
    return refunded


def _read_line(row: Row, currency: str) -> OrderLine:
    quantity = row.need("Lineitem quantity")
    if not _QUANTITY.fullmatch(quantity) or int(quantity) == 0:
        raise InvalidInput("Lineitem quantity", f"{quantity[:40]!r} is not a number from 1 up")
    row.need("Lineitem name")
    return OrderLine(
        name=row.text("Lineitem name", 300),
        sku=row.text("Lineitem sku", 100),
        quantity=int(quantity),
        price=row.money("Lineitem price", currency),
        final_sale=False,
    )
