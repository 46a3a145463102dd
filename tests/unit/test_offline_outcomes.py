"""Outcomes, edits and notes of the desk, in the very shapes that the desk puts them in."""

import json
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import ChatMessage
from agent.domain.payload import Payload
from agent.domain.wording import edit_for_model, outcome_for_model
from tests.support.builders import (
    BOB,
    approval,
    email_approval,
    email_payload,
    flag_approval,
    refund_payload,
    usd,
)
from tests.support.doubles import START
from tests.support.offline_driver import Chat, Line, Order, nth

SIXTY = "refund $60 on ORD-1001"
MAIL = "write me an e-mail about ORD-1001 that says hello there"
FIRST, SECOND = nth(1), nth(2)
DECIDED = START + timedelta(minutes=1)
PERSON = "Would you like me to pass you to a person of our team?"


def chat() -> Chat:
    return Chat(
        {
            "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
            "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
        }
    )


def refund(status: Status, **changes: Any) -> Approval:
    """Return what the model asked for with SIXTY."""
    return approval(**({"id": FIRST, "amount": usd("60.00"), "status": status} | changes))


def mail(status: Status, **changes: Any) -> Approval:
    """Return what the model asked for with MAIL."""
    return email_approval(**({"id": FIRST, "status": status} | changes))


def edited_refund(status: Status, now: str = "40.00", order_id: str = "ORD-1001") -> Approval:
    """Return what a person made of it."""
    return refund(
        status,
        id=SECOND,
        amount=usd(now),
        order_id=order_id,
        original=refund_payload(usd("60.00")),
        edited_by=(BOB,),
        supersedes=FIRST,
    )


def edited_mail(status: Status, talk: Chat) -> Approval:
    """Return what a person made of the e-mail that the model asked for."""
    (asked,) = [arguments for name, arguments in talk.made if name == "send_email"]
    text = {"template": None, "subject": asked["subject"], "body": asked["body"]}
    return mail(
        status,
        id=SECOND,
        payload=email_payload(template=None, subject="Hello", body="Dear Ana, hello."),
        original=email_payload(**text),
        edited_by=(BOB,),
        supersedes=FIRST,
    )


def told(asked: str, outcome: Payload) -> tuple[Chat, str]:
    """Return a talk in which a request ended, and what the customer was told of it."""
    talk = chat()
    talk.says(asked)
    said = talk.hears(**outcome)
    assert talk.made == []
    return talk, said


S = Status
ENDINGS: list[tuple[Approval, str, str]] = [
    (refund(S.EXECUTED), "", "Good news: 60.00 USD has been refunded on ORD-1001."),
    (
        refund(S.REJECTED),
        "Our return policy ends after 30 days.",
        (
            "Our team has declined the refund of 60.00 USD on ORD-1001. The reason: Our return "
            f"policy ends after 30 days. {PERSON}"
        ),
    ),
    (
        refund(S.EXPIRED),
        "",
        (
            "No one decided in time about the refund of 60.00 USD on ORD-1001, so nothing was "
            "paid. Shall I ask again? If you would rather talk to a person, just say so."
        ),
    ),
    (
        refund(S.STALE, result={"problem": "Only 5.00 USD of order ORD-1001 is left to refund."}),
        "",
        (
            "The refund of 60.00 USD on ORD-1001 was not paid, because something changed in the "
            "meantime. The reason: Only 5.00 USD of order ORD-1001 is left to refund. "
            "Shall I ask again?"
        ),
    ),
    (
        refund(S.STALE, result={"problem": "The policy now asks for 2 x refund_manager."}),
        "",
        (
            "The refund of 60.00 USD on ORD-1001 was not paid, because something changed in the "
            "meantime. Shall I ask again?"
        ),
    ),
    (
        refund(S.CANCELLED),
        "",
        "The request for 60.00 USD on ORD-1001 was taken back; nothing was paid.",
    ),
    (
        refund(S.CANCELLED, decided_at=DECIDED),
        "",
        f"Our team has called off the refund of 60.00 USD on ORD-1001; nothing was paid. {PERSON}",
    ),
    (
        refund(S.FAILED),
        "",
        f"The refund of 60.00 USD on ORD-1001 could not be completed; no money moved. {PERSON}",
    ),
    (
        refund(S.FAILED, result={"provider_status": "failed"}),
        "",
        (
            "The refund of 60.00 USD on ORD-1001 came back: your bank did not take it, so the "
            f"money has not reached you. {PERSON}"
        ),
    ),
    (
        refund(S.EXECUTED, result={"settled_by": "Mia", "evidence": "bank_record"}),
        "",
        "Good news: 60.00 USD has been refunded on ORD-1001.",
    ),
    (
        refund(S.FAILED, result={"settled_by": "Mia", "evidence": "bank_record"}),
        "",
        f"The refund of 60.00 USD on ORD-1001 could not be completed; no money moved. {PERSON}",
    ),
    (
        edited_refund(S.EXECUTED),
        "",
        (
            "A person of our team changed the amount from 60.00 USD to 40.00 USD. Good news: "
            "40.00 USD has been refunded on ORD-1001."
        ),
    ),
    (
        edited_refund(S.EXECUTED, order_id="ORD-1002"),
        "",
        (
            "A person of our team changed the amount from 60.00 USD to 40.00 USD and the order "
            "from ORD-1001 to ORD-1002. Good news: 40.00 USD has been refunded on ORD-1002."
        ),
    ),
    (
        edited_refund(S.EXECUTED, now="60.00"),
        "",
        "Good news: 60.00 USD has been refunded on ORD-1001.",
    ),
    (
        edited_refund(S.REJECTED),
        "Too old.",
        (
            "A person of our team changed the amount from 60.00 USD to 40.00 USD. Our team has "
            f"declined the refund of 40.00 USD on ORD-1001. The reason: Too old. {PERSON}"
        ),
    ),
]


