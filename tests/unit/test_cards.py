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
from bot.slack.blocks import weight
from bot.slack.cards import BUDGET, Card, approval_card, brief_card
from bot.slack.edits import edit_modal
from bot.slack.modals import reject_modal
from bot.slack.parts import masked
from bot.slack.states import progress_words
from bot.slack.text import visible
from tests.support.builders import ANN, APPROVAL_ID, MIA, approval, refund_payload, usd, vote
from tests.support.doubles import START
from tests.support.drawn import (
    HOSTILE,
    PEOPLE,
    UNSEEN,
    assert_literal,
    buttons,
    flowing,
    mentioned,
    objects,
    read,
    request_pages,
    styled,
    texts,
)
from tests.support.drawn import refund_view as view

LATER = START + timedelta(minutes=4)
NEW = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAW")


def draw(shown: ApprovalView, **options: Any) -> Card:
    return approval_card(shown, LATER, PEOPLE, **options)


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


# What is left to do where nobody can decide any more.
STILL = {
    "approved": ["approval_revoke"],
    "unknown": ["approval_review"],
    "stale": ["approval_ask_again"],
    "expired": ["approval_ask_again"],
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
        "After",
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
    found = buttons(draw(view()).blocks)
    assert list(found) == [
        "approval_reveal",
        "approval_approve",
        "approval_edit",
        "approval_ask",
        "approval_reject",
        "approval_review",
    ]
    shown = approval()
    named = {"v": 1, "id": shown.id, "rev": 1, "h": shown.payload_hash[:16]}
    assert [json.loads(button["value"]) for button in found.values()] == [named] * 6
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
    assert mentioned(card.blocks) == ["U07BOB"]
    assert "approval_approve" in buttons(card.blocks)


TWO = Tier(Role.REFUND_MANAGER, 2)
APPROVER = frozenset({Role.REFUND_APPROVER})
MANAGER = APPROVER | {Role.REFUND_MANAGER}


def test_enough_people_without_the_role_are_told_who_is_missing() -> None:
    first, second = vote(ANN, "Ann", roles=APPROVER), vote(roles=APPROVER)
    third = vote(ActorId("act_cem"), "Cem", roles=APPROVER)
    for votes in ((first, second), (first, second, third)):
        card = draw(view(*votes, tier=TWO))
        said = read(card.blocks)
        assert "2 of 2, a refund manager is missing" in said
        assert "2 of 2 approvals, a refund manager is missing" in said
        assert "2 of 2 approvals, a refund manager is missing." in card.text
        assert "3 of 2" not in said
    lapsed = read(draw(view(first, second, tier=TWO, status=Status.EXPIRED)).blocks)
    assert "2 of 2 had approved, a refund manager was missing: " in lapsed


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ((vote(roles=APPROVER),), "1 of 2"),
        # One person's two accounts.
        ((vote(roles=APPROVER), vote(roles=MANAGER)), "1 of 2"),
        ((vote(ANN, roles=MANAGER), vote(roles=APPROVER)), "2 of 2"),
        ((vote(ANN, roles=MANAGER), vote(roles=APPROVER), vote(MIA, roles=MANAGER)), "2 of 2"),
        ((vote(ANN, roles=APPROVER), vote(verdict="reject", roles=MANAGER)), "1 of 2"),
    ],
)
def test_progress_never_counts_more_than_is_needed(votes: tuple[Vote, ...], words: str) -> None:
    assert progress_words(view(*votes, tier=TWO)) == words


@pytest.mark.parametrize("status", [Status.APPROVED, Status.EXECUTED])
def test_what_people_have_approved_misses_nobody(status: Status) -> None:
    alone = vote(break_glass=True, roles=frozenset({Role.ONCALL}))
    assert progress_words(view(alone, tier=Tier(Role.REFUND_APPROVER), status=status)) == "1 of 1"


def test_the_level_stands_apart_from_why_it_waits() -> None:
    (row,) = [b for b in draw(view()).blocks if "Why it waits" in read(b)]
    assert "\nWhy it waits" in flowing(row)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.PENDING, "⏳ Decide by <"),
        (Status.EXPIRED, "Deadline was <"),
        (Status.REJECTED, "Deadline <"),
        (Status.EXECUTED, "Deadline <"),
    ],
)
def test_only_a_deadline_that_has_passed_is_told_as_past(status: Status, words: str) -> None:
    said = read(draw(view(vote(), status=status)).blocks)
    assert words in said
    assert ("Deadline was" in said) is (status is Status.EXPIRED)


