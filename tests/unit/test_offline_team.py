"""What the offline model says when the team asks it, and to a customer who answers the team."""

import json

import pytest

from agent.domain.asking import answer_for_model, question_for_model
from agent.domain.asks import Ask, AskedOf
from agent.domain.conversation import ChatMessage
from agent.ports import ChatRequest
from agent.providers.offline_model import OfflineModel
from agent.tools.base import ToolClass
from agent.tools.registry import TOOLS
from tests.support.builders import ANN, approval, flag_approval, usd
from tests.support.doubles import START
from tests.support.offline_driver import Chat, Line, Order, nth

REFUND = "the chair in ORD-1001 arrived broken, please refund $120"
PASSED_ON = "Thank you, I have passed that on to our team."
LOOK_UPS = tuple(t.spec() for t in TOOLS.values() if t.tool_class is ToolClass.READ)


def chat() -> Chat:
    talk = Chat(
        {
            "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
            "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
        }
    )
    talk.says(REFUND)
    assert talk.proposals == ["ORD-1001 120.00 USD partial"]
    return talk


def question(of: AskedOf, text: str) -> Ask:
    shown = approval(id=nth(1))
    return Ask(
        id="ask_1",
        approval_id=shown.id,
        conversation_id=shown.conversation_id,
        run_id=shown.run_id,
        asked_of=of,
        actor_id=ANN,
        actor_name="Ann",
        question=text,
        asked_at=START,
        answered_at=None,
        answer=None,
        late=False,
    )


def answers(talk: Chat, words: str, *still: str) -> str:
    """Let the customer say what answers a question, told as the desk tells it."""
    asked = question(AskedOf.CUSTOMER, "Which leg is broken?")
    about = approval(id=nth(1), amount=usd("120.00"))
    more = tuple(question(AskedOf.CUSTOMER, text) for text in still)
    talk.knows(**question_for_model(asked, about))
    talk.knows(**answer_for_model(asked, about, more))
    return talk.says(words)


@pytest.mark.parametrize(
    "words",
    [
        "The left one.",
        "It arrived broken, as I said, I want my money back",
        "refund $120 on ORD-1001",
        "yes please",
        "no",
        "\u202e*`<!channel>",
    ],
)
def test_an_answer_is_passed_on_and_nothing_is_proposed_anew(words: str) -> None:
    talk = chat()
    said = answers(talk, words)
    assert said.startswith(PASSED_ON)
    assert talk.made == []


def test_what_else_the_team_asks_is_repeated() -> None:
    said = answers(chat(), "The left one.", "Can you send a photo?")
    assert said.endswith('They also ask: "Can you send a photo?"')


def test_who_wants_something_else_is_heard() -> None:
    talk = chat()
    assert "I have taken back" in answers(talk, "never mind")
    assert talk.tools == ["withdraw_request"]
    talk = chat()
    answers(talk, "I want to talk to a person")
    assert talk.tools == ["hand_off"]
    talk = chat()
    answers(talk, "the left one. And refund $5 on ORD-1002")
    assert talk.proposals == ["ORD-1002 5.00 USD partial"]


def test_a_suspicion_in_an_answer_is_flagged_all_the_same() -> None:
    talk = chat()
    said = answers(talk, "I paid with somebody else's card and will get my money twice")
    assert said.startswith(PASSED_ON)
    assert talk.tools == ["flag_for_fraud"]


def asks(talk: Chat, text: str) -> str:
    """Let the team ask the agent; it may look things up, nothing else."""
    asked = question_for_model(question(AskedOf.AGENT, text), approval(id=nth(1), amount=AMOUNT))
    talk.knows(**asked)
    return talk.answer()


AMOUNT = usd("120.00")


def test_the_team_hears_what_was_said_asked_for_and_seen() -> None:
    talk = chat()
    said = asks(talk, "Why 120? Is there a photo?")
    assert talk.tools == ["lookup_order"]
    for part in (
        "No picture and no file was sent",
        f'The customer wrote "{REFUND}".',
        "I asked for a refund of 120.00 USD on ORD-1001 (confidence 0.97, a part of it)",
        "The shop shows ORD-1001",
        "160.00 USD of ORD-1001 can still be refunded.",
        "the customer can be asked as well",
    ):
        assert part in said
    assert "stands at" not in said


def test_what_the_team_heard_is_not_taken_for_words_to_the_customer() -> None:
    talk = chat()
    told = question_for_model(question(AskedOf.AGENT, "Why so much?"), approval(id=nth(1)))
    talk.knows(**told)
    # As another model may have put it.
    offer = "Shall I request a refund of 5.00 USD on ORD-1002?"
    talk.messages.append(ChatMessage("assistant", offer))
    talk.says("yes")
    assert talk.made == []


def test_after_an_edit_the_team_hears_both_amounts() -> None:
    talk = chat()
    about = approval(id=nth(9), amount=usd("100.00"))
    talk.knows(**question_for_model(question(AskedOf.AGENT, "Why 100?"), about))
    said = talk.answer()
    assert "I asked for a refund of 120.00 USD" in said
    assert "It stands at 100.00 USD now." in said


def test_of_a_flag_only_the_team_hears() -> None:
    talk = chat()
    talk.says("I paid with somebody else's card. I will get my money twice.")
    flag = flag_approval(id=nth(2), order_id=None)
    told = json.dumps(question_for_model(question(AskedOf.AGENT, "What did you see?"), flag))
    asked = (*talk.messages, ChatMessage("system", told))
    said = OfflineModel().complete(ChatRequest(asked, LOOK_UPS)).text
    assert "I asked for a flag with score" in said
    assert "seen: " in said
    assert "customer can be asked" not in said


def test_a_question_without_any_transcript_is_answered_too() -> None:
    told = json.dumps(question_for_model(question(AskedOf.AGENT, "Why?"), approval()))
    said = OfflineModel().complete(ChatRequest((ChatMessage("system", told),), ()))
    assert said.text == "I know no more than that; the customer can be asked as well."
