"""What customers say when they do not want a request any more, and what the model takes back."""

import pytest

from tests.support.offline_driver import Chat, JsonObject, Line, Order, nth

SIXTY, SEVENTY = "refund $60 on ORD-1001", "refund $70 on ORD-1004"
MAIL = "write me an e-mail that says the lamp is fine"
TAKE_BACK: list[tuple[str, JsonObject]] = [("withdraw_request", {})]


def chat() -> Chat:
    return Chat(
        {
            "ORD-1004": Order([Line("Fjord corner sofa in grey wool", 234_000)]),
            "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
            "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
        }
    )


def after(*texts: str) -> Chat:
    talk = chat()
    for text in texts:
        talk.says(text)
    return talk


def by_id(approval_id: str) -> tuple[str, JsonObject]:
    return ("withdraw_request", {"approval_id": approval_id})


NO_MORE = [
    "never mind",
    "Never mind, I found the screws.",
    "nevermind",
    "forget it",
    "oh forget about it please",
    "I don't want the refund any more",
    "I no longer need the money",
    "please cancel my request",
    "cancel the refund request",
    "cancel the $60 refund",
    "cancel my refund on ORD-1001",
    "withdraw my refund of 60.00 USD",
    "please withdraw it",
    "take my request back",
    "I changed my mind",
    "I changed my mind about the refund",
    "forget the refund, please",
    "never mind the refund",
    "cancel it",
    "cancel that please",
    "I'll keep it",
    "actually I'd like to keep it",
]


@pytest.mark.parametrize("said", NO_MORE)
def test_the_only_request_that_waits_is_taken_back_without_an_id(said: str) -> None:
    talk = after(SIXTY)
    answer = talk.says(said)
    assert talk.made == TAKE_BACK
    assert "taken back the refund of 60.00 USD on ORD-1001; nothing will be paid" in answer
    assert talk.requests[0]["status"] == "withdrawn"


NOT_MEANT = [
    ("cancel my order", []),
    ("cancel order 1002", []),
    ("cancel it and refund me", ["ORD-1001 100.00 USD full"]),
    ("cancel ORD-1002, refund me", ["ORD-1002 48.00 USD full"]),
    ("never mind, refund $5 on ORD-1002 instead", ["ORD-1002 5.00 USD partial"]),
    ("never mind, where is my lamp?", []),
    ("forget it, send me the return instructions for ORD-1002", []),
    ("I don't want a replacement, I want my money back", ["ORD-1001 160.00 USD full"]),
    ("I don't want it any more", []),
    ("no thanks", []),
    ("stop", []),
    ("I'll keep the lamp but I want some money back for it", ["ORD-1002 48.00 USD unclear"]),
    ("ok", []),
]


@pytest.mark.parametrize(("said", "proposals"), NOT_MEANT, ids=[said for said, _ in NOT_MEANT])
def test_other_wishes_take_nothing_back(said: str, proposals: list[str]) -> None:
    talk = after(SIXTY)
    talk.says(said)
    assert "withdraw_request" not in talk.tools
    assert [one.split()[0] for one in talk.proposals] == [one.split()[0] for one in proposals]
    assert talk.requests[-1]["status"] == "pending"


CHOICES: list[tuple[list[str], list[str], list[int]]] = [
    ([SIXTY, SEVENTY], ["cancel the refund on ORD-1001"], [1]),
    ([SIXTY, SEVENTY], ["cancel the $70 refund"], [2]),
    ([SIXTY, SEVENTY], ["withdraw my refund of seventy dollars"], [2]),
    ([SIXTY, MAIL], ["I don't want the refund any more"], [1]),
    ([SIXTY, MAIL], ["don't send the e-mail"], [2]),
    ([SIXTY, SEVENTY], ["never mind", "ORD-1001"], [1]),
    ([SIXTY, SEVENTY], ["never mind", "1004"], [2]),
    ([SIXTY, SEVENTY], ["never mind", "the $60 one"], [1]),
    ([SIXTY, SEVENTY], ["please cancel my request", "60"], [1]),
    ([SIXTY, SEVENTY], ["please cancel my request", "the refund of 70 dollars"], [2]),
    ([SIXTY, SEVENTY], ["please cancel my request", "the first one"], [2]),
    ([SIXTY, SEVENTY], ["please cancel my request", "the last one"], [1]),
    ([SIXTY, SEVENTY], ["please cancel my request", "both"], [2, 1]),
    ([SIXTY, SEVENTY], ["please cancel all my requests"], [2, 1]),
    ([SIXTY, MAIL], ["forget it", "the e-mail"], [2]),
    ([SIXTY, SEVENTY], ["never mind, I have everything", "the second one"], [1]),
    ([SIXTY, SEVENTY, SIXTY], ["never mind", "the one on ORD-1004"], [2]),
]


@pytest.mark.parametrize(
    ("asked", "said", "numbers"), CHOICES, ids=["/".join(s) for _, s, _ in CHOICES]
)
def test_of_several_the_one_is_taken_back_that_is_named(
    asked: list[str], said: list[str], numbers: list[int]
) -> None:
    talk = after(*asked, *said)
    assert talk.made[0] == ("refund_status", {})
    assert talk.made[1:] == [by_id(nth(one)) for one in numbers]
    kept = [one["approval_id"] for one in talk.requests if one["status"] == "pending"]
    assert set(kept) == {nth(1), nth(2)}.difference(nth(one) for one in numbers)


