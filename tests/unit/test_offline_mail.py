"""E-mails that customers ask for: a template, words of their own, or a draft to look at."""

import json

import pytest

from agent.tools.base import parse_arguments
from agent.tools.registry import TOOLS
from tests.support.offline_driver import Chat, JsonObject, Line, Order


def chat() -> Chat:
    return Chat(
        {
            "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
            "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
        }
    )


def mails(talk: Chat) -> list[JsonObject]:
    """Return the e-mails proposed for the last message, without what stands beside them."""
    return [
        {name: value for name, value in arguments.items() if name not in {"reason", "confidence"}}
        for tool, arguments in talk.made
        if tool == "send_email"
    ]


TEMPLATES = [
    ("send me the return instructions for ORD-1001 by mail", "return_instructions", "ORD-1001"),
    ("Could you e-mail me how to return the chair?", "return_instructions", "ORD-1001"),
    ("email me how I send the lamp back please", "return_instructions", "ORD-1002"),
    ("please send the return label for ord 1002", "return_instructions", "ORD-1002"),
    ("I'd like the return instructions for ORD-1001 by e-mail", "return_instructions", "ORD-1001"),
    ("can you mail me to ask for a photo of the lamp", "photo_request", "ORD-1002"),
    ("send me an e-mail asking for a picture of ORD-1001", "photo_request", "ORD-1001"),
    ("mail me an apology for the delay of ORD-1002", "delay_apology", "ORD-1002"),
    ("send me an e-mail because ORD-1002 is late", "delay_apology", "ORD-1002"),
    ("write me an e-mail to apologize for ORD-1001", "delay_apology", "ORD-1001"),
]


@pytest.mark.parametrize(
    ("said", "template", "order_id"), TEMPLATES, ids=[said for said, _, _ in TEMPLATES]
)
def test_a_template_of_the_policy_is_sent_where_one_fits(
    said: str, template: str, order_id: str
) -> None:
    talk = chat()
    answer = talk.says(said)
    assert mails(talk) == [{"template": template, "order_id": order_id}]
    assert [a["confidence"] for n, a in talk.made if n == "send_email"] == ["0.95"]
    assert talk.tools[0] == "check_policy"
    assert answer.startswith('Done: I have sent the e-mail "')
    assert order_id in answer
    assert answer.endswith("to your address.")
    assert "paid" not in answer


def test_the_order_spoken_of_is_the_one_the_e_mail_is_about() -> None:
    talk = chat()
    talk.says("where is ORD-1002?")
    talk.says("e-mail me how to return it")
    assert mails(talk) == [{"template": "return_instructions", "order_id": "ORD-1002"}]


def test_a_missing_order_is_asked_for_and_the_answer_is_understood() -> None:
    talk = chat()
    assert "Which order do you mean?" in talk.says("e-mail me how to return it")
    assert mails(talk) == []
    talk.says("the lamp")
    assert mails(talk) == [{"template": "return_instructions", "order_id": "ORD-1002"}]


def test_several_orders_get_an_e_mail_each() -> None:
    talk = chat()
    talk.says("e-mail me the return instructions for ORD-1001 and ORD-1002")
    assert [mail["order_id"] for mail in mails(talk)] == ["ORD-1001", "ORD-1002"]


def test_a_missing_topic_is_asked_for_and_the_answer_is_understood() -> None:
    talk = chat()
    answer = talk.says("e-mail me please")
    assert "What shall the e-mail be about?" in answer
    assert '"How to return order …"' in answer
    talk.says("how to return ORD-1001")
    assert mails(talk) == [{"template": "return_instructions", "order_id": "ORD-1001"}]
    talk.says("send me an e-mail")
    talk.says("it should say: see you tomorrow")
    assert [mail["body"] for mail in mails(talk)] == ["Hello,\n\nsee you tomorrow\n\nShopStream"]
    talk.says("send me an e-mail")
    talk.says("I want to talk to a person")
    assert talk.tools == ["hand_off"]


def test_an_order_with_nothing_left_to_refund_can_be_written_about() -> None:
    talk = Chat({"ORD-7": Order([Line("Rug", 9500)], refunded=9500)})
    talk.says("e-mail me how to return the package")
    assert mails(talk) == [{"template": "return_instructions", "order_id": "ORD-7"}]
    two = Chat({f"ORD-{i}": Order([Line("Rug", 9500)], refunded=9500) for i in (17, 18)})
    assert "Which order do you mean? I see ORD-17" in two.says(
        "e-mail me how to return the package"
    )
    none = Chat({})
    assert none.says("e-mail me how to return the package") == "I see no orders of yours."
    assert "could not find the order ORD-999" in talk.says("e-mail me how to return ORD-999")


