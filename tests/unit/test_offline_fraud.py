"""Plain signals of fraud are flagged quietly; anger and ordinary complaints are not."""

import pytest

from agent.domain.conversation import ChatMessage
from agent.ports import ChatRequest
from agent.providers.offline_model import OfflineModel
from agent.tools.registry import SPECS
from tests.support.offline_driver import Chat, JsonObject, Line, Order
from tests.unit.test_offline_mail import NO_EMAIL, OWN, TEMPLATES
from tests.unit.test_offline_model import ANSWERED, PROPOSED, PROPOSED_SOLO
from tests.unit.test_offline_talk import FOLLOW_UPS
from tests.unit.test_offline_withdraw import NO_MORE, NOT_MEANT

CARD = "I paid with somebody else's card."
MANY = "I have already had 12 refunds this month."
TWICE = "I will get my money twice with a chargeback."
THREE = f"{CARD} {MANY} {TWICE}"


def chat() -> Chat:
    return Chat(
        {
            "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
            "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
        }
    )


def flags(talk: Chat) -> list[JsonObject]:
    """Return the flags proposed for the last message."""
    return [arguments for name, arguments in talk.made if name == "flag_for_fraud"]


SIGNALS = [
    CARD,
    "i used someone else's credit card for it",
    "I ordered it with a stolen card",
    "I am paying with a card that is not mine",
    MANY,
    "I always get my money back anyway",
    "I got dozens of refunds from you",
    TWICE,
    "Refund me and then I do a chargeback on top",
    "even if you refund me I will open a dispute with my bank",
    "I'll start a chargeback even after you paid me",
    "I will just say it never arrived",
    "I'll pretend the chair is broken",
    "I can send you a fake receipt",
    "I edited a photoshopped picture",
    "I gave a false name",
]


@pytest.mark.parametrize("said", SIGNALS)
def test_a_plain_signal_is_noted_with_a_low_score_and_quoted(said: str) -> None:
    talk = chat()
    talk.says(said)
    (flag,) = flags(talk)
    assert flag["score"] == "0.40"
    assert len(flag["signals"]) == 1
    assert said.rstrip(".").lower() in flag["signals"][0]


def test_the_score_grows_with_the_signals() -> None:
    scores = []
    for said in (CARD, f"{CARD} {MANY}", THREE, f"{THREE} I gave a false name."):
        talk = chat()
        talk.says(said)
        (flag,) = flags(talk)
        scores.append(float(flag["score"]))
        assert len(flag["signals"]) == len(scores)
    assert scores == sorted(set(scores))
    assert [score > 0.8 for score in scores] == [False, False, True, True]


def test_the_request_is_answered_as_if_nothing_had_been_seen() -> None:
    for said, answer, status in (
        ("refund $5 on ORD-1001", "Done: I have refunded 5.00 USD on ORD-1001.", "done"),
        ("refund $60 on ORD-1001", "60.00 USD on ORD-1001 needs a quick review", "pending"),
    ):
        talk = chat()
        assert answer in talk.says(f"{THREE} {said}")
        assert talk.tools == ["lookup_order", "flag_for_fraud", "issue_refund"]
        (flag,) = flags(talk)
        assert flag["order_id"] == "ORD-1001"
        assert flag["score"] == "0.90"
        assert [one["status"] for one in talk.requests] == [status]


def test_small_talk_is_answered_as_well() -> None:
    talk = chat()
    assert talk.says(f"Hello! {CARD}").startswith("Hello! What can I do for you?")
    assert talk.tools == ["flag_for_fraud"]
    assert talk.says(f"Please let me talk to a person. {MANY}").startswith("I have passed our")
    assert talk.tools == ["flag_for_fraud", "hand_off"]


def test_the_same_signal_is_flagged_once_and_a_new_one_adds_to_it() -> None:
    talk = chat()
    talk.says(f"refund $5 on ORD-1001. {CARD}")
    talk.says(f"refund $6 on ORD-1001. {CARD}")
    assert flags(talk) == []
    talk.says(f"refund $7 on ORD-1001. {MANY}")
    (flag,) = flags(talk)
    assert (flag["score"], len(flag["signals"])) == ("0.65", 2)
    talk.says("refund $8 on ORD-1001")
    assert flags(talk) == []


