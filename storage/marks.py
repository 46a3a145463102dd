"""Moments that all replicas agree on: when something that is done once was done last."""

from datetime import datetime

from sqlalchemy import text

from storage.heartbeats import setting
from storage.times import from_micros, to_micros
from storage.transaction import Tx

# Whoever comes second waits for the first, and then finds another value than the one it read.
_MOVE = text(
    "INSERT INTO settings (name, value) VALUES (:which, :after) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE settings.value = :before"
)


def get(tx: Tx, name: str) -> datetime | None:
    """Return a moment, None where there was none yet."""
    stored = setting(tx, f"mark:{name}")
    return None if stored is None else from_micros(int(stored))


def move(tx: Tx, name: str, before: datetime | None, after: datetime) -> bool:
    """Set a moment that was read as `before`; False when somebody else was first."""
    known = "" if before is None else str(to_micros(before))
    done = tx.change(_MOVE, which=f"mark:{name}", after=str(to_micros(after)), before=known)
    return done == 1
