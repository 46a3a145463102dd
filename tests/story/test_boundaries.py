"""Exactly at each limit and one step beyond it: cents, shares, microseconds."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, Edited, RefusalCode, Refused
from agent.steps.decide import withdraw
from agent.steps.execute import execute
from agent.steps.sweep import sweep
from tests.story.orders import owner_of
from tests.story.ways import (
    ANA,
    MIA,
    approved,
    booked,
    parked,
    pays_outside,
    refused,
    staff,
    usd,
)
from tests.support.builders import policy
from tests.support.desk import Story

JUST_BEFORE, EXACTLY, JUST_AFTER = -1, 0, 1
MOMENTS = pytest.mark.parametrize(
    "moment", [JUST_BEFORE, EXACTLY, JUST_AFTER], ids=["before", "exactly", "after"]
)


def answer(story: Story, call: tuple[str, str, str], order: str = "ORD-1001") -> str:
    """Let the order's owner's agent make one call and return `executed`, `waits` or the error."""
    (result,) = story.proposes(story.opens_chat(owner_of(story, order)), call)
    status = result.get("status")
    if status == "noted":
        # The model is told no more; the row knows.
        row = story.newest(call[1])
        return "waits" if row.status is Status.PENDING else row.status.value
    waits = status == "pending_approval"
    return "waits" if waits else str(result.get("error", status))


@pytest.mark.parametrize(
    ("amount", "order", "currency", "expected"),
    [
        ("50.00", "ORD-1001", "USD", "executed"),
        ("50.01", "ORD-1001", "USD", "waits"),
        ("0.01", "ORD-1001", "USD", "executed"),
        ("0.00", "ORD-1001", "USD", "invalid_amount"),
        ("160.00", "ORD-1001", "USD", "waits"),
        ("160.01", "ORD-1001", "USD", "over_remaining"),
        # 30.00 of 118.00 went back before.
        ("88.00", "ORD-1006", "USD", "waits"),
        ("88.01", "ORD-1006", "USD", "over_remaining"),
        # 18.00 of 60.00 is final sale.
        ("42.00", "ORD-1010", "USD", "executed"),
        ("42.01", "ORD-1010", "USD", "final_sale"),
        ("60.00", "ORD-1010", "USD", "final_sale"),
        ("60.01", "ORD-1010", "USD", "over_remaining"),
        ("24800", "ORD-1012", "JPY", "waits"),
        ("24801", "ORD-1012", "JPY", "over_remaining"),
    ],
)
def test_amounts(story: Story, amount: str, order: str, currency: str, expected: str) -> None:
    staff(story)
    assert answer(story, story.refund_call(amount, order, currency=currency), order) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [("32.00", "executed"), ("32.01", "final_sale"), ("50.01", "over_remaining")],
)
def test_what_is_left_after_a_partial_refund(story: Story, rest: str, expected: str) -> None:
    staff(story)
    assert answer(story, story.refund_call("10.00", "ORD-1010"), "ORD-1010") == "executed"
    assert answer(story, story.refund_call(rest, "ORD-1010"), "ORD-1010") == expected


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        ("0.90", "executed"),
        ("0.9", "executed"),
        ("0.900000", "executed"),
        ("1", "executed"),
        ("0.8999", "waits"),
        ("0.899999", "waits"),
        ("0", "waits"),
        (None, "waits"),
        ("1.01", "invalid_arguments"),
        ("-0.95", "invalid_arguments"),
    ],
)
def test_confidence(story: Story, confidence: str | None, expected: str) -> None:
    staff(story)
    assert answer(story, story.refund_call("5.00", confidence=confidence)) == expected


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("0.80", "executed"),
        ("0.8", "executed"),
        ("0", "executed"),
        ("0.8001", "waits"),
        ("0.800001", "waits"),
        ("1", "waits"),
        ("1.0001", "invalid_arguments"),
    ],
)
def test_fraud_scores(story: Story, score: str, expected: str) -> None:
    staff(story)
    assert answer(story, story.flag_call(score)) == expected


def late(story: Story, row: Approval, microseconds: int) -> None:
    """Move to a moment around the row's deadline."""
    story.clock.at = row.expires_at
    story.clock.advance(microseconds=microseconds)


