"""People take over: who may, what the customer and the thread read, when the agent is silent."""

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import pytest
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.asking import Question
from agent.domain.asks import Ask, AskedOf
from agent.domain.conversation import Conversation, RunState
from agent.domain.decision import RefusalCode
from agent.domain.hand_offs import HandOff, HandOffState, Words
from agent.domain.ids import ConversationId, CustomerId
from agent.domain.roles import ActorKind, Identity, Role
from agent.ports import ChatAnswer, ChatRequest, DeliveryKind, Hear, MessageRef, unheard
from agent.providers.embedded_shop import EmbeddedShop
from agent.steps.ask import ask
from agent.steps.attend import WHOLE, Found, Said, find_conversation, give_back, join, look_in, say
from agent.steps.execute import execute_due
from agent.steps.rate import rate
from agent.steps.receive import open_conversation, receive
from agent.steps.remind_attend import bring_up, remind_attend
from agent.steps.turn import take_turn
from storage import conversations, hand_offs, runs
from tests.story.test_crossing import at_once
from tests.story.test_execute import Killed
from tests.story.test_generate import answering
from tests.story.test_races import other
from tests.story.ways import ANA, BEN, MIA, OLU, links, refused, staff
from tests.support.desk import Story
from tests.support.scripted import ScriptedModel

__all__ = ["other"]
SAM = Identity("cli", "sam")


@pytest.fixture
def chat(story: Story) -> ConversationId:
    """Return a chat in which Clara was promised a person; everybody is at work."""
    staff(story)
    story.hire("sam", Role.SUPPORT)
    return promised(story, story.opens_chat("cus_clara"))


def promised(story: Story, chat: ConversationId) -> ConversationId:
    """Let the customer ask for a person, and the agent call one."""
    story.model.calls((story.desk.ids.new("msg"), "hand_off", '{"reason": "asks for a person"}'))
    story.model.says("A colleague will come.")
    story.says(chat, "I want a person")
    return chat


def said(story: Story, chat: ConversationId, text: str, who: Identity = SAM, key: str = "") -> Said:
    """Let somebody write to the customer, and everybody hear of it."""
    words = Words(text, key or story.desk.ids.new("msg"))
    answer = say(story.desk, chat, words, story.order(who))
    assert isinstance(answer, Said), answer
    story.rests()
    return answer


def stands(story: Story, chat: ConversationId) -> tuple[HandOff, Conversation]:
    with story.desk.store.transaction(write=False) as tx:
        hand_off, conversation = hand_offs.newest(tx, chat), conversations.get(tx, chat)
    assert hand_off is not None
    assert conversation is not None
    return hand_off, conversation


def reads(story: Story, chat: ConversationId) -> list[tuple[str, object]]:
    """Return what the customer reads of people: their words, and who comes and goes."""
    return [
        ("says", f"{e.data['by']}: {e.data['text']}")
        if e.data.get("role") == "staff"
        else (str(e.data["state"]), e.data["by"])
        for e in story.log(chat)
        if e.data.get("role") == "staff" or e.type.value == "hand_off"
    ]


def lines(story: Story) -> list[str]:
    """Return the lines of the threads in the order in which they were delivered."""
    return [str(d.body["text"]) for d in story.notifier.of(DeliveryKind.HAND_OFF_LINE)]


def told(story: Story) -> list[str]:
    """Return what the model was shown last, its instructions left out."""
    return [message.content for message in story.model.asked[-1].messages[1:]]


def states(story: Story) -> list[HandOffState]:
    """Return how the hand-off was drawn, one time after the other."""
    kinds = {DeliveryKind.HAND_OFF, DeliveryKind.HAND_OFF_UPDATE}
    drawn = [d for d in story.notifier.deliveries if d.kind in kinds]
    return [d.hand_off.state for d in drawn if d.hand_off is not None]


