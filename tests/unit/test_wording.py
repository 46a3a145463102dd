"""What customers and the model are told: true for every status, and never "done" too early."""

from dataclasses import replace
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import CHIP
from agent.domain.ids import ApprovalId
from agent.domain.payload import Json, Payload
from agent.domain.wording import (
    chip_text,
    declined_text,
    edit_for_model,
    is_for_customer,
    lower,
    outcome_for_model,
    outcome_text,
    request_words,
)
from tests.support.builders import (
    APPROVAL_ID,
    BOB,
    approval,
    email_approval,
    email_payload,
    flag_approval,
    refund_payload,
    usd,
)
from tests.support.doubles import START

S = Status
WHY = "It is past the 30 days."
OLD = ApprovalId("apr_old")
PAID_WORDS = ("paid", "done", "good news", "refunded", "sent", "has been")
TOOLS = [
    pytest.param(approval, id="refund"),
    pytest.param(email_approval, id="e-mail"),
    pytest.param(flag_approval, id="flag"),
]


def by_status(value: object) -> str:
    return str(value) if isinstance(value, Status) else ""


def standing(status: Status, **changes: Any) -> Approval:
    return approval(status=status, **changes)


def edited(status: Status, first: str = "160.00", now: str = "120.00") -> Approval:
    return standing(
        status,
        amount=usd(now),
        original=refund_payload(usd(first)),
        edited_by=(BOB,),
        supersedes=OLD,
    )


@pytest.mark.parametrize(
    ("status", "chip", "text"),
    [
        (S.PENDING, "pending", "needs a quick review by our team"),
        (S.APPROVED, "approved", "approved, the payment is on its way"),
        (S.EXECUTING, "approved", "approved, the payment is on its way"),
        (S.EXECUTED, "done", "done"),
        (S.UNKNOWN, "checking", "approved, we are checking whether it went through"),
        (S.FAILED, "failed", "could not be completed"),
        (S.STALE, "failed", "could not be completed"),
        (S.REJECTED, "declined", f"declined. {WHY}"),
        (S.EXPIRED, "expired", "nobody decided in time"),
        (S.SUPERSEDED, "replaced", "replaced by a changed request"),
        (S.CANCELLED, "withdrawn", f"withdrawn. {WHY}"),
    ],
    ids=by_status,
)
def test_the_chip_says(status: Status, chip: str, text: str) -> None:
    said = chip_text(standing(status), WHY)
    assert said == f"Refund of 160.00 USD on order ORD-1001: {text}"
    assert CHIP[status] == chip


@pytest.mark.parametrize("status", [S.APPROVED, S.EXECUTING], ids=str)
def test_the_chip_of_an_email_speaks_of_no_payment(status: Status) -> None:
    said = chip_text(email_approval(status=status))
    assert said == "E-mail about order ORD-1001: approved, it is on its way"
    other = chip_text(flag_approval(status=status))
    assert other == "Request about order ORD-1001: approved, it is being carried out"


@pytest.mark.parametrize("status", list(Status), ids=str)
def test_only_what_is_about_to_run_is_paused_while_everything_is_stopped(status: Status) -> None:
    row = standing(status)
    said = chip_text(row, WHY, stopped=True)
    if status is S.APPROVED:
        assert said == f"{request_words(row)}: approved, but everything is paused at the moment"
    else:
        assert said == chip_text(row, WHY)


def test_every_status_has_a_chip() -> None:
    assert set(CHIP) == set(Status)


def test_a_rejection_without_words_for_the_customer_ends_neatly() -> None:
    assert chip_text(standing(S.REJECTED)).endswith(": declined.")
    assert outcome_text(standing(S.REJECTED)) == (
        "Our team has declined the refund of 160.00 USD on order ORD-1001. "
        "If you like, I can pass you to a person."
    )


WHAT = "refund of 160.00 USD on order ORD-1001"
MAIL = "e-mail about order ORD-1001"


