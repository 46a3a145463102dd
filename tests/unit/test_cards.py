"""The approval card: complete, literal, within Slack's limits, and true for every state."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.domain.approvals import Approval, ApprovalView, Status, Vote
from agent.domain.ids import ActorId, ApprovalId
from agent.domain.risk import Finding, Reason
from agent.domain.roles import Role, Tier
from bot.sandbox.block_limits import check_message, check_view, text_total
from bot.slack.blocks import Block, weight
from bot.slack.cards import BUDGET, Card, approval_card, brief_card
from bot.slack.modals import details_modal, edit_modal, reject_modal, review_modal
from bot.slack.text import visible
from tests.support.builders import ANN, APPROVAL_ID, BOB, approval, usd, vote
from tests.support.doubles import START

PEOPLE = {ANN: "U07ANN", BOB: "U07BOB"}
LATER = START + timedelta(minutes=4)
NEW = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAW")

HOSTILE = [
    "<!channel> <!here> <@U123> <#C1> <!subteam^S1>",
    "<https://evil.example|Approve here>",
    "*bold* _it_ ~strike~ `code` ```block``` :tada:",
    "&amp; &lt;b&gt; <b>hi</b>",
    "line one\n*Left to refund*\n1.00 USD",
    "\u202egpj.exe \u2066 \u200b\u200d\ufeff \ue000 \x00 \x1b[2J \u2028 \u00ad \u3164",
    "https://evil.example/?a=1&b=2",
]
UNSEEN = "\u202e\u2066\u200b\u200d\ufeff\ue000\x00\x1b\u2028\u00ad\u3164"


def view(*votes: Vote, words: tuple[str, ...] = ("It wobbles.",), **changes: Any) -> ApprovalView:
    return ApprovalView(approval(**changes), votes, "Dana", "dana@example.com", words)


def draw(shown: ApprovalView, **options: Any) -> Card:
    return approval_card(shown, LATER, PEOPLE, **options)


def objects(value: object) -> Iterator[Block]:
    """Yield every object of a tree."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def texts(value: object, *kinds: str) -> list[str]:
    return [o["text"] for o in objects(value) if o.get("type") in kinds]


def read(blocks: object) -> str:
    """Return all that a person reads, whatever carries it."""
    return "\n".join(texts(blocks, "plain_text", "mrkdwn", "text", "raw_text"))


def buttons(card: Card) -> dict[str, Block]:
    return {o["action_id"]: o for o in objects(card.blocks) if o.get("type") == "button"}


def carrier(blocks: object, words: str) -> set[str]:
    """Return the types of the objects that hold `words`."""
    return {
        str(o["type"])
        for o in objects(blocks)
        if isinstance(o.get("text"), str) and words in o["text"]
    }


ENDED = {
    "approved": (view(vote(), status=Status.APPROVED), "Approved"),
    "executing": (view(vote(), status=Status.EXECUTING), "Approved"),
    "executed": (
        view(vote(), status=Status.EXECUTED, result={"refund_id": "rf_7"}),
        "Approved and paid",
    ),
    "failed": (
        view(vote(), status=Status.FAILED, result={"code": "no_funds", "message": "No funds"}),
        "Approved, but failed",
    ),
    "unknown": (view(vote(), status=Status.UNKNOWN), "Approved, outcome not known yet"),
    "stale": (
        view(vote(), status=Status.STALE, result={"problem": "Only 20.00 USD is left."}),
        "Approved, but not paid",
    ),
    "rejected": (
        view(
            vote(verdict="reject", reason="Returned in store", category="not_eligible"),
            status=Status.REJECTED,
        ),
        "Rejected",
    ),
    "expired": (view(status=Status.EXPIRED), "Expired"),
    "superseded": (
        view(vote(verdict="edit"), status=Status.SUPERSEDED, superseded_by=NEW),
        "Replaced by an edit",
    ),
    "cancelled": (view(status=Status.CANCELLED), "Withdrawn"),
}


def test_every_status_but_pending_is_an_end_state_here() -> None:
    shown = {case.approval.status for case, _ in ENDED.values()}
    assert shown == set(Status) - {Status.PENDING}


