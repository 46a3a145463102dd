"""Fixtures every kit shares: both databases, migrated, and hand-held ports."""

import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from storage import schema
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.postgres import fresh_database, running_postgres

# The kits that have to reach every branch of domain and steps. The others run the same code over
# and over, or in other processes: tracing them would show nothing new and take its time. So would
# tracing what was traced with the other database.
_TRACED = ("unit", "story", "edges")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let coverage trace the tests that are to reach every branch, and no others.

    Not by pytest-cov's `no_cover`: in a worker of xdist that stops one of two measurements.
    """
    tracer = sys.gettrace()
    if not _is_traced(item):
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


def _is_traced(item: pytest.Item) -> bool:
    kit = item.path.relative_to(Path(__file__).parent).parts[0]
    marked = item.get_closest_marker("untraced") is not None
    return kit in _TRACED and not marked and "postgresql" not in item.name


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[str]:
    """Start one real PostgreSQL for the whole session."""
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_admin: str) -> Iterator[str]:
    """Migrate one database for the session; every test gets a copy of it."""
    with fresh_database(postgres_admin) as url:
        _migrate(url)
        yield make_url(url).database or ""


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrate one file for the session; every test gets a copy of it."""
    path = tmp_path_factory.mktemp("template") / "desk.db"
    _migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the address of a migrated database, once for each kind."""
    if request.param == "sqlite":
        path = tmp_path / "desk.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    admin = request.getfixturevalue("postgres_admin")
    template = request.getfixturevalue("postgres_template")
    with fresh_database(admin, template=template) as url:
        yield url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Return a store over a migrated database."""
    store = Store(open_engine(database_url))
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


def _migrate(url: str) -> None:
    """Bring an empty database to the newest schema and let go of it."""
    engine = open_engine(url)
    schema.upgrade(engine)
    # The last SQLite connection to close folds the write-ahead log into the file.
    engine.dispose()
