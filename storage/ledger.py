"""The embedded payment provider's own book: payments of orders, and what was paid back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, text

from agent.domain.money import Money
from agent.ports import ProviderRefund, ProviderStatus
from storage.outside_tables import ledger_payments, ledger_refunds
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_PAYMENTS = select(ledger_payments).where(
    ledger_payments.c.order_id.in_(bindparam("orders", expanding=True))
)
_LOCKED_PAYMENT = (
    select(ledger_payments)
    .where(ledger_payments.c.order_id == bindparam("order"))
    .with_for_update(key_share=True)
)
_SAVE_PAYMENTS = text(
    "INSERT INTO ledger_payments (order_id, currency, captured_minor, disputed)"
    " VALUES (:order_id, :currency, :captured_minor, :disputed)"
    " ON CONFLICT (order_id) DO UPDATE SET currency = excluded.currency,"
    " captured_minor = excluded.captured_minor"
)
_BOOK = select(ledger_refunds).order_by(ledger_refunds.c.created_at, ledger_refunds.c.id)
_REFUNDS = _BOOK.where(ledger_refunds.c.order_id.in_(bindparam("orders", expanding=True)))
_REFUND_BY_KEY = select(ledger_refunds).where(ledger_refunds.c.key == bindparam("refund_key"))
_PAID_BACK = (
    select(ledger_refunds.c.order_id, func.sum(ledger_refunds.c.amount_minor).label("minor"))
    .where(
        ledger_refunds.c.order_id.in_(bindparam("orders", expanding=True)),
        ledger_refunds.c.status != ProviderStatus.FAILED.value,
    )
    .group_by(ledger_refunds.c.order_id)
)
_ADD_REFUNDS = insert(ledger_refunds)


@dataclass(frozen=True, slots=True)
class Payment:
    """What was captured for an order, and whether the bank is settling a dispute about it."""

    order_id: str
    captured: Money
    disputed: bool


def payments(tx: Tx, order_ids: Sequence[str]) -> dict[str, Payment]:
    """Return the payments that exist, by order."""
    rows = tx.all(_PAYMENTS, orders=list(order_ids))
    return {row["order_id"]: _payment(row) for row in rows}


def lock_payment(tx: Tx, order_id: str) -> Payment | None:
    """Return the payment and hold it: nobody else refunds the order until this transaction ends."""
    row = tx.one(_LOCKED_PAYMENT, order=order_id)
    return None if row is None else _payment(row)


def save_payments(tx: Tx, changed: Sequence[Payment]) -> None:
    """Store what was captured, and hold these payments; `disputed` counts only for a new one."""
    rows = [
        {
            "order_id": payment.order_id,
            "currency": payment.captured.currency,
            "captured_minor": payment.captured.minor,
            "disputed": int(payment.disputed),
        }
        for payment in sorted(changed, key=lambda payment: payment.order_id)
    ]
    tx.put(_SAVE_PAYMENTS, *rows)


def refunds(tx: Tx, order_ids: Sequence[str]) -> tuple[ProviderRefund, ...]:
    """Return every refund of these orders, the oldest first."""
    return tuple(_refund(row) for row in tx.all(_REFUNDS, orders=list(order_ids)))


def book(tx: Tx) -> tuple[ProviderRefund, ...]:
    """Return every refund there is, the oldest first."""
    return tuple(_refund(row) for row in tx.all(_BOOK))


def refund_by_key(tx: Tx, key: str) -> ProviderRefund | None:
    """Return the refund made under a key."""
    row = tx.one(_REFUND_BY_KEY, refund_key=key)
    return None if row is None else _refund(row)


def paid_back(tx: Tx, order_ids: Sequence[str]) -> dict[str, int]:
    """Return the minor units paid back of each order that has a refund; failed ones left out."""
    rows = tx.all(_PAID_BACK, orders=list(order_ids))
    return {row["order_id"]: int(row["minor"]) for row in rows}


def add_refunds(tx: Tx, *new: ProviderRefund) -> None:
    """Enter refunds; raises Conflict when a key is taken or an order has no payment."""
    rows = [
        {
            "id": refund.id,
            "key": refund.key,
            "order_id": refund.order_id,
            "amount_minor": refund.amount.minor,
            "currency": refund.amount.currency,
            "status": refund.status.value,
            "created_at": to_micros(refund.at),
        }
        for refund in new
    ]
    tx.put(_ADD_REFUNDS, *rows)


def catch_up(tx: Tx, totals: Mapping[str, Money], at: datetime) -> None:
    """Enter what the shop says was paid back and the book does not show, one refund an order.

    `totals` is the whole sum paid back of each order, by whomever. Call it with these payments
    held (`save_payments`): a refund made meanwhile is then either counted or still to come.
    """
    shown = paid_back(tx, list(totals))
    missing = {
        order_id: Money(total.minor - shown.get(order_id, 0), total.currency)
        for order_id, total in totals.items()
        if total.minor > shown.get(order_id, 0)
    }
    add_refunds(
        tx,
        *(
            _outside_refund(order_id, totals[order_id], amount, at)
            for order_id, amount in missing.items()
        ),
    )


def _outside_refund(order_id: str, total: Money, amount: Money, at: datetime) -> ProviderRefund:
    # The sum that is reached makes the key: the same file can never be entered a second time.
    key = f"import-{order_id}-{total.minor}"
    return ProviderRefund(key, key, order_id, amount, ProviderStatus.SUCCEEDED, at)


def _payment(row: Row) -> Payment:
    captured = Money(row["captured_minor"], row["currency"])
    return Payment(row["order_id"], captured, bool(row["disputed"]))


def _refund(row: Row) -> ProviderRefund:
    return ProviderRefund(
        id=row["id"],
        key=row["key"],
        order_id=row["order_id"],
        amount=Money(row["amount_minor"], row["currency"]),
        status=ProviderStatus(row["status"]),
        at=from_micros(row["created_at"]),
    )
