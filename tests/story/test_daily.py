"""The digest of the day: numbers counted by hand, once a day over all desks, late if need be."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent.domain.approvals import Status
from agent.domain.policy import read_policy
from agent.ports import DeliveryKind
from agent.steps.breaker import reset_breaker
from agent.steps.decide import withdraw
from agent.steps.digest import daily_digest
from tests.story.orders import owner_of
from tests.story.test_escalation import at, sofa
from tests.story.test_races import at_once, other
from tests.story.ways import ANA, BEN, MAX, MIA, edited, parked, staff, usd
from tests.support.builders import policy_document
from tests.support.desk import Story

__all__ = ["other"]


def bodies(story: Story) -> list[dict[str, Any]]:
    """Return the digests that left, the oldest first."""
    story.rests()
    return [dict(d.body) for d in story.notifier.of(DeliveryKind.DAILY_DIGEST)]


def morning(story: Story, days: int = 1) -> datetime:
    """Move to eight o'clock, so many days after the story began."""
    today = story.clock.now() + timedelta(days=days)
    story.clock.at = today.replace(hour=8, minute=0, second=0)
    return story.clock.at


def damaged_chair(story: Story) -> None:
    """Let an automatic refund run."""
    story.asks_refund(story.opens_chat("cus_clara"), "5.00")


def test_a_day_is_counted_once(story: Story) -> None:
    staff(story)
    assert daily_digest(story.desk) is False
    damaged_chair(story)
    # Approved after 1, 2 and 30 minutes; the last by two people.
    for minutes, amount in ((1, "60.00"), (2, "61.00")):
        row = parked(story, amount)
        story.clock.advance(minutes=minutes)
        story.approves(ANA, row)
        story.rests()
    two = sofa(story)
    story.clock.advance(minutes=20)
    story.approves(BEN, two)
    story.clock.advance(minutes=9)
    story.approves(MIA, two)
    story.rests()
    # Edited in the eighth minute, and decided in the tenth of its wait.
    row = parked(story, "70.00", "ORD-1005")
    story.clock.advance(minutes=8)
    new = edited(story.edits(ANA, row, usd(8000)))
    story.clock.advance(minutes=2)
    story.rejects(MAX, new)
    story.rests()
    back = parked(story, "100.00", "ORD-1005")
    withdraw(story.desk, back.id, back.customer_id)
    story.rests()
    lost = parked(story, "90.00", "ORD-1005")
    at(story, lost, 30)
    waiting = parked(story, "91.00", "ORD-1005")
    until = morning(story)
    # Nobody has swept since: what waits still waits.
    assert story.approval(waiting.id).status is Status.PENDING
    assert daily_digest(story.desk) is True
    assert daily_digest(story.desk) is False
    (body,) = bodies(story)
    assert body == {
        "since": (until - timedelta(days=1)).isoformat(),
        "until": until.isoformat(),
        "outcomes": [
            {"tool": "issue_refund", "status": "cancelled", "number": 1},
            {"tool": "issue_refund", "status": "executed", "number": 3},
            {"tool": "issue_refund", "status": "rejected", "number": 1},
            {"tool": "issue_refund", "status": "superseded", "number": 1},
        ],
        "expired": [{"tool": "issue_refund", "number": 1}],
        "unseen": 0,
        "waits": {"number": 4, "median_s": 120, "p90_s": 29 * 60},
        "approvers": [
            {"text": "Ana", "number": 2},
            {"text": "Ben", "number": 1},
            {"text": "Mia", "number": 1},
        ],
        "edits": [{"text": "partly used", "number": 1}],
        "automatic": [{"tool": "issue_refund", "number": 1}],
        "breaker_openings": 0,
        "waiting": 1,
    }
    (fact,) = [f for f in story.facts() if f["type"] == "digest.made"]
    assert fact["data"] == body


def test_time_outs_that_nobody_could_see_and_breakers_are_told(story: Story) -> None:
    staff(story)
    daily_digest(story.desk)
    for order in ("ORD-1001", "ORD-1005", "ORD-1003", "ORD-1013", "ORD-1015", "ORD-1016"):
        story.asks_refund(story.opens_chat(owner_of(story, order)), "5.00", order)
    for row in (parked(story, "60.00"), parked(story, "61.00")):
        at(story, row, 30)
    unseen = "UPDATE approvals SET result = :result WHERE amount_minor = 6000"
    story.happens(unseen, result='{"unseen":true}')
    reset_breaker(story.desk, story.order(MIA))
    # The chain of the desk goes on after it, and what is newer is another day's.
    morning(story)
    damaged_chair(story)
    daily_digest(story.desk)
    (body,) = bodies(story)
    assert (body["expired"], body["unseen"]) == ([{"tool": "issue_refund", "number": 2}], 1)
    assert (body["breaker_openings"], body["waits"]) == (1, None)
    assert body["automatic"] == [{"tool": "issue_refund", "number": 5}]


def test_a_desk_that_was_down_tells_it_late_and_only_the_newest_day(story: Story) -> None:
    daily_digest(story.desk)
    morning(story)
    story.clock.advance(microseconds=-1)
    assert daily_digest(story.desk) is False
    story.clock.advance(hours=5)
    assert daily_digest(story.desk) is True
    morning(story, 4)
    story.clock.advance(hours=3)
    assert daily_digest(story.desk) is True
    assert daily_digest(story.desk) is False
    ends = [datetime.fromisoformat(body["until"]) for body in bodies(story)]
    assert [end.day for end in ends] == [30, 4]
    assert {end.hour for end in ends} == {8}


@pytest.mark.parametrize("first", [True, False], ids=["the first ever", "the next"])
def test_two_desks_make_one(story: Story, other: Story, first: bool) -> None:
    if not first:
        daily_digest(story.desk)
    morning(story)
    desks = [story.desk, other.desk] * 2
    made: list[bool] = []
    at_once(*(lambda desk=desk: made.append(daily_digest(desk)) for desk in desks))
    assert made.count(True) == (0 if first else 1)
    other.rests()
    assert len(bodies(story)) == (0 if first else 1)


def test_it_is_made_in_the_policys_zone_or_not_at_all(story: Story) -> None:
    document = policy_document()
    document["escalation"] |= {"timezone": "America/New_York", "daily_digest_at": "07:30"}
    away = story.under(read_policy(document))
    daily_digest(away.desk)
    story.clock.at = story.clock.now().replace(hour=12, minute=30)
    assert daily_digest(away.desk) is True
    document["escalation"]["daily_digest_at"] = None
    morning(story)
    assert daily_digest(replace(story.desk, policy=read_policy(document))) is False
    assert len(bodies(story)) == 1