def test_a_pending_card_says_all_that_a_decision_needs() -> None:
    card = draw(view())
    said = read(card.blocks)
    assert card.complete
    for needed in (
        "Refund needs approval · 160.00 USD",
        "ORD-1001",
        "Dana",
        "29 Nov 2026, 12:00 UTC",
        "0 of 1",
        "160.00 USD is over the limit of 50.00 USD",
        "amount_over_limit",
        "one refund approver",
        "it wobbles",
        "its own words, not checked",
        "It wobbles.",
        "160.00",
        "After refund",
        APPROVAL_ID,
        "rev 1",
        approval().payload_hash[:16],
        "scripted-1",
        "0123456789ab",
        "<!date^",
    ):
        assert needed in said, needed
    assert check_message(card.blocks) == []


def test_the_buttons_name_what_was_shown() -> None:
    found = buttons(draw(view()))
    assert list(found) == [
        "approval_approve",
        "approval_edit",
        "approval_reject",
        "approval_review",
    ]
    shown = approval()
    named = {"v": 1, "id": shown.id, "rev": 1, "h": shown.payload_hash[:16]}
    assert [json.loads(button["value"]) for button in found.values()] == [named] * 4
    approve = found["approval_approve"]
    assert approve["style"] == "primary"
    assert "160.00 USD on order ORD-1001 goes to Dana" in approve["confirm"]["text"]["text"]
    assert found["approval_reject"]["style"] == "danger"


def test_the_row_of_buttons_is_a_new_one_after_each_vote() -> None:
    def row(shown: ApprovalView) -> str:
        return str(next(b for b in draw(shown).blocks if b["type"] == "actions")["block_id"])

    two = Tier(Role.REFUND_MANAGER, 2)
    assert row(view(tier=two)) == f"act:{APPROVAL_ID}:1"
    assert row(view(vote(), tier=two)) not in {row(view(tier=two)), ""}


def test_a_quorum_shows_how_far_it_is_and_who_has_approved() -> None:
    card = draw(view(vote(), tier=Tier(Role.REFUND_MANAGER, 2)))
    said = read(card.blocks)
    assert "1 of 2 approvals" in said
    assert "2 people, at least one refund manager" in said
    assert [o["user_id"] for o in objects(card.blocks) if o.get("type") == "user"] == ["U07BOB"]
    assert "approval_approve" in buttons(card)


@pytest.mark.parametrize("name", ENDED)
def test_an_ended_card_keeps_the_request_and_says_who_and_what_instead_of_buttons(
    name: str,
) -> None:
    shown, verdict = ENDED[name]
    card, pending = draw(shown), draw(view())
    assert buttons(card) == {}
    assert check_message(card.blocks) == []
    said = read(card.blocks)
    assert verdict in said
    assert [o["name"] for o in objects(card.blocks) if o.get("type") == "emoji"] != []
    kept = [
        b for b in pending.blocks if b["type"] in {"table", "rich_text"} and "waits" not in read(b)
    ]
    assert len(kept) >= 3
    assert all(block in card.blocks for block in kept)
    if shown.votes:
        assert [o["user_id"] for o in objects(card.blocks) if o.get("type") == "user"] == ["U07BOB"]


def test_end_states_tell_what_became_of_the_money() -> None:
    said = {name: read(draw(shown).blocks) for name, (shown, _) in ENDED.items()}
    assert "rf_7" in said["executed"]
    assert "No funds (no_funds)" in said["failed"]
    assert "Only 20.00 USD is left. No money moved." in said["stale"]
    assert "Returned in store" in said["rejected"]
    assert "Not eligible under the shop's rules" in said["rejected"]
    assert "asked again" in said["unknown"]
    assert NEW in said["superseded"]
    assert "Nobody decided in time" in said["expired"]


def test_an_expired_quorum_says_who_had_voted() -> None:
    shown = view(vote(), status=Status.EXPIRED, tier=Tier(Role.REFUND_MANAGER, 2))
    assert "1 of 2 had approved" in read(draw(shown).blocks)


def test_a_superseded_card_links_to_the_new_one() -> None:
    shown, _ = ENDED["superseded"]
    url = "https://shop.slack.com/archives/C1/p1"
    card = draw(shown, replacement_url=url)
    links = [o["url"] for o in objects(card.blocks) if o.get("type") == "link"]
    assert links == [url]
    assert check_message(card.blocks) == []