def test_of_several_that_are_not_named_none_is_taken_back_before_it_is_asked() -> None:
    talk = after(SIXTY, SEVENTY)
    answer = talk.says("never mind")
    assert "Which request shall I take back?" in answer
    assert "the refund of 60.00 USD on ORD-1001" in answer
    assert "withdraw_request" not in talk.tools
    assert [one["status"] for one in talk.requests] == ["pending", "pending"]
    assert "All right." in talk.says("none of them, never mind")
    assert talk.made == []
    assert talk.says("refund $5 on ORD-1002") == "Done: I have refunded 5.00 USD on ORD-1002."


def test_a_name_that_no_waiting_request_has_takes_nothing_back() -> None:
    talk = after(SIXTY)
    answer = talk.says("cancel the $75 refund")
    assert "none like that" in answer
    assert "Which request shall I take back? I see the refund of 60.00 USD on ORD-1001" in answer
    assert talk.requests[0]["status"] == "pending"
    talk.says("yes")
    assert talk.requests[0]["status"] == "withdrawn"


def test_where_nothing_waits_the_truth_is_said() -> None:
    talk = chat()
    assert "Nothing of yours is waiting for our team" in talk.says("never mind")
    assert talk.tools == ["withdraw_request", "refund_status"]
    talk.says("refund $5 on ORD-1002")
    answer = talk.says("I don't want the refund any more")
    assert "nothing to take back. 5.00 USD has been refunded on ORD-1002" in answer
    assert talk.tools == ["refund_status"]


def test_a_visitor_has_nothing_to_take_back() -> None:
    assert "sign in" in Chat(None).says("cancel my refund request")
    talk = Chat(None)
    talk.says("hello")
    assert "sign in" in talk.says("never mind")
    assert "taken back" not in talk.says("I don't want the refund")


def test_what_another_conversation_asked_for_is_taken_back_when_it_is_spoken_of() -> None:
    waits = {
        "approval_id": "apr_other",
        "tool": "issue_refund",
        "order_id": "ORD-1001",
        "amount": "60.00 USD",
        "status": "pending",
    }
    talk = chat()
    talk.elsewhere = [waits]
    assert "Which request shall I take back?" in talk.says("never mind")
    assert waits["status"] == "pending"
    assert "taken back the refund of 60.00 USD on ORD-1001" in talk.says("yes")
    assert waits["status"] == "withdrawn"
    waits["status"] = "pending"
    talk.says("I don't want the refund any more")
    assert talk.made[-1] == by_id("apr_other")


def test_what_ended_meanwhile_is_not_said_to_be_taken_back() -> None:
    talk = after(SIXTY, SEVENTY)
    talk.requests[1]["status"] = "done"
    talk.elsewhere = [dict(talk.requests[1], status="pending")]
    answer = talk.says("cancel the $60 refund")
    assert "too late to take that back" in answer
    assert "I have taken back" not in answer


def test_words_that_turn_a_question_down_leave_what_waits_alone() -> None:
    talk = after(SIXTY, "the lamp arrived scratched")
    answer = talk.says("never mind")
    assert talk.made == []
    assert "This still waits for our team: the refund of 60.00 USD on ORD-1001" in answer
    talk.says("then take the refund back please, cancel my request")
    assert talk.made == TAKE_BACK


@pytest.mark.parametrize("question", ["the lamp arrived scratched", "refund $5"])
def test_words_that_turn_a_question_down_ask_nobody(question: str) -> None:
    for no in ("never mind", "I don't want the refund"):
        talk = after(question)
        assert talk.says(no) == "All right. Is there anything else I can do for you?"
        assert talk.made == []


def test_after_it_was_taken_back_it_can_be_asked_for_again() -> None:
    talk = after(SIXTY, "never mind")
    assert "60.00 USD on ORD-1001 was taken back; nothing was paid" in talk.says("any news?")
    talk.says("ask again")
    assert talk.proposals == ["ORD-1001 60.00 USD partial"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"ok": False, "error": "not_verified"}, "sign in"),
        ({"ok": False, "error": "too_late_to_withdraw"}, "too late to take that back"),
        ({"ok": False, "error": "new_code"}, "could not do that"),
        ({}, "could not do that"),
    ],
)
def test_nothing_is_said_to_be_taken_back_that_the_tool_did_not(
    result: JsonObject, words: str
) -> None:
    talk = after(SIXTY)
    talk.forced = [result]
    answer = talk.says("never mind")
    assert words in answer
    assert "I have taken back" not in answer


def test_never_mind_ends_a_talk_in_which_nothing_waits() -> None:
    talk = after("thanks")
    assert talk.says("never mind") == "Goodbye, and thank you for writing to us!"
    assert talk.made == []
    talk = after(SIXTY, "thanks")
    assert "taken back the refund of 60.00 USD" in talk.says("never mind")