@pytest.mark.parametrize(("row", "reason", "words"), ENDINGS)
def test_each_ending_of_a_refund_has_its_own_true_words(
    row: Approval, reason: str, words: str
) -> None:
    _, said = told(SIXTY, outcome_for_model(row, reason))
    assert said == words


MAIL_ENDINGS: list[tuple[Approval, str, str]] = [
    (mail(S.EXECUTED), "", "Good news: the e-mail about ORD-1001 has been sent."),
    (mail(S.EXECUTED, order_id=None), "", "Good news: the e-mail has been sent."),
    (
        mail(S.REJECTED),
        "Too blunt",
        (
            "Our team has declined the e-mail about ORD-1001, so it was not sent. The reason: Too "
            f"blunt. {PERSON}"
        ),
    ),
    (
        mail(S.EXPIRED),
        "",
        (
            "No one decided in time about the e-mail about ORD-1001, so nothing was sent. "
            "Shall I ask again? If you would rather talk to a person, just say so."
        ),
    ),
    (
        mail(S.STALE, result={"problem": "E-mails cannot be sent at the moment."}),
        "",
        (
            "Sorry, the e-mail about ORD-1001 was not sent, because something changed in the "
            "meantime. The reason: E-mails cannot be sent at the moment. Shall I ask again?"
        ),
    ),
    (
        mail(S.CANCELLED),
        "",
        "Your request for the e-mail about ORD-1001 was taken back; nothing was sent.",
    ),
    (
        mail(S.CANCELLED, decided_at=DECIDED),
        "",
        f"Our team has called off the e-mail about ORD-1001; nothing was sent. {PERSON}",
    ),
    (mail(S.FAILED), "", f"Sorry, the e-mail about ORD-1001 could not be sent. {PERSON}"),
]


@pytest.mark.parametrize(("row", "reason", "words"), MAIL_ENDINGS)
def test_of_an_e_mail_nothing_is_said_to_be_paid(row: Approval, reason: str, words: str) -> None:
    _, said = told(MAIL, outcome_for_model(row, reason))
    assert said == words
    assert "paid" not in said


def test_a_changed_e_mail_is_told_to_be_changed() -> None:
    talk = chat()
    talk.says(MAIL)
    outcome = outcome_for_model(edited_mail(S.EXECUTED, talk))
    assert talk.hears(**outcome) == (
        "A person of our team changed the e-mail. Good news: the e-mail about ORD-1001 has been "
        "sent."
    )