def test_past_the_deadline_nobody_is_offered_a_button() -> None:
    shown = view()
    late = approval_card(shown, shown.approval.expires_at, PEOPLE)
    early = approval_card(shown, shown.approval.expires_at - timedelta(seconds=1), PEOPLE)
    assert buttons(late) == {}
    assert "Expired" in read(late.blocks)
    assert "approval_approve" in buttons(early)


def test_an_edit_shows_the_change_first() -> None:
    card = draw(
        view(
            amount=usd("120.00"),
            original_amount=usd("160.00"),
            supersedes=APPROVAL_ID,
            edited_by=(ANN,),
            revision=2,
            findings=(Finding(Reason.HUMAN_EDIT, "Ann changed the amount"),),
        )
    )
    first = card.blocks[1]
    assert [o["text"] for o in objects(first) if o.get("style") == {"strike": True}] == [
        "160.00 USD"
    ]
    assert "120.00 USD" in read(first)
    assert [o["user_id"] for o in objects(first) if o.get("type") == "user"] == ["U07ANN"]


def test_the_money_is_shown_before_and_after() -> None:
    table = next(b for b in draw(view(amount=usd("60.00"))).blocks if b["type"] == "table")
    assert [[cell["text"] for cell in row] for row in table["rows"]] == [
        ["USD", "Before", "After refund"],
        ["Order total", "160.00", "160.00"],
        ["Refunded", "0.00", "60.00"],
        ["Left to refund", "160.00", "100.00"],
    ]


def test_the_classic_card_says_the_same_without_a_table() -> None:
    card, classic = draw(view()), draw(view(), classic=True)
    assert "table" not in {block["type"] for block in classic.blocks}
    assert classic.complete
    cells = texts(card.blocks, "raw_text")
    assert len(cells) == 12
    assert [cell for cell in cells if cell not in read(classic.blocks)] == []


def test_what_the_shop_does_not_know_leaves_no_hole() -> None:
    shown = ApprovalView(approval(amount=None, order_id=None, snapshot=None), (), "", "", ())
    card = draw(shown)
    assert check_message(card.blocks) == []
    assert "unknown to the shop" in read(card.blocks)
    assert "Request needs approval · issue_refund" in read(card.blocks)


# --- hostile text


@pytest.mark.parametrize("text", HOSTILE)
def test_untrusted_text_is_literal_and_visible_wherever_it_stands(text: str) -> None:
    marked = f"MARK{text}"
    shown = ApprovalView(
        approval(
            order_id=marked,
            model_reason=marked,
            model=marked,
            confidence="0.5",
            status=Status.REJECTED,
            findings=(Finding(Reason.AMBIGUOUS, marked),),
        ),
        (vote(by=ActorId("act_x"), name=marked, verdict="reject", reason=marked),),
        marked,
        "",
        (marked, marked),
    )
    for card in (draw(shown), draw(shown, classic=True), brief_card(shown, LATER, PEOPLE)):
        assert carrier(card.blocks, "MARK") <= {"plain_text", "text", "raw_text"}
        assert check_message(card.blocks) == []
        assert not any(char in read(card.blocks) for char in UNSEEN)
        assert not any(char in card.text for char in UNSEEN)
        assert all(
            o["emoji"] is False for o in objects(card.blocks) if o.get("type") == "plain_text"
        )
        assert "<!" not in card.text
        assert "MARK" in card.text


def test_an_order_that_pretends_to_be_lines_of_the_card_stays_one_line() -> None:
    shown = view(order_id="ORD-1\nLeft to refund\n9.00 USD")
    card = draw(shown)
    fields = next(b for b in card.blocks if b["type"] == "section")["fields"]
    assert all("\n" not in field["text"] for field in fields)
    assert r"ORD-1\u000aLeft" in read(card.blocks)


# --- completeness


ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | ANY_TEXT
NAMES = st.text(alphabet="abc_", min_size=1, max_size=12)
PAYLOADS = st.dictionaries(
    NAMES,
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=8,
)


def scalars(value: object) -> Iterator[object]:
    if isinstance(value, dict) and value:
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, list) and value:
        for item in value:
            yield from scalars(item)
    else:
        yield value


def bound(shown: Approval) -> list[object]:
    return [*scalars(shown.payload), shown.tool, shown.id, shown.policy_version]


