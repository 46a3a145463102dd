"""Short words between replicas, over NOTIFY of PostgreSQL; one that is lost is not missed."""

import logging
from collections.abc import Callable
from threading import Event

import psycopg
from sqlalchemy import Engine, bindparam, func, select

from storage.transaction import Store

log = logging.getLogger(__name__)

_CHANNEL = "supportdesk_live"
_SEND = select(func.pg_notify(_CHANNEL, bindparam("hint")))
# How often whoever listens looks whether it is over, and how long a lost connection is left alone.
_LOOK_S, _PAUSE_S = 0.5, 2.0


class Hints:
    """What replicas call to each other; every replica hears all of it, its own words too."""

    def __init__(self, store: Store, engine: Engine) -> None:
        """Keep where to send, and the address to listen at."""
        self._store = store
        url = engine.url.set(drivername="postgresql")
        self._address = url.render_as_string(hide_password=False)

    def send(self, hint: str) -> None:
        """Call out less than 8,000 bytes of UTF-8; raises where the database is away."""
        with self._store.transaction(write=False) as tx:
            tx.one(_SEND, hint=hint)

    def listen(self, heard: Callable[[str], None], over: Event) -> None:
        """Hear everything until it is over, over a connection of its own that is made anew."""
        while not over.is_set():
            try:
                with psycopg.connect(self._address, autocommit=True) as connection:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    while not over.is_set():
                        for hint in connection.notifies(timeout=_LOOK_S):
                            heard(hint.payload)
            except psycopg.Error as problem:
                log.warning("hints of other replicas are not heard: %s", type(problem).__name__)
                over.wait(_PAUSE_S)


def hints_of(store: Store, engine: Engine) -> Hints | None:
    """Return how replicas call to each other; None on SQLite, where there is one."""
    return Hints(store, engine) if store.dialect == "postgresql" else None
