"""Digests: when the next may leave, which day is told, and which value is the median."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.digest import MEDIAN, P90, latest_day, next_digest, rank
from tests.support.doubles import START

BERLIN = ZoneInfo("Europe/Berlin")
EVERY = timedelta(minutes=10)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("newest", "leaves"),
    [
        pytest.param(None, START, id="the first"),
        pytest.param(START - EVERY, START, id="long enough ago"),
        pytest.param(START - EVERY + TICK, START + TICK, id="too lately"),
        pytest.param(START, START + EVERY, id="just now"),
        pytest.param(START + TICK, None, id="on its way"),
    ],
)
def test_digests_keep_their_distance(newest: datetime | None, leaves: datetime | None) -> None:
    assert next_digest(newest, START, EVERY) == leaves


@pytest.mark.parametrize(
    ("now", "zone", "since", "until"),
    [
        (datetime(2026, 11, 29, 8, 0, tzinfo=UTC), UTC, 28, 29),
        (datetime(2026, 11, 29, 7, 59, 59, 999999, tzinfo=UTC), UTC, 27, 28),
        (datetime(2026, 11, 29, 7, 0, tzinfo=UTC), BERLIN, 28, 29),
        (datetime(2026, 11, 29, 6, 59, tzinfo=UTC), BERLIN, 27, 28),
    ],
)
def test_the_newest_whole_day(now: datetime, zone: ZoneInfo, since: int, until: int) -> None:
    day = tuple(datetime(2026, 11, number, 8, 0, tzinfo=zone) for number in (since, until))
    assert latest_day(now, zone, time(8)) == day


def test_a_day_that_loses_an_hour_is_shorter() -> None:
    now = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)
    since, until = latest_day(now, BERLIN, time(8))
    assert until.astimezone(UTC) - since.astimezone(UTC) == timedelta(hours=23)


@given(seconds=st.integers(0, 10 * 365 * 24 * 3600))
def test_the_day_is_over_and_no_newer_one_is(seconds: int) -> None:
    now = START + timedelta(seconds=seconds)
    since, until = latest_day(now, BERLIN, time(8))
    assert since < until <= now
    assert latest_day(until + timedelta(days=1, hours=2), BERLIN, time(8))[0] == until


@pytest.mark.parametrize(
    ("number", "share", "index"),
    [(1, MEDIAN, 0), (2, MEDIAN, 0), (3, MEDIAN, 1), (10, P90, 8), (11, P90, 9), (100, P90, 89)],
)
def test_ranks(number: int, share: Fraction, index: int) -> None:
    assert rank(number, share) == index


@given(number=st.integers(1, 10_000), percent=st.integers(0, 100))
def test_so_many_are_at_or_below_it(number: int, percent: int) -> None:
    index = rank(number, Fraction(percent, 100))
    assert 0 <= index < number
    assert (index + 1) * 100 >= percent * number
    assert index == 0 or index * 100 < percent * number
