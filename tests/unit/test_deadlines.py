"""Deadlines: exactly at one it is over, and every wait is bounded."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.deadlines import (
    EXECUTION_LEASE,
    FACTS_MAX_AGE,
    REPLICA_SILENT,
    RESEND_WINDOW,
    backoff,
    is_past,
    may_resend,
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