@MOMENTS
@pytest.mark.parametrize("word", ["approve", "reject", "edit"])
def test_a_word_at_the_deadline(story: Story, word: str, moment: int) -> None:
    staff(story)
    row = parked(story, "120.00")
    say: dict[str, Callable[[], object]] = {
        "approve": lambda: story.approves(ANA, row),
        "reject": lambda: story.rejects(ANA, row),
        "edit": lambda: story.edits(ANA, row, usd(8000)),
    }
    late(story, row, moment)
    said = say[word]()
    if moment < 0:
        assert isinstance(said, Decided | Edited)
        return
    assert refused(said).code is RefusalCode.EXPIRED
    story.rests()
    assert story.approval(row.id).status is Status.EXPIRED
    assert story.paid() == []


@MOMENTS
def test_a_withdrawal_at_the_deadline(story: Story, moment: int) -> None:
    staff(story)
    row = parked(story)
    late(story, row, moment)
    done = withdraw(story.desk, row.id, row.customer_id)
    ended = Status.CANCELLED if moment < 0 else Status.EXPIRED
    assert isinstance(done, Refused) is (moment >= 0)
    assert story.approval(row.id).status is ended


@MOMENTS
def test_the_sweep_at_the_deadline(story: Story, moment: int) -> None:
    staff(story)
    row = parked(story)
    late(story, row, moment)
    # Just before it people on call are told.
    assert sweep(story.desk).waiting == 1
    story.rests()
    assert story.approval(row.id).status is (Status.PENDING if moment < 0 else Status.EXPIRED)


@MOMENTS
def test_the_first_vote_of_two_at_the_deadline(story: Story, moment: int) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    story.approves(MIA, row)
    late(story, row, moment)
    # So much money has the same time once more.
    story.clock.advance(minutes=30)
    second = story.approves(ANA, row)
    assert isinstance(second, Decided) is (moment < 0)
    votes = [f for f in story.facts(row) if f["type"] == "vote.cast"]
    assert len(votes) == (2 if moment < 0 else 1)


@MOMENTS
def test_the_claim_at_the_end_of_an_approvals_use(story: Story, moment: int) -> None:
    staff(story)
    row = approved(story)
    assert row.use_by is not None
    story.clock.at = row.use_by
    story.clock.advance(microseconds=moment)
    execute(story.desk, row.id)
    after = story.approval(row.id)
    assert after.status is (Status.EXECUTED if moment < 0 else Status.STALE)
    assert booked(story, row) == (16000 if moment < 0 else 0)
    if moment >= 0:
        assert (after.result or {})["problem"] == "It was approved too long ago."


@pytest.mark.parametrize(
    ("amount", "status"), [("159.99", Status.EXECUTED), ("160.00", Status.STALE)]
)
def test_the_claim_at_what_is_left(story: Story, amount: str, status: Status) -> None:
    """The shop itself pays one cent back between the approval and the claim."""
    staff(story)
    row = approved(story, amount)
    pays_outside(story, 1)
    execute(story.desk, row.id)
    assert story.approval(row.id).status is status


@pytest.mark.parametrize(
    ("order", "amount", "expected"),
    [
        ("ORD-1001", "20.00", "executed"),
        ("ORD-1001", "20.01", "waits"),
        ("ORD-1002", "20.00", "executed"),
        ("ORD-1002", "20.01", "waits"),
    ],
)
def test_automatic_refunds_together(story: Story, order: str, amount: str, expected: str) -> None:
    staff(story)
    assert answer(story, story.refund_call("30.00")) == "executed"
    assert answer(story, story.refund_call(amount, order)) == expected


