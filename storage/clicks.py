"""Clicks that wait for something outside the database: rows of the outbox, in their own lane."""

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import bindparam, select, update

from storage.outbox import OutboxRow, lease, read_row
from storage.tables import outbox
from storage.times import to_micros
from storage.transaction import Tx

LANE = "click"
_DUE = (
    select(outbox)
    .where(outbox.c.lane == LANE, outbox.c.next_at <= bindparam("now"))
    .order_by(outbox.c.next_at, outbox.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_PASS_ON = update(outbox).where(outbox.c.id == bindparam("row_id")).values(next_at=bindparam("now"))
_RELEASE = (
    update(outbox)
    .where(
        outbox.c.lane == LANE,
        outbox.c.lease_owner == bindparam("owner"),
        outbox.c.next_at > bindparam("now"),
    )
    .values(next_at=bindparam("now"))
)


def claim(tx: Tx, owner: str, now: datetime, lasting: timedelta) -> OutboxRow | None:
    """Take the click that has been due longest; it comes due again if the lease runs out.

    `attempts` of the row counts this try.
    """
    row = tx.one(_DUE, now=to_micros(now))
    if row is None:
        return None
    taken = read_row(row)
    lease(tx, taken.id, owner, now + lasting)
    return replace(taken, attempts=taken.attempts + 1)


def pass_on(tx: Tx, row_id: str, now: datetime) -> None:
    """Make due at once what this process had taken, so that a worker goes on with it."""
    tx.change(_PASS_ON, row_id=row_id, now=to_micros(now))


def release(tx: Tx, owner: str, now: datetime) -> int:
    """Make due what a dead replica had taken."""
    return tx.change(_RELEASE, owner=owner, now=to_micros(now))
