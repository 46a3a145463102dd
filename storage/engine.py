"""Engines for SQLite and PostgreSQL, set up as design.md §16 says."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.pool import ConnectionPoolEntry

_POSTGRES_OPTIONS = (
    "-c lock_timeout=10s -c statement_timeout=30s -c idle_in_transaction_session_timeout=30s"
)


def open_engine(url: str) -> Engine:
    """Return an engine for `sqlite:///path` or `postgresql://…`.

    Raises ValueError for another kind of database. The folder of a SQLite file is made.
    """
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            return _sqlite(parsed.database or "")
        case "postgresql":
            return create_engine(
                parsed.set(drivername="postgresql+psycopg"),
                pool_size=20,
                max_overflow=20,
                pool_pre_ping=True,
                connect_args={"options": _POSTGRES_OPTIONS, "connect_timeout": 10},
            )
        case other:
            raise ValueError(f"{other} is not supported: use sqlite or postgresql")


def _sqlite(path: str) -> Engine:
    if path in {"", ":memory:"}:
        raise ValueError("SQLite needs a file: sqlite:///var/desk.db")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        f"sqlite:///{path}",
        pool_size=20,
        max_overflow=20,
        connect_args={"isolation_level": None, "timeout": 10},
    )
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _sqlite_connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "busy_timeout=10000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    # A byte that is no UTF-8 must show as a damaged row, not keep the whole table from being read.
    connection.text_factory = _lenient_text


def _lenient_text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _sqlite_begin(connection: Connection) -> None:
    # A deferred BEGIN that later writes loses at once with "database is locked".
    write = connection.get_execution_options().get("desk_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
