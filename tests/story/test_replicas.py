"""Two replicas on one PostgreSQL whose machines disagree about the time by five seconds."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from typing_extensions import override

from agent.ports import Clock
from agent.providers.system import SharedClock, SystemClock
from storage.clock import database_time
from storage.engine import open_engine
from storage.transaction import Store
from tests.story.test_breaker import ORDERS, refund
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.postgres import fresh_database


@dataclass(frozen=True)
class WrongClock(Clock):
    """A machine's clock that is off by `by`."""

    by: timedelta

    @override
    def now(self) -> datetime:
        """Return the wrong time."""
        return SystemClock().now() + self.by


@pytest.fixture
def postgres(postgres_admin: str, postgres_template: str) -> Iterator[Store]:
    """Return a store over PostgreSQL; SQLite has one host and one clock."""
    with fresh_database(postgres_admin, template=postgres_template) as url:
        store = Store(open_engine(url))
        yield store
        store.close()


def shared(store: Store, by: timedelta) -> SharedClock:
    """Return what a replica on such a machine lives by."""
    clock = SharedClock(WrongClock(by), partial(database_time, store))
    clock.measure()
    return clock


def test_replicas_live_by_the_databases_clock(postgres: Store) -> None:
    fast, slow = (shared(postgres, timedelta(seconds=s)) for s in (5, -5))
    assert abs(fast.now() - slow.now()) < timedelta(seconds=1)


def test_sqlite_has_no_clock_of_its_own(clock: HandClock) -> None:
    alone = SharedClock(clock, lambda: None)
    assert alone.measure() == timedelta()
    assert alone.now() == clock.now()


def test_five_in_a_window_hold_over_replicas_with_different_clocks(
    postgres: Store, clock: HandClock, ids: CountingIds
) -> None:
    one = tell_story(postgres, clock, ids)
    stories: list[Story] = []
    for seconds in (5, -5):
        lived_by = shared(postgres, timedelta(seconds=seconds))
        stories.append(replace(one, desk=replace(one.desk, clock=lived_by)))
    answers = [refund(stories[number % 2], order) for number, order in enumerate(ORDERS[:7])]
    assert answers == ["executed"] * 5 + ["breaker_open"] * 2
    assert "breaker.clock_step" not in one.trail()