def test_strangers_are_asked_to_sign_in() -> None:
    for said in ("e-mail me how to return ORD-1001", "e-mail me how to return it"):
        assert "sign in" in Chat(None).says(said)
    assert "sign in" in Chat(None).says("write me an e-mail that says hello there")
    assert "sign in" in Chat(None).says("draft an e-mail that says hello there")


OWN: list[tuple[str, JsonObject]] = [
    (
        "write me an e-mail that says The lamp is fine after all.",
        {"subject": "A message from ShopStream", "body": "The lamp is fine after all."},
    ),
    (
        'Please send an e-mail about the wobbly chair saying "It wobbles."',
        {"subject": "The wobbly chair", "body": "It wobbles."},
    ),
    (
        "send an e-mail to Jo.Doe@Example.org about the broken chair of ORD-1001",
        {
            "to": ["Jo.Doe@Example.org"],
            "subject": "The broken chair of ORD-1001",
            "body": "this is about the broken chair of ORD-1001.",
            "order_id": "ORD-1001",
        },
    ),
    (
        "e-mail jo@example.org, cc: li@example.org, and bcc to max@example.org, that says: hi!",
        {
            "to": ["jo@example.org"],
            "cc": ["li@example.org"],
            "bcc": ["max@example.org"],
            "subject": "A message from ShopStream",
            "body": "hi!",
        },
    ),
    (
        "send an e-mail to jo@example.org about the return of my rug",
        {
            "to": ["jo@example.org"],
            "subject": "The return of my rug",
            "body": "this is about the return of my rug.",
        },
    ),
    (
        "e-mail me about the opening hours on Sunday",
        {
            "subject": "The opening hours on Sunday",
            "body": "this is about the opening hours on Sunday.",
        },
    ),
]


@pytest.mark.parametrize(("said", "mail"), OWN, ids=[said for said, _ in OWN])
def test_words_of_the_customers_own_wait_for_people(said: str, mail: JsonObject) -> None:
    talk = chat()
    answer = talk.says(said)
    body = f"Hello,\n\n{mail['body']}\n\nShopStream"
    assert mails(talk) == [mail | {"body": body}]
    assert f'The e-mail "{mail["subject"]}" needs a quick review by our team before' in answer
    assert "I have sent" not in answer


def test_a_template_to_somebody_else_waits() -> None:
    talk = chat()
    answer = talk.says("send the return instructions for ORD-1001 by e-mail to jo@example.org")
    assert mails(talk) == [
        {"template": "return_instructions", "order_id": "ORD-1001", "to": ["jo@example.org"]}
    ]
    assert "needs a quick review by our team before it is sent" in answer


@pytest.mark.parametrize(
    "said",
    [
        "write me an e-mail that says " + "x\u202e\x07 \u2028y" * 900,
        "send an e-mail to " + " ".join(f"a{i}@example.org" for i in range(40)) + " about it",
        "send an e-mail to jo@example.org and JO@example.org about ORD-1001 " + "z" * 3000,
        "e-mail me: " + "\U0001f600" * 1000,
    ],
    ids=["long", "many", "twice", "astral"],
)
def test_whatever_is_said_the_tool_takes_its_shape(said: str) -> None:
    talk = chat()
    talk.forced = [{"ok": False, "error": "invalid_arguments", "message": "to: too odd"}]
    answer = talk.says(said)
    assert answer.strip()
    for mail in mails(talk):
        arguments = json.dumps(mail | {"reason": "x", "confidence": "0.95"})
        parse_arguments(TOOLS["send_email"], arguments)


RESULTS: list[tuple[JsonObject, str]] = [
    ({"ok": True, "status": "executed", "approval_id": "a"}, "Done: I have sent the e-mail"),
    ({"status": "pending_approval", "approval_id": "a"}, "needs a quick review by our team"),
    ({"ok": False, "status": "checking", "error": "unknown"}, "we are checking whether it left"),
    ({"ok": False, "error": "failed", "approval_id": "a"}, "could not be sent"),
    ({"ok": False, "error": "not_found"}, "could not find ORD-1001 among your orders"),
    ({"ok": False, "error": "not_available"}, "cannot send e-mails at the moment"),
    ({"ok": False, "error": "stopped"}, "E-mails are paused at the moment"),
    ({"ok": False, "error": "too_many_open"}, "still waiting for our team"),
    ({"ok": False, "error": "already_rejected"}, "already declined exactly this e-mail"),
    ({"ok": False, "error": "already_edited"}, "changed exactly this e-mail, and that is final"),
    ({"ok": False, "error": "not_verified"}, "sign in"),
    ({"ok": False, "error": "invalid_arguments", "message": "to: no address."}, "to: no address."),
    ({"ok": False, "error": "new_code", "message": "Not on Sundays."}, "Not on Sundays. Would"),
    ({"ok": False, "error": "new_code"}, "could not do that"),
    ({}, "cannot see how that stands"),
]


