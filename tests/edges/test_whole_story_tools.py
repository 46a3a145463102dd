"""The other tools as customers and staff meet them: withdrawals, e-mails, drafts, quiet flags."""

import json
from collections.abc import Iterator

import pytest

from tests.support.outside import Json, button_value, database, shown_text
from tests.support.process import Chat, DeskProcess, running_desk

THREE_SIGNALS = (
    "I paid with somebody else's card. I have had 12 refunds already. I will get my money twice."
)
NOT_FOR_CUSTOMERS = ("flag", "fraud", "suspic", "signal")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def desk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeskProcess]:
    """Run one desk for all stories; afterwards its trail is whole and it ends in good order."""
    with (
        database(request.param, request) as url,
        running_desk(tmp_path_factory.mktemp("desk"), url) as desk,
    ):
        yield desk
        assert desk.agent("audit", "verify").startswith("ok: ")
        desk.stop()


def mails(desk: DeskProcess, subject: str) -> list[Json]:
    """Return the delivered e-mails of a subject."""
    answer = desk.get("/sandbox/mail")
    return [mail for mail in answer.json() if mail["subject"] == subject]


def chips(chat: Chat) -> list[str]:
    return [str(chip["status"]) for chip in chat.chips()]


def of_tool(desk: DeskProcess, chat: Chat, tool: str) -> list[Json]:
    """Return what waits of a conversation's proposals with a tool."""
    ours = [a for a in desk.waiting() if a["conversation_id"] == chat.conversation_id]
    return [approval for approval in ours if approval["tool"] == tool]