@pytest.mark.parametrize("name", ENDED)
def test_an_ended_card_keeps_the_request_and_says_who_and_what_instead_of_deciding(
    name: str,
) -> None:
    shown, verdict = ENDED[name]
    card, pending = draw(shown), draw(view())
    assert list(buttons(card.blocks)) == STILL.get(name, [])
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
        assert mentioned(card.blocks) == ["U07BOB"]


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
    assert buttons(late.blocks) == {}
    assert "Expired" in read(late.blocks)
    assert "approval_approve" in buttons(early.blocks)


def test_an_edit_shows_the_change_first() -> None:
    card = draw(
        view(
            amount=usd("120.00"),
            original=refund_payload(usd("160.00")),
            supersedes=APPROVAL_ID,
            edited_by=(ANN,),
            revision=2,
            findings=(Finding(Reason.HUMAN_EDIT, "Ann changed the amount"),),
        )
    )
    first = card.blocks[1]
    assert styled(first, "strike") == ["160.00 USD"]
    assert "120.00 USD" in read(first)
    assert mentioned(first) == ["U07ANN"]


def test_the_money_is_shown_before_and_after() -> None:
    table = next(b for b in draw(view(amount=usd("60.00"))).blocks if b["type"] == "table")
    assert [[cell["text"] for cell in row] for row in table["rows"]] == [
        ["USD", "Before", "After"],
        ["Order total", "160.00", "160.00"],
        ["Refunded so far", "0.00", "60.00"],
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
        assert_literal(card.blocks, "MARK")
        assert check_message(card.blocks) == []
        assert not any(char in card.text for char in UNSEEN)
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
    assert ("approval_approve" in buttons(card.blocks)) is card.complete
    whole = card.blocks if card.complete else request_pages(shown)
    said = read(whole) + "".join(texts(whole, "text"))
    for value in bound(row):
        assert visible(json.dumps(value, ensure_ascii=False)) in said
    for text in (*words, reason):
        for line in visible(masked(shown, text), lines=True).split("\n"):
            assert line in said


@pytest.mark.parametrize(
    ("filling", "size"), [("x", 1), ("&", 1), ("\u202e", 3), ("日", 3), ('"', 2)]
)
def test_a_payload_too_long_for_a_card_leaves_only_review(filling: str, size: int) -> None:
    shown = view(payload={"memo": filling * (32_000 // size)}, words=("w" * 4_000,) * 3)
    card = draw(shown)
    assert not card.complete
    assert list(buttons(card.blocks)) == ["approval_reveal", "approval_review"]
    assert weight(card.blocks) <= BUDGET
    assert check_message(card.blocks) == []
    pages = request_pages(shown)
    assert [check_view(page, "modal") for page in pages] == [[]] * len(pages)
    joined = "".join(texts([page["blocks"] for page in pages], "text"))
    assert visible(json.dumps(shown.approval.payload["memo"], ensure_ascii=False)) in joined
    # Who approves has turned every page.
    assert ["submit" in page for page in pages] == [False] * (len(pages) - 1) + [True]
    assert pages[-1]["submit"]["text"] == "Approve 160.00 USD"


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
        *request_pages(shown),
        *request_pages(shown, waiting=False),
    ):
        assert check_view(modal, "modal") == []
        assert_literal(modal, "MARK")


def test_a_modal_carries_what_it_shows() -> None:
    row = approval()
    named = {"v": 1, "id": row.id, "rev": 1, "h": row.payload_hash[:16], "channel": "C1"}
    for modal in (edit_modal(view(), "C1"), reject_modal(view(), "C1")):
        assert json.loads(modal["private_metadata"]) == named
        assert len(modal["private_metadata"]) < 3_000


def test_the_edit_form_starts_with_the_amount_and_says_what_is_left() -> None:
    modal = edit_modal(view(amount=usd("60.00"), original=refund_payload(usd("80.00"))), "C1")
    amount = next(b for b in modal["blocks"] if b.get("block_id") == "amount")
    assert amount["element"]["initial_value"] == "60.00"
    assert amount["label"]["text"] == "Amount in USD"
    assert "160.00 USD is left" in amount["hint"]["text"]
    assert "The agent proposed 80.00 USD" in amount["hint"]["text"]