@pytest.mark.parametrize(
    ("status", "begins", "ends"),
    [
        (S.EXECUTED, f"Good news: the {WHAT} has been paid.", ""),
        (
            S.REJECTED,
            f"Our team has declined the {WHAT}. {WHY} ",
            "If you like, I can pass you to a person.",
        ),
        (
            S.EXPIRED,
            f"No one decided on the {WHAT} in time, so nothing was paid. ",
            "You can ask again, or I can pass you to a person.",
        ),
        (
            S.FAILED,
            f"The {WHAT} could not be completed and nothing was paid. ",
            "I can pass you to a person who looks into it.",
        ),
        (
            S.STALE,
            (
                f"The {WHAT} was not carried out because something changed in the meantime; "
                "nothing was paid. "
            ),
            "You can ask again, or I can pass you to a person.",
        ),
        (
            S.UNKNOWN,
            f"The {WHAT} is approved; ",
            "we are still checking whether it went through.",
        ),
        (S.CANCELLED, f"The {WHAT} was withdrawn; ", f"nothing was paid. {WHY}"),
        (S.PENDING, f"The {WHAT} needs a quick review by our team.", ""),
        (S.APPROVED, f"The {WHAT} needs a quick review by our team.", ""),
        (S.EXECUTING, f"The {WHAT} needs a quick review by our team.", ""),
        (S.SUPERSEDED, f"The {WHAT} was replaced by a changed request.", ""),
    ],
    ids=by_status,
)
def test_the_customer_reads(status: Status, begins: str, ends: str) -> None:
    assert outcome_text(standing(status), WHY) == begins + ends


@pytest.mark.parametrize("make", TOOLS)
@pytest.mark.parametrize("status", list(Status), ids=str)
def test_what_people_had_changed_is_not_asked_for_again(status: Status, make: Any) -> None:
    asks = "You can ask again, or I can pass you to a person."
    # What was asked again by people, and not changed, may be asked for once more.
    bare = make(status=status, supersedes=OLD)
    changed = replace(bare, original={}, edited_by=(BOB,))
    said = outcome_text(changed)
    assert "ask again" not in said
    assert (asks in outcome_text(bare)) is (status in {S.EXPIRED, S.STALE})
    if status is not S.EXECUTED:
        assert said == outcome_text(bare).replace(asks, "I can pass you to a person.")


@pytest.mark.parametrize(
    ("result", "on_its_way"),
    [
        pytest.param({"refund_id": "rf_1", "provider_status": "pending"}, True, id="pending"),
        pytest.param({"refund_id": "rf_1", "provider_status": "succeeded"}, False, id="paid"),
        pytest.param({"settled_by": "Mia"}, False, id="a person says it was paid"),
        pytest.param({}, False, id="no word on it"),
        pytest.param(None, False, id="nothing is known"),
    ],
)
def test_what_is_pending_at_the_bank_is_on_its_way_and_not_paid(
    result: Payload | None, on_its_way: bool
) -> None:
    row = standing(S.EXECUTED, result=result)
    done, chip = ("has been paid", "done")
    if on_its_way:
        done, chip = (
            "was accepted; the payment is on its way",
            "accepted, the payment is on its way",
        )
    assert outcome_text(row) == f"Good news: the {WHAT} {done}."
    assert chip_text(row) == f"{request_words(row)}: {chip}"
    assert outcome_for_model(row)["ok"] is True
    told = outcome_text(replace(edited(S.EXECUTED), result=result))
    assert told.endswith(f"{done}. Our team changed the amount from 160.00 USD to 120.00 USD.")


@pytest.mark.parametrize("status", [s for s in Status if s is not S.EXECUTED], ids=str)
def test_only_what_was_carried_out_is_accepted(status: Status) -> None:
    row = standing(status, result={"provider_status": "pending"})
    assert "accepted" not in outcome_text(row) + chip_text(row)