def test_never_mind_takes_the_waiting_refund_back(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("please refund $61 on ORD-1005")
    card = desk.card(approval["id"])
    said = chat.says("never mind")
    assert "I have taken back the refund of 61.00 USD on ORD-1005; nothing will be paid" in said
    assert desk.approval(approval["id"])["status"] == "cancelled"
    assert chips(chat) == ["pending", "withdrawn"]
    gone = desk.card(approval["id"], "Withdrawn")
    assert gone["ts"] == card["ts"]
    value = button_value(card, "approval_approve")
    desk.clicks("ana", card, "approval_approve", value=value)
    late = desk.decides("approve", approval, desk.staff("ana"))
    assert late.status_code == 409
    assert desk.payments("ORD-1005") == []
    assert "was taken back; nothing was paid" in chat.says("any news?")
    assert len(chat.told()) == 3


def test_of_two_requests_only_the_one_that_is_named_is_taken_back(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    first = chat.parks("refund $62 on ORD-1005")
    second = chat.parks("refund $89 on ORD-1015")
    asked = chat.says("please cancel my request")
    assert "Which request shall I take back?" in asked
    assert "62.00 USD on ORD-1005" in asked
    assert "89.00 USD on ORD-1015" in asked
    assert "taken back the refund of 89.00 USD on ORD-1015" in chat.says("the one on ORD-1015")
    assert desk.approval(second["id"])["status"] == "cancelled"
    assert desk.approval(first["id"])["status"] == "pending"
    assert "taken back the refund of 62.00 USD" in chat.says("I don't want the refund any more")
    assert desk.approval(first["id"])["status"] == "cancelled"


def test_where_nothing_waits_the_customer_hears_so(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_sofia")
    assert "Nothing of yours is waiting for our team" in chat.says("never mind")
    assert "Shall I request a refund" in chat.says("cancel order 1017")
    assert chips(chat) == []


def test_return_instructions_leave_at_once_for_the_customers_own_address(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    said = chat.says("send me the return instructions for ORD-1001 by mail")
    assert said == 'Done: I have sent the e-mail "How to return order ORD-1001" to your address.'
    (mail,) = mails(desk, "How to return order ORD-1001")
    assert mail["to"] == ["clara.nguyen@example.com"]
    assert "Hello Clara Nguyen," in mail["body"]
    assert chips(chat) == ["done"]
    assert of_tool(desk, chat, "send_email") == []


def test_words_of_ones_own_are_sent_once_after_a_person_read_them(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    said = chat.says("write me an e-mail about ORD-1002 that says The lamp leaves on Monday.")
    assert "needs a quick review by our team before it is sent" in said
    (approval,) = of_tool(desk, chat, "send_email")
    subject = approval["payload"]["subject"]
    assert mails(desk, subject) == []
    card = desk.card(approval["id"])
    for shown in ("clara.nguyen@example.com", subject, "The lamp leaves on Monday."):
        assert shown in shown_text(card)
    desk.clicks("ana", card, "approval_approve")
    desk.becomes(approval["id"], "executed")
    told = chat.reads("has been sent")
    assert "paid" not in told
    assert "refund" not in told
    (mail,) = mails(desk, subject)
    assert "The lamp leaves on Monday." in mail["body"]
    assert chips(chat) == ["pending", "approved", "done"]


def test_an_e_mail_to_somebody_else_waits_and_a_no_is_told(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_priya")
    said = chat.says("send an e-mail to jo@example.org about the dented pan of ORD-1006")
    assert "needs a quick review by our team before it is sent" in said
    (approval,) = of_tool(desk, chat, "send_email")
    assert approval["payload"]["to"] == ["jo@example.org"]
    answer = desk.decides(
        "reject",
        approval,
        desk.staff("ana"),
        category="other",
        reason="We write to customers only.",
    )
    assert answer.status_code == 200, answer.text
    told = chat.reads("declined")
    assert "We write to customers only." in told
    assert "not sent" in told
    assert mails(desk, approval["payload"]["subject"]) == []
    again = chat.says("send an e-mail to jo@example.org about the dented pan of ORD-1006")
    assert "already declined exactly this e-mail" in again


def test_an_e_mail_that_waits_can_be_taken_back(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_priya")
    chat.parks("refund $74 on ORD-1006")
    chat.says("write me an e-mail that says See you on Friday.")
    (approval,) = of_tool(desk, chat, "send_email")
    assert "I have taken back the e-mail; nothing will be sent" in chat.says(
        "don't send the e-mail"
    )
    assert desk.approval(approval["id"])["status"] == "cancelled"
    (refund,) = of_tool(desk, chat, "issue_refund")
    assert desk.approval(refund["id"])["status"] == "pending"
    assert mails(desk, approval["payload"]["subject"]) == []
    chat.says("cancel the refund")
    assert desk.approval(refund["id"])["status"] == "cancelled"


def test_a_draft_is_shown_and_goes_nowhere(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_jonas")
    draft = chat.says("show me a draft of the return e-mail for ORD-1009")
    assert "nothing has been sent" in draft
    assert "To: jonas.keller@example.com\nSubject: How to return order ORD-1009" in draft
    assert "All right." in chat.says("no thanks")
    assert chips(chat) == []
    assert mails(desk, "How to return order ORD-1009") == []


def test_after_a_persons_edit_the_original_is_not_asked_for_again(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_sofia")
    approval = chat.parks("refund $58 on ORD-1017")
    answer = desk.decides(
        "edit",
        approval,
        desk.staff("ana"),
        edits={"amount": {"minor": 2900, "currency": "USD", "display": "29.00 USD"}},
        reason="Half was agreed.",
    )
    assert answer.status_code == 200, answer.text
    desk.becomes(answer.json()["id"], "executed")
    told = chat.reads("29.00 USD has been refunded")
    assert "changed the amount from 58.00 USD to 29.00 USD" in told
    said = chat.says("refund $58 on ORD-1017")
    assert "changed your request for 58.00 USD on ORD-1017 to 29.00 USD" in said
    assert "that is final" in said
    assert of_tool(desk, chat, "issue_refund") == []
    assert [one["amount"]["minor"] for one in desk.payments("ORD-1017")] == [2900]


def flags_in_book(desk: DeskProcess, customer_id: str) -> list[Json]:
    return desk.rows(
        "SELECT score, action FROM fraud_flags WHERE customer_id = :customer", customer=customer_id
    )


def heard_nothing(chat: Chat) -> bool:
    """Tell whether no event of the customer's names what they must not hear of."""
    events = [event for event in chat.events() if event["data"].get("role") != "customer"]
    text = json.dumps(events).lower()
    return not any(word in text for word in NOT_FOR_CUSTOMERS)


def test_one_signal_is_noted_and_the_customer_hears_nothing_of_it(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_ben")
    said = chat.says("I paid with somebody else's card, refund $5 on ORD-1003")
    assert said == "Done: I have refunded 5.00 USD on ORD-1003."
    (flag,) = flags_in_book(desk, "cus_ben")
    assert flag["action"] == "monitor"
    assert chips(chat) == ["done"]
    assert heard_nothing(chat)


@pytest.mark.parametrize(
    ("verb", "status", "customer", "order", "actions"),
    [
        ("approve", "executed", "cus_david", "ORD-1018", ["hold"]),
        ("reject", "rejected", "cus_sofia", "ORD-1017", []),
    ],
    ids=["approve", "reject"],
)
def test_many_signals_wait_for_a_manager_and_the_customer_hears_nothing(
    desk: DeskProcess, verb: str, status: str, customer: str, order: str, actions: list[str]
) -> None:
    chat = desk.opens_chat(customer)
    said = chat.says(f"{THREE_SIGNALS} refund $5 on {order}")
    # Small as it is, nothing runs by itself while the flag waits.
    assert "needs a quick review by our team" in said
    (refund,) = of_tool(desk, chat, "issue_refund")
    assert [one["code"] for one in refund["risk"]["reasons"]] == ["automatic_paused"]
    (flag,) = of_tool(desk, chat, "flag_for_fraud")
    card = shown_text(desk.card(flag["id"]))
    for shown in (flag["payload"]["score"], *flag["payload"]["signals"]):
        assert shown in card
    assert desk.decides("approve", flag, desk.staff("ana")).status_code == 403
    words = {"category": "other", "reason": "Not enough."} if verb == "reject" else {}
    answer = desk.decides(verb, flag, desk.staff("mia"), **words)
    assert answer.status_code == 200, answer.text
    desk.becomes(flag["id"], status)
    assert [one["action"] for one in flags_in_book(desk, customer)] == actions
    chat.says("never mind")
    assert chips(chat) == ["pending", "withdrawn"]
    assert len(chat.told()) == 2
    assert heard_nothing(chat)
