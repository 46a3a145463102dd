"""Hand-offs and reviews: what they say, what can be clicked, within Slack's limits."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.approvals import Approval, Status
from agent.domain.ids import ApprovalId
from agent.domain.payload import Json, Payload
from agent.domain.reviews import Review, ReviewState
from bot.sandbox.block_limits import check_message
from bot.slack.blocks import moment_token, weight
from bot.slack.cards import BUDGET
from bot.slack.notices import Note, hand_off, mail_line
from bot.slack.reviews import review_note
from bot.slack.targets import read_target
from tests.support.builders import (
    APPROVAL_ID,
    CUSTOMER,
    approval,
    email_approval,
    email_payload,
    flag_approval,
    usd,
)
from tests.support.doubles import START
from tests.support.drawn import HOSTILE, UNSEEN, assert_literal, buttons, flowing, read, view_of

S = Status
OTHER = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAW")


def checked(note: Note) -> Note:
    assert check_message(note.blocks) == []
    assert weight(note.blocks) <= BUDGET
    assert len(note.text.encode()) <= 3_800
    assert note.text
    return note


def heading(note: Note) -> str:
    return str(note.blocks[0]["text"]["text"])


# --- hand-offs


def entry(status: str = "rejected", *reasons: str, **changes: Json) -> Payload:
    return {
        "approval_id": APPROVAL_ID,
        "what": "Refund of 160.00 USD on order ORD-1001",
        "status": status,
        "reasons": list(reasons),
        **changes,
    }


def handed(**changes: Any) -> Payload:
    return {
        "conversation_id": "cnv_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "run_id": "run_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "customer": "cus_ana",
        "reason": "The customer asks for a person",
        "words": ["It wobbles", "Hello?"],
        "history": [],
        **changes,
    }


def test_a_hand_off_says_who_why_and_what_they_wrote() -> None:
    note = checked(hand_off(handed()))
    said = read(note.blocks)
    for needed in (
        "cus_ana",
        "cnv_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "run_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "The customer asks for a person",
        "It wobbles",
        "Hello?",
    ):
        assert needed in said
    assert "What was asked before" not in said
    assert note.text == "🙋 A customer needs a person: cus_ana"


def test_a_hand_off_after_too_many_declines_shows_the_whole_history() -> None:
    past = [
        entry("rejected", "Ann: Returned in store."),
        entry("rejected", "Bob: Still too much.", "Ann: As before."),
        entry("executed", approval_id=OTHER, what="E-mail about order ORD-1001"),
        entry("mislaid"),
    ]
    note = checked(hand_off(handed(reason="max_revisions_exceeded", rejections=3, history=past)))
    said = flowing(note.blocks)
    assert "Declined 3 times: a person takes over" in said
    assert "max_revisions_exceeded" not in said
    assert "agent's words" not in said
    assert said.count("· rejected") == 2
    assert "E-mail about order ORD-1001 · carried out" in said
    assert "· mislaid" in said
    for needed in ("Ann: Returned in store.", "Bob: Still too much.", "Ann: As before.", OTHER):
        assert needed in said
    assert "Declined 3 times" in note.text


def test_more_reasons_than_fit_are_counted() -> None:
    said = flowing(checked(hand_off(handed(history=[entry("rejected", *"abcde")]))).blocks)
    assert "… and 2 more" in said
    assert "\nd" not in said


@settings(max_examples=60, deadline=None)
@given(
    char=st.sampled_from(["x", "&", "\u202e", "日", "\n"]),
    length=st.integers(1, 3_000),
    entries=st.integers(0, 10),
)
def test_a_hand_off_fits_whatever_is_in_it_and_drops_no_request(
    char: str, length: int, entries: int
) -> None:
    text = char * length
    past = [entry(text, *[text] * 4, what=text) for _ in range(entries)]
    note = checked(
        hand_off(handed(customer=text, reason=text, words=[text] * 5, history=past, run_id=text))
    )
    assert flowing(note.blocks).count(APPROVAL_ID) == entries


def test_a_hand_off_of_another_shape_is_drawn_all_the_same() -> None:
    note = checked(hand_off({"words": [1], "history": ["?", {}]}))
    assert "A visitor who is not signed in" in read(note.blocks)


# --- reviews


def ran(row: Approval | None = None, **changes: Any) -> Approval:
    """Return what the policy allowed and was carried out; a refund of 40.00 USD if not named."""
    refund = approval(amount=usd("40.00"), result={"refund_id": "rf_7"})
    done = replace(row or refund, automatic=True, status=S.EXECUTED, findings=())
    return replace(done, **changes)


OPEN = Review(APPROVAL_ID, CUSTOMER, "large", ReviewState.OPEN, START, None, None, None)
RIGHT = replace(OPEN, state=ReviewState.RIGHT, answered_at=START, actor_name="Mia", reason="")
FLAGGED = replace(RIGHT, state=ReviewState.FLAGGED, reason="It was the wrong order")


def test_an_open_review_shows_what_ran_and_asks_whether_it_was_right() -> None:
    note = checked(review_note(view_of(ran()), OPEN))
    assert heading(note) == "👀 Please look · Refund paid · 40.00 USD"
    said = read(note.blocks)
    for needed in (
        "Allowed by the policy and paid",
        "rf_7",
        "Large for one that runs without a person",
        "Level high",
        "It wobbles.",
        "Left to refund",
        f"Asked {moment_token(START)}",
        APPROVAL_ID,
    ):
        assert needed in said, needed
    assert "Why it waited" not in said
    found = buttons(note.blocks)
    assert list(found) == ["review_right", "review_flag", "approval_review"]
    assert found["review_flag"]["style"] == "danger"
    for button in found.values():
        target = read_target(button["value"])
        assert target is not None
        assert target.id == APPROVAL_ID
    assert note.text.startswith("👀 Please look · Refund paid · 40.00 USD. Large for")


def test_an_answered_review_says_who_answered_what_and_offers_nothing() -> None:
    right = checked(review_note(view_of(ran()), RIGHT))
    assert heading(right).startswith("✅ Looked right · Refund paid")
    assert "Looked right to Mia" in flowing(right.blocks)
    assert buttons(right.blocks) == {}
    assert right.text.endswith("Answered by Mia.")
    flagged = checked(review_note(view_of(ran()), FLAGGED))
    assert heading(flagged).startswith("⚠️ Flagged · Refund paid")
    assert "Flagged by Mia" in flowing(flagged.blocks)
    assert "It was the wrong order" in flowing(flagged.blocks)
    assert buttons(flagged.blocks) == {}
    assert flagged.text.endswith("Answered by Mia: It was the wrong order.")


def test_a_review_of_an_email_shows_all_of_it_and_of_a_flag_its_signals() -> None:
    share = replace(OPEN, why="share")
    mail = checked(review_note(view_of(ran(email_approval())), share))
    assert "Hello Ana, we are sorry." in flowing(mail.blocks)
    assert "Picked by chance" in flowing(mail.blocks)
    flag = checked(review_note(view_of(ran(flag_approval())), share))
    assert "three cards in one hour" in flowing(flag.blocks)


def test_a_long_review_is_cut_and_details_shows_the_rest() -> None:
    row = ran(email_approval(payload=email_payload(body="&" * 12_000, subject="s" * 200)))
    for review in (OPEN, FLAGGED):
        note = checked(review_note(view_of(row), review))
        assert list(buttons(note.blocks))[-1] == "approval_review"
        assert len(heading(note)) <= 150


def test_what_came_back_after_it_ran_is_said_on_its_review() -> None:
    row = ran(status=S.FAILED, result={"refund_id": "rf_7", "provider_status": "failed"})
    note = checked(review_note(view_of(row), OPEN))
    assert heading(note) == "👀 Please look · Refund came back · 40.00 USD"
    assert "Allowed by the policy, but it came back" in flowing(note.blocks)


# --- hostile text


@pytest.mark.parametrize("text", HOSTILE)
def test_every_notice_takes_hostile_text_literally(text: str) -> None:
    mark = f"MARK{text}"
    past = [entry(mark, mark, what=mark, approval_id=mark)]
    review = replace(FLAGGED, actor_name=mark, reason=mark, why=mark)
    notes = [
        hand_off(handed(customer=mark, reason=mark, words=[mark], history=past, run_id=mark)),
        hand_off(handed(reason="max_revisions_exceeded", history=past, conversation_id=mark)),
        review_note(view_of(ran(order_id=mark, model_reason=mark), name=mark), review),
        review_note(view_of(ran()), replace(review, state=ReviewState.RIGHT)),
    ]
    for note in notes:
        checked(note)
        assert_literal(note.blocks, "MARK")
        assert "<!" not in note.text
        assert not any(char in note.text for char in UNSEEN)


# --- mails to customers


def test_a_mail_that_reaches_nobody_is_told_without_the_address() -> None:
    problem = "recipient_refused: clara.nguyen@example.com: 550 no such user"
    note = checked(mail_line(view_of(approval(status=S.EXECUTED)), problem))
    said = read(note.blocks)
    assert "no mail reaches the customer" in said
    assert "ORD-1001" in said
    assert "550 no such user" in said
    assert "clara.nguyen@example.com" not in said
    for text in HOSTILE:
        hostile = mail_line(view_of(approval(status=S.EXECUTED)), f"MARK {text}")
        assert_literal(checked(hostile).blocks, "MARK")
