"""An edit is a new row; the person who edits may not end above the model's amount alone."""

import json
from dataclasses import replace

import pytest

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.decision import DecideAnswer, Decided, Edited, Edits, RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.ports import DeliveryKind
from tests.story.orders import owner_of
from tests.support.desk import Story, shipped_policy


def park(story: Story, amount: str = "120.00", order: str = "ORD-1001") -> Approval:
    """Park a refund and return it."""
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    return story.only(Status.PENDING)


def usd(minor: int) -> Money:
    """Return dollars."""
    return Money(minor, "USD")


def edited(answer: DecideAnswer) -> Approval:
    """Return the new row, or fail."""
    assert isinstance(answer, Edited), answer
    return answer.approval


def test_lowering_approves_in_the_same_submit(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.model.says("Our team changed the amount to 80.00 USD and paid it.")
    new = edited(story.edits(ana, parked, usd(8000)))
    assert new.status is Status.APPROVED
    assert new.supersedes == parked.id
    assert new.expires_at == parked.expires_at
    assert new.payload_hash != parked.payload_hash
    assert new.idempotency_key != parked.idempotency_key
    story.rests()
    assert story.paid() == [("ORD-1001", usd(8000))]
    old = story.approval(parked.id)
    assert old.status is Status.SUPERSEDED
    assert old.superseded_by == new.id
    told = json.loads(story.model.asked[-1].messages[-1].content)
    assert told["amount"] == "80.00 USD"
    assert told["edited"] == {"from": parked.payload, "to": new.payload, "final": True}
    assert story.chips(parked.conversation_id) == [
        "pending",
        "replaced",
        "pending",
        "approved",
        "done",
    ]
    assert len(story.notifier.of(DeliveryKind.CARD)) == 2


def test_raising_waits_for_somebody_else(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ben = story.hire("ben", Role.REFUND_APPROVER)
    new = edited(story.edits(ana, park(story), usd(15000)))
    assert new.status is Status.PENDING
    own = story.approves(ana, new)
    assert isinstance(own, Refused)
    assert own.code is RefusalCode.SELF_APPROVAL
    story.model.says("Paid.")
    assert isinstance(story.approves(ben, new), Decided)
    story.rests()
    assert story.paid() == [("ORD-1001", usd(15000))]


def test_nobody_ends_above_the_proposal_by_raising_and_lowering(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    raised = edited(story.edits(ana, park(story), usd(15000)))
    lowered = edited(story.edits(ana, raised, usd(13000)))
    assert lowered.status is Status.PENDING
    below = edited(story.edits(ana, lowered, usd(11000)))
    assert below.status is Status.PENDING
    own = story.approves(ana, below)
    assert isinstance(own, Refused)
    assert own.code is RefusalCode.SELF_APPROVAL
    assert [fact for fact in story.trail() if fact == "vote.cast"] == []
    story.rests()
    assert story.paid() == []


def test_lowering_to_above_the_proposal_is_no_vote(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ben = story.hire("ben", Role.REFUND_APPROVER)
    raised = edited(story.edits(ana, park(story), usd(15000)))
    lowered = edited(story.edits(ben, raised, usd(13000)))
    assert lowered.status is Status.PENDING
    assert lowered.original_amount == usd(12000)


def test_an_edit_into_a_higher_tier_needs_that_tier(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    mia = story.hire("mia", Role.REFUND_MANAGER)
    new = edited(story.edits(ana, park(story, "400.00", "ORD-1005"), usd(60000)))
    assert new.tier.role is Role.REFUND_MANAGER
    assert isinstance(story.approves(mia, new), Decided)


def test_an_edit_of_two_peoples_decision_counts_as_one_vote(story: Story) -> None:
    mia = story.hire("mia", Role.REFUND_MANAGER)
    ana = story.hire("ana", Role.REFUND_APPROVER)
    new = edited(story.edits(mia, park(story, "2340.00", "ORD-1004"), usd(230000)))
    assert new.status is Status.PENDING
    assert isinstance(story.approves(ana, new), Decided)


def test_an_edit_keeps_the_higher_tier(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    mia = story.hire("mia", Role.REFUND_MANAGER)
    parked = park(story, "2340.00", "ORD-1004")
    too_low = story.edits(ana, parked, usd(10000))
    assert isinstance(too_low, Refused)
    assert too_low.code is RefusalCode.NOT_ALLOWED
    new = edited(story.edits(mia, parked, usd(10000)))
    assert new.tier.approvals_needed == 2
    assert new.status is Status.PENDING


def test_under_a_stricter_policy_the_editor_may_only_ask(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    strict = shipped_policy(tiers={"USD": [{"role": "refund_manager"}]})
    stricter = replace(story, desk=replace(story.desk, policy=strict))
    new = edited(stricter.edits(ana, parked, usd(8000)))
    assert new.status is Status.PENDING
    assert new.tier.role is Role.REFUND_MANAGER


@pytest.mark.parametrize(
    "amount",
    [usd(0), usd(-100), usd(12000), usd(9_999_999), Money(5000, "EUR")],
    ids=["zero", "negative", "same", "over remaining", "other currency"],
)
def test_a_bad_amount_leaves_the_old_row_pending(story: Story, amount: Money) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    answer = story.edits(ana, parked, amount)
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.INVALID
    assert answer.message.startswith("amount")
    assert story.approval(parked.id).status is Status.PENDING


def test_an_edit_without_amount_is_invalid(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    answer = story.decides(ana, Verdict.EDIT, park(story))
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.INVALID


def test_an_edit_of_nothing_is_refused(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    answer = story.decides(
        ana, Verdict.EDIT, park(story), approval_id=ApprovalId("apr_no"), edits=Edits(amount=usd(1))
    )
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.NOT_FOUND


def test_an_edit_equal_to_another_pending_request_is_refused(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    first = park(story)
    story.asks_refund(story.opens_chat(first.customer_id), "100.00")
    answer = story.edits(ana, first, usd(10000))
    assert isinstance(answer, Refused)
    assert "identical" in answer.message


def test_a_click_on_the_superseded_row_names_the_new_one(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ben = story.hire("ben", Role.REFUND_APPROVER)
    parked = park(story)
    new = edited(story.edits(ana, parked, usd(8000)))
    late = story.approves(ben, parked)
    assert isinstance(late, Refused)
    assert late.code is RefusalCode.SUPERSEDED
    assert new.id in late.message
