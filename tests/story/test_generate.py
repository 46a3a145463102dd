"""The customer stops an answer that comes, or does not come; that ends, and nothing else does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest
from sqlalchemy import text
from typing_extensions import override

from agent.domain.approvals import Status
from agent.domain.conversation import RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.errors import ModelUnavailable
from agent.domain.ids import ConversationId, RunId
from agent.domain.roles import Role
from agent.ports import ChatAnswer, ChatRequest, Hear, Live, unheard
from agent.steps.execute import execute_due
from agent.steps.generate import Stopped, generate
from agent.steps.receive import receive, stop
from agent.steps.turn import take_turn
from storage import conversations, runs
from storage.times import from_micros
from tests.story.orders import owner_of
from tests.support.desk import Story
from tests.support.outside import eventually
from tests.support.scripted import Dictated


@dataclass
class Shown(Live):
    """What a customer would see; `now` is the answer on the screen, None without one."""

    now: str | None = None
    is_ending: bool = False
    seen: list[str] = field(default_factory=list)

    @override
    def show(self, conversation_id: ConversationId, run_id: RunId, so_far: str) -> None:
        """Keep what is shown."""
        self.now = so_far
        self.seen.append(so_far)

    @override
    def hide(self, conversation_id: ConversationId) -> None:
        """Note that nothing is shown any more."""
        self.now = None

    @property
    @override
    def is_over(self) -> bool:
        """Return whether the test lets the desk end."""
        return self.is_ending


@dataclass
class Answer:
    """An answer under way: who makes it, who sees it."""

    model: Dictated
    screen: Shown
    thread: threading.Thread

    def comes_to(self, words: str) -> None:
        """Let the model say some words, and wait until they are read."""
        self.model.says(words)
        eventually(lambda: (self.screen.now or "").endswith(words), f"{words!r} on the screen")

    def is_over(self) -> None:
        """Wait until the turn has ended."""
        self.thread.join(10)
        assert not self.thread.is_alive()
        assert self.screen.now is None


@contextmanager
def answering(story: Story) -> Iterator[Answer]:
    """Let a worker take the next turn with a model that is dictated."""
    model, screen = Dictated(), Shown()
    desk = replace(story.desk, model=model, live=screen)
    thread = threading.Thread(target=take_turn, args=[desk])
    thread.start()
    yield Answer(model, screen, thread)
    model.ends()
    thread.join()


def last(story: Story, chat: ConversationId) -> tuple[str, dict[str, object]]:
    """Return the newest event, without its id."""
    event = story.log(chat)[-1]
    return event.type.value, {k: v for k, v in event.data.items() if k != "message_id"}


def transcript(story: Story, chat: ConversationId) -> list[str]:
    with story.desk.store.transaction(write=False) as tx:
        return [m.content for m in runs.tail(tx, chat, 10) if m.role == "assistant"]


def newest_state(story: Story) -> RunState:
    with story.desk.store.transaction(write=False) as tx:
        return runs.newest(tx, 1)[0].state


def leased_until(story: Story) -> datetime | None:
    with story.desk.store.transaction(write=False) as tx:
        row = tx.one(text("SELECT lease_until FROM conversations WHERE lease_owner IS NOT NULL"))
    return None if row is None else from_micros(row["lease_until"])


def thinks(story: Story, chat: ConversationId) -> bool:
    with story.desk.store.transaction(write=False) as tx:
        return conversations.standings(tx, [chat])[chat].is_thinking


def is_held_anew(story: Story) -> bool:
    return leased_until(story) == story.clock.now() + TURN_LEASE


def test_what_was_said_until_stop_stays_and_the_rest_goes_on(story: Story) -> None:
    """A request waits, an answer comes, another message is queued: Stop ends the answer alone."""
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    pending, told = story.only(Status.PENDING), len(story.log(chat))
    receive(story.desk, chat, "c1", "and my other order?")
    receive(story.desk, chat, "c2", "hello?")
    with answering(story) as answer:
        answer.comes_to("Your other ")
        answer.comes_to("order is ")
        stop(story.desk, chat)
        # The model says nothing more, and is not waited for.
        answer.is_over()
        assert last(story, chat) == (
            "message",
            {"role": "agent", "text": "Your other order is", "finish": "stopped"},
        )
        answer.model.says("on its way")
        assert answer.model.left.wait(10)
    assert transcript(story, chat)[-1] == "Your other order is"
    assert story.only(Status.PENDING) == pending
    assert len(story.log(chat)) == told + 3
    story.model.says("Here I am.")
    story.rests()
    assert story.agent_words(chat)[-1] == "Here I am."
    assert [m.content for m in story.model.asked[-1].messages[-2:]] == [
        "Your other order is",
        "hello?",
    ]


def test_stop_keeps_no_outcome_from_the_customer(story: Story) -> None:
    """The money moved, whatever was pressed: before its words, and while they come."""
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    story.approves(story.hire("ana", Role.REFUND_APPROVER), story.only(Status.PENDING))
    assert not thinks(story, chat)
    execute_due(story.desk)
    assert thinks(story, chat)
    stop(story.desk, chat)
    with answering(story) as answer:
        answer.comes_to("Your refund ")
        stop(story.desk, chat)
        looked = leased_until(story)
        story.clock.advance(seconds=30)
        # It is looked for Stop as often as the lease is renewed.
        eventually(lambda: leased_until(story) != looked, "look")
        answer.comes_to("has been paid.")
        answer.model.ends()
        answer.is_over()
    assert last(story, chat) == (
        "message",
        {"role": "agent", "text": "Your refund has been paid.", "finish": "complete"},
    )
    assert not thinks(story, chat)
    # That press is used up: what is asked next is answered.
    story.model.says("Here I am.")
    story.says(chat, "hello?")
    assert story.agent_words(chat)[-1] == "Here I am."


def test_stop_before_the_first_word_leaves_no_empty_answer(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    with answering(story) as answer:
        eventually(lambda: leased_until(story), "turn under way")
        stop(story.desk, chat)
        answer.is_over()
        assert last(story, chat) == ("status", {"status": "stopped"})
        assert newest_state(story) is RunState.DONE
        assert transcript(story, chat) == ["Stopped."]
        assert answer.screen.seen == []


def test_a_desk_that_ends_leaves_its_answer_to_the_next(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    with answering(story) as answer:
        answer.comes_to("I am ")
        answer.screen.is_ending = True
        answer.is_over()
        answer.model.says("here")
        assert answer.model.left.wait(10)
    assert story.agent_words(chat) == []
    assert leased_until(story) is None
    # Nobody waits for a lease to run out.
    story.model.says("I am the next one.")
    story.rests()
    assert story.agent_words(chat) == ["I am the next one."]


def test_stop_in_the_last_moment_of_a_desk_is_heard_by_the_next(story: Story) -> None:
    chat = story.opens_chat()

    class Pressed(Dictated):
        """A model in whose answer the customer presses Stop, while the desk ends."""

        @override
        def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
            stop(story.desk, chat)
            screen.is_ending = True
            return super().complete(request, hear)

    model, screen = Pressed(), Shown()
    receive(story.desk, chat, "c1", "hello")
    assert take_turn(replace(story.desk, model=model, live=screen))
    model.ends()
    story.rests()
    assert last(story, chat) == ("status", {"status": "stopped"})


def test_stop_is_heard_while_the_model_is_down(story: Story) -> None:
    """Between two tries nobody holds the turn, and the customer still sees that one is to come."""
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    receive(story.desk, chat, "c2", "are you there?")
    story.model.breaks()
    story.rests()
    stop(story.desk, chat)
    story.clock.advance(seconds=10)
    story.model.says("I am.")
    story.rests()
    assert [e.data.get("status") or e.data["text"] for e in story.log(chat)] == [
        "hello",
        "are you there?",
        "stopped",
        "I am.",
    ]
    # With nothing to come there is nothing to stop.
    stop(story.desk, chat)
    story.model.says("You are welcome.")
    story.says(chat, "thanks")
    assert story.agent_words(chat)[-1] == "You are welcome."


def test_a_long_answer_keeps_its_lease_and_ends_whole(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "tell me a story")
    with answering(story) as answer:
        answer.comes_to("Once upon a time, ")
        for _ in range(3):
            story.clock.advance(seconds=30)
            eventually(lambda: is_held_anew(story), "renewed lease")
        answer.model.says("a chair arrived.\0")
        eventually(
            lambda: (answer.screen.now or "").endswith("arrived.\ufffd"), "what can be shown"
        )
        answer.model.ends()
        answer.is_over()
    assert last(story, chat)[1]["finish"] == "complete"
    assert story.agent_words(chat) == ["Once upon a time, a chair arrived.\ufffd"]


def test_an_answer_whose_conversation_somebody_else_holds_is_dropped(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    with answering(story) as answer:
        answer.comes_to("I am ")
        # As another replica does when this one was silent for too long.
        story.happens("UPDATE conversations SET fence = fence + 1, lease_owner = 'srv-other'")
        answer.is_over()
        answer.model.says("slow")
        assert answer.model.left.wait(10)
    assert transcript(story, chat) == []
    story.clock.advance(seconds=61)
    story.model.says("I was faster.")
    story.rests()
    assert story.agent_words(chat) == ["I was faster."]


def test_stop_is_heard_while_a_message_waits_and_never_by_the_next_one(story: Story) -> None:
    """The model was down and is tried again soon; then two messages wait for a worker."""
    chat = story.opens_chat()
    stop(story.desk, chat)
    story.model.breaks()
    receive(story.desk, chat, "c1", "hello")
    assert take_turn(story.desk)
    stop(story.desk, chat)
    # Nobody waits for the next try.
    story.rests()
    assert last(story, chat) == ("status", {"status": "stopped"})
    story.model.says("Here I am.")
    receive(story.desk, chat, "c2", "hello?")
    story.rests()
    assert story.agent_words(chat) == ["Here I am."]
    receive(story.desk, chat, "c3", "and one")
    receive(story.desk, chat, "c4", "and two")
    stop(story.desk, chat)
    story.model.says("Two it is.")
    story.rests()
    assert [e.data["status"] for e in story.log(chat) if e.type.value == "status"] == [
        "stopped",
        "stopped",
    ]
    assert story.agent_words(chat) == ["Here I am.", "Two it is."]
    stop(story.desk, chat)
    story.model.says("Yes.")
    story.says(chat, "still there?")
    assert story.agent_words(chat)[-1] == "Yes."


def test_answers_that_nobody_waits_for_are_counted(story: Story) -> None:
    chat = story.opens_chat()
    receive(story.desk, chat, "c1", "hello")
    with story.desk.store.transaction() as tx:
        turn = runs.claim_turn(tx, "srv-1", story.clock.now(), TURN_LEASE)
    assert turn is not None
    stop(story.desk, chat)
    model, places = Dictated(), threading.BoundedSemaphore(1)
    desk, asked = replace(story.desk, model=model), ChatRequest((), ())

    def answers() -> ChatAnswer | Stopped:
        return generate(desk, turn, asked, live=desk.live, is_stoppable=True, places=places)

    assert answers() == Stopped("")
    with pytest.raises(ModelUnavailable, match="too many"):
        answers()
    model.says("Hello")
    assert model.left.wait(10)
    eventually(lambda: places.acquire(blocking=False), "place")
    places.release()
    assert answers() == Stopped("")
    model.ends()
