"""Conversations of several turns with the offline model, refusals and outcomes."""

import pytest

from tests.support.offline_driver import Chat, Line, Order


def chat(**more: Order) -> Chat:
    orders = {
        "ORD-1013": Order(
            [
                Line("Stoneware mug in sea blue", 900, 4),
                Line("Stoneware teapot in sea blue", 2600),
            ],
        ),
        "ORD-1002": Order([Line("Brass desk lamp with linen shade", 4800)]),
        "ORD-1001": Order([Line("Alder dining chair in oiled oak", 16_000)]),
    }
    return Chat(orders | {name.replace("_", "-"): order for name, order in more.items()})


FOLLOW_UPS: list[tuple[list[str], list[str]]] = [
    # context of earlier turns
    (["where is ORD-1001?", "I'd like half of it back"], ["ORD-1001 80.00 USD partial"]),
    (["where is ORD-1002?", "refund it"], ["ORD-1002 48.00 USD full"]),
    (["where is my lamp?", "10% of it back please"], ["ORD-1002 4.80 USD partial"]),
    (["refund $5 on ORD-1001", "and another $3"], ["ORD-1001 3.00 USD partial"]),
    (["refund $5 on ORD-1001", "refund the rest"], ["ORD-1001 155.00 USD full"]),
    (
        ["where is ORD-1013?", "the lamp is broken, refund it"],
        ["ORD-1002 48.00 USD full"],
    ),
    (["refund $900 on ORD-1001", "ok, then refund what is left"], ["ORD-1001 160.00 USD full"]),
    (["where is ORD-1001?", "$5 back for the lamp please"], ["ORD-1002 5.00 USD partial"]),
    (["where is ORD-1001?", "refund the rest of 1002"], ["ORD-1002 48.00 USD full"]),
    # which order?
    (["refund $20", "ORD-1001"], ["ORD-1001 20.00 USD partial"]),
    (["refund $20", "1001"], ["ORD-1001 20.00 USD partial"]),
    (["refund $20", "order 1001 please"], ["ORD-1001 20.00 USD partial"]),
    (["refund $20", "the lamp"], ["ORD-1002 20.00 USD partial"]),
    (["refund $20", "the second one"], ["ORD-1002 20.00 USD partial"]),
    (["refund $20", "my last order"], ["ORD-1013 20.00 USD partial"]),
    (["I'd like half of it back", "the desk lamp"], ["ORD-1002 24.00 USD partial"]),
    (["refund it", "it's the chair, it came broken"], ["ORD-1001 160.00 USD full"]),
    (["I want my money back", "hm, what?", "the chair"], ["ORD-1001 160.00 USD full"]),
    (["show my orders", "refund the second one"], ["ORD-1002 48.00 USD full"]),
    # which item?
    (
        ["where is ORD-1013?", "it came broken, I want my money back", "the teapot"],
        ["ORD-1013 26.00 USD partial"],
    ),
    (
        ["where is ORD-1013?", "it came broken, I want my money back", "everything"],
        ["ORD-1013 62.00 USD full"],
    ),
    # how much?
    (["refund 12,50 on ORD-1001", "12.50"], ["ORD-1001 12.50 USD partial"]),
    (["refund $5 and $8 on ORD-1001", "$8"], ["ORD-1001 8.00 USD partial"]),
    (["refund the shipping fee on ORD-1001", "5"], ["ORD-1001 5.00 USD partial"]),
    (
        ["refund $5 on ORD-1001 and ORD-1002", "$5 each"],
        ["ORD-1001 5.00 USD partial", "ORD-1002 5.00 USD partial"],
    ),
    # offers
    (["the lamp arrived scratched", "yes please"], ["ORD-1002 48.00 USD full"]),
    (["the lamp arrived scratched", "yes, refund me please"], ["ORD-1002 48.00 USD full"]),
    (["the lamp arrived scratched", "just half of it"], ["ORD-1002 24.00 USD partial"]),
    (["the lamp arrived scratched", "no thanks"], []),
    (["the lamp arrived scratched", "thanks"], []),
    (["cancel order 1013", "go ahead"], ["ORD-1013 62.00 USD full"]),
    (["it arrived broken", "the lamp", "yes"], ["ORD-1002 48.00 USD full"]),
    # other matters between
    (
        ["refund $5", "what is your return policy?", "refund $5 on ORD-1002"],
        ["ORD-1002 5.00 USD partial"],
    ),
    (["refund $5", "never mind"], []),
    # once more: only what came to nothing
    (["refund $5 on ORD-1001", "try again"], []),
    (["refund everything on ORD-1001", "ask again"], []),
]