def test_an_outcome_that_nobody_can_read_is_not_guessed_at() -> None:
    odd_ones: list[Payload] = [
        {"outcome": "superseded"},
        {"outcome": "executed", "ok": False},
        {"tool": "x"},
    ]
    for odd in odd_ones:
        fields = outcome_for_model(refund(S.EXECUTED)) | odd
        _, said = told(SIXTY, fields)
        assert said == f"There is news about ORD-1001 that I cannot read. {PERSON}"


AGAIN: list[tuple[str, Approval, list[str]]] = [
    (SIXTY, refund(S.EXPIRED), ["lookup_order", "issue_refund"]),
    (SIXTY, refund(S.STALE), ["lookup_order", "issue_refund"]),
    (MAIL, mail(S.EXPIRED), ["send_email"]),
    (MAIL, mail(S.STALE), ["send_email"]),
    (SIXTY, refund(S.FAILED), ["hand_off"]),
    (MAIL, mail(S.FAILED), ["hand_off"]),
]


@pytest.mark.parametrize(("asked", "row", "tools"), AGAIN)
def test_what_lapsed_is_asked_for_again_after_a_yes(
    asked: str, row: Approval, tools: list[str]
) -> None:
    talk, _ = told(asked, outcome_for_model(row))
    before = [arguments for name, arguments in talk_calls(talk) if name == tools[-1]]
    talk.says("yes please")
    assert talk.tools == tools
    if tools[-1] != "hand_off":
        assert before == [talk.made[-1][1]]


def talk_calls(talk: Chat) -> list[tuple[str, object]]:
    """Return every call of the whole talk so far, with its arguments."""
    chats = [message for message in talk.messages if message.calls]
    return [(call.name, json.loads(call.arguments)) for one in chats for call in one.calls]


NOT_AGAIN: list[tuple[str, Payload, str]] = [
    (SIXTY, outcome_for_model(refund(S.REJECTED), "No."), "already declined exactly this request"),
    (SIXTY, outcome_for_model(refund(S.EXECUTED)), "The last refund on ORD-1001 has been paid"),
    (SIXTY, outcome_for_model(refund(S.UNKNOWN)), "checking with the payment provider"),
    (MAIL, outcome_for_model(mail(S.REJECTED), "No."), "already declined exactly this e-mail"),
    (MAIL, outcome_for_model(mail(S.UNKNOWN)), "checking whether it left"),
]


@pytest.mark.parametrize(("asked", "outcome", "words"), NOT_AGAIN)
def test_what_was_decided_or_is_not_known_is_not_asked_for_again(
    asked: str, outcome: Payload, words: str
) -> None:
    talk, _ = told(asked, outcome)
    assert words in talk.says("ask again")
    assert talk.made == []


def edited_talk(status: Status | None = None, **now: str) -> Chat:
    """Return a talk whose request a person changed; with a status it has ended so since."""
    talk = chat()
    talk.says(SIXTY)
    talk.knows(**edit_for_model(edited_refund(S.PENDING, **now), "Half was agreed."))
    talk.requests[0]["status"] = "replaced"
    new = {"approval_id": SECOND, "tool": "issue_refund", "status": "pending"}
    talk.requests.insert(0, new | {"order_id": "ORD-1001", "amount": "40.00 USD"})
    if status is not None:
        talk.hears(**outcome_for_model(edited_refund(status, **now)))
    return talk


@pytest.mark.parametrize("status", [None, S.EXECUTED, S.REJECTED, S.EXPIRED, S.CANCELLED])
@pytest.mark.parametrize("said", [SIXTY, "refund me 60 dollars on order 1001 now"])
def test_after_a_persons_edit_the_original_is_not_proposed_again(
    status: Status | None, said: str
) -> None:
    talk = edited_talk(status)
    answer = talk.says(said)
    assert talk.proposals == []
    assert "changed your request for 60.00 USD on ORD-1001 to 40.00 USD on ORD-1001" in answer
    assert "that is final" in answer
    talk.says("then refund $5 on ORD-1001")
    assert talk.proposals == ["ORD-1001 5.00 USD partial"]


