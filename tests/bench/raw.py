"""Plain SQL on the same database: the same bytes in as few durable commits as there can be."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from time import perf_counter
from typing import Protocol

import psycopg
from sqlalchemy import make_url

_TABLE = "CREATE TABLE raw_rows (id BIGINT PRIMARY KEY, body TEXT NOT NULL)"


class Raw(Protocol):
    """A database that takes rows and makes them durable."""

    def commit(self, rows: Sequence[str]) -> None:
        """Insert rows in one durable transaction."""


def timed(raw: Raw, *commits: Sequence[str]) -> float:
    """Return how many seconds these commits take, one after the other."""
    started = perf_counter()
    for rows in commits:
        raw.commit(rows)
    return perf_counter() - started


@contextmanager
def raw_over(url: str) -> Iterator[Raw]:
    """Open a database past everything of ours, as durable as the desk opens it."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(make_url(url).database or "", isolation_level=None)) as one:
            yield RawSqlite(one)
        return
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as other:
        yield RawPostgres(other)


class RawSqlite:
    """SQLite with a write-ahead log that is synced at each commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids = count(1)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", _TABLE):
            connection.execute(statement)

    def commit(self, rows: Sequence[str]) -> None:
        """Insert rows in one durable transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(
            "INSERT INTO raw_rows VALUES (?, ?)", [(next(self._ids), row) for row in rows]
        )
        self._connection.execute("COMMIT")


class RawPostgres:
    """PostgreSQL with its own settings."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        self._ids = count(1)
        connection.execute(_TABLE)
        connection.commit()

    def commit(self, rows: Sequence[str]) -> None:
        """Insert rows in one durable transaction."""
        with self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO raw_rows VALUES (%s, %s)", [(next(self._ids), row) for row in rows]
            )
        self._connection.commit()
