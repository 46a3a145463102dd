"""The embedded shop's own book of fraud signals."""

import json

from sqlalchemy import bindparam, insert, select

from agent.domain.fraud import FlagAction
from agent.domain.ids import CustomerId
from agent.ports import FlagRecord
from storage.outside_tables import fraud_flags
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_ADD = insert(fraud_flags)
_BY_KEY = select(fraud_flags).where(fraud_flags.c.key == bindparam("flag_key"))
_ALL = select(fraud_flags).order_by(fraud_flags.c.created_at, fraud_flags.c.id)


def add(tx: Tx, flag: FlagRecord) -> None:
    """Enter a flag; raises Conflict when its key is there."""
    tx.put(
        _ADD,
        {
            "id": flag.id,
            "key": flag.key,
            "customer_id": flag.customer_id,
            "order_id": flag.order_id,
            "score": flag.score,
            "action": flag.action.value,
            "signals": json.dumps(flag.signals),
            "created_at": to_micros(flag.at),
        },
    )


def by_key(tx: Tx, key: str) -> FlagRecord | None:
    """Return the flag of a key."""
    row = tx.one(_BY_KEY, flag_key=key)
    return None if row is None else _read(row)


def book(tx: Tx) -> tuple[FlagRecord, ...]:
    """Return every flag, oldest first."""
    return tuple(_read(row) for row in tx.all(_ALL))


def _read(row: Row) -> FlagRecord:
    return FlagRecord(
        id=row["id"],
        key=row["key"],
        customer_id=CustomerId(row["customer_id"]),
        order_id=row["order_id"],
        score=row["score"],
        action=FlagAction(row["action"]),
        signals=tuple(json.loads(row["signals"])),
        at=from_micros(row["created_at"]),
    )