def test_a_person_writes_and_the_agent_is_silent_until_it_is_given_back(
    story: Story, chat: ConversationId
) -> None:
    story.says(chat, "hello?")
    # Until somebody has come the agent goes on answering, and people read along.
    assert lines(story) == ["A colleague will come.", "hello?", story.agent_words(chat)[-1]]
    _, conversation = stands(story, chat)
    assert (conversation.attended_name, conversation.handed_off) == (None, True)
    said(story, chat, "Hello, Sam here.", key="k")
    _, conversation = stands(story, chat)
    assert (conversation.attended_name, conversation.handed_off) == ("Sam", True)
    asked, words = len(story.model.asked), story.agent_words(chat)
    receive(story.desk, chat, "c1", "My chair wobbles.")
    sent = receive(story.desk, chat, "c1", "My chair wobbles.")
    story.rests()
    assert len(story.model.asked) == asked
    assert story.agent_words(chat) == words
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, sent.run_id)
    assert run is not None
    assert run.state is RunState.DONE
    silent = [f["data"] for f in story.facts() if f["type"] == "agent.silent"]
    assert silent == [{"attended_by": conversation.attended_by, "kind": "message"}]
    # Another person may write as well; whoever came first goes on attending.
    said(story, chat, "We send a new one.", ANA, key="k")
    assert stands(story, chat)[1].attended_name == "Sam"
    assert lines(story)[3:] == [
        "Sam answers here now.",
        "Hello, Sam here.",
        "My chair wobbles.",
        "We send a new one.",
    ]
    assert isinstance(give_back(story.desk, chat, story.order(MIA)), HandOff)
    story.rests()
    assert reads(story, chat) == [
        ("waiting", None),
        ("joined", "Sam"),
        ("says", "Sam: Hello, Sam here."),
        ("says", "Ana: We send a new one."),
        ("ended", "Sam"),
    ]
    assert stands(story, chat)[1].attended_by is None
    assert not stands(story, chat)[1].handed_off
    story.says(chat, "And now?")
    shown = told(story)
    at = [
        next(n for n, text in enumerate(shown) if wanted in text)
        for wanted in ("Hello, Sam here.", "My chair wobbles.", "We send a new one.", "hand_back")
    ]
    assert at == sorted(at)
    assert shown[-1] == "And now?"
    assert lines(story)[-1] == "Mia gave it back: the agent answers again."
    assert states(story)[0] is HandOffState.WAITING
    assert states(story)[-1] is HandOffState.ENDED
    tags = [f["type"] for f in story.facts() if f["type"].startswith(("conversation.", "staff."))]
    assert tags == [
        "conversation.handed_off",
        "conversation.called",
        "conversation.joined",
        "staff.said",
        "staff.said",
        "conversation.given_back",
    ]
    evidence = [f["data"]["evidence"] for f in story.facts() if f["type"] == "staff.said"]
    assert evidence == ["support_agent by fixed", "refund_approver by fixed"]


def test_people_who_are_called_again_get_a_message_and_a_thread_of_their_own(
    story: Story, chat: ConversationId
) -> None:
    said(story, chat, "Hello, Sam here.")
    assert isinstance(give_back(story.desk, chat, story.order(MIA)), HandOff)
    story.rests()
    first, _ = stands(story, chat)
    promised(story, chat)
    again, _ = stands(story, chat)
    assert (again.number, again.state) == (2, HandOffState.WAITING)
    calls = story.notifier.of(DeliveryKind.HAND_OFF)
    assert [d.hand_off.subject for d in calls if d.hand_off] == [first.subject, again.subject]
    said(story, chat, "Here again.", OLU)
    assert story.notifier.of(DeliveryKind.HAND_OFF_LINE)[-1].refs != ()
    refs = {d.refs for d in story.notifier.of(DeliveryKind.HAND_OFF_LINE) if d.refs}
    assert len(refs) == 2


def test_who_may_not_answer_is_refused_and_it_is_written_down(
    story: Story, chat: ConversationId
) -> None:
    story.hire("gus", Role.SUPPORT, kind=ActorKind.GUEST)
    story.hire("ida", Role.SUPPORT, active=False)
    story.hire("kim")
    links(story, BEN, Identity("customer", "cus_clara"))
    stale = story.mirrored("tom", Role.SUPPORT)
    story.clock.advance(seconds=61)
    acts: list[Callable[[Identity], object]] = [
        lambda who: say(story.desk, chat, Words("Hi", "k"), story.order(who)),
        lambda who: join(story.desk, chat, story.order(who)),
        lambda who: give_back(story.desk, chat, story.order(who)),
    ]
    looks: list[Callable[[Identity], object]] = [
        lambda who: look_in(story.desk, chat, 1, story.order(who), WHOLE),
        lambda who: find_conversation(story.desk, chat[-6:], story.order(who)),
    ]
    for who, code in (
        (Identity("cli", "nobody"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "gus"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "ida"), RefusalCode.NOT_ALLOWED),
        (Identity("cli", "kim"), RefusalCode.NOT_ALLOWED),
        (stale, RefusalCode.ROLE_UNVERIFIED),
    ):
        assert [refused(act(who)).code for act in (*acts, *looks)] == [code] * 5
    # Nobody answers themselves.
    assert {refused(act(BEN)).code for act in acts} == {RefusalCode.SELF_APPROVAL}
    refusals = [f["data"]["verdict"] for f in story.facts() if f["type"] == "decision.refused"]
    assert refusals[:5] == ["say", "join", "give_back", WHOLE, "say"]
    assert len(refusals) == 5 * 5 + 3
    assert reads(story, chat) == [("waiting", None)]
    assert stands(story, chat)[0].state is HandOffState.WAITING


