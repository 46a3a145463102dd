"""Deadlines: exactly at one it is over, and every wait is bounded."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.deadlines import (
    EXECUTION_LEASE,
    FACTS_MAX_AGE,
    LOOKS_APART,
    LOOKS_TO_SETTLE,
    REJECTIONS_COUNT_FOR,
    REPLICA_SILENT,
    RESEND_WINDOW,
    UNKNOWN_ALERT_AFTER,
    backoff,
    is_another_look,
    is_past,
    may_resend,
    may_settle,
    next_look,
)
from tests.support.doubles import START

TICK = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.parametrize(
    ("now", "past"),
    [
        pytest.param(START - TICK, False, id="a microsecond before"),
        pytest.param(START, True, id="at it"),
        pytest.param(START + TICK, True, id="a microsecond after"),
    ],
)
def test_a_deadline_is_past(now: datetime, past: bool) -> None:
    assert is_past(START, now) is past


@pytest.mark.parametrize(
    ("sent", "may"),
    [
        pytest.param(None, False, id="never sent"),
        pytest.param(START, True, id="just now"),
        pytest.param(START - RESEND_WINDOW + TICK, True, id="a microsecond under 23 h ago"),
        pytest.param(START - RESEND_WINDOW, False, id="23 h ago"),
        pytest.param(START - RESEND_WINDOW - TICK, False, id="a microsecond over 23 h ago"),
    ],
)
def test_the_same_key_may_be_sent_again(sent: datetime | None, may: bool) -> None:
    assert may_resend(sent, START) is may


@pytest.mark.parametrize(
    ("looked_at", "another"),
    [
        pytest.param(None, True, id="the first look"),
        pytest.param(START, False, id="in the same moment"),
        pytest.param(START - LOOKS_APART + TICK, False, id="a microsecond under 2 minutes later"),
        pytest.param(START - LOOKS_APART, True, id="2 minutes later"),
        pytest.param(START - LOOKS_APART - TICK, True, id="a microsecond over 2 minutes later"),
        pytest.param(START + TICK, False, id="before the one before"),
    ],
)
def test_a_look_counts_beside_the_one_before(looked_at: datetime | None, another: bool) -> None:
    assert is_another_look(looked_at, START) is another


LONG_AGO = START - timedelta(days=30)


@pytest.mark.parametrize(
    ("sent", "looks", "may"),
    [
        pytest.param(None, 9, False, id="never sent"),
        pytest.param(START - RESEND_WINDOW, 2, True, id="23 h ago, two looks"),
        pytest.param(START - RESEND_WINDOW, 1, False, id="23 h ago, one look"),
        pytest.param(START - RESEND_WINDOW, 3, True, id="23 h ago, three looks"),
        pytest.param(START - RESEND_WINDOW + TICK, 2, False, id="a microsecond under 23 h ago"),
        pytest.param(LONG_AGO, 0, False, id="long ago, never looked"),
        pytest.param(LONG_AGO, 2, True, id="long ago, two looks"),
        pytest.param(START, 9, False, id="just now"),
    ],
)
def test_a_person_may_settle_what_stays_unknown(
    sent: datetime | None, looks: int, may: bool
) -> None:
    assert may_settle(sent, looks, START) is may


@given(
    ago=st.none() | st.integers(0, 30 * 3600).map(lambda s: timedelta(seconds=s)),
    looks=st.integers(0, 4),
)
def test_no_person_settles_what_the_desk_may_still_send(ago: timedelta | None, looks: int) -> None:
    sent = None if ago is None else START - ago
    assert not (may_settle(sent, looks, START) and may_resend(sent, START))
    if may_settle(sent, looks, START):
        assert sent is not None
        assert looks >= LOOKS_TO_SETTLE


@pytest.mark.parametrize(
    ("attempts", "wait"),
    [
        pytest.param(0, SECOND, id="before the first"),
        pytest.param(1, SECOND, id="after the first"),
        pytest.param(2, 2 * SECOND, id="after the second"),
        pytest.param(3, 4 * SECOND, id="after the third"),
        pytest.param(10, 512 * SECOND, id="after the tenth"),
        pytest.param(11, TEN_MINUTES, id="capped"),
        pytest.param(10_000, TEN_MINUTES, id="capped for ever"),
    ],
)
def test_each_wait_is_twice_the_one_before(attempts: int, wait: timedelta) -> None:
    assert backoff(attempts, base=SECOND, jitter=0) == wait


def test_jitter_adds_up_to_a_quarter() -> None:
    assert backoff(3, base=SECOND, jitter=0.5) == timedelta(seconds=4.5)
    assert backoff(99, base=SECOND, jitter=0.5) == timedelta(minutes=11, seconds=15)


@given(
    attempts=st.integers(-5, 10**6),
    base=st.timedeltas(timedelta(milliseconds=1), timedelta(hours=1)),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_a_wait_never_shrinks_and_never_passes_its_bound(
    attempts: int, base: timedelta, jitter: float
) -> None:
    wait = backoff(attempts, base=base, jitter=jitter)
    assert min(base, TEN_MINUTES) <= wait <= TEN_MINUTES * 1.25
    assert backoff(attempts, base=base, jitter=0) <= backoff(attempts + 1, base=base, jitter=0)


def test_the_fixed_times_are_those_of_the_design() -> None:
    assert timedelta(hours=23) == RESEND_WINDOW
    assert timedelta(seconds=90) == EXECUTION_LEASE
    assert timedelta(seconds=30) == FACTS_MAX_AGE
    assert timedelta(seconds=15) == REPLICA_SILENT
    assert timedelta(minutes=5) == UNKNOWN_ALERT_AFTER
    assert timedelta(minutes=2) == LOOKS_APART
    assert timedelta(days=1) == REJECTIONS_COUNT_FOR
    assert LOOKS_TO_SETTLE == 2


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (timedelta(0), timedelta(seconds=5)),
        (timedelta(seconds=20), timedelta(seconds=5)),
        (timedelta(seconds=24), timedelta(seconds=6)),
        (timedelta(minutes=20), timedelta(minutes=5)),
        (timedelta(minutes=40), timedelta(minutes=10)),
        (timedelta(days=3), timedelta(minutes=10)),
    ],
)
def test_an_unknown_outcome_is_asked_about_ever_more_rarely(
    age: timedelta, wait: timedelta
) -> None:
    assert next_look(START, START + age, jitter=0) == wait
    assert next_look(START, START + age, jitter=0.5) == wait * 1.125


def test_what_was_never_sent_is_asked_about_soon() -> None:
    assert next_look(None, START, jitter=0) == timedelta(seconds=5)
