"""Which level is due when: exactly at each share, once, and never after the deadline."""

from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.approvals import Status
from agent.domain.escalation import Level, Wait, due_level, further_deadline, wakes_at
from agent.domain.working_time import Schedule
from tests.support.builders import approval
from tests.support.doubles import START

TICK, MINUTE = timedelta(microseconds=1), timedelta(minutes=1)
SHIPPED = Schedule(Fraction("0.50"), Fraction("0.80"), None)
HALF_HOUR = Wait(START, START + 30 * MINUTE)


@pytest.mark.parametrize(
    ("passed", "pinged", "due"),
    [
        pytest.param(15 * MINUTE - TICK, 0, None, id="just under half"),
        pytest.param(15 * MINUTE, 0, Level.REMINDER, id="half"),
        pytest.param(24 * MINUTE - TICK, 0, Level.REMINDER, id="just under four fifths"),
        pytest.param(24 * MINUTE - TICK, Level.REMINDER, None, id="reminded"),
        pytest.param(24 * MINUTE, Level.REMINDER, Level.ONCALL, id="four fifths"),
        pytest.param(24 * MINUTE, 0, Level.ONCALL, id="four fifths, never reminded"),
        pytest.param(30 * MINUTE - TICK, Level.ONCALL, None, id="just before the deadline"),
    ],
)
def test_the_highest_level_that_has_come_is_due(
    passed: timedelta, pinged: int, due: Level | None
) -> None:
    wait = Wait(HALF_HOUR.since, HALF_HOUR.until, pinged)
    assert due_level(wait, SHIPPED, START + passed) is due


@pytest.mark.parametrize(
    ("wait", "schedule", "wakes"),
    [
        pytest.param(HALF_HOUR, SHIPPED, 15, id="first the reminder"),
        pytest.param(Wait(START, START + 30 * MINUTE, 1), SHIPPED, 24, id="then on-call"),
        pytest.param(Wait(START, START + 30 * MINUTE, 2), SHIPPED, 30, id="then the deadline"),
        pytest.param(
            Wait(START, START + 30 * MINUTE, 0, extended=True), SHIPPED, 30, id="in more time"
        ),
        pytest.param(HALF_HOUR, Schedule(Fraction(1), Fraction(1), None), 30, id="never told"),
        pytest.param(HALF_HOUR, Schedule(Fraction(0), Fraction(1), None), 0, id="told at once"),
    ],
)
def test_the_row_wakes_for_what_comes_next(wait: Wait, schedule: Schedule, wakes: int) -> None:
    assert wakes_at(wait, schedule) == START + wakes * MINUTE


@given(
    minutes=st.integers(1, 10_000),
    shares=st.tuples(st.integers(0, 100), st.integers(0, 100)).map(sorted),
    extended=st.booleans(),
)
def test_waking_by_waking_each_level_is_reached_once_and_then_the_deadline(
    minutes: int, shares: list[int], extended: bool
) -> None:
    first, second = (Fraction(share, 100) for share in shares)
    schedule = Schedule(first, second, None)
    wait, reached = Wait(START, START + minutes * MINUTE, 0, extended), list[Level]()
    now = wakes_at(wait, schedule)
    while now < wait.until:
        level = due_level(wait, schedule, now)
        assert level is not None
        reached.append(level)
        wait = Wait(wait.since, wait.until, level, extended)
        after = wakes_at(wait, schedule)
        assert after > now
        now = after
    assert now == wait.until
    assert reached == sorted(set(reached))
    assert not (extended and reached)


@pytest.mark.parametrize(
    ("extra_s", "escalations", "passed", "more"),
    [
        pytest.param(None, 0, 0 * MINUTE, None, id="denied at the deadline"),
        pytest.param(1800, 0, 0 * MINUTE, 60, id="more time"),
        pytest.param(1800, 0, 30 * MINUTE - TICK, 60, id="noticed late"),
        pytest.param(1800, 0, 30 * MINUTE, None, id="noticed after that time as well"),
        pytest.param(1800, 1, 0 * MINUTE, None, id="only once"),
    ],
)
def test_more_time_begins_at_the_deadline(
    extra_s: int | None, escalations: int, passed: timedelta, more: int | None
) -> None:
    waiting = approval(extra_s=extra_s, escalations=escalations)
    now = waiting.expires_at + passed
    expected = None if more is None else START + more * MINUTE
    assert further_deadline(waiting, SHIPPED, now) == expected


def test_a_row_knows_since_when_it_waits_and_whether_people_can_decide() -> None:
    waiting = approval(extra_s=1800)
    assert Wait.of(waiting) == HALF_HOUR
    since = START - 10 * MINUTE
    edited = approval(waits_since=since, pinged=1, escalations=1)
    assert Wait.of(edited) == Wait(since, edited.expires_at, 1, extended=True)
    late: datetime = waiting.expires_at
    assert waiting.is_open(late)
    assert not approval(escalations=1, extra_s=1800).is_open(late)
    assert not approval().is_open(late)
    assert approval().is_open(late - TICK)
    assert not approval(status=Status.APPROVED).is_open(START)


def test_levels_have_names() -> None:
    assert [Level.named(level.key) for level in Level] == list(Level)
    with pytest.raises(ValueError, match="no level"):
        Level.named("nobody")
