"""A request that waits is brought up again: whom, when, once; and its deadline is met once."""

from dataclasses import replace
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode
from agent.domain.policy import Policy, read_policy
from agent.ports import Delivered, Delivery, DeliveryKind, MessageRef, TryAgain
from agent.steps.ask_again import ask_again
from agent.steps.decide import withdraw
from agent.steps.revoke import revoke
from agent.steps.sweep import sweep
from tests.story.test_races import at_once, other
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    about,
    edited,
    parked,
    refused,
    staff,
    usd,
)
from tests.support.builders import policy_document
from tests.support.desk import Story

__all__ = ["other"]
CARD_UPDATE, LINE = DeliveryKind.CARD_UPDATE, DeliveryKind.PING_LINE
PING, PING_UPDATE = DeliveryKind.PING, DeliveryKind.PING_UPDATE
MINUTES = {"half": 15, "four fifths": 24, "the deadline": 30}


def sofa(story: Story) -> Approval:
    """Let something wait that is worth more time at its deadline."""
    return parked(story, "2340.00", "ORD-1004")


def escalating(**changes: Any) -> Policy:
    """Return the shipped policy with other rules of escalation."""
    document = policy_document()
    document["escalation"] |= changes
    return read_policy(document)


def pings(story: Story, row: Approval) -> list[str]:
    """Return the levels at which people were told by themselves, in order."""
    return [str(d.body["level"]) for d in about(story, row) if d.kind is PING]


def at(story: Story, row: Approval, minutes: float) -> None:
    """Let so much of a row's time pass, and sweep."""
    story.clock.at = row.created_at
    story.clock.advance(minutes=minutes)
    story.sweeps()


def test_its_group_then_on_call_then_nobody_until_it_expires(story: Story) -> None:
    staff(story)
    row = parked(story)
    told = dict.fromkeys((0, 14.99, 15, 23.99, 24, 29.99, 30))
    seen = []
    for minutes in told:
        at(story, row, minutes)
        seen.append((minutes, pings(story, row)))
    assert seen == [
        (0, []),
        # 49.97 % of the time, and half of it.
        (14.99, []),
        (15, ["reminder"]),
        (23.99, ["reminder"]),
        (24, ["reminder", "oncall"]),
        (29.99, ["reminder", "oncall"]),
        (30, ["reminder", "oncall"]),
    ]
    after = story.approval(row.id)
    assert (after.status, after.pinged, after.expires_at) == (Status.EXPIRED, 2, row.expires_at)
    # What was posted is drawn once more now that it is over.
    kinds = [d.kind for d in about(story, row)]
    assert (kinds.count(LINE), kinds.count(PING_UPDATE)) == (1, 1)
    (fact,) = [f for f in story.facts(row) if f["data"].get("level") == "reminder"][:1]
    assert (fact["type"], fact["actor"], fact["channel"]) == ("approval.pinged", "timer", "timer")
    assert fact["data"]["in_digest"] is False


def test_what_is_worth_much_has_one_more_period_with_the_senior_group(story: Story) -> None:
    staff(story)
    row = sofa(story)
    at(story, row, 30)
    more = story.approval(row.id)
    assert (more.status, more.escalations, more.pinged) == (Status.PENDING, 1, 3)
    assert (more.expires_at - row.expires_at).total_seconds() == 1800
    assert pings(story, row) == ["senior"]
    # Everybody sees the new deadline; the customer hears nothing.
    shown = [d.approval for d in about(story, row) if d.kind is CARD_UPDATE]
    assert [v.approval.expires_at for v in shown if v is not None] == [more.expires_at]
    assert story.chips(row.conversation_id) == ["pending"]
    (fact,) = [f for f in story.facts(row) if f["type"] == "approval.escalated"]
    assert fact["data"] == {
        "status": "pending",
        "level": "senior",
        "was": row.expires_at.isoformat(),
        "expires_at": more.expires_at.isoformat(),
    }
    at(story, row, 59.99)
    assert story.approval(row.id).status is Status.PENDING
    at(story, row, 60)
    assert story.approval(row.id).status is Status.EXPIRED
    assert pings(story, row) == ["senior"]