def test_an_edit_is_no_word_of_the_customers() -> None:
    talk = edited_talk()
    news = talk.says("any news?")
    assert "40.00 USD on ORD-1001 is still waiting" in news
    assert "60.00" not in news
    assert "still waiting" in talk.says("ask again")
    assert talk.made == []
    answer = talk.says("never mind")
    assert talk.made == [("withdraw_request", {})]
    assert "I have taken back the refund of 40.00 USD on ORD-1001" in answer


def test_what_lapsed_after_an_edit_is_asked_for_as_it_was_edited() -> None:
    talk = edited_talk(S.EXPIRED)
    talk.says("yes please")
    assert talk.proposals == ["ORD-1001 40.00 USD partial"]
    moved = edited_talk(S.STALE, order_id="ORD-1002")
    moved.says("ask again")
    assert moved.proposals == ["ORD-1002 40.00 USD partial"]


def test_an_offer_that_a_person_has_changed_is_not_taken() -> None:
    talk = edited_talk()
    talk.messages[-1:] = [talk.messages[-1]]
    talk.says("the lamp arrived scratched")
    offered = talk.messages[-1]
    words = "Shall I request a refund of 60.00 USD on ORD-1001?"
    talk.messages[-1] = type(offered)("assistant", words)
    assert "that is final" in talk.says("yes")
    assert talk.proposals == []


def test_a_changed_e_mail_is_not_proposed_again() -> None:
    talk = chat()
    talk.says(MAIL)
    talk.knows(**edit_for_model(edited_mail(S.PENDING, talk), "Friendlier."))
    for said in (MAIL, "send the e-mail again"):
        assert "changed exactly this e-mail, and that is final" in talk.says(said)
        assert talk.made == []
    talk.says("write me an e-mail about ORD-1001 that says good morning")
    assert talk.tools == ["send_email"]


def test_what_people_ask_again_waits_again() -> None:
    talk = chat()
    talk.says(SIXTY)
    talk.hears(**outcome_for_model(refund(S.EXPIRED)))
    talk.knows(event="asked_again", approval_id=SECOND, instead_of=FIRST)
    assert "still waiting for a quick review" in talk.says("ask again")
    assert talk.made == []
    talk.requests = [
        {
            "approval_id": SECOND,
            "tool": "issue_refund",
            "order_id": "ORD-1001",
            "amount": "60.00 USD",
            "status": "pending",
        }
    ]
    assert "taken back the refund of 60.00 USD" in talk.says("never mind")


@pytest.mark.parametrize("status", [S.EXECUTED, S.REJECTED, S.EXPIRED, S.STALE])
def test_the_outcome_of_a_flag_is_nobodys_question(status: Status) -> None:
    talk = chat()
    talk.says(SIXTY)
    flag = flag_approval(id=SECOND, status=status, order_id="ORD-1002")
    talk.knows(**outcome_for_model(flag, "Not enough."))
    assert "60.00 USD on ORD-1001 is still waiting" in talk.says("any news?")
    talk.says("refund the rest of it")
    assert talk.proposals == ["ORD-1001 160.00 USD full"]
    talk.hears(approval_id=FIRST, **outcome_fields(refund(S.EXPIRED)))
    talk.says("yes please")
    assert talk.proposals == ["ORD-1001 60.00 USD partial"]


def test_no_turn_answers_what_the_customer_must_not_hear_of() -> None:
    flag = flag_approval(id=SECOND, status=S.EXECUTED, order_id="ORD-1002")
    told = outcome_for_model(flag)
    talk = chat()
    talk.says(SIXTY)
    talk.knows(**told)
    assert talk.answer() == "Is there anything else I can do for you?"
    talk = chat()
    talk.messages.append(ChatMessage("user", "where is ORD-1001?"))
    talk.knows(**told)
    assert "ORD-1001 (Alder dining chair" in talk.answer()
    talk = chat()
    talk.says("where is ORD-1001?")
    talk.knows(**told)
    talk.says("refund half of it")
    assert talk.proposals == ["ORD-1001 80.00 USD partial"]


def outcome_fields(row: Approval) -> Payload:
    """Return an outcome without the id, which the test names itself."""
    fields = outcome_for_model(row)
    del fields["approval_id"]
    return fields
