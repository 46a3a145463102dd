"""What is on its way to the customer holds the order's money and counts against the limits."""

from agent.domain.approvals import Status
from agent.domain.money import Money
from agent.domain.roles import Role
from bot.sandbox.payments_faults import FaultKind
from tests.story.test_execute import approve
from tests.story.test_gate import ask, last_result
from tests.support.desk import Story


def test_a_refund_nobody_knows_about_holds_the_orders_money(story: Story) -> None:
    approved = approve(story, "100.00")
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.rests()
    assert story.approval(approved.id).status is Status.UNKNOWN
    assert ask(story, "60.01")["error"] == "over_remaining"
    assert ask(story, "60.00")["status"] == "pending_approval"


def test_an_automatic_refund_nobody_knows_about_counts_against_the_limit(story: Story) -> None:
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    assert ask(story, "30.00")["status"] == "checking"
    assert ask(story, "20.01")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"


def test_what_people_approved_does_not_count_as_automatic(story: Story) -> None:
    mia = story.hire("mia", Role.REFUND_MANAGER)
    ask(story, "60.00")
    story.model.says("Paid.")
    story.approves(mia, story.only(Status.PENDING))
    story.rests()
    assert ask(story, "50.00")["status"] == "executed"
    assert story.paid() == [("ORD-1001", Money(6000, "USD")), ("ORD-1001", Money(5000, "USD"))]


def test_an_unclear_answer_is_never_told_as_done(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    story.asks_refund(chat, "5.00")
    result = last_result(story)
    assert result["ok"] is False
    assert result["status"] == "checking"
    assert story.chips(chat) == ["checking"]