@pytest.mark.parametrize(("result", "answer"), RESULTS)
def test_each_result_has_honest_words(result: JsonObject, answer: str) -> None:
    talk = chat()
    talk.forced = [result]
    said = talk.says("send me the return instructions for ORD-1001 by mail")
    assert answer in said
    assert ("I have sent" in said) == (result.get("status") == "executed")
    for wrong in ("paid", "refund", "payment"):
        assert wrong not in said


def test_a_draft_is_shown_whole_and_nothing_is_sent_before_a_yes() -> None:
    talk = chat()
    answer = talk.says("show me a draft of the return e-mail for ORD-1001")
    assert talk.tools == ["check_policy", "lookup_order", "compose_reply"]
    assert "nothing has been sent" in answer
    assert "To: ana@example.com\nSubject: How to return order ORD-1001\n\nHello," in answer
    assert "within 30 days of delivery" in answer
    assert mails(talk) == []
    waiting = talk.says("yes, send it")
    (mail,) = mails(talk)
    assert mail["subject"] == "How to return order ORD-1001"
    assert mail["body"] in answer
    assert mail["order_id"] == "ORD-1001"
    assert "needs a quick review by our team before it is sent" in waiting


@pytest.mark.parametrize("said", ["yes", "please send it", "ok, send that", "do it"])
def test_a_draft_is_sent_after_any_yes(said: str) -> None:
    talk = chat()
    talk.says("draft an e-mail that says the parcel never came")
    talk.says(said)
    assert talk.tools == ["send_email"]
    assert mails(talk)[0]["body"] == "Hello,\n\nthe parcel never came\n\nShopStream"


DRAFTS = [
    ("draft an e-mail that says the parcel never came", "A message from ShopStream", "never came"),
    ("compose a reply about the missing screws", "The missing screws", "about the missing screws"),
    ("draft an e-mail asking for a photo of ORD-1002", "A photo of ORD-1002", "photo of ORD-1002"),
]


@pytest.mark.parametrize(("said", "subject", "words"), DRAFTS)
def test_a_draft_holds_what_was_asked_for(said: str, subject: str, words: str) -> None:
    talk = chat()
    answer = talk.says(said)
    assert f"Subject: {subject}\n" in answer
    assert words in answer
    assert talk.tools == ["check_policy", "compose_reply"]
    assert talk.says("no thanks") == "All right. Is there anything else I can do for you?"
    assert talk.made == []


def test_a_draft_of_nothing_is_asked_about() -> None:
    talk = chat()
    assert "What shall the e-mail be about?" in talk.says("show me a draft")
    assert "Subject: How to return order ORD-1001" in talk.says("how to return ORD-1001")
    assert "Which order" in chat().says("show me a draft of the return e-mail")
    missing = chat().says("draft an e-mail about ORD-9999 that says hello there")
    assert missing == "I could not find ORD-9999 among your orders."


NO_EMAIL = [
    "I got an e-mail that my order shipped",
    "my e-mail address is wrong",
    "you sent me an e-mail yesterday",
    "Did you get my e-mail?",
    "why did you e-mail me",
    "can I send the lamp back by mail?",
    "I want to send the lamp back by mail",
    "I need to mail it back to you",
    "send me a new lamp by mail",
    "send me my money",
    "what is your return policy",
    "how do I return the lamp?",
]


@pytest.mark.parametrize("said", NO_EMAIL)
def test_talk_of_e_mails_and_the_post_asks_for_none(said: str) -> None:
    talk = chat()
    talk.says(said)
    assert mails(talk) == []
    assert "compose_reply" not in talk.tools


def test_what_an_e_mail_stands_at_is_told_and_it_can_be_sent_again() -> None:
    talk = chat()
    talk.says("mail me an apology for the delay of ORD-1002")
    assert talk.says("has my e-mail been sent?") == "The e-mail about ORD-1002 has been sent."
    talk.says("send the e-mail again")
    assert mails(talk) == [{"template": "delay_apology", "order_id": "ORD-1002"}]
    talk.says("refund $60 on ORD-1001")
    talk.says("write me an e-mail that says hello there")
    news = talk.says("any news?")
    assert "The e-mail is still waiting for a quick review by our team." in news
    assert "Your request for 60.00 USD on ORD-1001 is still waiting" in news
    assert "is still waiting for a quick review" in talk.says("send it again")
    assert talk.made == []
