"""What one sees of a desk from outside: after some waiting, in its database, on its cards."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import Any, TypeVar

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.support.postgres import fresh_database

# Far above what anything takes on a busy machine: what hangs fails its own test only.
PATIENCE_S = 30.0
_PAUSE_S = 0.02

Found = TypeVar("Found")
Json = dict[str, Any]


def eventually(look: Callable[[], Found | None], what: str, within: float = PATIENCE_S) -> Found:
    """Return what `look` finds as soon as it finds something true; fails after `within` seconds."""
    ends_at = time.monotonic() + within
    pause = Event()
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < ends_at, f"after {within:.0f} s there is no {what}"
        pause.wait(_PAUSE_S)


@contextmanager
def database(kind: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Yield what `running_desk` takes for a new database of a kind, `sqlite` or `postgresql`."""
    if kind == "sqlite":
        yield None
        return
    with fresh_database(request.getfixturevalue("postgres_admin")) as url:
        yield url


def read_rows(database_url: str, statement: str, **values: object) -> list[Json]:
    """Return rows of a database as mappings, in a transaction of its own that changes nothing."""
    engine = create_engine(_psycopg(database_url), poolclass=NullPool)
    with engine.connect() as connection:
        found = connection.execute(text(statement), values).mappings().all()
    return [dict(row) for row in found]


def write_rows(database_url: str, *statements: str) -> None:
    """Change a database behind the desk's back."""
    engine = create_engine(_psycopg(database_url), poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def shown_text(message: Json) -> str:
    """Return every text that a message's or a view's blocks show, one a line, as stored."""
    return "\n".join(_texts(message["blocks"]))


def button_value(message: Json, action_id: str) -> str:
    """Return what a button of a message carries."""
    (found,) = [
        element["value"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["action_id"] == action_id
    ]
    return str(found)


def is_over(at: str | None) -> bool:
    """Tell whether a time that the desk names has come; no time has."""
    return at is None or datetime.now(UTC) >= datetime.fromisoformat(at)


def unix_now() -> int:
    """Return the time in whole seconds since 1970, as Slack stamps its requests."""
    return int(time.time())


def as_json(words: str) -> Json:
    """Read one JSON object."""
    return dict(json.loads(words))


def parts_of(blocks: object, kind: str) -> list[Json]:
    """Return every object of a `type` in a message's or a view's blocks, at any depth."""
    found: list[Json] = []
    if isinstance(blocks, dict):
        found += [blocks] if blocks.get("type") == kind else []
        blocks = list(blocks.values())
    if isinstance(blocks, list):
        found += [part for one in blocks for part in parts_of(one, kind)]
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        own = value.get("text")
        if isinstance(own, str):
            yield own
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)


def approval_of(message: Json) -> str | None:
    found = (message["metadata"] or {}).get("event_payload", {}).get("approval_id")
    return None if found is None else str(found)


def _psycopg(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
