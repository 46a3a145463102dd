"""Customers for whom nothing runs without a person, and why."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, select, text

from agent.domain.ids import ApprovalId, CustomerId
from storage.tables import automatic_pauses
from storage.times import from_micros, to_micros
from storage.transaction import Tx

_PAUSE = text(
    "INSERT INTO automatic_pauses (customer_id, since, reason, approval_id) "
    "VALUES (:customer, :since, :reason, :approval) ON CONFLICT (customer_id) DO UPDATE "
    "SET reason = automatic_pauses.reason || '; ' || excluded.reason"
)
_REASON = select(automatic_pauses.c.reason).where(
    automatic_pauses.c.customer_id == bindparam("customer")
)
_LIFT = delete(automatic_pauses).where(automatic_pauses.c.customer_id == bindparam("customer"))
_ALL = select(automatic_pauses).order_by(automatic_pauses.c.since, automatic_pauses.c.customer_id)


@dataclass(frozen=True, slots=True)
class Pause:
    """One customer whose automatic path is paused since a flag or a review."""

    customer_id: CustomerId
    since: datetime
    reason: str
    approval_id: ApprovalId


def pause(tx: Tx, paused: Pause) -> None:
    """Pause a customer's automatic path; of one that is paused, the reasons add up."""
    tx.change(
        _PAUSE,
        customer=paused.customer_id,
        since=to_micros(paused.since),
        reason=paused.reason,
        approval=paused.approval_id,
    )


def reason(tx: Tx, customer_id: CustomerId) -> str | None:
    """Return why the customer's automatic path is paused, None when it is not."""
    row = tx.one(_REASON, customer=customer_id)
    return None if row is None else str(row["reason"])


def lift(tx: Tx, customer_id: CustomerId) -> bool:
    """Let the customer's automatic path run again; False when it was not paused."""
    return tx.change(_LIFT, customer=customer_id) == 1


def everyone(tx: Tx) -> tuple[Pause, ...]:
    """Return every pause, oldest first."""
    return tuple(
        Pause(
            CustomerId(row["customer_id"]),
            from_micros(row["since"]),
            row["reason"],
            ApprovalId(row["approval_id"]),
        )
        for row in tx.all(_ALL)
    )