def test_a_no_is_one_sentence_with_the_reviewers_reason() -> None:
    assert declined_text(standing(S.REJECTED)) == f"Our team has declined the {WHAT}."
    assert declined_text(standing(S.REJECTED), WHY) == f"Our team has declined the {WHAT}. {WHY}"
    assert declined_text(email_approval(), WHY) == f"Our team has declined the {MAIL}. {WHY}"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (S.EXECUTED, f"Good news: the {MAIL} has been sent."),
        (
            S.EXPIRED,
            (
                f"No one decided on the {MAIL} in time, so nothing was sent. "
                "You can ask again, or I can pass you to a person."
            ),
        ),
        (
            S.FAILED,
            (
                f"The {MAIL} could not be completed and nothing was sent. "
                "I can pass you to a person who looks into it."
            ),
        ),
        (
            S.STALE,
            (
                f"The {MAIL} was not carried out because something changed in the meantime; "
                "nothing was sent. You can ask again, or I can pass you to a person."
            ),
        ),
        (S.CANCELLED, f"The {MAIL} was withdrawn; nothing was sent."),
    ],
    ids=by_status,
)
def test_the_customer_reads_of_an_email(status: Status, text: str) -> None:
    assert outcome_text(email_approval(status=status)) == text


@pytest.mark.parametrize(
    ("decided", "word"),
    [
        pytest.param(None, "withdrawn", id="by the customer, while it waited"),
        pytest.param(START, "called off by our team", id="by people, after they had approved it"),
    ],
)
def test_who_cancelled_is_told_apart(decided: object, word: str) -> None:
    row = standing(S.CANCELLED, decided_at=decided)
    assert chip_text(row) == f"{request_words(row)}: {word}"
    assert outcome_text(row) == f"The {WHAT} was {word}; nothing was paid."
    assert outcome_for_model(row)["reason"] == word


@pytest.mark.parametrize(
    ("result", "came_back"),
    [
        pytest.param({"refund_id": "rf_1", "provider_status": "failed"}, True, id="it came back"),
        pytest.param({"refund_id": "rf_1", "provider_status": "pending"}, False, id="it waits"),
        pytest.param({"code": "card_expired", "message": ""}, False, id="it never left"),
        pytest.param({"settled_by": "Mia"}, False, id="a person says it never left"),
        pytest.param(None, False, id="nothing is known"),
    ],
)
def test_a_refund_that_came_back_is_not_called_unpaid(
    result: Payload | None, came_back: bool
) -> None:
    row = standing(S.FAILED, result=result)
    said = outcome_text(row)
    told = outcome_for_model(row)
    error, reason = ("came_back", "the bank did not take it") if came_back else ("failed", "")
    assert (told["ok"], told["error"], told["reason"]) == (False, error, reason)
    assert ("did not arrive: your bank did not take it" in said) is came_back
    assert ("nothing was paid" in said) is not came_back
    assert said.endswith("I can pass you to a person who looks into it.")


RESULTS = [
    None,
    {"provider_status": "failed"},
    {"provider_status": "pending"},
    {"problem": "the order changed"},
]


@pytest.mark.parametrize("make", TOOLS)
@pytest.mark.parametrize("status", [s for s in Status if s is not S.EXECUTED], ids=str)
def test_nobody_is_told_done_before_it_is_done(status: Status, make: Any) -> None:
    for result in RESULTS:
        for stopped in (False, True):
            row = make(status=status, result=result)
            said = (outcome_text(row) + chip_text(row, stopped=stopped)).lower()
            for harmless in ("nothing was paid", "nothing was sent", "nothing was done"):
                said = said.replace(harmless, "")
            assert [word for word in PAID_WORDS if word in said] == []
            assert outcome_for_model(row)["ok"] is False


@pytest.mark.parametrize("make", TOOLS)
def test_what_is_done_is_said_to_be_done(make: Any) -> None:
    row = make(status=S.EXECUTED)
    assert chip_text(row).endswith(": done")
    assert outcome_text(row).startswith("Good news: the ")
    assert outcome_for_model(row)["ok"] is True


