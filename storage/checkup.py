"""A look at a database from outside: nothing is migrated, nothing stays written."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from storage import heartbeats, schema
from storage.clock import database_time
from storage.engine import open_engine
from storage.transaction import Store

_LONGEST_TOLD = 200


@dataclass(frozen=True, slots=True)
class DatabaseLook:
    """What was seen: `name` has no secret in it, `problem` says why nothing was.

    `revision` is the database's schema, None while it is empty; `newest` and `known` are those of
    this code. `ahead` is how far the server's clock is ahead, None where there is no server.
    """

    name: str
    newest: str
    known: frozenset[str] = frozenset()
    problem: str | None = None
    revision: str | None = None
    unwritable: str | None = None
    ahead: timedelta | None = None


class _TakenBack(Exception):
    """Ends a transaction that must leave nothing behind."""


def look_at_database(url: str, now: datetime) -> DatabaseLook:
    """Look at the database of this address; `now` is the time at which its clock is asked."""
    address = make_url(url)
    name = address.render_as_string()
    seen = DatabaseLook(name, schema.newest(), schema.known())
    if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
        # To connect would make the file.
        return seen
    engine = open_engine(url)
    store = Store(engine)
    try:
        with engine.connect() as connection:
            revision = schema.current(connection)
        if revision is None:
            return seen
        shared = database_time(store)
        ahead = None if shared is None else shared - now
        return DatabaseLook(
            name, seen.newest, seen.known, None, revision, _unwritable(store), ahead
        )
    except (SQLAlchemyError, OSError) as error:
        return DatabaseLook(name, seen.newest, seen.known, problem=_told(error))
    finally:
        store.close()


def _unwritable(store: Store) -> str | None:
    """Return why nothing can be written."""
    try:
        _write_in_vain(store)
    except _TakenBack:
        return None
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        return _told(error)
    return None


def _write_in_vain(store: Store) -> None:
    with store.transaction() as tx:
        heartbeats.set_setting(tx, "checkup", "")
        raise _TakenBack


def _told(error: Exception) -> str:
    """Return the first line of the driver's own words; they name no password."""
    cause = getattr(error, "orig", None) or error
    first = (str(cause).splitlines() or [""])[0]
    return (first or type(cause).__name__)[:_LONGEST_TOLD]