def test_what_cannot_be_done_is_said_in_words(story: Story, chat: ConversationId) -> None:
    def no(answer: object) -> str:
        return refused(answer).message

    order = story.order(SAM)
    quiet = story.opens_chat("cus_clara")
    assert "There is no such" in no(join(story.desk, ConversationId("cnv_0"), order))
    assert "Nobody has asked" in no(say(story.desk, quiet, Words("Hi", "k"), order))
    assert "Nobody has asked" in no(look_in(story.desk, quiet, 1, order, "reply"))
    assert "Nobody has taken it over" in no(give_back(story.desk, chat, order))
    for text in ("", " \u200b\u3000\n", "x" * 4001):
        assert no(say(story.desk, chat, Words(text, "k"), order)).startswith("text: ")
    assert stands(story, chat)[0].state is HandOffState.WAITING
    assert isinstance(join(story.desk, chat, order), HandOff)
    assert "already" in no(join(story.desk, chat, order))
    # Somebody else takes the place, and says so.
    assert isinstance(join(story.desk, chat, story.order(OLU)), HandOff)
    story.rests()
    assert lines(story)[-1] == "Olu answers here now in Sam's place."
    assert isinstance(give_back(story.desk, chat, order), HandOff)
    assert "Sam has given it back" in no(say(story.desk, chat, Words("Hi", "k"), order))
    assert reads(story, chat)[1:] == [("joined", "Sam"), ("joined", "Olu"), ("ended", "Olu")]
    story.rests()
    # What everybody sees of it is drawn once more for whoever clicked on an old picture.
    assert states(story)[-1] is HandOffState.ENDED
    # The text is kept as every database holds it.
    promised(story, chat)
    said(story, chat, " a\0b \U0001f469 ")
    assert reads(story, chat)[-1] == ("says", "Sam: a\ufffdb \U0001f469")


def test_a_conversation_is_found_by_its_id_or_how_it_ends(
    story: Story, chat: ConversationId
) -> None:
    order = story.order(SAM)
    for typed in (chat, chat[-6:], f" …{chat[-8:].lower()} ", chat.upper()):
        assert find_conversation(story.desk, typed, order) == Found(chat)
    for typed, code in (
        ("short", RefusalCode.NOT_FOUND),
        ("%%%%%%", RefusalCode.NOT_FOUND),
        ("ZZZZZZ", RefusalCode.NOT_FOUND),
    ):
        assert refused(find_conversation(story.desk, typed, order)).code is code
    # Ids of the tests count up in front, so that two of them end alike.
    twin = ConversationId(f"cnv_1{chat[5:]}")
    with story.desk.store.transaction() as tx:
        conversations.create(tx, twin, CustomerId("cus_ben"), None, story.clock.now(), "en")
        hand_offs.add(tx, twin, stands(story, chat)[0].run_id, {}, story.clock.now())
    assert refused(find_conversation(story.desk, chat[-6:], order)).code is RefusalCode.INVALID


def test_what_is_sent_twice_is_said_once_and_two_people_at_once_both_speak(
    story: Story, other: Story, chat: ConversationId
) -> None:
    twice = [
        lambda desk=desk: say(desk, chat, Words("Hello", "view-1"), story.order(SAM))
        for desk in (story.desk, other.desk)
    ]
    answers = at_once(*twice, lambda: say(story.desk, chat, Words("Hi", "v"), story.order(ANA)))
    assert all(isinstance(answer, Said) for answer in answers), answers
    assert len({a.message_id for a in answers if isinstance(a, Said)}) == 2
    story.rests()
    words = [text for kind, text in reads(story, chat) if kind == "says"]
    assert sorted(words, key=str) == ["Ana: Hi", "Sam: Hello"]
    assert [kind for kind, _ in reads(story, chat)].count("joined") == 1
    assert sorted(line for line in lines(story) if line in {"Hello", "Hi"}) == ["Hello", "Hi"]


