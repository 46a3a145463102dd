"""Every status of every tool: its words, its buttons, what can still be done, never a false one."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.ids import ActorId, ApprovalId
from agent.domain.payload import Payload
from agent.domain.risk import Finding, Reason
from agent.domain.roles import Role, Tier
from agent.tools.levels import Level, weigh
from bot.sandbox.block_limits import check_message
from bot.slack.blocks import weight
from bot.slack.cards import BUDGET, Card, approval_card, brief_card
from bot.slack.notices import thread_line
from bot.slack.states import can_edit, ended_words, look_in_history, phrase, subject
from tests.support.builders import (
    ANN,
    APPROVAL_ID,
    MIA,
    approval,
    email_approval,
    flag_approval,
    vote,
)
from tests.support.doubles import START
from tests.support.drawn import (
    HOSTILE,
    PEOPLE,
    assert_literal,
    buttons,
    flowing,
    mentioned,
    read,
    view_of,
)

LATER = START + timedelta(minutes=4)
NEW = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAW")
S = Status
Maker = Callable[..., Approval]
TOOLS: dict[str, Maker] = {
    "refund": approval,
    "e-mail": email_approval,
    "flag": flag_approval,
    "unheard of": lambda **changes: approval(tool="unheard_of", amount=None, **changes),
}
NOUNS = {"refund": "Refund", "e-mail": "E-mail", "flag": "Fraud flag", "unheard of": "Request"}
DONE = {"refund": "paid", "e-mail": "sent", "flag": "noted", "unheard of": "carried out"}
RESULTS: dict[str, Payload] = {
    "refund": {"refund_id": "rf_7", "provider_status": "succeeded"},
    "e-mail": {"message_id": "m@supportdesk", "reply": "250 queued as 4F1"},
    "flag": {"flag_id": "flg_1", "action": "hold"},
    "unheard of": {},
}
SETTLED: Payload = {
    "settled_by": "Mia",
    "evidence": "provider_record",
    "reference": "re_9",
    "note": "Seen in the dashboard.",
}
REVOKED: Payload = {"revoked_by": "Mia", "reason": "The parcel turned up."}
each_tool = pytest.mark.parametrize("tool", TOOLS)


def made(
    tool: str, status: Status, *votes: Any, stopped: bool = False, **changes: Any
) -> ApprovalView:
    return view_of(TOOLS[tool](status=status, **changes), *votes, stopped=stopped)


def draw(shown: ApprovalView, url: str | None = None) -> Card:
    return approval_card(shown, LATER, PEOPLE, replacement_url=url)


def said(shown: ApprovalView) -> str:
    return flowing(draw(shown).blocks)


def heading(card: Card) -> str:
    return str(card.blocks[0]["text"]["text"])


def endings(tool: str) -> dict[str, ApprovalView]:
    """Return a view of every way a request can stand."""
    done, ok = RESULTS[tool], vote()
    return {
        "pending": made(tool, S.PENDING),
        "approved": made(tool, S.APPROVED, ok, use_by=LATER + timedelta(minutes=9)),
        "executing": made(tool, S.EXECUTING, ok),
        "executed": made(tool, S.EXECUTED, ok, result=done),
        "automatic": made(tool, S.EXECUTED, automatic=True, findings=(), result=done),
        "failed": made(tool, S.FAILED, ok, result={"code": "no", "message": "Not today"}),
        "came back": made(tool, S.FAILED, ok, result={**done, "provider_status": "failed"}),
        "settled": made(tool, S.EXECUTED, ok, result=SETTLED, ended_at=LATER),
        "settled not": made(tool, S.FAILED, ok, result=SETTLED, ended_at=LATER),
        "unknown": made(tool, S.UNKNOWN, ok),
        "stale": made(tool, S.STALE, ok, result={"problem": "It is disputed."}),
        "stale again": made(tool, S.STALE, ok, result={"problem": "x"}, superseded_by=NEW),
        "rejected": made(tool, S.REJECTED, vote(verdict="reject", reason="Too late")),
        "expired": made(tool, S.EXPIRED),
        "expired again": made(tool, S.EXPIRED, superseded_by=NEW),
        "superseded": made(tool, S.SUPERSEDED, vote(verdict="edit"), superseded_by=NEW),
        "withdrawn": made(tool, S.CANCELLED, ended_at=LATER),
        "revoked": made(tool, S.CANCELLED, ok, result=REVOKED, ended_at=LATER),
    }


def test_every_status_is_drawn_here() -> None:
    assert {shown.approval.status for shown in endings("refund").values()} == set(Status)


@each_tool
@pytest.mark.parametrize("name", endings("refund"))
@pytest.mark.parametrize("stopped", [False, True])
def test_each_way_of_each_tool_draws_within_slacks_limits(
    tool: str, name: str, stopped: bool
) -> None:
    shown = replace(endings(tool)[name], stopped=stopped)
    classic = approval_card(shown, LATER, PEOPLE, classic=True)
    for card in (draw(shown), classic, brief_card(shown, LATER, PEOPLE)):
        assert check_message(card.blocks) == []
        assert weight(card.blocks) <= BUDGET
        assert NOUNS[tool] in heading(card)
        assert heading(card) in card.text


@each_tool
def test_only_money_is_paid(tool: str) -> None:
    for shown in endings(tool).values():
        card = draw(shown)
        after = [b for b in card.blocks if b["type"] != "table"][-2:]
        words = f"{heading(card)} {flowing(after)} {ended_words(shown)}"
        assert ("paid" in words or "money" in words) <= (tool == "refund"), words
        assert ("sent" in words) <= (tool == "e-mail"), words


@each_tool
def test_done_is_said_of_what_is_done_and_of_nothing_else(tool: str) -> None:
    done = f"Approved and {DONE[tool]}"
    named = {name for name, shown in endings(tool).items() if done in said(shown)}
    assert named == {"executed"}
    titles = {
        name for name, shown in endings(tool).items() if f" {DONE[tool]}" in heading(draw(shown))
    }
    undone = {"settled not", "stale", "stale again"}
    assert titles - undone == {"executed", "automatic", "settled"}
    assert all(f"not {DONE[tool]}" in heading(draw(endings(tool)[name])) for name in undone)


@each_tool
def test_what_ran_without_a_person_is_not_called_approved(tool: str) -> None:
    shown = endings(tool)["automatic"]
    assert f"Allowed by the policy and {DONE[tool]}" in said(shown)
    assert "pprov" not in ended_words(shown)


BUTTONS = {
    "approved": ["approval_revoke"],
    "unknown": ["approval_review"],
    "stale": ["approval_ask_again"],
    "expired": ["approval_ask_again"],
}


@each_tool
def test_the_buttons_are_those_that_can_still_do_something(tool: str) -> None:
    edit = ["approval_edit"] if tool in {"refund", "e-mail"} else []
    # Of an e-mail the customer's address is bound, and so it is not masked.
    hidden = [] if tool == "e-mail" else ["approval_reveal"]
    pending = [
        *hidden,
        "approval_approve",
        *edit,
        "approval_ask",
        "approval_reject",
        "approval_review",
    ]
    for name, shown in endings(tool).items():
        found = buttons(draw(shown).blocks)
        assert list(found) == (pending if name == "pending" else BUTTONS.get(name, [])), name
        named = {"v": 1, "id": APPROVAL_ID, "rev": 1, "h": shown.approval.payload_hash[:16]}
        assert all(json.loads(button["value"]) == named for button in found.values())
    assert can_edit(endings(tool)["pending"].approval) is bool(edit)


@each_tool
def test_a_brief_card_that_ended_still_shows_the_way_to_all_of_it(tool: str) -> None:
    for name, shown in endings(tool).items():
        found = list(buttons(brief_card(shown, LATER, PEOPLE).blocks))
        if name == "pending" or shown.approval.superseded_by is None:
            assert found[-1] == "approval_review", name
        else:
            assert found == []


def test_a_request_past_its_deadline_offers_nothing_until_it_has_expired() -> None:
    shown = endings("refund")["pending"]
    late = approval_card(shown, shown.approval.expires_at, PEOPLE)
    assert buttons(late.blocks) == {}
    assert "Expired" in flowing(late.blocks)


@pytest.mark.parametrize("name", ["stale again", "expired again", "superseded"])
def test_what_went_on_elsewhere_links_to_where(name: str) -> None:
    shown, url = endings("refund")[name], "https://shop.slack.com/archives/C1/p1"
    blind, linked = draw(shown), draw(shown, url)
    assert NEW in flowing(blind.blocks)
    assert ("asked again" in flowing(blind.blocks).lower()) is (name != "superseded")
    assert url in json.dumps(linked.blocks)
    assert check_message(linked.blocks) == []
    assert NEW in ended_words(shown)


# --- what came of it


def test_each_tool_tells_its_outcome_in_its_own_words() -> None:
    assert "rf_7" in said(endings("refund")["executed"])
    unfinished = made(
        "refund", S.EXECUTED, result={"refund_id": "rf_7", "provider_status": "pending"}
    )
    assert "has not finished" in said(unfinished)
    assert "250 queued as 4F1" in said(endings("e-mail")["executed"])
    flag = said(endings("flag")["executed"])
    assert "flg_1" in flag
    assert "until the hold is lifted" in flag
    assert "customer on hold" in heading(draw(endings("flag")["executed"]))
    assert "The mail server said: Not today (no). Nothing was sent." in said(
        endings("e-mail")["failed"]
    )
    assert "it may have left or not" in said(endings("e-mail")["unknown"])


def test_a_flag_that_only_watches_holds_nobody() -> None:
    payload = flag_approval().payload | {"action": "monitor", "score": "0.4"}
    shown = made("flag", S.EXECUTED, vote(), payload=payload, result={"flag_id": "flg_2"})
    assert "hold" not in heading(draw(shown))
    assert "nothing but an entry" in said(shown)


def test_money_that_came_back_is_never_told_as_paid_or_as_not_moved() -> None:
    shown = endings("refund")["came back"]
    card = draw(shown)
    assert heading(card) == "❌ Refund came back · 160.00 USD"
    assert "the customer does not have the money" in flowing(card.blocks)
    assert "No money moved" not in flowing(card.blocks)
    line = thread_line(shown, S.FAILED)
    assert "came back" in line.text


def test_what_a_person_settled_names_them_and_their_evidence() -> None:
    for name, words in (("settled", "Settled as paid"), ("settled not", "Settled as not paid")):
        shown = endings("refund")[name]
        told = said(shown)
        assert f"{words} by Mia" in told
        assert "Evidence: provider record, re_9. Seen in the dashboard." in told
        # Who approved it did not settle it.
        assert mentioned(draw(shown).blocks) == ["U07BOB"]
        assert "Approved by " in told
        assert f"{words} by Mia at 29 Nov 2026, 12:04 UTC" in ended_words(shown)
        assert "by Mia. Evidence" in thread_line(shown, shown.approval.status).text


def test_who_called_it_off_is_not_who_approved_it() -> None:
    shown = endings("e-mail")["revoked"]
    told = said(shown)
    assert "Called off by Mia" in told
    assert "The parcel turned up." in told
    assert "Approved by " in told
    assert heading(draw(shown)).startswith("↩️ E-mail called off")
    assert "Called off by Mia at 29 Nov 2026, 12:04 UTC: The parcel turned up." in ended_words(
        shown
    )
    line = thread_line(shown, S.CANCELLED)
    assert "called off by Mia" in line.text
    assert "The parcel turned up." in flowing(line.blocks)


def test_a_withdrawal_is_nobodys_vote() -> None:
    shown = made("refund", S.CANCELLED, vote(), tier=Tier(Role.REFUND_MANAGER, 2))
    told = said(shown)
    assert "Withdrawn" in told
    assert "Withdrawn by" not in told
    assert "Approved by " in told
    assert ended_words(shown) == "Withdrawn. Nothing was paid."
    assert (
        thread_line(shown, S.CANCELLED).text
        == "↩️ Refund of 160.00 USD: withdrawn. Nothing was paid."
    )


def test_stale_says_what_changed() -> None:
    assert "It is disputed. No money moved." in said(endings("refund")["stale"])
    unsaid = made("e-mail", S.STALE, result={})
    assert "Something changed in the meantime. Nothing was sent." in said(unsaid)


def test_a_late_reader_is_told_who_decided_what_and_when() -> None:
    assert ended_words(endings("refund")["executed"]) == (
        "Approved and paid by Bob at 29 Nov 2026, 12:00 UTC. The provider's id is rf_7."
    )
    assert ended_words(endings("refund")["expired again"]) == (
        "Expired at 29 Nov 2026, 12:30 UTC. Nobody decided in time; nothing was paid. It was asked "
        f"again: the new request is {NEW}."
    )
    assert "The new request is" in ended_words(endings("refund")["superseded"])


# --- the stop


@each_tool
@pytest.mark.parametrize("name", endings("refund"))
def test_the_banner_stands_on_what_the_stop_holds_up(tool: str, name: str) -> None:
    plain = endings(tool)[name]
    stopped = replace(plain, stopped=True)
    held = name in {"pending", "approved", "unknown"}
    words = "Everything is stopped: nothing runs until it is lifted."
    second = draw(stopped).blocks[1]
    assert (words in flowing(second)) is held
    assert (words in flowing(brief_card(stopped, LATER, PEOPLE).blocks[1])) is held
    assert ("Everything is stopped." in draw(stopped).text) is held
    assert "stopped" not in read(draw(plain).blocks)


@each_tool
def test_while_stopped_nothing_of_an_unknown_outcome_is_sent_again(tool: str) -> None:
    plain = endings(tool)["unknown"]
    stopped = replace(plain, stopped=True)
    held = "While everything is stopped, nothing is sent again."
    for told in (
        flowing(draw(stopped).blocks[-2]),
        thread_line(stopped, S.UNKNOWN).text,
        ended_words(stopped),
    ):
        assert held in told
    assert held not in flowing(draw(plain).blocks)
    banner = flowing(draw(stopped).blocks[1])
    assert ("but it is not sent again" in banner) is (tool in {"refund", "flag"})
    assert ("cannot be called back" in banner) is (tool not in {"refund", "flag"})


def test_while_stopped_people_can_vote_and_an_approval_grows_old() -> None:
    pending = draw(replace(endings("refund")["pending"], stopped=True))
    assert "approval_approve" in buttons(pending.blocks)
    assert "It can be decided all the same." in flowing(pending.blocks)
    approved = replace(endings("refund")["approved"], stopped=True)
    told = said(approved)
    assert "The approval is good until" in told
    assert "It waits until the stop is lifted." in told
    assert "on its way" not in told
    assert "waits until the stop" in thread_line(approved, S.APPROVED).text
    assert "waits until the stop" in ended_words(approved)


# --- breaking the glass


def test_a_broken_glass_is_marked_in_words_with_its_reason() -> None:
    alone = vote(by=MIA, name="Olu", break_glass=True, reason="No manager within reach")
    shown = made("refund", S.EXECUTED, alone, result=RESULTS["refund"])
    told = said(shown)
    assert "Olu broke the glass: No manager within reach" in told
    assert told.count("No manager within reach") == 1
    assert "(broke the glass: No manager within reach)" in ended_words(shown)
    line = thread_line(made("refund", S.APPROVED, alone), S.APPROVED)
    assert "approved by Olu (broke the glass)" in line.text
    assert "No manager within reach" in flowing(line.blocks)
    assert "broke" not in thread_line(shown, S.EXECUTED).text


def test_a_broken_glass_stays_marked_when_it_ended_otherwise() -> None:
    alone = vote(by=MIA, name="Olu", break_glass=True, reason="No manager within reach")
    shown = made("refund", S.CANCELLED, alone, result=REVOKED)
    assert "Olu broke the glass: No manager within reach" in said(shown)


# --- thread lines


@each_tool
def test_a_line_about_an_earlier_status_tells_nothing_of_a_later_one(tool: str) -> None:
    paid = endings(tool)["executed"]
    line = thread_line(paid, S.APPROVED)
    assert line.text.endswith("approved by Bob.")
    came_back = thread_line(endings(tool)["came back"], S.EXECUTED)
    assert DONE[tool] in came_back.text
    assert "came back" not in came_back.text
    later = thread_line(endings(tool)["settled"], S.UNKNOWN)
    assert "Mia" not in later.text
    for note in (line, came_back, later):
        assert check_message(note.blocks) == []
        assert phrase(paid.approval) in note.text


def test_a_rejection_is_told_with_its_reason() -> None:
    line = thread_line(endings("flag")["rejected"], S.REJECTED)
    assert line.text == "🚫 Fraud flag, score 0.85: rejected by Bob. Nothing was noted."
    assert "Too late" in flowing(line.blocks)


# --- headlines and levels


def test_each_tool_has_its_headline() -> None:
    assert heading(draw(endings("refund")["pending"])) == "Refund needs approval · 160.00 USD"
    assert heading(draw(endings("flag")["pending"])) == "Fraud flag needs approval · score 0.85"
    assert heading(draw(endings("e-mail")["pending"])) == (
        "E-mail needs approval · Order ORD-1001 is late"
    )
    assert heading(draw(endings("unheard of")["pending"])) == (
        "Request needs approval · unheard_of"
    )


def test_a_long_subject_leaves_a_headline_of_one_line() -> None:
    payload = email_approval().payload | {"subject": "Über\n" * 40}
    title = heading(draw(made("e-mail", S.UNKNOWN, vote(), payload=payload)))
    assert len(title) <= 150
    assert "\n" not in title
    assert title.endswith("…")


def test_a_payload_of_another_shape_is_a_request_without_a_name() -> None:
    odd = email_approval(payload={"to": "everybody"})
    assert phrase(odd) == "E-mail"
    assert not can_edit(odd)
    assert "everybody" in flowing(draw(view_of(odd)).blocks)
    bare = approval(amount=None)
    assert subject(bare) == "Request"


@pytest.mark.parametrize(
    ("row", "level", "fact"),
    [
        (approval(), Level.HIGH, "cannot be undone"),
        (email_approval(), Level.MEDIUM, "cannot be undone"),
        (flag_approval(), Level.HIGH, "action hold"),
        (
            flag_approval(payload=flag_approval().payload | {"action": "monitor"}),
            Level.LOW,
            "action monitor",
        ),
        (approval(tool="unheard_of", amount=None), Level.HIGH, "does not know this tool"),
    ],
)
def test_the_level_comes_from_what_the_tool_is_declared_to_do(
    row: Approval, level: Level, fact: str
) -> None:
    assert weigh(row).level is level
    card = draw(view_of(row))
    told = flowing(card.blocks)
    assert f"Level {level} · " in told
    assert fact in told
    assert f"Level {level}" in card.text
    assert row.findings[0].code in told


def test_a_status_of_the_history_has_a_word_whatever_it_was_of() -> None:
    assert [look_in_history(status.value).title for status in Status] == [
        "needs approval",
        "approved",
        "approved",
        "carried out",
        "failed",
        "being checked",
        "not carried out",
        "rejected",
        "expired",
        "replaced",
        "withdrawn",
    ]
    assert look_in_history("od\u202ed").title == r"od\u202ed"


# --- hostile text


@pytest.mark.parametrize("text", HOSTILE)
def test_names_reasons_and_answers_are_literal_in_every_end(text: str) -> None:
    mark = f"MARK{text}"
    glass = vote(by=ActorId("act_x"), name=mark, break_glass=True, reason=mark)
    shown = [
        made("refund", S.EXECUTED, glass, result={"refund_id": mark}),
        made("refund", S.FAILED, glass, result={"code": mark, "message": mark}),
        made("refund", S.FAILED, result={"refund_id": mark, "provider_status": "failed"}),
        made("e-mail", S.EXECUTED, result={"reply": mark}),
        made("flag", S.EXECUTED, result={"flag_id": mark}),
        made("refund", S.STALE, result={"problem": mark}),
        made("refund", S.CANCELLED, glass, result={"revoked_by": mark, "reason": mark}),
        made(
            "refund",
            S.EXECUTED,
            result={"settled_by": mark, "evidence": mark, "reference": mark, "note": mark},
        ),
        made("unheard of", S.PENDING, findings=(Finding(Reason.AMBIGUOUS, mark),)),
    ]
    for view in shown:
        for card in (draw(view), brief_card(view, LATER, PEOPLE)):
            assert check_message(card.blocks) == []
            assert_literal(card.blocks, "MARK")
            assert "<!" not in card.text
        note = thread_line(view, view.approval.status)
        assert check_message(note.blocks) == []
        assert "<!" not in note.text


def test_people_are_named_by_their_account_where_it_is_known() -> None:
    known = made("refund", S.EXECUTED, vote(), vote(by=ANN, name="Ann"), result={})
    assert mentioned(draw(known).blocks) == ["U07BOB", "U07ANN"]
    stranger = made("refund", S.EXECUTED, vote(by=MIA, name="Mia"), result={})
    assert "Mia" in said(stranger)
