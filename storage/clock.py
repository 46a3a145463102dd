"""The database's own clock, one for all replicas."""

from datetime import datetime

from sqlalchemy import text

from storage.times import from_micros
from storage.transaction import Store

# now() is the transaction's start; clock_timestamp() is the moment of the call.
_NOW = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS micros")


def database_time(store: Store) -> datetime | None:
    """Return the server's time; None for SQLite, whose server is this very machine."""
    if store.dialect == "sqlite":
        return None
    with store.transaction(write=False) as tx:
        row = tx.one(_NOW)
    return None if row is None else from_micros(row["micros"])
