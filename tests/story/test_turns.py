"""Turns: the fenced lease, batches, a model that fails, a customer who stops it."""

import json
import uuid
from dataclasses import replace

import pytest
from typing_extensions import override

from agent.desk import Lane
from agent.domain.approvals import Status
from agent.domain.conversation import MAX_PROMPT_MESSAGES, RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.errors import FenceLost, InvalidInput
from agent.domain.ids import ConversationId, CustomerId, RunId
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.ports import (
    ChatAnswer,
    ChatRequest,
    DeliveryKind,
    Hear,
    unheard,
)
from agent.steps.checkpoint import checkpoint
from agent.steps.receive import attach, open_conversation, receive, stop
from agent.steps.sweep import sweep
from agent.steps.turn import MAX_STEPS, MAX_TRIES, take_turn
from storage import outbox, runs
from tests.story.orders import owner_of
from tests.story.test_execute import DyingPayments, Killed, with_payments
from tests.support.desk import ScriptedModel, Story


def run_of(story: Story) -> RunId:
    """Return the only run."""
    with story.desk.store.transaction(write=False) as tx:
        (run,) = runs.newest(tx, 10)
    return run.id


def state_of(story: Story, run_id: RunId) -> RunState:
    """Return where a run stands."""
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, run_id)
    assert run is not None
    return run.state


def test_the_same_client_id_is_one_message(story: Story) -> None:
    chat = story.opens_chat()
    client_id = str(uuid.UUID(int=1))
    first = receive(story.desk, chat, client_id, "hello")
    again = receive(story.desk, chat, client_id, "hello")
    assert first == again
    assert story.woken.count(Lane.TURN) == 1 + 1
    assert first.seq == 1
    assert len(story.log(chat)) == 1


@pytest.mark.parametrize("bad", ["", "  \n", "x" * 4001, "a\0b", "\ud800"])
def test_what_is_no_message_is_refused(story: Story, bad: str) -> None:
    with pytest.raises(InvalidInput):
        receive(story.desk, story.opens_chat(), "c", bad)


def test_an_unknown_conversation_is_refused(story: Story) -> None:
    with pytest.raises(LookupError):
        receive(story.desk, ConversationId("cnv_no"), "c", "hello")


def test_in_a_batch_only_the_gated_call_waits(story: Story) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.model.calls(
        ("call_1", "lookup_order", '{"order_id": "ord-1001"}'),
        story.refund_call("160.00", call_id="call_2"),
        story.refund_call("8.00", "ORD-1002", call_id="call_3"),
        ("call_4", "refund_status", "{}"),
        ("call_5", "list_orders", "{}"),
        ("call_6", "check_policy", '{"question": "how long do refunds take?"}'),
    )
    story.model.says("One is paid, one needs a quick review by our team.")
    story.says(chat, "please")
    results = {
        m.call_id: json.loads(m.content) for m in story.model.asked[-1].messages if m.role == "tool"
    }
    assert results["call_1"]["order"]["total"]["display"] == "160.00 USD"
    assert results["call_2"]["status"] == "pending_approval"
    assert results["call_3"]["status"] == "executed"
    assert {r["status"] for r in results["call_4"]["requests"]} == {"pending", "done"}
    assert len(results["call_5"]["orders"]) == 3
    assert results["call_6"]["passages"][0]["title"] == "Refunds"
    assert story.paid() == [("ORD-1002", Money(800, "USD"))]
    run_id = run_of(story)
    assert state_of(story, run_id) is RunState.PARKED
    shown = checkpoint(story.desk, run_id)
    assert shown is not None
    pending = json.loads(json.dumps(shown["pending_tools"]))
    assert [call["call_id"] for call in pending] == ["call_2"]
    assert shown["status"] == "parked"
    assert shown["expires_at"]


def test_there_is_no_checkpoint_of_no_run(story: Story) -> None:
    assert checkpoint(story.desk, RunId("run_no")) is None


def test_a_run_without_requests_is_done(story: Story) -> None:
    chat = story.opens_chat()
    story.model.says("Hello!")
    story.says(chat, "hi")
    run_id = run_of(story)
    assert state_of(story, run_id) is RunState.DONE
    shown = checkpoint(story.desk, run_id)
    assert shown is not None
    assert shown["expires_at"] is None
    assert story.agent_words(chat) == ["Hello!"]


