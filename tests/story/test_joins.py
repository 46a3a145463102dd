"""Who asks in a second chat for what waits already waits for the same outcome, and hears it."""

import json

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.ids import ConversationId, CustomerId
from agent.domain.money import Money
from agent.steps.ask_again import ask_again
from agent.steps.decide import withdraw
from storage import runs
from tests.story.ways import ANA, MIA, parked, staff
from tests.support.desk import Story


@pytest.fixture
def waiting(story: Story) -> Approval:
    """Return a refund that waits."""
    staff(story)
    return parked(story)


def joins(story: Story, row: Approval) -> ConversationId:
    """Let the same customer ask for the same in another chat."""
    other = story.opens_chat(row.customer_id)
    call = story.refund_call("160.00", call_id="call_other")
    (result,) = story.proposes(other, call)
    assert result["status"] == "pending_approval"
    assert result["approval_id"] == row.id
    return other


def heard(story: Story, conversation: ConversationId) -> list[str]:
    """Return the outcomes that the model was told of in a conversation."""
    with story.desk.store.transaction(write=False) as tx:
        messages = runs.tail(tx, conversation, 100)
    told = [json.loads(m.content) for m in messages if m.role == "system"]
    return [one["outcome"] for one in told if one["event"] == "approval_outcome"]


def test_both_chats_hear_that_it_was_paid_once(story: Story, waiting: Approval) -> None:
    other = joins(story, waiting)
    assert story.chips(other) == ["pending"]
    story.approves(ANA, waiting)
    story.rests()
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]
    for chat in (waiting.conversation_id, other):
        assert story.chips(chat) == ["pending", "approved", "done"]
        assert heard(story, chat) == ["executed"]
        assert sum("has been paid" in words for words in story.agent_words(chat)) == 1


def test_a_second_ask_in_the_same_chat_is_not_told_twice(story: Story, waiting: Approval) -> None:
    call = story.refund_call("160.00", call_id="call_again")
    story.proposes(waiting.conversation_id, call)
    story.approves(ANA, waiting)
    story.rests()
    assert heard(story, waiting.conversation_id) == ["executed"]


def test_both_chats_follow_an_edit(story: Story, waiting: Approval) -> None:
    other = joins(story, waiting)
    story.edits(ANA, waiting, Money(8000, "USD"))
    story.rests()
    assert "replaced" in story.chips(other)
    assert story.chips(other)[-1] == "done"
    assert heard(story, other) == ["executed"]


def test_both_chats_follow_what_is_asked_again(story: Story, waiting: Approval) -> None:
    other = joins(story, waiting)
    story.clock.at = waiting.expires_at
    story.sweeps()
    again = ask_again(story.desk, waiting.id, story.order(MIA))
    assert isinstance(again, Approval)
    story.approves(ANA, again)
    story.rests()
    assert heard(story, other) == ["expired", "executed"]


def test_taking_it_back_in_one_chat_is_told_in_the_other(story: Story, waiting: Approval) -> None:
    other = joins(story, waiting)
    story.model.calls(("call_back", "withdraw_request", "{}"))
    story.says(other, "never mind")
    assert story.approval(waiting.id).status is Status.CANCELLED
    assert heard(story, other) == []
    assert heard(story, waiting.conversation_id) == ["cancelled"]
    assert story.chips(other)[-1] == story.chips(waiting.conversation_id)[-1] == "withdrawn"


def test_nobody_else_takes_it_back(story: Story, waiting: Approval) -> None:
    joins(story, waiting)
    answer = withdraw(story.desk, waiting.id, CustomerId("cus_david"))
    assert not isinstance(answer, Approval)
    assert story.approval(waiting.id).status is Status.PENDING