@pytest.mark.parametrize("make", TOOLS)
@pytest.mark.parametrize("status", list(Status), ids=str)
def test_the_customer_never_reads_what_staff_or_model_wrote(status: Status, make: Any) -> None:
    row = make(
        status=status,
        model_reason="INTERNAL",
        model="INTERNAL",
        result={"problem": "INTERNAL", "note": "INTERNAL", "revoked_by": "INTERNAL"},
    )
    assert "INTERNAL" not in outcome_text(row, WHY) + chip_text(row, WHY)
    quiet = make(status=status, model_reason="INTERNAL", model="INTERNAL")
    assert "INTERNAL" not in str(outcome_for_model(quiet, WHY))


def test_the_customer_never_hears_of_a_fraud_flag() -> None:
    assert is_for_customer(standing(S.PENDING))
    assert is_for_customer(email_approval())
    assert not is_for_customer(flag_approval())


def test_the_customer_hears_that_the_team_changed_the_amount() -> None:
    assert outcome_text(edited(S.EXECUTED)) == (
        "Good news: the refund of 120.00 USD on order ORD-1001 has been paid. "
        "Our team changed the amount from 160.00 USD to 120.00 USD."
    )


FIRST = refund_payload(usd("160.00"))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(standing(S.EXECUTED), id="never edited"),
        pytest.param(standing(S.EXECUTED, supersedes=OLD), id="asked again, not edited"),
        pytest.param(edited(S.EXECUTED, "160.00", "160.00"), id="edited back to the first amount"),
        pytest.param(standing(S.EXECUTED, original={}, edited_by=(BOB,)), id="no first amount"),
        pytest.param(
            standing(S.EXECUTED, amount=None, original=FIRST, edited_by=(BOB,)), id="no amount now"
        ),
        pytest.param(
            standing(S.EXECUTED, amount=usd("120.00"), original=FIRST), id="no person changed it"
        ),
        pytest.param(
            email_approval(status=S.EXECUTED, original=email_payload(body="Hi"), edited_by=(BOB,)),
            id="an e-mail",
        ),
    ],
)
def test_an_amount_that_is_as_asked_for_is_not_called_changed(row: Approval) -> None:
    assert "changed" not in outcome_text(row)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        pytest.param(standing(S.PENDING), "Refund of 160.00 USD on order ORD-1001", id="refund"),
        pytest.param(email_approval(), "E-mail about order ORD-1001", id="e-mail"),
        pytest.param(email_approval(order_id=None), "E-mail", id="e-mail about no order"),
        pytest.param(flag_approval(), "Request about order ORD-1001", id="flag"),
        pytest.param(flag_approval(order_id=None), "Request", id="flag about no order"),
        pytest.param(standing(S.PENDING, amount=None), "Request about order ORD-1001", id="bare"),
    ],
)
def test_a_request_is_called(row: Approval, words: str) -> None:
    assert request_words(row) == words


def test_a_request_without_money_has_words_too() -> None:
    bare = standing(S.EXECUTED, tool="close_account", amount=None, order_id=None, supersedes=OLD)
    assert request_words(bare) == "Request"
    assert outcome_text(bare) == "Good news: the request has been carried out."
    assert outcome_for_model(bare)["amount"] is None


def test_a_phrase_in_a_sentence_starts_small_and_keeps_its_names() -> None:
    assert lower("Refund of 5.00 USD") == "refund of 5.00 USD"
    assert lower("") == ""


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (S.EXECUTED, {"ok": True}),
        (S.REJECTED, {"ok": False, "error": "denied_by_human", "reason": WHY}),
        (S.EXPIRED, {"ok": False, "error": "expired", "reason": "no one decided in time"}),
        (S.FAILED, {"ok": False, "error": "failed", "reason": ""}),
        (S.STALE, {"ok": False, "error": "stale", "reason": ""}),
        (S.UNKNOWN, {"ok": False, "error": "unknown", "reason": ""}),
        (S.CANCELLED, {"ok": False, "error": "cancelled", "reason": WHY}),
        (S.PENDING, {"ok": False}),
        (S.APPROVED, {"ok": False}),
        (S.EXECUTING, {"ok": False}),
        (S.SUPERSEDED, {"ok": False}),
    ],
    ids=by_status,
)
def test_the_model_is_told(status: Status, told: dict[str, object]) -> None:
    assert outcome_for_model(standing(status), WHY) == {
        "event": "approval_outcome",
        "approval_id": APPROVAL_ID,
        "tool": "issue_refund",
        "order_id": "ORD-1001",
        "amount": "160.00 USD",
        "outcome": status.value,
        **told,
    }