@pytest.mark.parametrize(
    ("said", "proposals"), FOLLOW_UPS, ids=[" / ".join(s) for s, _ in FOLLOW_UPS]
)
def test_the_last_of_several_messages_is_understood_from_those_before(
    said: list[str], proposals: list[str]
) -> None:
    talk = chat()
    for text in said:
        talk.says(text)
    assert talk.proposals == proposals


def test_the_reason_of_an_accepted_offer_is_the_complaint() -> None:
    talk = chat()
    talk.says("the lamp arrived scratched")
    talk.says("yes please")
    (reason,) = [a["reason"] for name, a in talk.made if name == "issue_refund"]
    assert "the lamp arrived scratched" in reason


@pytest.mark.parametrize(
    ("order", "sentence", "answer"),
    [
        (Order([Line("Rug", 9500)], paid=False), "refund it", "has not been paid"),
        (Order([Line("Rug", 9500)], paid=False), "refund $5 on ORD-7", "has not been paid"),
        (Order([Line("Rug", 9500)], refunded=9500), "refund it", "refunded in full already"),
        (
            Order([Line("Rug", 9500)], refunded=9000),
            "refund $6",
            "Only 5.00 USD of order ORD-7 is left",
        ),
        (
            Order([Line("Rug", 9500)], refunded=9000),
            "refund the rug",
            "Done: I have refunded 5.00 USD",
        ),
        (Order([Line("Rug", 9500)], disputed=True), "refund it", "disputed with your bank"),
        (
            Order([Line("Rug", 9500, final_sale=True)]),
            "refund it",
            "final-sale items, which cannot be",
        ),
        (Order([Line("Rug", 9500)], currency="EUR"), "refund $5", "it was paid in EUR"),
        (Order([Line("Rug", 9500)]), "refund $0", "must be more than zero"),
        (Order([Line("Rug", 9500)]), "refund -5", "must be more than zero"),
        (Order([Line("Rug", 9500)]), "refund $5.0001", "plain amount, such as 12.50"),
    ],
)
def test_a_refusal_is_put_into_honest_words(order: Order, sentence: str, answer: str) -> None:
    assert answer in Chat({"ORD-7": order}).says(sentence)


def test_what_is_not_final_sale_is_offered_instead() -> None:
    lines = [Line("Bath towel set", 4200), Line("Beeswax candles", 1800, final_sale=True)]
    talk = Chat({"ORD-1010": Order(lines)})
    assert "Shall I request a refund of 42.00 USD on ORD-1010?" in talk.says("refund everything")
    talk.says("yes please")
    assert talk.proposals == ["ORD-1010 42.00 USD partial"]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"ok": False, "error": "already_rejected"}, "already declined exactly this"),
        ({"ok": False, "error": "already_edited"}, "has changed exactly this request"),
        ({"ok": False, "error": "too_many_open"}, "still waiting for our team"),
        ({"ok": False, "error": "stopped"}, "paused at the moment"),
        ({"ok": False, "error": "breaker_open"}, "in a minute or I can pass you to a person"),
        ({"ok": False, "error": "not_verified"}, "sign in"),
        ({"ok": False, "error": "failed"}, "no money moved"),
        ({"ok": False, "status": "checking", "error": "unknown"}, "checking with the payment"),
        ({"ok": False, "error": "new_code", "message": "Not on Sundays."}, "Not on Sundays."),
        ({"ok": False, "error": "new_code"}, "could not do that"),
        ({}, "cannot see how that stands"),
    ],
)
def test_nothing_but_an_executed_result_is_called_done(
    result: dict[str, object], answer: str
) -> None:
    talk = chat()
    talk.forced = [result]
    said = talk.says("refund $5 on ORD-1001")
    assert answer in said
    assert "I have refunded" not in said
    assert "Done" not in said