def test_a_tier_below_is_denied_at_its_deadline_and_any_tool_can_escalate(story: Story) -> None:
    staff(story)
    row = parked(story, "600.00", "ORD-1004")
    document = policy_document()
    document["emails"]["at_deadline"] = "escalate"
    strict = story.under(read_policy(document))
    call = strict.email_call(subject="Sorry", body="We are sorry.", order_id="ORD-1001")
    strict.proposes(strict.opens_chat("cus_clara"), call)
    mail = strict.newest("send_email")
    at(strict, row, 30)
    assert story.approval(row.id).status is Status.EXPIRED
    at(strict, mail, 240)
    more = story.approval(mail.id)
    assert (more.status, more.extra_s) == (Status.PENDING, 14400)


Word = Any


def approves(story: Story, row: Approval) -> object:
    return story.approves(MIA, row)


def withdraws(story: Story, row: Approval) -> object:
    return withdraw(story.desk, row.id, row.customer_id)


def takes_back(story: Story, row: Approval) -> object:
    return revoke(story.desk, row.id, story.order(MIA))


def asks_once_more(story: Story, row: Approval) -> object:
    """Let the customer ask for the very same thing: it joins what waits, or is a request anew."""
    chat = story.opens_chat(row.customer_id)
    return story.proposes(chat, story.refund_call("2340.00", "ORD-1004"))


@pytest.mark.parametrize("word", [approves, withdraws, takes_back, asks_once_more])
@pytest.mark.parametrize("late", [False, True], ids=["in the further period", "after it"])
def test_whoever_touches_it_first_finds_the_same_deadline(
    story: Story, word: Word, late: bool
) -> None:
    staff(story)
    row = sofa(story)
    story.clock.at = row.expires_at
    # Nobody has swept: a click alone meets the deadline, and the one after that.
    story.clock.advance(minutes=30 if late else 29.99)
    word(story, row)
    story.tells()
    after = story.approval(row.id)
    if late:
        assert (after.status, after.escalations) == (Status.EXPIRED, 0)
        assert pings(story, row) == []
        return
    assert after.status in {Status.PENDING, Status.CANCELLED}
    assert (after.escalations, "approval.escalated" in story.trail()) == (1, True)
    # What has ended meanwhile is urged no more.
    assert pings(story, row) == (["senior"] if after.status is Status.PENDING else [])


