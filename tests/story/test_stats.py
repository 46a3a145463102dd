"""The numbers: how requests ended, how long they waited, what ran alone, who decided how much."""

from datetime import timedelta

import pytest

from agent.domain.approvals import Status
from agent.domain.roles import Identity
from agent.domain.stats import Act, Ended, Outcome, Ran, Waits, outcome_of, waits_of
from agent.steps.queue import Numbers, numbers
from agent.steps.revoke import revoke
from bot.sandbox.payments_faults import FaultKind
from tests.story.test_places import quietly
from tests.story.ways import (
    ANA,
    MIA,
    edited,
    expired,
    failed,
    parked,
    revoked,
    staff,
    stale,
    turned_away,
    unknown,
    usd,
    withdrawn,
)
from tests.support.desk import Story
from tests.support.doubles import START


def counted(story: Story, who: Identity = ANA) -> Numbers:
    return numbers(story.desk, who)


def some(outcomes: object) -> dict[str, int]:
    """Return the outcomes that there were."""
    assert isinstance(outcomes, dict)
    return {outcome.value: number for outcome, number in outcomes.items() if number}


def test_time_outs_are_no_denials_and_what_nobody_could_see_is_told_apart(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.clock.advance(minutes=3)
    story.rejects(ANA, row)
    story.rests()
    expired(story)
    # Its card comes when it has ended: nobody could have decided.
    quietly(story, "61.00")
    story.clock.advance(minutes=31)
    story.sweeps()
    week = counted(story).week
    assert some(week.outcomes) == {"rejected": 1, "expired": 1, "unseen": 1}
    assert week.asked == 3
    # Nobody answered what expired, so it does not count as a wait.
    assert week.waits is not None
    assert week.waits.number == 1


@pytest.mark.parametrize(
    ("way", "outcome"),
    [
        (failed, "failed"),
        (stale, "stale"),
        (revoked, "revoked"),
        (withdrawn, "withdrawn"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_came_of_a_yes_and_what_was_taken_back(
    story: Story, way: object, outcome: str
) -> None:
    assert callable(way)
    staff(story)
    way(story)
    assert some(counted(story).today.outcomes) == {outcome: 1}


def test_a_day_and_a_week_with_everything_in_them(story: Story) -> None:
    staff(story)
    story.clock.advance(days=-6)
    for minutes, order, amount in ((4, "ORD-1008", "129.00"), (10, "ORD-1005", "400.00")):
        row = parked(story, amount, order)
        story.clock.advance(minutes=minutes)
        story.approves(MIA, row)
        story.rests()
    story.clock.advance(days=6)
    # Edited and approved in one act after a minute; two automatic refunds, one of them declined.
    row = parked(story, "80.00", "ORD-1006")
    story.clock.advance(minutes=1)
    edited(story.edits(ANA, row, usd(6000)))
    story.rests()
    story.asks_refund(story.opens_chat("cus_sofia"), "20.00", "ORD-1017")
    waiting = parked(story)
    told = counted(story, MIA)
    assert some(told.today.outcomes) == {"edited": 1, "done": 1}
    assert some(told.week.outcomes) == {"edited": 1, "done": 3}
    assert (told.today.ran, told.week.ran) == (Ran(1, 0), Ran(1, 0))
    assert told.today.waits == Waits(1, timedelta(minutes=1), timedelta(minutes=1))
    assert told.week.waits == Waits(3, timedelta(minutes=4), timedelta(minutes=10))
    assert (told.pending, told.unknown) == (1, 0)
    assert told.today.since == START.replace(hour=0)
    assert told.people == (
        Act("Ana", "approve", 1),
        Act("Ana", "edit", 1),
        Act("Mia", "approve", 2),
    )
    # Who did how much is no business of the others'.
    assert counted(story, ANA).people is None
    assert counted(story, Identity("cli", "nobody")).people is None
    revoke(story.desk, waiting.id, story.order(MIA))
    assert some(counted(story).today.outcomes) == {"edited": 1, "done": 1, "withdrawn": 1}
    # What ended before the window counts no more.
    story.clock.advance(days=2)
    assert some(counted(story).week.outcomes) == {"edited": 1, "done": 1, "withdrawn": 1}
    assert some(counted(story).today.outcomes) == {}


def test_what_ran_alone_and_failed_and_what_nobody_knows_yet(story: Story) -> None:
    staff(story)
    story.payments.plan(FaultKind.DECLINED, 1)
    story.asks_refund(story.opens_chat("cus_sofia"), "20.00", "ORD-1017")
    turned_away(story)
    unknown(story)
    told = counted(story)
    # Of the last two neither has ended.
    assert (told.today.asked, told.today.ran, told.unknown) == (0, Ran(0, 1), 1)


def test_percentiles_are_of_waits_that_there_were() -> None:
    assert waits_of([]) is None
    ended = [
        Ended(Status.EXECUTED, START, START + timedelta(seconds=n), START + timedelta(hours=1))
        for n in range(1, 12)
    ]
    assert waits_of(ended) == Waits(11, timedelta(seconds=6), timedelta(seconds=10))
    # Made and approved by one edit: it waited for nobody.
    born = Ended(Status.EXECUTED, START, START, START)
    assert waits_of([born]) is None
    assert [outcome_of(one) for one in (born, ended[0])] == [Outcome.DONE] * 2
    with pytest.raises(ValueError, match="pending is no end"):
        outcome_of(Ended(Status.PENDING, START, None, START))
