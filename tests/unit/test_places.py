"""Where messages go and how long a place waits: every rule by its cases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.domain.places import (
    EVERYTHING,
    LOOK_AGAIN,
    Pace,
    Place,
    is_alone,
    is_in_line,
    neighbours,
    receiver,
    rest_of_all,
)
from tests.support.doubles import START

SECOND = timedelta(seconds=1)
CHANNELS = {"approvals": "C1", "oncall": "C2", "review": "C3"}
SPARE = {**CHANNELS, "spare": "C4"}
TOGETHER = {"approvals": "C1", "oncall": "C2", "review": "C1"}


def test_each_kind_of_place_rests_as_long_as_slack_wants() -> None:
    rests = {place: Pace().of(place) for place in ("approvals", "user:U1", "update", "home")}
    assert rests == {
        "approvals": SECOND,
        "user:U1": SECOND,
        "update": timedelta(milliseconds=1200),
        "home": timedelta(milliseconds=600),
    }


@pytest.mark.parametrize(
    ("place", "channels", "closed", "expected"),
    [
        ("approvals", CHANNELS, (), "C1"),
        ("approvals", CHANNELS, ("C1",), "C2"),
        ("review", CHANNELS, ("C3",), "C2"),
        ("review", CHANNELS, ("C2", "C3"), "C1"),
        ("oncall", CHANNELS, ("C2",), "C1"),
        ("approvals", SPARE, ("C1",), "C4"),
        ("oncall", SPARE, ("C2", "C4"), "C1"),
        ("approvals", CHANNELS, ("C1", "C2"), "C1"),
        ("review", TOGETHER, ("C1",), "C2"),
        ("spare", SPARE, ("C4",), "C4"),
    ],
)
def test_who_receives_the_messages_of_a_place(
    place: str, channels: dict[str, str], closed: tuple[str, ...], expected: str
) -> None:
    assert receiver(place, channels, closed) == expected


@pytest.mark.parametrize(
    ("place", "channels", "closed", "expected"),
    [
        ("approvals", CHANNELS, (), ("approvals",)),
        ("approvals", TOGETHER, (), ("approvals", "review")),
        ("approvals", CHANNELS, ("C1",), ("approvals", "oncall")),
        ("update", CHANNELS, ("C1",), ("update",)),
        ("user:U1", CHANNELS, (), ("user:U1",)),
    ],
)
def test_who_shares_a_channel_rests_with_it(
    place: str, channels: dict[str, str], closed: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert neighbours(place, channels, closed) == expected


@pytest.mark.parametrize(
    ("attempts", "failures", "alone"),
    [(1, 1, False), (3, 3, False), (4, 4, True), (4, 1, True), (4, 5, False), (9, 12, False)],
)
def test_a_message_steps_out_of_the_line_when_it_alone_fails(
    attempts: int, failures: int, alone: bool
) -> None:
    assert is_alone(attempts, failures) is alone
    assert is_in_line(attempts) is (attempts <= 3)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (6, 32), (7, 60), (1000, 60)])
def test_the_rest_doubles_and_is_bounded(failures: int, seconds: float) -> None:
    assert rest_of_all(failures, 0.0) == timedelta(seconds=seconds)
    assert rest_of_all(failures, 0.8) == timedelta(seconds=seconds * 1.2)


def test_a_place_goes_from_bad_to_well() -> None:
    fine = Place(EVERYTHING, START)
    assert (fine.on_trial, fine.in_trouble) == (False, False)
    bad = fine.failed("HTTP 503", START, SECOND).failed("HTTP 500", START + SECOND, SECOND)
    assert bad == replace(
        fine, free_at=START + 2 * SECOND, failures=2, problem="HTTP 500", since=START
    )
    tried = bad.tried(START + SECOND)
    assert (tried.on_trial, tried.free_at, tried.since) == (True, START + SECOND, START)
    assert tried.well() == replace(fine, free_at=START + SECOND)
    assert bad.in_trouble
    once = replace(bad, name="approvals", failures=3)
    assert [replace(once, failures=n).in_trouble for n in (3, 4)] == [False, True]
    shut = replace(fine, name="approvals").closed("is_archived", START)
    assert shut.in_trouble
    assert (shut.on_trial, shut.closed_until) == (False, START + LOOK_AGAIN)
    assert shut.closed("is_archived", START + SECOND).since == START
    assert shut.tried(START).on_trial