def test_while_a_person_attends_outcomes_are_told_in_our_words_and_questions_work(
    story: Story, chat: ConversationId
) -> None:
    story.asks_refund(chat, "160.00")
    waiting = story.only(Status.PENDING)
    said(story, chat, "I look into your refund.")
    question = Question(AskedOf.CUSTOMER, "Which leg is broken?")
    assert isinstance(ask(story.desk, waiting.id, question, story.order(ANA)), Ask)
    story.rests()
    asked = len(story.model.asked)
    story.says(chat, "The left one.")
    # To the agent the team may speak at any time; the customer hears nothing of it.
    story.model.says("It is the chair.")
    aside = Question(AskedOf.AGENT, "What do you know of it?")
    assert isinstance(ask(story.desk, waiting.id, aside, story.order(ANA)), Ask)
    story.rests()
    assert len(story.model.asked) == asked + 1
    answered = [f["data"] for f in story.facts() if f["type"] == "question.answered"]
    assert len(answered) == 2
    story.approves(ANA, waiting)
    story.rests()
    assert story.chips(chat)[-1] == "done"
    assert "has been paid" in story.agent_words(chat)[-1]
    assert len(story.model.asked) == asked + 1
    kinds = [f["data"]["kind"] for f in story.facts() if f["type"] == "agent.silent"]
    assert sorted(kinds) == ["message", "outcome"]
    assert lines(story)[-1] == story.agent_words(chat)[-1]
    assert isinstance(give_back(story.desk, chat, story.order(SAM)), HandOff)
    story.says(chat, "Thanks")
    assert any("approval_outcome" in text for text in told(story))


class Dying(EmbeddedShop):
    """A shop at which the process dies that looks for an order."""

    @override
    def order(self, reference: str) -> NoReturn:
        raise Killed


class Interrupted(ScriptedModel):
    """A model in whose answer something happens."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__(otherwise="I know it myself!")
        self.happens = happens

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        self.happens()
        return super().complete(request, hear)


@pytest.mark.parametrize("approve", [False, True])
def test_who_comes_while_the_agent_thinks_is_not_talked_over(
    story: Story, chat: ConversationId, approve: bool
) -> None:
    story.asks_refund(chat, "160.00")
    before = story.agent_words(chat)
    model = Interrupted(lambda: join(story.desk, chat, story.order(SAM)))
    desk = replace(story.desk, model=model)
    if approve:
        story.approves(ANA, story.only(Status.PENDING))
        while any([execute_due(desk), take_turn(desk)]):
            pass
    else:
        receive(story.desk, chat, "c1", "hello?")
        while take_turn(desk):
            pass
    assert model.asked != []
    after = story.agent_words(chat)[len(before) :]
    assert "I know it myself!" not in after
    assert ["has been paid" in text for text in after] == ([True] if approve else [])


def test_what_the_agent_meant_to_do_as_a_person_came_is_not_done(
    story: Story, chat: ConversationId
) -> None:
    model = Interrupted(lambda: join(story.desk, chat, story.order(SAM)))
    model.calls(story.refund_call("160.00"))
    receive(story.desk, chat, "c1", "refund 160.00 on ORD-1001", "de")
    desk = replace(story.desk, model=model)
    while take_turn(desk):
        pass
    assert len(model.asked) == 1
    assert story.all(Status.PENDING) == ()
    assert "agent.silent" in story.trail()


def test_what_the_agent_had_begun_to_say_is_not_said_behind_a_person(
    story: Story, chat: ConversationId
) -> None:
    receive(story.desk, chat, "c1", "hello?")
    with answering(story) as answer:
        answer.comes_to("I think that ")
        assert isinstance(join(story.desk, chat, story.order(SAM)), HandOff)
        answer.is_over()
    assert [e.type.value for e in story.log(chat)][-1] == "hand_off"
    assert "agent.silent" in story.trail()


def test_a_model_that_fails_while_a_person_comes_is_no_excuse_to_the_customer(
    story: Story, chat: ConversationId
) -> None:
    before = story.agent_words(chat)
    model = Interrupted(lambda: join(story.desk, chat, story.order(SAM)))
    for _ in range(3):
        model.breaks()
    receive(story.desk, chat, "c1", "hello?")
    story.happens("UPDATE outbox SET attempts = 2 WHERE lane = 'turn'")
    assert take_turn(replace(story.desk, model=model))
    assert not take_turn(replace(story.desk, model=model))
    assert story.agent_words(chat) == before
    # Nor is a turn that broke off again and again.
    receive(story.desk, chat, "c2", "anybody?")
    story.happens("UPDATE outbox SET attempts = 9 WHERE lane = 'turn'")
    story.rests()
    assert story.agent_words(chat) == before


def test_what_was_asked_for_before_a_person_came_is_asked_for_then_and_not_later(
    story: Story, chat: ConversationId
) -> None:
    """The desk dies after the model's answer is stored; meanwhile somebody joins."""
    receive(story.desk, chat, "c1", "refund 160.00 on ORD-1001")
    story.model.calls(story.refund_call("160.00"))
    dying = replace(story.desk, shop=Dying(story.desk.store))
    with pytest.raises(Killed):
        take_turn(dying)
    assert isinstance(join(story.desk, chat, story.order(SAM)), HandOff)
    story.clock.advance(seconds=61)
    story.rests()
    assert story.only(Status.PENDING).call_id == "call_1"
    assert isinstance(give_back(story.desk, chat, story.order(SAM)), HandOff)
    story.model.otherwise = "Hello again."
    story.says(chat, "And now?")
    assert len(story.all(Status.PENDING)) == 1
    assert told(story)[-1] == "And now?"


