"""What customers and the model are told: true for every status, and never "done" too early."""

from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import CHIP
from agent.domain.ids import ApprovalId
from agent.domain.wording import (
    chip_text,
    lower,
    outcome_for_model,
    outcome_text,
    request_words,
)
from tests.support.builders import APPROVAL_ID, approval, usd

S = Status
WHY = "It is past the 30 days."
OLD = ApprovalId("apr_old")
PAID_WORDS = ("paid", "done", "good news", "refunded")


def standing(status: Status, **changes: Any) -> Approval:
    return approval(status=status, **changes)


def edited(status: Status, first: str = "160.00", now: str = "120.00") -> Approval:
    return standing(status, amount=usd(now), original_amount=usd(first), supersedes=OLD)


@pytest.mark.parametrize(
    ("status", "chip", "text"),
    [
        (S.PENDING, "pending", "needs a quick review by our team"),
        (S.APPROVED, "approved", "approved, the payment is on its way"),
        (S.EXECUTING, "approved", "approved, the payment is on its way"),
        (S.EXECUTED, "done", "done"),
        (S.UNKNOWN, "checking", "approved, we are checking with the payment provider"),
        (S.FAILED, "failed", "could not be completed"),
        (S.STALE, "failed", "could not be completed"),
        (S.REJECTED, "declined", f"declined. {WHY}"),
        (S.EXPIRED, "expired", "nobody decided in time"),
        (S.SUPERSEDED, "replaced", "replaced by a changed request"),
        (S.CANCELLED, "withdrawn", "withdrawn"),
    ],
    ids=lambda value: str(value) if isinstance(value, Status) else "",
)
def test_the_chip_says(status: Status, chip: str, text: str) -> None:
    said = chip_text(standing(status), WHY)
    assert said == f"Refund of 160.00 USD on order ORD-1001: {text}"
    assert CHIP[status] == chip


def test_every_status_has_a_chip() -> None:
    assert set(CHIP) == set(Status)


def test_a_rejection_without_words_for_the_customer_ends_neatly() -> None:
    assert chip_text(standing(S.REJECTED)).endswith(": declined.")
    assert outcome_text(standing(S.REJECTED)) == (
        "Our team has declined the refund of 160.00 USD on order ORD-1001. "
        "If you like, I can pass you to a person."
    )


WHAT = "refund of 160.00 USD on order ORD-1001"


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
            f"The {WHAT} could not be completed and no money moved. ",
            "I can pass you to a person who looks into it.",
        ),
        (
            S.STALE,
            f"The {WHAT} was not paid because the order changed in the meantime. ",
            "You can ask again, or I can pass you to a person.",
        ),
        (
            S.UNKNOWN,
            f"The {WHAT} is approved; ",
            "we are still checking with the payment provider.",
        ),
        (S.CANCELLED, f"The {WHAT} was withdrawn; ", "nothing was paid."),
        (S.PENDING, f"The {WHAT} needs a quick review by our team.", ""),
    ],
    ids=lambda value: str(value) if isinstance(value, Status) else "",
)
def test_the_customer_reads(status: Status, begins: str, ends: str) -> None:
    assert outcome_text(standing(status), WHY) == begins + ends


@pytest.mark.parametrize("status", [s for s in Status if s is not S.EXECUTED], ids=str)
def test_nobody_is_told_done_before_it_is_done(status: Status) -> None:
    row = standing(status)
    said = (outcome_text(row) + chip_text(row)).lower()
    for harmless in ("was not paid", "nothing was paid"):
        said = said.replace(harmless, "")
    assert [word for word in PAID_WORDS if word in said] == []
    assert outcome_for_model(row)["ok"] is False


@pytest.mark.parametrize("status", list(Status), ids=str)
def test_the_customer_never_reads_what_staff_or_model_wrote(status: Status) -> None:
    row = standing(status, model_reason="INTERNAL", model="INTERNAL")
    assert "INTERNAL" not in outcome_text(row, WHY) + chip_text(row, WHY)
    assert "INTERNAL" not in str(outcome_for_model(row, WHY))


def test_the_customer_hears_that_the_team_changed_the_amount() -> None:
    assert outcome_text(edited(S.EXECUTED)) == (
        "Good news: the refund of 120.00 USD on order ORD-1001 has been paid. "
        "Our team changed the amount from 160.00 USD to 120.00 USD."
    )


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(standing(S.EXECUTED), id="never edited"),
        pytest.param(edited(S.EXECUTED, "160.00", "160.00"), id="edited back to the first amount"),
        pytest.param(
            standing(S.EXECUTED, supersedes=OLD, original_amount=None), id="no first amount"
        ),
    ],
)
def test_an_amount_that_is_as_asked_for_is_not_called_changed(row: Approval) -> None:
    assert "changed" not in outcome_text(row)


def test_a_request_without_money_has_words_too() -> None:
    bare = standing(S.EXECUTED, amount=None, order_id=None, supersedes=OLD)
    assert request_words(bare) == "Request"
    assert request_words(standing(S.PENDING, amount=None)) == "Request"
    assert outcome_text(bare) == "Good news: the request has been paid."
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
        (S.CANCELLED, {"ok": False, "error": "cancelled", "reason": ""}),
        (S.PENDING, {"ok": False}),
    ],
    ids=lambda value: str(value) if isinstance(value, Status) else "",
)
def test_the_model_is_told(status: Status, told: dict[str, object]) -> None:
    assert outcome_for_model(standing(status), WHY) == {
        "event": "approval_outcome",
        "approval_id": APPROVAL_ID,
        "order_id": "ORD-1001",
        "amount": "160.00 USD",
        "outcome": status.value,
        **told,
    }


def test_the_model_is_told_that_an_edit_is_final() -> None:
    told = outcome_for_model(edited(S.EXECUTED))
    assert told["edited"] == {"from": "160.00 USD", "to": "120.00 USD", "final": True}


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        pytest.param({"amount": None, "original_amount": usd("160.00")}, None, id="amount dropped"),
        pytest.param(
            {"amount": usd("1.00"), "original_amount": usd("160.00")}, "1.00 USD", id="cut"
        ),
    ],
)
def test_the_model_sees_what_an_edit_left(changes: dict[str, Any], shown: str | None) -> None:
    told = outcome_for_model(standing(S.EXECUTED, supersedes=OLD, **changes))
    assert told["edited"] == {"from": "160.00 USD", "to": shown, "final": True}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="never edited"),
        pytest.param({"supersedes": OLD, "original_amount": None}, id="no first amount"),
    ],
)
def test_the_model_hears_of_no_edit_where_there_was_none(changes: dict[str, Any]) -> None:
    assert "edited" not in outcome_for_model(standing(S.EXECUTED, **changes))
