"""A refund over the limit waits, a person approves, the money moves once, the customer hears."""

from agent.domain.approvals import Status
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.ports import DeliveryKind
from tests.story.orders import owner_of
from tests.support.desk import Story

CHAIR = Money(16000, "USD")


def test_a_refund_over_the_limit_waits_and_is_paid_once(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    parked = story.only(Status.PENDING)
    assert parked.amount == CHAIR
    assert [f.code.value for f in parked.findings] == ["amount_over_limit"]
    assert story.paid() == []
    assert story.chips(chat) == ["pending"]
    assert len(story.notifier.of(DeliveryKind.CARD)) == 1

    story.model.says("Your refund has been paid.")
    assert isinstance(story.approves(ana, parked), Decided)
    story.rests()
    assert story.paid() == [("ORD-1001", CHAIR)]
    assert story.approval(parked.id).status is Status.EXECUTED
    assert story.chips(chat) == ["pending", "approved", "done"]
    assert story.agent_words(chat)[-1] == "Your refund has been paid."

    again = story.approves(ana, parked)
    assert isinstance(again, Refused)
    assert again.code is RefusalCode.ALREADY_DECIDED
    assert again.earlier is not None
    story.rests()
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_small_refund_runs_at_once(story: Story) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "50.00")
    assert story.paid() == [("ORD-1001", Money(5000, "USD"))]
    assert story.chips(chat) == ["done"]