def test_the_model_is_told_what_changed_meanwhile() -> None:
    stale = standing(S.STALE, result={"problem": "Only 100.00 USD is left."})
    assert outcome_for_model(stale)["reason"] == "Only 100.00 USD is left."
    assert outcome_for_model(standing(S.STALE, result={}))["reason"] == ""


def test_the_model_is_told_that_an_edit_is_final() -> None:
    told = outcome_for_model(edited(S.EXECUTED))
    assert told["edited"] == {
        "from": refund_payload(usd("160.00")),
        "to": refund_payload(usd("120.00")),
        "final": True,
    }


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param({"amount": None}, {}, id="amount dropped"),
        pytest.param({"amount": usd("1.00")}, refund_payload(usd("1.00")), id="cut"),
        pytest.param({"order_id": "ORD-1002"}, refund_payload(usd("160"), "ORD-1002"), id="order"),
        pytest.param({}, FIRST, id="edited back"),
    ],
)
def test_the_model_sees_what_an_edit_left(changes: dict[str, Any], shown: Payload) -> None:
    told = outcome_for_model(standing(S.EXECUTED, original=FIRST, edited_by=(BOB,), **changes))
    assert told["edited"] == {"from": FIRST, "to": shown, "final": True}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="never edited"),
        pytest.param({"supersedes": OLD}, id="asked again, not edited"),
        pytest.param({"supersedes": OLD, "original": FIRST}, id="no person changed it"),
    ],
)
def test_the_model_hears_of_no_edit_where_there_was_none(changes: dict[str, Any]) -> None:
    assert "edited" not in outcome_for_model(standing(S.EXECUTED, **changes))


def test_the_model_hears_of_an_edit_while_it_still_waits() -> None:
    assert edit_for_model(edited(S.PENDING), "partly used") == {
        "event": "human_edit",
        "approval_id": APPROVAL_ID,
        "tool": "issue_refund",
        "from": refund_payload(usd("160.00")),
        "to": refund_payload(usd("120.00")),
        "final": True,
        "reason": "partly used",
    }


def test_the_model_hears_of_an_email_as_a_person_left_it() -> None:
    first, now = email_payload(body="Hi."), email_payload(body="Dear Ana,", template=None)
    told = edit_for_model(email_approval(payload=now, original=first, edited_by=(BOB,)), "")
    assert (told["tool"], told["reason"]) == ("send_email", "")
    for side, payload in (("from", first), ("to", now)):
        assert told[side] == {name: value for name, value in payload.items() if name != "bcc"}


def test_who_gets_a_blind_copy_is_told_to_nobody() -> None:
    secret = "auditor@example.com"
    copies: list[tuple[list[Json], list[Json]]] = [
        ([secret], []),
        ([], [secret]),
        ([secret], [secret]),
    ]
    for first, now in copies:
        row = email_approval(
            status=S.EXECUTED,
            payload=email_payload(bcc=now, cc=["b@c.de"]),
            original=email_payload(bcc=first, cc=["b@c.de"]),
            edited_by=(BOB,),
        )
        heard = [outcome_for_model(row), edit_for_model(row, "")]
        assert secret not in str(heard) + outcome_text(row) + chip_text(row)
        assert "b@c.de" in str(heard[0])
        assert "b@c.de" in str(heard[1])
        # The row itself keeps it.
        assert row.payload["bcc"] == now