@settings(max_examples=150, deadline=None)
@given(payload=PAYLOADS, words=st.lists(ANY_TEXT, max_size=3), reason=ANY_TEXT, name=ANY_TEXT)
def test_approve_is_offered_only_where_everything_is_shown(
    payload: dict[str, Any], words: list[str], reason: str, name: str
) -> None:
    row = approval(payload=payload, model_reason=reason)
    shown = ApprovalView(row, (), name, "", tuple(words))
    card = draw(shown)
    assert check_message(card.blocks) == []
    assert weight(card.blocks) <= BUDGET
    assert ("approval_approve" in buttons(card)) is card.complete
    whole = card.blocks if card.complete else review_modal(shown, PEOPLE, "C1")
    said = read(whole) + "".join(texts(whole, "text"))
    for value in bound(row):
        assert visible(json.dumps(value, ensure_ascii=False)) in said
    for text in (*words, reason):
        for line in visible(text, lines=True).split("\n"):
            assert line in said


@pytest.mark.parametrize(
    ("filling", "size"), [("x", 1), ("&", 1), ("\u202e", 3), ("日", 3), ('"', 2)]
)
def test_a_payload_too_long_for_a_card_leaves_only_review(filling: str, size: int) -> None:
    shown = view(payload={"memo": filling * (32_000 // size)}, words=("w" * 4_000,) * 3)
    card = draw(shown)
    assert not card.complete
    assert list(buttons(card)) == ["approval_review"]
    assert weight(card.blocks) <= BUDGET
    assert check_message(card.blocks) == []
    modal = review_modal(shown, PEOPLE, "C1")
    assert check_view(modal, "modal") == []
    joined = "".join(texts(modal["blocks"], "text"))
    assert visible(json.dumps(shown.approval.payload["memo"], ensure_ascii=False)) in joined
    assert modal["submit"]["text"] == "Approve 160.00 USD"


@pytest.mark.parametrize("char", ["&", "\u202e", "x"])
def test_the_brief_card_fits_whatever_it_is_about(char: str) -> None:
    long = char * 5_000
    row = approval(
        order_id=long,
        model_reason=long,
        model=long,
        status=Status.REJECTED,
        findings=tuple(Finding(Reason.AMBIGUOUS, long) for _ in range(30)),
    )
    ballots = (vote(verdict="reject", reason=long),)
    card = brief_card(ApprovalView(row, ballots, long, "", (long,) * 3), LATER, PEOPLE)
    assert weight(card.blocks) <= BUDGET
    assert check_message(card.blocks) == []
    assert len(card.text.encode()) <= 3_800


def test_our_count_is_never_below_slacks() -> None:
    for shown, _ in ENDED.values():
        blocks = draw(replace(shown, customer_words=tuple(HOSTILE))).blocks
        assert weight(blocks) >= text_total(blocks)


# --- modals


@pytest.mark.parametrize("text", HOSTILE)
def test_the_modals_take_hostile_text_literally(text: str) -> None:
    marked = f"MARK{text}"
    shown = ApprovalView(
        approval(order_id=marked, model_reason=marked, model=marked), (), marked, "", (marked,) * 3
    )
    for modal in (
        edit_modal(shown, "C1"),
        reject_modal(shown, "C1"),
        review_modal(shown, PEOPLE, "C1"),
        details_modal(shown, PEOPLE),
    ):
        assert check_view(modal, "modal") == []
        assert carrier(modal, "MARK") <= {"plain_text", "text"}
        assert not any(char in read(modal) for char in UNSEEN)


def test_a_modal_carries_what_it_shows() -> None:
    row = approval()
    named = {"v": 1, "id": row.id, "rev": 1, "h": row.payload_hash[:16], "channel": "C1"}
    for modal in (edit_modal(view(), "C1"), reject_modal(view(), "C1")):
        assert json.loads(modal["private_metadata"]) == named
        assert len(modal["private_metadata"]) < 3_000


def test_the_edit_form_starts_with_the_amount_and_says_what_is_left() -> None:
    modal = edit_modal(view(amount=usd("60.00"), original_amount=usd("80.00")), "C1")
    amount = next(b for b in modal["blocks"] if b.get("block_id") == "amount")
    assert amount["element"]["initial_value"] == "60.00"
    assert amount["label"]["text"] == "Amount in USD"
    assert "160.00 USD is left" in amount["hint"]["text"]
    assert "The agent proposed 80.00 USD" in amount["hint"]["text"]
