"""Fixtures every kit shares: both databases, migrated, and hand-held ports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import schema
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.postgres import fresh_database, running_postgres


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[str]:
    """Start one real PostgreSQL for the whole session."""
    with running_postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of an empty database, once for each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'desk.db'}"
        return
    with fresh_database(request.getfixturevalue("postgres_admin")) as url:
        yield url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Return a store over a migrated database."""
    engine = open_engine(database_url)
    schema.upgrade(engine)
    store = Store(engine)
    yield store
    store.close()


@pytest.fixture
def clock() -> HandClock:
    """Return a clock that moves only when told to."""
    return HandClock()


@pytest.fixture
def ids() -> CountingIds:
    """Return ids that count."""
    return CountingIds()