@pytest.mark.parametrize(
    "result",
    [
        {"status": "pending_approval", "approval_id": "apr_9"},
        {"ok": True, "status": "executed", "approval_id": "apr_9"},
        {"ok": False, "error": "stopped", "message": "Everything is stopped at the moment."},
        {"ok": False, "error": "not_verified", "message": "A flag is about somebody."},
        {"ok": False, "error": "already_rejected", "message": "The flag was declined."},
    ],
)
def test_whatever_becomes_of_the_flag_the_customer_reads_nothing_of_it(result: JsonObject) -> None:
    talk = chat()
    talk.forced = [result]
    assert talk.says(f"refund $5 on ORD-1001. {CARD}") == (
        "Done: I have refunded 5.00 USD on ORD-1001."
    )
    talk.forced = [result]
    assert "ORD-1001 (Alder dining chair" in talk.says("what did I order? I gave a false name.")
    talk.knows(
        event="approval_outcome",
        approval_id="apr_9",
        tool="flag_for_fraud",
        order_id="ORD-1002",
        amount=None,
        outcome="rejected",
        ok=False,
    )
    assert talk.says("any news?") == "5.00 USD has been refunded on ORD-1001."
    assert "Nothing of yours is waiting" in talk.says("never mind")
    talk.says("refund half of it")
    assert talk.proposals == ["ORD-1001 80.00 USD partial"]


def test_nobody_is_flagged_who_is_nobody_or_where_the_tool_is_not_there() -> None:
    talk = Chat(None)
    assert "sign in" in talk.says(f"where is my order? {CARD}")
    assert flags(talk) == []
    asked = (ChatMessage("user", f"hello, {CARD}"),)
    others = tuple(spec for spec in SPECS if spec.name != "flag_for_fraud")
    assert "What can I do for you?" in OfflineModel().complete(ChatRequest(asked, others)).text


# Angry, odd and unlucky, but nothing that speaks of fraud.
HONEST = [
    "This is a scam! You are all criminals, I want my money back NOW",
    "I will never order here again, you thieves",
    "If you don't refund me I will do a chargeback",
    "I want a chargeback for ORD-1001",
    "you charged me twice, I want my money back",
    "I paid twice for ORD-1001",
    "you took my money twice",
    "I was refunded twice by mistake, please take one back",
    "my card was stolen, please check my orders",
    "somebody used my card to order this",
    "you charged someone else's card instead of mine",
    "my wife paid with her card",
    "I paid with my mother's card, can you refund it there?",
    "I have asked three times for a refund",
    "I have had 2 refunds from you and this is the third broken lamp",
    "it never arrived, I will say that to everybody",
    "I will report you for fraud",
    "this is fraud!",
    "the receipt you sent me looks fake",
    "is this a fake lamp?",
    "the review said it is a fake",
    "I can send a photo of the broken leg",
    "I disputed the payment with my bank and they said to ask you for the refund first",
    "I don't pretend to be an expert, but the chair wobbles",
    "I moved, the address is false",
    "Are you kidding me?! This is the worst shop ever!!!",
    "I hope your warehouse burns down",
    "I always get the wrong size from you",
    "I usually get my parcels on Fridays",
    "ich will mein Geld zurück",
]


def corpus() -> list[str]:
    """Return every sentence that the tests of the offline model say, each once."""
    sentences = [said for said, *_ in (*PROPOSED, *PROPOSED_SOLO)]
    sentences += [said for said, *_ in (*ANSWERED, *TEMPLATES)]
    sentences += [said for said, _ in (*OWN, *NOT_MEANT)]
    sentences += [said for talk, _ in FOLLOW_UPS for said in talk]
    return list(dict.fromkeys([*sentences, *NO_MORE, *NO_EMAIL, *HONEST]))


@pytest.mark.parametrize("said", corpus())
def test_ordinary_sentences_are_no_signal(said: str) -> None:
    talk = chat()
    talk.says(said)
    assert flags(talk) == []
