"""Working time: every span ends inside business hours, and what is counted adds up."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.working_time import BusinessHours, Schedule, later, share_of, worked

BERLIN = ZoneInfo("Europe/Berlin")
WEEK = BusinessHours(BERLIN, frozenset(range(5)), time(9), time(17))
# A Friday afternoon in winter, an hour before people go home.
FRIDAY = datetime(2026, 11, 27, 16, 0, tzinfo=BERLIN)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
TICK, SECOND = timedelta(microseconds=1), timedelta(seconds=1)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

moments = st.integers(0, 365 * 24 * 3600).map(lambda seconds: NEW_YEAR + seconds * SECOND)
spans = st.integers(0, 5 * 24 * 3600 * 10**6).map(lambda micros: timedelta(microseconds=micros))
clock = st.integers(0, 23).map(time)
calendars = st.builds(
    lambda zone, days, one, two: BusinessHours(zone, days, min(one, two), max(one, two)),
    st.sampled_from([UTC, BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")]),
    st.frozensets(st.integers(0, 6), min_size=1),
    clock,
    clock,
).filter(lambda hours: hours.opens < hours.closes)


@given(hours=st.none() | calendars, since=moments, span=spans)
def test_a_span_of_working_time_ends_when_so_much_was_worked(
    hours: BusinessHours | None, since: datetime, span: timedelta
) -> None:
    until = later(hours, since, span)
    assert worked(hours, since, until) == span
    # It is the first such moment: a tick before, less was worked.
    before = until - TICK
    assert not span or worked(hours, since, before) < span
    assert until >= since


@given(hours=st.none() | calendars, since=moments, first=spans, second=spans)
def test_spans_add_up(
    hours: BusinessHours | None, since: datetime, first: timedelta, second: timedelta
) -> None:
    together = later(hours, since, first + second)
    assert later(hours, later(hours, since, first), second) == (
        together if second else later(hours, since, first)
    )


@given(hours=st.none() | calendars, since=moments, span=spans, percent=st.integers(0, 100))
def test_a_share_of_the_time_has_passed_just_then(
    hours: BusinessHours | None, since: datetime, span: timedelta, percent: int
) -> None:
    until, share = later(hours, since, span), Fraction(percent, 100)
    at = share_of(hours, since, until, share)
    assert since <= at <= until
    done = worked(hours, since, at)
    assert done >= span * percent / 100 - timedelta(microseconds=1)
    assert Fraction(done // timedelta(microseconds=1)) >= share * (
        span // timedelta(microseconds=1)
    )


@pytest.mark.parametrize(
    ("since", "span", "until"),
    [
        pytest.param(FRIDAY, HOUR, FRIDAY + HOUR, id="up to the evening"),
        pytest.param(
            FRIDAY, HOUR + MINUTE, datetime(2026, 11, 30, 9, 1, tzinfo=BERLIN), id="over a weekend"
        ),
        pytest.param(
            datetime(2026, 11, 28, 3, 0, tzinfo=BERLIN),
            8 * HOUR,
            datetime(2026, 11, 30, 17, 0, tzinfo=BERLIN),
            id="from a Saturday night",
        ),
        pytest.param(
            datetime(2026, 11, 30, 5, 0, tzinfo=BERLIN),
            MINUTE,
            datetime(2026, 11, 30, 9, 1, tzinfo=BERLIN),
            id="from an early morning",
        ),
    ],
)
def test_people_work_in_their_hours(since: datetime, span: timedelta, until: datetime) -> None:
    assert later(WEEK, since.astimezone(UTC), span) == until
    assert later(None, since, span) == since + span


def test_a_night_that_loses_an_hour_is_worked_shorter() -> None:
    always = BusinessHours(BERLIN, frozenset(range(7)), time(0), time(23))
    spring = datetime(2026, 3, 29, 0, 0, tzinfo=BERLIN).astimezone(UTC)
    assert worked(always, spring, spring + timedelta(days=1)) == 23 * HOUR
    assert worked(always, spring - timedelta(days=1), spring) == 23 * HOUR
    assert later(always, spring, 22 * HOUR) == datetime(2026, 3, 29, 23, 0, tzinfo=BERLIN)


def test_a_deadline_counts_in_business_hours() -> None:
    night_shift = Schedule(Fraction(1, 2), Fraction(4, 5), WEEK)
    friday = FRIDAY.astimezone(UTC)
    assert night_shift.deadline(friday, 2 * HOUR) == datetime(2026, 11, 30, 10, 0, tzinfo=BERLIN)
    assert worked(WEEK, friday, friday - HOUR) == worked(None, friday, friday - HOUR) == 0 * HOUR
