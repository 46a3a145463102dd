"""A clock that moves on while a step works, as real ones do."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from typing_extensions import override

from agent.domain.approvals import Status
from agent.domain.money import Money
from tests.story.ways import ANA, MIA, parked, staff
from tests.support.desk import Story
from tests.support.doubles import HandClock


@dataclass
class TickingClock(HandClock):
    """A clock that is a microsecond later at each look."""

    @override
    def now(self) -> datetime:
        """Return the time, and move on."""
        self.at += timedelta(microseconds=1)
        return self.at


def ticking(story: Story) -> Story:
    """Return the story under such a clock."""
    clock = TickingClock(story.clock.at)
    return replace(story, clock=clock, desk=replace(story.desk, clock=clock))


def test_an_edit_that_approves_is_paid(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    late = ticking(story)
    late.edits(ANA, row, Money(8000, "USD"))
    late.rests()
    assert late.paid() == [("ORD-1001", Money(8000, "USD"))]


def test_an_edit_counts_as_one_of_two(story: Story) -> None:
    staff(story)
    row = parked(story, "2100.00", "ORD-1004")
    late = ticking(story)
    late.edits(MIA, row, Money(205_000, "USD"))
    late.approves(ANA, late.only(Status.PENDING))
    late.rests()
    assert late.paid() == [("ORD-1004", Money(205_000, "USD"))]
