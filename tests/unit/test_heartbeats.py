"""How long a part of the desk may be silent, and who is awake enough to say so."""

from datetime import timedelta

import pytest

from agent.domain.heartbeats import (
    REPLICA,
    WATCH,
    Heartbeat,
    is_awake,
    patience_with,
    silent,
)
from tests.support.doubles import START


def sign(job: str, seconds: float, replica: str = "srv-a") -> Heartbeat:
    """Return a sign of life of so many seconds ago."""
    return Heartbeat(replica, job, START - timedelta(seconds=seconds), None)


@pytest.mark.parametrize(("every", "patience"), [(0.1, 30), (5, 30), (20, 30), (60, 90)])
def test_a_slow_job_has_more_time(every: float, patience: float) -> None:
    assert patience_with(timedelta(seconds=every)) == timedelta(seconds=patience)


def test_whoever_looked_within_fifteen_seconds_is_awake() -> None:
    assert is_awake([sign(WATCH, 15)], "srv-a", START)
    assert not is_awake([sign(WATCH, 15.1)], "srv-a", START)
    assert not is_awake([sign(REPLICA, 1), sign(WATCH, 1, "srv-b")], "srv-a", START)


def test_the_silent_are_named_a_replica_as_a_whole() -> None:
    gone = [sign(REPLICA, 31), sign("sweep", 40)]
    alive = [sign(REPLICA, 1, "srv-b"), sign("sweep", 30, "srv-b"), sign("people", 70, "srv-b")]
    stalled = [sign("turn", 31, "srv-b"), sign("heads", 89, "srv-b")]
    command = [sign(REPLICA, 4000, "cli-c")]
    patience = {"heads": timedelta(seconds=90), "people": timedelta(seconds=60)}
    found = silent([*gone, *alive, *stalled, *command], patience, START)
    assert [(one.replica, one.job) for one in found] == [
        ("srv-a", REPLICA),
        ("srv-b", "people"),
        ("srv-b", "turn"),
    ]