def test_a_paused_refund_can_be_tried_again_or_handed_over() -> None:
    talk = chat()
    talk.forced = [{"ok": False, "error": "breaker_open"}]
    talk.says("refund $5 on ORD-1001")
    assert talk.says("try again") == "Done: I have refunded 5.00 USD on ORD-1001."
    talk.forced = [{"ok": False, "error": "breaker_open"}]
    talk.says("refund $6 on ORD-1001")
    talk.says("yes please")
    assert talk.tools == ["hand_off"]


def test_strangers_are_asked_to_sign_in() -> None:
    for sentence in ("any news?", "where is my order?", "refund $5", "refund ORD-1001"):
        assert "sign in" in Chat(None).says(sentence)
    talk = Chat(None)
    assert "sign in" in talk.says("refund $5 on ORD-1001")
    assert talk.proposals == ["ORD-1001 5.00 USD partial"]


def test_requests_stand_as_their_status_says() -> None:
    talk = chat()
    talk.requests = [
        {"approval_id": "a3", "order_id": "ORD-1001", "amount": "60.00 USD", "status": "pending"},
        {"approval_id": "a2", "order_id": "ORD-1001", "amount": "90.00 USD", "status": "replaced"},
        {"approval_id": "a1", "order_id": "ORD-1002", "amount": "5.00 USD", "status": "done"},
    ]
    said = talk.says("any news?")
    assert "60.00 USD on ORD-1001 is still waiting" in said
    assert "5.00 USD has been refunded on ORD-1002" in said
    assert "90.00" not in said
    assert "ORD-1001" not in talk.says("has my refund for ORD-1002 been approved?")


OUTCOME = {"ok": False, "reason": ""}
OUTCOMES: list[tuple[dict[str, object], str, list[str]]] = [
    ({"outcome": "executed", "ok": True}, "60.00 USD has been refunded on ORD-1001", []),
    (
        {"outcome": "rejected", "reason": "It is older than 30 days"},
        "on ORD-1001. The reason: It is older than 30 days. Would you like me to pass you",
        ["hand_off"],
    ),
    ({"outcome": "expired"}, "No one decided in time", ["lookup_order", "issue_refund"]),
    ({"outcome": "failed"}, "could not be completed; no money moved", ["hand_off"]),
    (
        {"outcome": "stale", "reason": "Only 5.00 USD of order ORD-1001 is left to refund."},
        "changed in the meantime. The reason: Only 5.00 USD of order ORD-1001 is left to refund.",
        ["lookup_order", "issue_refund"],
    ),
    ({"outcome": "cancelled"}, "taken back; nothing was paid", []),
    ({"outcome": "executed", "ok": False}, "that I cannot read", ["hand_off"]),
    ({"outcome": "superseded"}, "that I cannot read", ["hand_off"]),
    ({"outcome": ["odd"], "tool": ["odd"]}, "that I cannot read", ["hand_off"]),
]


@pytest.mark.parametrize(("told", "answer", "after_yes"), OUTCOMES)
def test_an_outcome_is_told_once_and_honestly(
    told: dict[str, object], answer: str, after_yes: list[str]
) -> None:
    talk = chat()
    talk.says("refund $60 on ORD-1001")
    said = talk.hears(**(OUTCOME | told))
    assert answer in said
    assert talk.made == []
    if told["outcome"] != "rejected":
        assert "declined" not in said
    if told.get("ok") is not True:
        assert "has been refunded" not in said
    talk.says("yes please")
    assert talk.tools == after_yes


def test_a_declined_request_is_not_proposed_again_unchanged() -> None:
    talk = chat()
    talk.says("refund $60 on ORD-1001")
    talk.hears(**(OUTCOME | {"outcome": "rejected", "reason": "Too old."}))
    assert "already declined exactly this" in talk.says("please ask again")
    talk.says("then $20 please")
    assert talk.proposals == ["ORD-1001 20.00 USD partial"]


def test_after_the_desks_own_words_the_talk_goes_on() -> None:
    talk = chat()
    talk.says("refund $60 on ORD-1001")
    talk.hears(**(OUTCOME | {"outcome": "expired"}))
    last = talk.messages.pop()
    talk.messages.append(
        type(last)("assistant", "You can ask again, or I can pass you to a person.")
    )
    talk.says("ask again")
    assert talk.proposals == ["ORD-1001 60.00 USD partial"]


def test_a_failed_hand_over_is_not_called_done() -> None:
    talk = chat()
    talk.hand_off_fails = True
    assert "could not do that" in talk.says("I want a person")