def test_a_visitor_reads_nothing_of_anybody(story: Story) -> None:
    chat = story.opens_chat(None)
    story.model.calls(
        ("call_1", "list_orders", "{}"),
        ("call_2", "refund_status", "{}"),
        ("call_3", "lookup_order", '{"order_id": "ORD-1001"}'),
    )
    story.model.says("Please sign in.")
    story.says(chat, "my orders?")
    errors = [
        json.loads(m.content)["error"] for m in story.model.asked[-1].messages if m.role == "tool"
    ]
    assert errors == ["not_verified", "not_verified", "not_found"]


def test_a_visitor_who_signs_in_keeps_the_conversation(story: Story) -> None:
    opened = open_conversation(story.desk, None)
    assert opened.anonymous_token is not None
    assert attach(story.desk, opened.anonymous_token, CustomerId("cus_ben"))
    assert not attach(story.desk, opened.anonymous_token, CustomerId("cus_clara"))


def test_a_model_that_is_down_is_tried_again_then_the_truth_is_told(story: Story) -> None:
    chat = story.opens_chat()
    for _ in range(3):
        story.model.breaks()
    story.says(chat, "hi")
    assert story.agent_words(chat) == []
    for _ in range(2):
        story.clock.advance(seconds=10)
        story.rests()
    assert "can't answer right now" in story.agent_words(chat)[0]
    assert state_of(story, run_of(story)) is RunState.FAILED
    story.model.says("I am back.")
    story.says(chat, "still there?")
    assert story.agent_words(chat)[-1] == "I am back."