def test_the_second_vote_counts_in_the_further_period(story: Story) -> None:
    staff(story)
    row = sofa(story)
    story.approves(ANA, row)
    story.clock.at = row.expires_at
    assert isinstance(story.approves(MIA, row), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", usd(234000))]


def test_an_edit_keeps_the_deadline_and_the_levels(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    at(story, row, 15)
    new = edited(story.edits(ANA, row, usd(15000)))
    story.rests()
    assert (new.pinged, new.expires_at, new.waits_since) == (1, row.expires_at, row.created_at)
    at(story, row, 23.99)
    assert pings(story, new) == []
    at(story, row, 24)
    assert (pings(story, row), pings(story, new)) == (["reminder"], ["oncall"])
    # The message about the request of before says that it was replaced.
    (update,) = [d for d in about(story, row) if d.kind is PING_UPDATE]
    assert update.approval is not None
    assert update.approval.approval.status is Status.SUPERSEDED
    again = edited(story.edits(BEN, new, usd(16000)))
    assert again.waits_since == row.created_at
    at(story, row, 30)
    assert story.approval(again.id).status is Status.EXPIRED


def test_an_edit_does_not_take_away_the_time_that_the_money_was_worth(story: Story) -> None:
    staff(story)
    row = sofa(story)
    at(story, row, 30)
    new = edited(story.edits(MIA, row, usd(10000)))
    assert (new.escalations, new.extra_s, new.pinged) == (1, 1800, 3)
    at(story, row, 60)
    assert story.approval(new.id).status is Status.EXPIRED
    assert pings(story, new) == []


def test_what_is_asked_again_begins_anew(story: Story) -> None:
    staff(story)
    row = sofa(story)
    at(story, row, 30)
    at(story, row, 60)
    again = ask_again(story.desk, row.id, story.order(MAX))
    assert isinstance(again, Approval)
    assert (again.pinged, again.escalations, again.waits_since) == (0, 0, None)
    assert again.wake_at == story.clock.now() + (row.expires_at - row.created_at) / 2
    at(story, again, 15)
    assert pings(story, again) == ["reminder"]


def test_after_a_night_without_a_desk_only_the_newest_level_is_told(story: Story) -> None:
    staff(story)
    row = parked(story)
    at(story, row, 26)
    assert (pings(story, row), story.approval(row.id).pinged) == (["oncall"], 2)
    # A desk that starts in the middle tells nobody twice, and does not lose what is due.
    started = replace(story, desk=replace(story.desk, replica="srv-new"))
    at(started, row, 26.1)
    assert pings(story, row) == ["oncall"]
    at(started, row, 30)
    assert story.approval(row.id).status is Status.EXPIRED


@pytest.mark.parametrize(("minutes", "level"), [(15, "reminder"), (30, "senior")])
def test_what_was_told_is_not_told_again_whatever_the_row_says(
    story: Story, minutes: int, level: str
) -> None:
    staff(story)
    row = sofa(story)
    before = "INSERT INTO pings (approval_id, level, at) VALUES (:row, :level, 1)"
    story.happens(before, row=row.id, level=level)
    at(story, row, minutes)
    after = story.approval(row.id)
    assert (pings(story, row), after.pinged) == ([], 1 if level == "reminder" else 3)


@pytest.mark.parametrize("moment", sorted(MINUTES))
def test_two_desks_tell_once(story: Story, other: Story, moment: str) -> None:
    staff(story)
    row = sofa(story)
    story.clock.advance(minutes=MINUTES[moment])
    at_once(*(lambda desk=desk: sweep(desk) for desk in (story.desk, other.desk) for _ in "ab"))
    story.rests()
    other.rests()
    assert len(pings(story, row)) == 1
    facts = [f["type"] for f in story.facts(row)]
    assert facts.count("approval.pinged") + facts.count("approval.escalated") == 1


def test_a_ping_that_fails_on_its_way_is_tried_until_it_is_there(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.clock.advance(minutes=15)
    sweep(story.desk)
    story.notifier.answers.append(TryAgain("brand_new_error", ambiguous=True))
    story.delivers()
    story.clock.advance(seconds=2)
    ref = MessageRef("C1", "77.0")
    story.notifier.answers.append(Delivered((ref,)))
    story.delivers()
    tries = [d for d in about(story, row) if d.kind is PING]
    assert [d.ambiguous for d in tries] == [False, True]
    (posted,) = [f for f in story.facts(row) if f["type"] == "ping.posted"]
    assert posted["data"] == {"channel": "C1", "ts": "77.0", "level": "reminder"}


def test_a_ping_whose_request_has_ended_does_not_leave(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.clock.advance(minutes=24)
    sweep(story.desk)
    story.rejects(ANA, row)
    story.rests()
    kinds = [d.kind for d in about(story, row)]
    assert PING not in kinds
    assert LINE not in kinds


def crowd(story: Story, number: int) -> list[Approval]:
    """Let so many requests wait, a second apart."""
    document = policy_document()
    document["max_open_approvals"] = 100
    many = story.under(read_policy(document))
    rows = []
    for index in range(number):
        rows.append(parked(many, f"{60 + index}.00"))
        story.clock.advance(seconds=1)
    return rows


def digests(story: Story) -> list[Delivery]:
    return story.notifier.of(DeliveryKind.DIGEST)


def test_when_many_wait_a_digest_stands_for_all_of_them(story: Story) -> None:
    staff(story)
    rows = crowd(story, 5)
    few = story.under(escalating(digest_over=3))
    # Three of them have waited for half of their time.
    at(few, rows[2], 15)
    assert [story.approval(row.id).pinged for row in rows] == [1, 1, 1, 0, 0]
    (digest,) = digests(few)
    assert digest.queue is not None
    assert (digest.queue.total, digest.queue.oldest) == (5, rows[0].created_at)
    assert [row.id for row in digest.queue.soonest] == [row.id for row in rows]
    # Within ten minutes no other leaves; then one that shows the queue as it is by then.
    at(few, rows[4], 15)
    assert len(digests(few)) == 1
    story.rejects(ANA, rows[0])
    story.clock.at = digest.created_at
    story.clock.advance(minutes=10, microseconds=-1)
    few.sweeps()
    assert [d.body["level"] for d in digests(few)] == ["reminder", "oncall"]
    story.clock.advance(microseconds=1)
    few.sweeps()
    third = digests(few)[-1].queue
    assert third is not None
    assert (len(digests(few)), third.total) == (3, 4)
    assert [pings(few, row) for row in rows] == [[], [], [], [], []]
    assert {story.approval(row.id).pinged for row in rows[1:]} == {2}


def test_when_few_wait_again_each_is_told_by_itself(story: Story) -> None:
    staff(story)
    rows = crowd(story, 4)
    few = story.under(escalating(digest_over=3))
    story.rejects(ANA, rows[0])
    at(few, rows[3], 15)
    assert [pings(few, row) for row in rows] == [[], ["reminder"], ["reminder"], ["reminder"]]
    assert digests(few) == []


def test_a_digest_that_comes_too_late_or_for_nobody_does_not_leave(story: Story) -> None:
    staff(story)
    rows = crowd(story, 4)
    few = story.under(escalating(digest_over=3, digest_every_s=60))
    story.clock.at = rows[2].created_at
    story.clock.advance(minutes=15)
    sweep(few.desk)
    # It could not leave before the next one was due, which shows the same.
    story.clock.advance(seconds=1)
    sweep(few.desk)
    story.clock.advance(seconds=60)
    few.rests()
    assert len(digests(few)) == 1
    at(few, rows[3], 24)
    for row in rows:
        story.rejects(ANA, story.approval(row.id))
    story.clock.advance(minutes=2)
    few.rests()
    assert len([d for d in digests(few) if d.queue is None]) == 0


def test_two_desks_make_one_digest(story: Story, other: Story) -> None:
    staff(story)
    rows = crowd(story, 4)
    few = escalating(digest_over=3)
    story.clock.at = rows[3].created_at
    story.clock.advance(minutes=15)
    desks = [replace(one.desk, policy=few) for one in (story, other)]
    at_once(*(lambda desk=desk: sweep(desk) for desk in desks for _ in "ab"))
    story.rests()
    other.rests()
    assert len(digests(story)) == 1


def test_what_is_worth_much_is_never_hidden_in_a_digest(story: Story) -> None:
    staff(story)
    rows = [sofa(story), *crowd(story, 3)]
    few = story.under(escalating(digest_over=1))
    at(few, rows[0], 30)
    assert pings(few, rows[0]) == ["senior"]


def test_only_business_hours_count(story: Story) -> None:
    # The story begins on a Sunday at noon.
    staff(story)
    office = {"days": ["mon", "tue"], "opens": "09:00", "closes": "09:40"}
    document = policy_document()
    document["escalation"]["business_hours"] = {**office, "closes": "17:00"}
    document["refunds"]["decide_within_s"] = 9 * 3600
    week = story.under(read_policy(document))
    row = parked(week, "2340.00", "ORD-1004")
    begins = row.created_at.replace(hour=9)
    assert (row.expires_at - begins).total_seconds() == (48 + 1) * 3600
    story.clock.at = begins
    # Half of nine hours after Monday, nine o'clock.
    for hours, level in ((24 + 4.49, []), (24 + 4.5, ["reminder"]), (24 + 7.2, ["oncall"])):
        story.clock.at = begins
        story.clock.advance(hours=hours)
        week.sweeps()
        assert pings(week, row)[-1:] == level
    story.clock.at = row.expires_at
    week.sweeps()
    # Nine hours more are seven on Tuesday, and two on the Monday after.
    assert (story.approval(row.id).expires_at - begins).total_seconds() == (8 * 24 + 2) * 3600


def test_another_policy_after_a_restart_decides_what_is_due(story: Story) -> None:
    staff(story)
    row = parked(story)
    later = story.under(escalating(remind_at="0.60", oncall_at="0.90"))
    at(later, row, 15)
    assert (pings(later, row), story.approval(row.id).pinged) == ([], 0)
    at(later, row, 18)
    assert pings(later, row) == ["reminder"]


def test_a_late_click_on_what_escalated_is_told_when_it_ended(story: Story) -> None:
    staff(story)
    row = sofa(story)
    at(story, row, 30)
    at(story, row, 60)
    assert refused(story.approves(MIA, row)).code is RefusalCode.EXPIRED