def test_who_answers_in_the_last_moment_is_not_reminded_of(
    story: Story, chat: ConversationId
) -> None:
    story.clock.advance(seconds=16 * 60)
    with story.desk.store.transaction(write=False) as tx:
        due = hand_offs.unattended(tx, story.clock.now())
    assert due is not None
    assert isinstance(join(story.desk, chat, story.order(SAM)), HandOff)
    bring_up(story.desk, due)
    assert story.open_alerts() == ()
    assert isinstance(look_in(story.desk, chat, 1, story.order(SAM), WHOLE), HandOff)
    assert story.trail()[-1] == "conversation.shown"


def test_nobody_comes_and_people_on_call_are_told_once(
    story: Story, other: Story, chat: ConversationId
) -> None:
    visitor = open_conversation(story.desk, None).conversation_id
    story.clock.advance(seconds=60)
    promised(story, visitor)
    story.clock.advance(seconds=14 * 60)
    done = at_once(lambda: remind_attend(story.desk), lambda: remind_attend(other.desk))
    assert all(isinstance(one, bool) for one in done), done
    story.sweeps()
    (alert,) = story.open_alerts()
    assert alert.kind is AlertKind.UNATTENDED
    assert alert.body["text"] == (
        "Clara N. was promised a person 15 minutes ago, and nobody has answered yet."
    )
    story.clock.advance(seconds=60)
    story.sweeps()
    assert len(story.notifier.alerts(AlertKind.UNATTENDED)) == 2
    assert "A visitor was" in str(story.notifier.alerts(AlertKind.UNATTENDED)[1].body["text"])
    said(story, chat, "Here I am.", OLU)
    (left,) = story.open_alerts()
    assert left.body["conversation_id"] == visitor
    assert story.trail().count("conversation.reminded") == 2
    story.clock.advance(seconds=3600)
    story.sweeps()
    assert story.trail().count("conversation.reminded") == 2


def test_more_noes_are_news_in_the_same_thread_and_a_rating_is_drawn(
    story: Story, chat: ConversationId
) -> None:
    for amount in ("160.00", "140.00", "120.00"):
        story.asks_refund(chat, amount, call_id=f"no_{amount}")
        story.rejects(ANA, story.only(Status.PENDING))
        story.rests()
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == 1
    assert "Declined 3 times: the customer needs a person." in lines(story)
    hand_off, _ = stands(story, chat)
    assert hand_off.body["reason"] == "max_revisions_exceeded"
    rate(story.desk, chat, 4, "quick")
    story.rests()
    drawn = story.notifier.of(DeliveryKind.HAND_OFF_UPDATE)[-1].hand_off
    assert drawn is not None
    assert drawn.rating == 4


def test_a_closed_channel_moves_the_call_to_another_and_lost_copies_are_replaced(
    story: Story, chat: ConversationId
) -> None:
    story.notifier.shut["C1"] = "is_archived"
    story.says(chat, "anybody?")
    calls = story.notifier.of(DeliveryKind.HAND_OFF)
    assert [d.channel for d in calls] == ["C1", "C2"]
    assert isinstance(calls[0].hand_off, HandOff)
    story.notifier.shut.clear()
    story.clock.advance(seconds=61)
    story.rests()
    said(story, chat, "Yes, Sam.")
    assert isinstance(story.notifier.of(DeliveryKind.HAND_OFF_UPDATE)[-1].refs[0], MessageRef)
    # It is in the other channel as well, so that nothing is posted anew the next time.
    story.notifier.shut["C1"] = "is_archived"
    said(story, chat, "Still here.")
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == len(calls)
    assert lines(story).count("Still here.") >= 1