def test_an_outcome_is_told_by_a_template_when_the_model_is_down(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    story.approves(ana, story.only(Status.PENDING))
    for _ in range(3):
        story.model.breaks()
    story.rests()
    for _ in range(2):
        story.clock.advance(seconds=10)
        story.rests()
    assert "160.00 USD" in story.agent_words(chat)[-1]
    assert "has been paid" in story.agent_words(chat)[-1]


def test_empty_words_become_true_words(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    story.approves(ana, story.only(Status.PENDING))
    story.model.says(" ")
    story.rests()
    assert "has been paid" in story.agent_words(chat)[-1]


def test_stop_ends_the_generation_and_nothing_else(story: Story) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    desk = replace(story.desk, model=StoppedMidway(story, chat))
    receive(desk, chat, "c1", "refund it")
    assert take_turn(desk)
    assert [e.data for e in story.log(chat) if e.type.value == "status"] == [{"status": "stopped"}]
    assert story.agent_words(chat) == []
    assert story.only(Status.PENDING).amount == Money(16000, "USD")
    assert state_of(story, run_of(story)) is RunState.PARKED


class StoppedMidway(ScriptedModel):
    """A model that proposes, while the customer presses Stop."""

    def __init__(self, story: Story, chat: ConversationId) -> None:
        """Keep the story."""
        super().__init__()
        self.calls(story.refund_call("160.00"))
        self._story, self._chat = story, chat

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Answer, and be stopped."""
        stop(self._story.desk, self._chat)
        return super().complete(request, hear)


def test_going_round_in_circles_ends_with_a_person(story: Story) -> None:
    chat = story.opens_chat()
    for number in range(MAX_STEPS):
        story.model.calls((f"call_{number}", "list_orders", "{}"))
    story.says(chat, "loop")
    assert "a colleague" in story.agent_words(chat)[-1]
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == 1
    assert any(event.type.value == "hand_off" for event in story.log(chat))


def test_an_outcome_told_before_is_not_told_again(story: Story) -> None:
    """The words were committed, the process died before it could say so; the row comes again."""
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    parked = story.only(Status.PENDING)
    story.approves(ana, parked)
    story.model.says("Paid.")
    story.rests()
    again = outbox.Message(
        id=story.desk.ids.new("out"),
        lane="turn",
        kind="outcome",
        key=f"outcome:{parked.id}:executed",
        body={"told": {}, "text": "Paid.", "outcome": "executed", "call_id": "call_1"},
        conversation_id=chat,
        run_id=parked.run_id,
        approval_id=parked.id,
    )
    with story.desk.store.transaction() as tx:
        outbox.add(tx, story.clock.now(), again)
    story.model.says("Paid, as I said.")
    story.rests()
    assert story.agent_words(chat)[-1] == "Paid."


def test_a_turn_that_comes_twice_adds_its_message_once(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    with story.desk.store.transaction() as tx:
        turn = runs.claim_turn(tx, "srv-dead", story.clock.now(), TURN_LEASE)
    assert turn is not None
    story.model.breaks()
    story.clock.advance(seconds=61)
    story.rests()
    story.clock.advance(seconds=10)
    story.model.says("Hello!")
    story.rests()
    said = [m.content for m in story.model.asked[-1].messages if m.role == "user"]
    assert said == ["hello"]


def test_arguments_that_stay_garbled_end_with_a_person(story: Story) -> None:
    chat = story.opens_chat()
    story.model.calls(("call_1", "issue_refund", "{"))
    story.model.calls(("call_2", "issue_refund", "{"))
    story.model.says("A colleague takes over.")
    story.says(chat, "refund")
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == 1
    assert state_of(story, run_of(story)) is RunState.ESCALATED


def test_hand_off_is_told_once_to_everybody(story: Story) -> None:
    chat = story.opens_chat()
    for number in range(2):
        story.model.calls((f"call_{number}", "hand_off", '{"reason": "asks for a person"}'))
        story.model.says("A person takes over.")
        story.says(chat, "a person please")
    (told,) = story.notifier.of(DeliveryKind.HAND_OFF)
    assert told.body["words"] == ["a person please"]
    assert [e.type.value for e in story.log(chat)].count("hand_off") == 1


def test_a_turn_cut_off_after_its_answer_goes_on_from_the_stored_calls(story: Story) -> None:
    """The process dies at the provider in the middle of a turn; another one takes it up."""
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    story.model.calls(story.refund_call("5.00"))
    receive(story.desk, chat, "c1", "refund 5")
    with pytest.raises(Killed):
        take_turn(dying.desk)
    story.clock.advance(seconds=91)
    story.model.says("We are checking with the payment provider.")
    story.model.says("Your refund has been paid.")
    story.rests()
    story.sweeps()
    story.sweeps()
    assert story.agent_words(chat) == [
        "We are checking with the payment provider.",
        "Your refund has been paid.",
    ]
    assert story.paid() == [("ORD-1001", Money(500, "USD"))]


def test_an_outcome_heard_as_the_calls_result_is_not_told_twice(story: Story) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    story.model.calls(story.refund_call("5.00"))
    receive(story.desk, chat, "c1", "refund 5")
    with pytest.raises(Killed):
        take_turn(dying.desk)
    story.clock.advance(seconds=91)
    sweep(story.desk)
    sweep(story.desk)
    assert story.only(Status.EXECUTED).amount == Money(500, "USD")
    story.model.says("Your refund has been paid.")
    story.rests()
    assert story.agent_words(chat) == ["Your refund has been paid."]


def test_a_turn_that_lost_its_lease_writes_nothing(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hi")
    with story.desk.store.transaction() as tx:
        turn = runs.claim_turn(tx, "srv-slow", story.clock.now(), TURN_LEASE)
    assert turn is not None
    story.clock.advance(seconds=60)
    story.model.says("Hello!")
    story.rests()
    with pytest.raises(FenceLost), story.desk.store.transaction() as tx:
        runs.hold(tx, turn, story.clock.now())
    with pytest.raises(FenceLost), story.desk.store.transaction() as tx:
        runs.is_stopped(tx, turn)
    with pytest.raises(FenceLost), story.desk.store.transaction() as tx:
        runs.append(tx, turn, story.clock.now(), *story.model.asked[-1].messages[:1])
    assert story.agent_words(chat) == ["Hello!"]


def test_a_slow_model_whose_lease_ran_out_is_ignored(story: Story) -> None:
    chat = story.opens_chat()
    slow = replace(story.desk, model=Overtaken(story), replica="srv-slow")
    receive(story.desk, chat, "c1", "hi")
    story.model.says("I was faster.")
    assert take_turn(slow)
    assert story.agent_words(chat) == ["I was faster."]


class Overtaken(ScriptedModel):
    """A model so slow that somebody else answers first."""

    def __init__(self, story: Story) -> None:
        """Keep the story."""
        super().__init__()
        self.says("I was slow.")
        self._story = story

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Take longer than the lease."""
        self._story.clock.advance(seconds=61)
        self._story.rests()
        return super().complete(request, hear)


def test_messages_of_one_conversation_are_answered_in_order(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "one")
    receive(story.desk, chat, "c2", "two")
    story.model.says("first")
    story.model.says("second")
    story.rests()
    asked = [request.messages[-1].content for request in story.model.asked]
    assert asked == ["one", "two"]


def test_another_conversation_does_not_wait(story: Story) -> None:
    held, free = story.opens_chat(), story.opens_chat()
    receive(story.desk, held, "c1", "held")
    with story.desk.store.transaction() as tx:
        assert runs.claim_turn(tx, "srv-other", story.clock.now(), TURN_LEASE)
        assert runs.claim_turn(tx, "srv-other", story.clock.now(), TURN_LEASE) is None
    receive(story.desk, free, "c1", "free")
    story.model.says("free answer")
    story.rests()
    assert story.agent_words(free) == ["free answer"]
    assert story.agent_words(held) == []


def test_after_three_rejections_about_one_order_a_person_takes_over(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    for number, amount in enumerate(("160.00", "140.00", "120.00")):
        story.asks_refund(chat, amount, call_id=f"call_{number}")
        story.rejects(ana, story.only(Status.PENDING), reason=f"not eligible, {number}")
        if number < 2:
            story.model.says("Declined.")
        story.rests()
    (told,) = story.notifier.of(DeliveryKind.HAND_OFF)
    assert told.body["reason"] == "max_revisions_exceeded"
    assert "not eligible, 2" in story.agent_words(chat)[-1]
    last = story.all(Status.REJECTED)[-1]
    assert state_of(story, last.run_id) is RunState.ESCALATED


def test_what_no_database_holds_is_made_visible(story: Story) -> None:
    chat = story.opens_chat()
    story.model.calls(("call_\0", "list\ud800orders", '{"a": "\0"}'))
    story.model.says("Half a \ud83d and a \0.")
    story.says(chat, "hello")
    assert story.agent_words(chat) == ["Half a ? and a \ufffd."]


def test_a_turn_that_always_breaks_off_ends_with_a_person(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hi")
    broken = replace(story.desk, model=Breaking())
    for _ in range(MAX_TRIES):
        with pytest.raises(RuntimeError):
            take_turn(broken)
        story.clock.advance(minutes=3)
    assert take_turn(broken)
    assert "a colleague" in story.agent_words(chat)[0]
    assert not take_turn(broken)
    story.rests()
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == 1


def test_a_turn_that_broke_off_is_driven_again_before_its_lease_ends(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hi")
    with pytest.raises(RuntimeError):
        take_turn(replace(story.desk, model=Breaking()))
    story.clock.advance(seconds=5)
    story.model.says("Hello!")
    story.rests()
    assert story.agent_words(chat) == ["Hello!"]


class Breaking(ScriptedModel):
    """A model whose adapter has a bug."""

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Break."""
        raise RuntimeError(f"planned, after {len(request.messages)} messages")


def test_a_long_conversation_keeps_what_it_began_with_and_what_waits(story: Story) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    waiting = story.only(Status.PENDING)
    declined = story.proposes(chat, story.refund_call("9999.00", call_id="call_2"))
    assert declined[0]["ok"] is False
    for number in range(20):
        story.model.says(f"Answer {number}.")
        story.says(chat, f"Question {number}?")
    shown = story.model.asked[-1].messages
    told = json.loads(shown[1].content)
    # The instructions, what stands for the beginning, and the newest of the transcript.
    assert len(shown) == 1 + 1 + MAX_PROMPT_MESSAGES
    assert told["customer_began_with"] == "refund 160.00 on ORD-1001"
    assert told["messages_left_out"] == 7
    assert told["requests"] == [
        {
            "approval_id": waiting.id,
            "what": "Refund of 160.00 USD on order ORD-1001",
            "status": "pending",
            "waiting": True,
        }
    ]
    with pytest.raises(LookupError), story.desk.store.transaction(write=False) as tx:
        runs.length(tx, ConversationId("cnv_none"))
