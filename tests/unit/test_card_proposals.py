"""E-mails, fraud flags and edits on a card: all of it, marked where odd, before and after."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.approvals import Approval, ApprovalView
from agent.domain.payload import Payload
from agent.domain.risk import Finding, Reason
from bot.sandbox.block_limits import check_message, check_view
from bot.slack.blocks import weight
from bot.slack.cards import BUDGET, Card, approval_card, brief_card
from bot.slack.forms import settle_modal
from bot.slack.text import visible
from tests.support.builders import (
    ADDRESS,
    ANN,
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
from tests.support.drawn import (
    HOSTILE,
    PEOPLE,
    assert_literal,
    buttons,
    flowing,
    mentioned,
    objects,
    read,
    request_pages,
    styled,
    texts,
    view_of,
)

LATER = START + timedelta(minutes=4)


def draw(row: Approval, **around: Any) -> Card:
    return approval_card(view_of(row, **around), LATER, PEOPLE)


def email(**changes: Any) -> Approval:
    return email_approval(payload=email_payload(**changes))


def flag(**changes: Any) -> Approval:
    return flag_approval(payload=flag_approval().payload | changes)


def code(blocks: object) -> list[str]:
    """Return the text of each code block."""
    return [flowing(o) for o in objects(blocks) if o.get("type") == "rich_text_preformatted"]


def rows_of(blocks: object) -> list[str]:
    return flowing(blocks).split("\n")


# --- e-mails


def test_an_email_shows_who_gets_it_and_every_word_of_it() -> None:
    body = "Hello Ana,\n\n  we are sorry.\n- ShopStream"
    row = email(
        template=None,
        cc=["boss@corp.example"],
        bcc=["a@one.example", "b@two.example"],
        subject="About <your> order",
        body=body,
    )
    card = draw(row)
    assert card.complete
    rows = rows_of(card.blocks)
    assert f"To: {ADDRESS} · the customer's own address" in rows
    assert "Cc: boss@corp.example  not the customer's own address" in rows
    assert "Bcc: a@one.example  not the customer's own address" in rows
    assert "Bcc: b@two.example  not the customer's own address" in rows
    assert "Subject: About <your> order" in rows
    assert code(card.blocks)[0] == body
    assert f"Text, {len(body)} characters:" in flowing(card.blocks)
    assert check_message(card.blocks) == []


def test_nobody_in_copy_is_said_too() -> None:
    rows = rows_of(draw(email()).blocks)
    assert "Cc: nobody" in rows
    assert "Bcc: nobody" in rows


def test_where_the_text_comes_from_is_said() -> None:
    assert "template delay_apology, unchanged" in flowing(draw(email()).blocks)
    own = email(template=None)
    assert "own text, written by the agent" in flowing(draw(own).blocks)
    edited = email_approval(
        payload=email_payload(template=None), original=email_payload(), edited_by=(ANN,)
    )
    assert "own text, changed by a person" in flowing(draw(edited).blocks)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ana@xn--shpstream-07a.example", "punycode, may look like another domain"),
        ("ana@mail.XN--80ak6aa92e.com", "punycode, may look like another domain"),
        ("ana!x@example.com", "unusual characters"),
        ("\u0430na@example.com", "unusual characters"),
        ("ana@localhost", "unusual characters"),
        ("ana@xn--.example\u202e", "punycode, may look like another domain, unusual characters"),
    ],
)
def test_an_odd_address_is_marked(address: str, said: str) -> None:
    blocks = draw(email(to=[address])).blocks
    assert f"To: {visible(address)}  {said}, not the customer's own address" in rows_of(blocks)
    assert "warning" in [o["name"] for o in objects(blocks) if o.get("type") == "emoji"]


def test_an_ordinary_address_is_not_marked() -> None:
    for address in ("ana.r+shop@example.co.uk", "x_n--1@example.com"):
        assert f"To: {address}  not the customer's own address" in rows_of(
            draw(email(to=[address])).blocks
        )
    own = draw(email(to=[ADDRESS.upper()])).blocks
    assert f"To: {ADDRESS.upper()} · the customer's own address" in rows_of(own)


def test_without_an_address_in_the_shops_book_nobody_is_called_the_customer() -> None:
    unknown = ApprovalView(email(), (), "", "", ())
    assert f"To: {ADDRESS}" in rows_of(approval_card(unknown, LATER, PEOPLE).blocks)


def test_the_rest_of_the_bound_fields_stands_apart_and_nothing_twice() -> None:
    card = draw(email())
    rest = code(card.blocks)[-1]
    assert [line.split()[0] for line in rest.split("\n")] == [
        "customer_id",
        "order_id",
        "tool",
        "approval_id",
        "policy_version",
    ]
    assert read(card.blocks).count("we are sorry") == 1


LINES = st.text(alphabet=st.sampled_from("ab -+&<\n\u202e日"), min_size=1, max_size=400)
ADDRESSES = st.lists(LINES, max_size=4)


@settings(max_examples=100, deadline=None)
@given(
    to=ADDRESSES, cc=ADDRESSES, bcc=ADDRESSES, subject=LINES, body=LINES, times=st.integers(1, 12)
)
def test_an_email_is_approved_only_where_all_of_it_is_shown(
    to: list[str], cc: list[str], bcc: list[str], subject: str, body: str, times: int
) -> None:
    row = email(to=to, cc=cc, bcc=bcc, subject=subject, body=body * times)
    card = draw(row)
    assert check_message(card.blocks) == []
    assert weight(card.blocks) <= BUDGET
    assert ("approval_approve" in buttons(card.blocks)) is card.complete
    whole = card.blocks if card.complete else request_pages(view_of(row))
    shown = flowing(whole)
    assert visible(body * times, lines=True) in shown
    for address in (*to, *cc, *bcc, subject):
        assert visible(address) in shown


@pytest.mark.parametrize("char", ["x", "&", "\u202e", "é"])
def test_a_long_email_leaves_only_review_and_still_says_who_gets_it(char: str) -> None:
    text = char * (9_000 if len(char.encode()) > 2 else 12_000)
    card = draw(email(to=[ADDRESS], cc=[f"{char * 60}@b.example"] * 9, body=text))
    assert not card.complete
    assert list(buttons(card.blocks)) == ["approval_review"]
    assert weight(card.blocks) <= BUDGET
    assert check_message(card.blocks) == []
    said = flowing(card.blocks)
    assert ADDRESS in said
    assert f"Text, {len(text):,} characters:" in said
    assert "more characters)" in said


def test_a_text_of_everyday_length_fits_the_card() -> None:
    body = "A line of an everyday letter to a customer.\n" * 150
    card = draw(email(body=body))
    assert card.complete
    # In pieces that Slack takes, and whole when put together.
    assert "".join(code(card.blocks)[:-1]) == body
    assert len(code(card.blocks)) > 2
    assert all(len(piece) <= 3_000 for piece in code(card.blocks))


# --- fraud flags


def test_a_flag_shows_its_score_its_signals_and_what_it_sets_off() -> None:
    card = draw(flag(signals=["three cards in an hour", "<b>new</b> address"]))
    assert card.complete
    lists = [o for o in objects(card.blocks) if o.get("type") == "rich_text_list"]
    assert texts(lists[-1], "text") == ["three cards in an hour", "<b>new</b> address"]
    said = flowing(card.blocks)
    assert "The fraud flag · score 0.85 of 1" in said
    assert "Action: hold · triggers: nothing runs for this customer without a person" in said
    assert "Level high" in said
    assert [line.split()[0] for line in code(card.blocks)[-1].split("\n")][:2] == [
        "customer_id",
        "order_id",
    ]
    assert check_message(card.blocks) == []


def test_a_flag_that_only_watches_is_of_a_low_level() -> None:
    said = flowing(draw(flag(action="monitor", score="0.4")).blocks)
    assert "Level low" in said
    assert "triggers: nothing but an entry in the shop's list of signals" in said


def test_a_flag_without_signals_says_so() -> None:
    card = draw(flag(signals=[]))
    assert "No signals are given." in flowing(card.blocks)
    assert check_message(card.blocks) == []


def test_a_flag_that_is_too_long_is_drawn_briefly() -> None:
    card = draw(flag(signals=["&" * 300] * 10))
    assert not card.complete
    assert weight(card.blocks) <= BUDGET
    assert "0.85" in flowing(card.blocks)
    assert list(buttons(card.blocks)) == ["approval_reveal", "approval_review"]


def test_a_payload_of_another_shape_is_shown_as_it_is_stored() -> None:
    for row in (flag(action="hang"), email(to="everybody"), flag(signals=[1])):
        card = draw(row)
        assert card.complete
        shown = code(card.blocks)[-1]
        for name in row.payload:
            assert name in shown


# --- confirmations


def test_the_confirmation_says_what_the_click_does_by_tool() -> None:
    def confirmed(row: Approval, **around: Any) -> tuple[str, str]:
        confirm = buttons(draw(row, **around).blocks)["approval_approve"]["confirm"]
        return confirm["title"]["text"], confirm["text"]["text"]

    title, words = confirmed(email(cc=["b@example.com", "c@example.com"]))
    assert title == "Approve this e-mail?"
    assert words.startswith(f"It leaves for {ADDRESS} and 2 more, and cannot be undone.")
    assert confirmed(email())[1].startswith(f"It leaves for {ADDRESS}, and")
    title, words = confirmed(flag())
    assert title == "Approve this fraud flag?"
    assert "It is about Dana; triggers: nothing runs for this customer" in words
    title, words = confirmed(approval(), name="\u202e" * 200)
    assert title == "Approve this refund?"
    assert words.endswith("Approvals so far: 0 of 1.")
    assert len(words) <= 300
    assert confirmed(email(to=[]))[1].startswith("It leaves for nobody")


# --- edits


def edited(row: Payload, now: Payload, **changes: Any) -> dict[str, Any]:
    return {
        "payload": now,
        "original": row,
        "edited_by": (ANN,),
        "supersedes": APPROVAL_ID,
        "revision": 2,
        **changes,
    }


def test_an_edit_of_a_refund_shows_amount_and_order_before_and_after() -> None:
    before = refund_payload(usd("160.00"))
    now = refund_payload(usd("120.00"), "ORD-1002")
    row = approval(amount=usd("120.00"), order_id="ORD-1002", **edited(before, now))
    first = draw(row).blocks[1]
    assert rows_of(first)[1:] == [
        "Amount: 160.00 USD → 120.00 USD",
        "Order: ORD-1001 → ORD-1002",
    ]
    assert styled(first, "strike") == ["160.00 USD", "ORD-1001"]
    assert mentioned(first) == ["U07ANN"]


def test_an_edit_of_the_order_alone_names_no_amount() -> None:
    before, now = refund_payload(usd("160.00")), refund_payload(usd("160.00"), "ORD-1002")
    first = draw(approval(order_id="ORD-1002", **edited(before, now))).blocks[1]
    assert rows_of(first)[1:] == ["Order: ORD-1001 → ORD-1002"]


def test_everybody_who_edited_is_named_once() -> None:
    before, now = refund_payload(usd("160.00")), refund_payload(usd("120.00"))
    row = approval(amount=usd("120.00"), **edited(before, now, edited_by=(ANN, BOB, ANN)))
    assert mentioned(draw(row).blocks[1]) == ["U07ANN", "U07BOB"]


def test_an_edit_back_to_the_proposal_says_so() -> None:
    same = refund_payload(usd("160.00"))
    row = approval(**edited(same, same, edited_by=(ANN, BOB)))
    assert "it is again what the agent proposed" in flowing(draw(row).blocks[1])


def test_what_is_asked_again_is_no_edit() -> None:
    row = approval(
        supersedes=APPROVAL_ID,
        findings=(Finding(Reason.ASKED_AGAIN, "Ann asked again after it was expired"),),
    )
    card = draw(row)
    assert "Edited" not in flowing(card.blocks)
    assert "asked_again" in flowing(card.blocks)


def test_an_edit_of_an_email_shows_each_part_before_and_after() -> None:
    before = email_payload(body="Hello Ana,\n\nsorry.\n\nIt comes on Tuesday.\n- ShopStream")
    now = email_payload(
        template=None,
        to=["ana@new.example"],
        bcc=["boss@corp.example"],
        subject="Order ORD-1001",
        body="Hello Ana,\n\nsorry.\n\nIt comes on Thursday.\n- ShopStream",
    )
    first = draw(email_approval(**edited(before, now))).blocks[1]
    rows = rows_of(first)
    assert f"To: {ADDRESS} → ana@new.example" in rows
    assert "Bcc: nobody → boss@corp.example" in rows
    assert "Subject: Order ORD-1001 is late → Order ORD-1001" in rows
    assert not any(row.startswith("Cc:") for row in rows)
    assert code(first) == ["  \n- It comes on Tuesday.\n+ It comes on Thursday.\n  - ShopStream"]


def test_a_text_that_changed_in_two_places_leaves_a_gap_between() -> None:
    old = "\n".join(f"line {number}" for number in range(20))
    new = old.replace("line 2\n", "line two\n").replace("line 15\n", "")
    row = email_approval(**edited(email_payload(body=old), email_payload(body=new)))
    shown = code(draw(row).blocks[1])[0].split("\n")
    assert shown == [
        "  line 1",
        "- line 2",
        "+ line two",
        "  line 3",
        "…",
        "  line 14",
        "- line 15",
        "  line 16",
    ]


def test_an_edit_of_the_subject_alone_shows_no_text() -> None:
    row = email_approval(**edited(email_payload(), email_payload(subject="Late")))
    first = draw(row).blocks[1]
    assert code(first) == []
    assert rows_of(first)[1:] == ["Subject: Order ORD-1001 is late → Late"]


def test_what_was_before_a_long_edit_is_cut_sooner_than_what_is_bound() -> None:
    def of(size: int) -> Approval:
        before, now = email_payload(body="a" * size), email_payload(body="b" * size)
        return email_approval(**edited(before, now))

    whole, cut, brief = draw(of(2_000)), draw(of(3_000)), draw(of(9_000))
    assert f"- {'a' * 2_000}\n+ {'b' * 2_000}" in code(whole.blocks[1])
    assert "more characters)" in code(cut.blocks[1])[0]
    assert "b" * 3_000 in "".join(code(cut.blocks[2:]))
    assert (whole.complete, cut.complete, brief.complete) == (True, True, False)
    assert "more characters)" in code(brief.blocks[1])[0]


# --- hostile text


@pytest.mark.parametrize("text", HOSTILE)
def test_every_field_of_a_proposal_is_literal(text: str) -> None:
    mark = f"MARK{text}"
    hostile = email_payload(
        template=mark, to=[mark], cc=[mark], bcc=[mark], subject=mark, body=f"{mark}\n{mark}"
    )
    plain = email_payload(template=None)
    rows = [
        email_approval(payload=hostile),
        email_approval(**edited(plain, hostile)),
        email_approval(**edited(hostile, plain)),
        flag(score=mark, signals=[mark, mark]),
        approval(**edited({"order_id": mark}, refund_payload(usd("160.00")))),
        approval(order_id=mark, **edited(refund_payload(usd("1.00")), {"order_id": mark})),
    ]
    for row in rows:
        for card in (draw(row, name=mark), brief_card(view_of(row), LATER, PEOPLE)):
            assert check_message(card.blocks) == []
            assert_literal(card.blocks, "MARK")
            assert "<!" not in card.text


def test_a_subject_or_an_address_cannot_pretend_to_be_a_line_of_the_card() -> None:
    card = draw(email(to=["a@b.example\nCc: nobody"], subject="Hi\nBcc: nobody"))
    rows = rows_of(card.blocks)
    assert r"Subject: Hi\u000aBcc: nobody" in rows
    assert any(r"a@b.example\u000aCc: nobody" in row for row in rows)


def test_the_settle_form_offers_the_evidence_that_there_can_be() -> None:
    everywhere = {"provider_record", "provider_support"}
    for row, own in (
        (approval(), {"bank_record"}),
        (email(), {"server_log"}),
        (flag(), set[str]()),
    ):
        form = settle_modal(view_of(row), "C1")
        assert check_view(form, "modal") == []
        (menu,) = (o for o in objects(form) if o.get("type") == "static_select")
        assert {option["value"] for option in menu["options"]} == everywhere | own


def test_the_card_names_the_bytes_that_are_bound() -> None:
    row = email()
    card = draw(row)
    assert json.loads(buttons(card.blocks)["approval_approve"]["value"])["h"] == row.short_hash()
    assert row.short_hash() in read(card.blocks)