@pytest.mark.parametrize(("moment", "expected"), [(JUST_BEFORE, "waits"), (EXACTLY, "executed")])
def test_what_a_customer_got_counts_for_a_day(story: Story, moment: int, expected: str) -> None:
    staff(story)
    assert answer(story, story.refund_call("30.00")) == "executed"
    story.clock.advance(days=1, microseconds=moment)
    assert answer(story, story.refund_call("20.01", "ORD-1002")) == expected


def test_what_an_order_gave_counts_for_good(story: Story) -> None:
    staff(story)
    assert answer(story, story.refund_call("30.00")) == "executed"
    story.clock.advance(days=365)
    assert answer(story, story.refund_call("20.01")) == "waits"


@pytest.mark.parametrize(("moment", "expected"), [(JUST_BEFORE, "waits"), (EXACTLY, "executed")])
def test_so_many_automatic_refunds_and_no_more(story: Story, moment: int, expected: str) -> None:
    staff(story)
    capped = story.under(policy(refunds={"customer_max_refunds": 2}))
    assert answer(capped, story.refund_call("1.00")) == "executed"
    story.clock.advance(hours=1)
    assert answer(capped, story.refund_call("1.00", "ORD-1002")) == "executed"
    assert answer(capped, story.refund_call("1.00", "ORD-1013")) == "waits"
    finding = story.only(Status.PENDING).findings[0]
    assert finding.text == ("This customer had 2 automatic refunds in 30 days; the policy allows 2")
    story.clock.advance(days=30, hours=-1, microseconds=moment)
    assert answer(capped, story.refund_call("1.50", "ORD-1002")) == expected


@pytest.mark.parametrize(("moment", "expected"), [(JUST_BEFORE, "waits"), (EXACTLY, "executed")])
def test_a_no_counts_for_thirty_days(story: Story, moment: int, expected: str) -> None:
    staff(story)
    story.rejects(ANA, parked(story))
    story.rests()
    story.clock.advance(days=30, microseconds=moment)
    assert answer(story, story.refund_call("5.00")) == expected


@pytest.mark.parametrize(
    ("amount", "order", "role"),
    [
        ("500.00", "ORD-1005", ("refund_approver", 1)),
        ("500.01", "ORD-1005", ("refund_manager", 1)),
        ("2000.00", "ORD-1004", ("refund_manager", 1)),
        ("2000.01", "ORD-1004", ("refund_manager", 2)),
    ],
)
def test_tiers(story: Story, amount: str, order: str, role: tuple[str, int]) -> None:
    staff(story)
    row = parked(story, amount, order)
    assert (row.tier.role, row.tier.approvals_needed) == role


def test_five_may_wait_and_not_six(story: Story) -> None:
    staff(story)
    first = parked(story, "60.00")
    for number in range(1, 5):
        parked(story, f"6{number}.00")
    assert answer(story, story.refund_call("70.00")) == "too_many_open"
    assert answer(story, story.refund_call("5.00")) == "too_many_open"
    assert answer(story, story.refund_call("60.00")) == "waits"
    story.rejects(ANA, first)
    story.rests()
    assert answer(story, story.refund_call("70.00")) == "waits"
    assert len(story.all(Status.PENDING)) == 5


def results(story: Story, *calls: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Return what the calls of one answer came to."""
    return story.proposes(story.opens_chat("cus_clara"), *calls)


def test_parts_asked_for_in_one_breath_count_together(story: Story) -> None:
    staff(story)
    told = results(
        story,
        story.refund_call("25.00", call_id="call_1"),
        story.refund_call("25.00", call_id="call_2"),
        story.refund_call("0.01", call_id="call_3"),
    )
    assert [one["status"] for one in told] == ["executed", "executed", "pending_approval"]
    assert story.paid() == [("ORD-1001", usd(2500))] * 2
