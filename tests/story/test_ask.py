"""An approver asks before deciding: the customer, or the agent. Nothing else moves by it."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.asking import MAX_OPEN, NO_WORDS, Question, Standing, standing
from agent.domain.asks import Ask, AskedOf
from agent.domain.conversation import RunState
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.roles import ActorKind, Identity, Role
from agent.ports import (
    ChatAnswer,
    ChatModel,
    ChatRequest,
    Delivery,
    DeliveryKind,
    Hear,
    unheard,
)
from agent.steps.ask import ask
from agent.steps.ask_again import ask_again
from agent.steps.receive import receive, stop
from agent.steps.turn import take_turn
from storage import asks, decisions, runs
from tests.story.test_crossing import at_once
from tests.story.test_joins import joins
from tests.story.test_races import other
from tests.story.ways import ANA, BEN, MIA, OLU, about, links, parked, refused, staff, usd
from tests.support.desk import Story

__all__ = ["other"]
CUSTOMER, AGENT = AskedOf.CUSTOMER, AskedOf.AGENT
WHY = "Which leg of the chair is broken?"
# Control tokens of Slack, a fake link, a bidi override, something of zero width, markup, an escape.
HOSTILE = "<!channel> <https://evil.example|ok> \u202e\u200b `*_~ &lt; <b>x</b> 👩\u200d👧 'quoted'"


@pytest.fixture
def waiting(story: Story) -> Approval:
    """Return a refund that waits; whoever may ask is at work."""
    staff(story)
    return parked(story)


def asked(
    story: Story,
    row: Approval,
    who: Identity = ANA,
    of: AskedOf = CUSTOMER,
    text: str = WHY,
    key: str | None = None,
) -> Ask:
    """Let somebody ask, and everybody hear of it."""
    answer = ask(story.desk, row.id, Question(of, text, key), story.order(who))
    assert isinstance(answer, Ask), answer
    story.rests()
    return answer


def found(story: Story, row: Approval) -> tuple[Ask, ...]:
    with story.desk.store.transaction(write=False) as tx:
        return asks.of(tx, story.approval(row.id))


def stands(story: Story, one: Ask) -> Standing:
    with story.desk.store.transaction(write=False) as tx:
        return standing(asks.get(tx, one.id), asks.newest_of(tx, one.approval_id))


def heard(story: Story, kind: DeliveryKind, since: int = 0) -> list[Delivery]:
    return [d for d in story.notifier.deliveries[since:] if d.kind is kind]


def staff_messages(story: Story, row: Approval) -> list[dict[str, Any]]:
    return [e.data for e in story.log(row.conversation_id) if e.data.get("role") == "staff"]


def told_model(story: Story, event: str) -> list[dict[str, Any]]:
    """Return the system messages of a kind that the model was shown last."""
    said = [m.content for m in story.model.asked[-1].messages if m.role == "system"]
    return [one for text in said[1:] if (one := json.loads(text))["event"] == event]


def test_a_question_goes_to_the_chat_and_the_next_message_comes_back(
    story: Story, waiting: Approval
) -> None:
    votes_before = (waiting.status, waiting.payload_hash, waiting.expires_at, waiting.tier)
    one = asked(story, waiting)
    # The customer reads it as a message of the team, with the deadline in words and as a time.
    (shown,) = staff_messages(story, waiting)
    assert shown["question"] == WHY
    assert shown["text"].startswith(WHY)
    assert "Please answer here by 29 Nov 2026, 12:30 UTC" in shown["text"]
    assert "the refund of 160.00 USD on order ORD-1001" in shown["text"]
    assert shown["answer_by"] == "2026-11-29T12:30:00Z"
    # The thread has it, the card is drawn again, and the model was not asked anything.
    (question,) = heard(story, DeliveryKind.QUESTION)
    assert (question.body, len(question.refs)) == ({"ask_id": one.id}, 1)
    drawn = heard(story, DeliveryKind.CARD_UPDATE)[-1].approval
    assert drawn is not None
    assert drawn.asks == (one,)
    calls = len(story.model.asked)
    story.clock.advance(minutes=5)
    story.model.says("I have passed that on to the team.")
    story.says(waiting.conversation_id, "The left one, at the front.")
    # A turn like any other, of which the agent knows what it answers.
    assert len(story.model.asked) == calls + 1
    assert [m.role for m in story.model.asked[-1].messages[-2:]] == ["system", "user"]
    (told,) = told_model(story, "staff_answer")
    assert (told["question"], told["order_id"], told["still_open"]) == (WHY, "ORD-1001", [])
    assert [t["asked_of"] for t in told_model(story, "staff_question")] == ["customer"]
    assert story.agent_words(waiting.conversation_id)[-1] == "I have passed that on to the team."
    (after,) = found(story, waiting)
    assert (after.answer, after.late) == ("The left one, at the front.", False)
    assert after.answered_at == story.clock.now()
    (answer,) = heard(story, DeliveryKind.ANSWER)
    assert answer.approval is not None
    assert answer.approval.asks == (after,)
    assert len(about(story, waiting)) == 5
    # The next message answers nothing more.
    story.says(waiting.conversation_id, "And thank you.")
    assert told_model(story, "staff_answer") == [told]
    assert len(heard(story, DeliveryKind.ANSWER)) == 1
    # Nothing else has changed, and the request is decided as it was shown.
    now = story.approval(waiting.id)
    assert (now.status, now.payload_hash, now.expires_at, now.tier) == votes_before
    assert [f["type"] for f in story.facts(waiting)][-2:] == [
        "question.asked",
        "question.answered",
    ]
    asking = next(f for f in story.facts(waiting) if f["type"] == "question.asked")
    assert asking["data"]["evidence"] == "refund_approver by fixed"
    assert isinstance(story.approves(ANA, waiting), Decided)


def test_the_agent_answers_the_team_and_nobody_else(story: Story, waiting: Approval) -> None:
    chat, log = waiting.conversation_id, len(story.log(waiting.conversation_id))
    story.model.calls(("look", "lookup_order", '{"order_id": "ORD-1001"}'))
    story.model.says("The customer named no leg; the order holds one chair.")
    one = asked(story, waiting, of=AGENT)
    look, answer = story.model.asked[-2:]
    (told,) = told_model(story, "staff_question")
    assert (told["asked_of"], told["question"], told["amount"]) == ("agent", WHY, "160.00 USD")
    # It may look things up and do nothing: neither propose nor withdraw, flag or hand over.
    for request in (look, answer):
        names = {tool.name for tool in request.tools}
        assert names == {"lookup_order", "list_orders", "check_policy", "refund_status"}
    (after,) = found(story, waiting)
    assert after.answer == "The customer named no leg; the order holds one chair."
    assert [d.body["ask_id"] for d in heard(story, DeliveryKind.ANSWER)] == [one.id]
    # The customer reads nothing of it, and the run waits as before.
    assert len(story.log(chat)) == log
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, waiting.run_id)
    assert run is not None
    assert run.state is RunState.PARKED
    assert story.approval(waiting.id) == waiting


def test_a_question_moves_nothing_even_if_the_model_wants_to(
    story: Story, waiting: Approval
) -> None:
    story.model.calls(
        story.refund_call("5.00", call_id="more"),
        ("back", "withdraw_request", "{}"),
        ("over", "hand_off", '{"reason": "x"}'),
        ("bad", "lookup_order", "{"),
    )
    story.model.calls(("bad2", "lookup_order", "{"))
    story.model.says("I can only tell you what I know.")
    asked(story, waiting, of=AGENT)
    results = [json.loads(m.content) for m in story.model.asked[-1].messages if m.role == "tool"]
    assert [r["error"] for r in results[-5:-2]] == ["not_available"] * 3
    assert story.paid() == []
    assert story.approval(waiting.id) == waiting
    assert "conversation.handed_off" not in story.trail()
    assert found(story, waiting)[0].answer == "I can only tell you what I know."


@dataclass(frozen=True)
class Answering(ChatModel):
    """A model that answers by a function of the test."""

    by: Callable[[ChatRequest], ChatAnswer]

    @property
    @override
    def name(self) -> str:
        return "answering-1"

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        return self.by(request)


def down(story: Story) -> None:
    for _ in range(3):
        story.model.breaks("the model is down")


def round_in_circles(story: Story) -> None:
    for number in range(8):
        story.model.calls((f"look{number}", "list_orders", "{}"))


def without_words(story: Story) -> None:
    story.model.says("  ")


@pytest.mark.parametrize("fails", [down, round_in_circles, without_words])
def test_an_agent_without_an_answer_says_so_to_the_team_alone(
    story: Story, waiting: Approval, fails: Any
) -> None:
    log = len(story.log(waiting.conversation_id))
    fails(story)
    ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA))
    for _ in range(3):
        story.rests()
        story.clock.advance(seconds=30)
    (one,) = found(story, waiting)
    assert (one.answer, stands(story, one)) == (None, Standing.SILENT)
    assert len(heard(story, DeliveryKind.ANSWER)) == 1
    assert len(story.log(waiting.conversation_id)) == log
    assert story.facts(waiting)[-1]["type"] == "question.unanswered"
    # It stays in the transcript that the team was not answered.
    story.says(waiting.conversation_id, "hello?")
    assert NO_WORDS in [m.content for m in story.model.asked[-1].messages]


def test_the_customers_stop_does_not_stop_what_the_team_asks(
    story: Story, waiting: Approval
) -> None:
    def presses(request: ChatRequest) -> ChatAnswer:
        stop(story.desk, waiting.conversation_id)
        return story.model.complete(request)

    pressed = replace(story.desk, model=Answering(presses))
    story.model.calls(("look", "list_orders", "{}"))
    story.model.says("It is one chair.")
    ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA))
    while take_turn(pressed):
        pass
    assert found(story, waiting)[0].answer == "It is one chair."


def test_who_may_not_decide_does_not_ask(story: Story, waiting: Approval) -> None:
    story.hire("gus", Role.REFUND_APPROVER, kind=ActorKind.GUEST)
    story.hire("ida", Role.REFUND_APPROVER, active=False)
    story.hire("sam")
    links(story, BEN, Identity("customer", waiting.customer_id))
    stale = story.mirrored("tom", Role.REFUND_APPROVER)
    story.clock.advance(seconds=61)
    for who, code in (
        (Identity("cli", "nobody"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "gus"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "ida"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "sam"), RefusalCode.NOT_ALLOWED),
        (OLU, RefusalCode.NOT_ALLOWED),
        (stale, RefusalCode.ROLE_UNVERIFIED),
        (BEN, RefusalCode.SELF_APPROVAL),
    ):
        for of in AskedOf:
            order = story.order(who)
            assert refused(ask(story.desk, waiting.id, Question(of, WHY), order)).code is code
    story.rests()
    assert found(story, waiting) == ()
    assert staff_messages(story, waiting) == []
    refusals = [f for f in story.facts(waiting) if f["type"] == "decision.refused"]
    assert [f["data"]["verdict"] for f in refusals] == ["ask"] * 14
    missing = ask(story.desk, ApprovalId("apr_0"), Question(AGENT, WHY), story.order(ANA))
    assert refused(missing).code is RefusalCode.NOT_FOUND


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("   why  ", "at least 5 characters that can be read"),
        ("\u200b\u202e\u3000\0 how", "at least 5 characters that can be read"),
        ("x" * 1001, "at most 1,000 characters"),
    ],
)
def test_a_question_is_text_that_can_be_read(
    story: Story, waiting: Approval, text: str, problem: str
) -> None:
    answer = refused(ask(story.desk, waiting.id, Question(CUSTOMER, text), story.order(ANA)))
    assert answer.code is RefusalCode.INVALID
    assert problem in answer.message
    assert found(story, waiting) == ()


def test_the_customer_is_asked_nothing_about_a_flag(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.85"))
    flag = story.newest("flag_for_fraud")
    answer = refused(ask(story.desk, flag.id, Question(CUSTOMER, WHY), story.order(MIA)))
    assert answer.code is RefusalCode.INVALID
    assert "hears nothing of this request" in answer.message
    log = len(story.log(chat))
    story.model.says("Three claims in a week.")
    one = asked(story, flag, MIA, AGENT)
    assert found(story, flag)[0].answer == "Three claims in a week."
    assert len(story.log(chat)) == log
    assert one.asked_of is AGENT


def test_several_questions_are_answered_in_their_order(story: Story, waiting: Approval) -> None:
    first = asked(story, waiting)
    second = asked(story, waiting, MIA, text="Can you send it back?")
    story.says(waiting.conversation_id, "The left one.")
    (told,) = told_model(story, "staff_answer")
    assert told["still_open"] == ["Can you send it back?"]
    assert [stands(story, one) for one in (first, second)] == [Standing.ANSWERED, Standing.OPEN]
    story.says(waiting.conversation_id, "Yes, I can.")
    assert [one.answer for one in found(story, waiting)] == ["The left one.", "Yes, I can."]
    for number in range(MAX_OPEN):
        asked(story, waiting, text=f"And what about leg number {number}?")
    many = refused(ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA)))
    assert "5 questions wait for their answers already" in many.message


def test_one_form_asks_once_and_each_person_has_their_own(story: Story, waiting: Approval) -> None:
    once = asked(story, waiting, key="V1")
    again = asked(story, waiting, key="V1", text="Something else that is not asked")
    assert again == once
    answers = at_once(
        *(
            lambda: ask(story.desk, waiting.id, Question(CUSTOMER, WHY, "V2"), story.order(ANA))
            for _ in range(3)
        )
    )
    assert len({one.id for one in answers if isinstance(one, Ask)}) == 1
    assert len(answers) == 3
    story.rests()
    assert asked(story, waiting, MIA, key="V1").id != once.id
    assert len(staff_messages(story, waiting)) == len(found(story, waiting)) == 3


def test_a_question_after_the_end_is_refused_and_an_open_one_is_closed(
    story: Story, waiting: Approval
) -> None:
    one = asked(story, waiting)
    assert isinstance(story.approves(MIA, waiting), Decided)
    late = refused(ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA)))
    assert late.code is RefusalCode.ALREADY_DECIDED
    assert "Already approved by Mia" in late.message
    story.rests()
    assert stands(story, one) is Standing.CLOSED
    assert heard(story, DeliveryKind.ANSWER) == []
    # Whoever answers soon after is heard by the team; the agent goes on as usual.
    story.clock.advance(minutes=2)
    story.says(waiting.conversation_id, "The left one.")
    assert told_model(story, "staff_answer") == []
    (after,) = found(story, waiting)
    assert (after.answer, after.late) == ("The left one.", True)
    (line,) = heard(story, DeliveryKind.ANSWER)
    assert line.approval is not None
    assert line.approval.approval.status is Status.EXECUTED
    fact = next(f for f in story.facts(waiting) if f["type"] == "question.answered")
    assert fact["data"] == {"ask_id": one.id, "late": True, "characters": 13}


def test_long_after_the_end_nothing_is_an_answer_any_more(story: Story, waiting: Approval) -> None:
    one = asked(story, waiting)
    story.clock.at = waiting.expires_at
    # Whoever asks at the deadline ends the request, as whoever decides does.
    late = refused(ask(story.desk, waiting.id, Question(CUSTOMER, WHY), story.order(ANA)))
    assert late.code is RefusalCode.EXPIRED
    assert story.approval(waiting.id).status is Status.EXPIRED
    story.rests()
    story.clock.advance(hours=1, seconds=1)
    story.says(waiting.conversation_id, "It is the left one.")
    assert heard(story, DeliveryKind.ANSWER) == []
    assert stands(story, one) is Standing.CLOSED
    # Asked again, the request waits once more, and so does the question.
    again = ask_again(story.desk, waiting.id, story.order(MIA))
    assert isinstance(again, Approval)
    story.says(waiting.conversation_id, "As I said: the left one.")
    assert stands(story, one) is Standing.ANSWERED
    (line,) = heard(story, DeliveryKind.ANSWER)
    assert line.approval is not None
    assert line.approval.approval.id == again.id


def test_an_answer_past_the_deadline_that_nobody_has_noticed_is_late(
    story: Story, waiting: Approval
) -> None:
    asked(story, waiting)
    story.clock.at = waiting.expires_at + timedelta(seconds=1)
    story.says(waiting.conversation_id, "The left one.")
    assert found(story, waiting)[0].late


def test_what_was_asked_before_an_edit_is_seen_and_answered_after_it(story: Story) -> None:
    staff(story)
    raised = parked(story, "120.00")
    one = asked(story, raised)
    story.edits(ANA, raised, usd(15000))
    story.rests()
    (new,) = story.all(Status.PENDING)
    assert stands(story, one) is Standing.OPEN
    # A chat that asks for just what it became is shown the question, and may answer it.
    third = story.opens_chat(raised.customer_id)
    story.proposes(third, story.refund_call("150.00", call_id="call_third"))
    assert [e.data["question"] for e in story.log(third) if e.data.get("role") == "staff"] == [WHY]
    story.says(third, "The left one.")
    (line,) = heard(story, DeliveryKind.ANSWER)
    assert line.approval is not None
    assert line.approval.approval.id == new.id
    assert [a.answer for a in line.approval.asks] == ["The left one."]
    assert not line.approval.asks[0].late


def test_the_answer_may_come_from_any_chat_that_was_asked(story: Story, waiting: Approval) -> None:
    second = joins(story, waiting)
    questions = [WHY, "Is it the front one?", "And which side of it?"]
    _, two, three = (asked(story, waiting, text=question) for question in questions)
    # A chat that joins later is shown what is open, and that once.
    third = joins(story, waiting)
    story.says(third, "The left one.")
    assert [stands(story, one) for one in (two, three)] == [Standing.OPEN] * 2
    story.proposes(third, story.refund_call("160.00", call_id="call_third"))
    for chat in (waiting.conversation_id, second, third):
        shown = [e.data["question"] for e in story.log(chat) if e.data.get("role") == "staff"]
        assert shown == questions
    # Another chat of theirs was never asked.
    story.says(story.opens_chat(waiting.customer_id), "Hello")
    assert [a.answer for a in found(story, waiting)] == ["The left one.", "please", None]


def test_of_two_chats_that_answer_at_once_one_is_first(
    story: Story, other: Story, waiting: Approval
) -> None:
    second = joins(story, waiting)
    one = asked(story, waiting)
    later = threading.Thread(target=receive, args=(other.desk, second, "m1", "Second."))
    with story.desk.store.transaction() as tx:
        assert asks.answer(tx, one, "First.", story.clock.now(), late=False)
        later.start()
        if story.desk.store.dialect == "postgresql":
            # It has seen the question without an answer, and waits for the row.
            while not blocked(other):
                pass
    later.join()
    story.rests()
    assert found(story, waiting)[0].answer == "First."
    assert told_model(story, "staff_answer") == []
    assert heard(story, DeliveryKind.ANSWER) == []


def blocked(story: Story) -> bool:
    """Tell whether somebody waits for a lock of the database."""
    with story.desk.store.transaction(write=False) as tx:
        return tx.one(text("SELECT 1 AS one FROM pg_locks WHERE NOT granted")) is not None


def test_an_answer_and_a_decision_at_once_are_both_true(story: Story, other: Story) -> None:
    staff(story)
    other.model.otherwise = " "
    for number in range(4):
        row = parked(story, f"{120 + number}.00", "ORD-1004")
        one = asked(story, row)

        def answers(row: Approval = row, number: int = number) -> object:
            return receive(other.desk, row.conversation_id, f"m{number}", "The left one.")

        def decides(row: Approval = row) -> object:
            return story.approves(MIA, row)

        said, word = sorted(at_once(answers, decides), key=lambda a: isinstance(a, Decided))
        assert isinstance(word, Decided)
        assert not isinstance(said, Exception | Refused)
        story.rests()
        (after,) = found(story, row)
        # Whichever was first, the answer is kept once, and what is said of it is true.
        assert after.answer == "The left one."
        assert stands(story, one) is Standing.ANSWERED
        kinds = [f["type"] for f in story.facts(row)]
        first = kinds.index("question.answered") < kinds.index("approval.approved")
        assert after.late is not first
        lines = [d for d in heard(story, DeliveryKind.ANSWER) if d.body["ask_id"] == one.id]
        assert len(lines) == 1


def test_hostile_words_are_kept_as_they_are(story: Story, waiting: Approval) -> None:
    asked(story, waiting, text=HOSTILE)
    assert staff_messages(story, waiting)[0]["question"] == HOSTILE
    story.says(waiting.conversation_id, HOSTILE)
    with story.desk.store.transaction(write=False) as tx:
        view = decisions.view(tx, story.approval(waiting.id))
    assert [(a.question, a.answer) for a in view.asks] == [(HOSTILE, HOSTILE)]
    assert told_model(story, "staff_answer")[0]["question"] == HOSTILE


def test_a_turn_that_broke_off_is_answered_once(story: Story, waiting: Approval) -> None:
    def breaks(_request: ChatRequest) -> ChatAnswer:
        raise RuntimeError("the process was broken off")

    ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA))
    with pytest.raises(RuntimeError):
        take_turn(replace(story.desk, model=Answering(breaks)))
    story.clock.advance(seconds=30)
    story.model.says("One chair.")
    story.rests()
    assert found(story, waiting)[0].answer == "One chair."
    assert len(told_model(story, "staff_question")) == 1


def test_a_damaged_request_does_not_keep_the_customer_from_writing(
    story: Story, waiting: Approval
) -> None:
    one = asked(story, waiting)
    story.damages("UPDATE approvals SET payload = '{' WHERE id = :a", a=waiting.id)
    story.model.says("I am here.")
    story.says(waiting.conversation_id, "The left one.")
    assert story.agent_words(waiting.conversation_id)[-1] == "I am here."
    with story.desk.store.transaction(write=False) as tx:
        assert asks.get(tx, one.id) == one


def test_an_answer_about_a_damaged_request_is_kept(story: Story, waiting: Approval) -> None:
    asking = ask(story.desk, waiting.id, Question(AGENT, WHY), story.order(ANA))
    assert isinstance(asking, Ask)
    story.damages("UPDATE approvals SET payload = '{' WHERE id = :a", a=waiting.id)
    story.model.says("One chair.")
    story.rests()
    with story.desk.store.transaction(write=False) as tx:
        kept = asks.get(tx, asking.id)
    assert (kept.answer, kept.late) == ("One chair.", True)
    assert heard(story, DeliveryKind.ANSWER) == []
