"""The messages of alerts: what they say open, looked into and over, and what can be clicked."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.ids import ApprovalId
from agent.domain.payload import Json, Payload
from bot.sandbox.block_limits import check_message
from bot.slack.alerts import alert_line, alert_note
from bot.slack.blocks import weight
from bot.slack.cards import BUDGET
from bot.slack.notices import Note
from bot.slack.targets import (
    read_alert_target,
    read_breaker_target,
    read_stop_target,
    read_target,
)
from tests.support.builders import APPROVAL_ID, approval, email_approval, vote
from tests.support.doubles import START
from tests.support.drawn import HOSTILE, UNSEEN, assert_literal, buttons, flowing, read, view_of

K, S = AlertKind, Status
RAN: Payload = {
    "minor": 2000,
    "currency": "USD",
    "order_id": "ORD-1",
    "conversation_id": "cnv_1",
    "at": "2026-11-29T11:59:40+00:00",
}
OPENED: Payload = {
    "text": "Automatic refunds are paused: too many automatic refunds.",
    "refunds": [RAN],
    "max": 5,
    "window_s": 60,
    "retry_at": "2026-11-29T12:01:00Z",
    "generation": 3,
    "why": "the trial did not succeed",
    "failed_trials": 0,
}
STOPPED: Payload = {"text": "Olu stopped everything.", "reason": "It pays twice."}
UNKNOWN: Payload = {"text": "Refund of 160.00 USD on order ORD-1001 is still unknown."}
SILENT: Payload = {
    "text": "The job sweep of the replica srv-1 does not get its work done.",
    "since": "2026-11-29T11:59:00+00:00",
    "problem": "OperationalError: the disk is full",
}
STUCK: Payload = {
    "text": "Messages do not get through to Slack.",
    "problems": [{"kind": "card", "problem": "not_in_channel"}, {"kind": "new", "problem": ""}],
}


def alert(
    kind: AlertKind = K.SLACK_TROUBLE, body: Payload | None = None, **changes: object
) -> Alert:
    said: Payload = {"text": "The bot was removed."} if body is None else body
    made = Alert("s:1", kind, None, said, START)
    return replace(made, **changes)  # type: ignore[arg-type]


def seen(one: Alert) -> Alert:
    return replace(one, acknowledged_by="Olu", acknowledged_at=START + timedelta(minutes=1))


def over(one: Alert, words: str = "It is well again.") -> Alert:
    return replace(one, ended_at=START + timedelta(minutes=9), ended=words)


def drawn(one: Alert, view: ApprovalView | None = None) -> Note:
    """Draw an alert within Slack's limits."""
    return checked(alert_note(one, view))


def checked(note: Note) -> Note:
    assert check_message(note.blocks) == []
    assert weight(note.blocks) <= BUDGET
    assert 0 < len(note.text.encode()) <= 3_800
    return note


def heading(note: Note) -> str:
    return str(note.blocks[0]["text"]["text"])


@pytest.mark.parametrize("kind", AlertKind)
def test_every_kind_is_drawn_open_then_looked_into_then_over(kind: AlertKind) -> None:
    opened = alert(kind)
    note = drawn(opened)
    assert "The bot was removed." in flowing(note.blocks)
    target = read_alert_target(buttons(note.blocks)["alert_acknowledge"]["value"])
    assert target is not None
    assert target.subject == "s:1"
    watched = drawn(seen(opened))
    assert "alert_acknowledge" not in buttons(watched.blocks)
    assert "by Olu" in flowing(watched.blocks)
    gone = drawn(over(seen(opened)))
    assert buttons(gone.blocks) == {}
    assert heading(gone).startswith("✅ ")
    assert not heading(note).startswith("✅ ")
    assert "The bot was removed." in read(gone.blocks)
    assert {note.text[:1], gone.text[:1]} == {heading(note)[:1], "✅"}
    rows = [block["block_id"] for n in (note, watched) for block in n.blocks if "block_id" in block]
    assert len(set(rows)) == len(rows)


def test_how_it_ended_is_said_and_what_was_only_seen_is_said_once() -> None:
    assert "It is well again." in flowing(drawn(over(alert())).blocks)
    once = flowing(drawn(over(seen(alert(K.BREAK_GLASS)), "Seen by Olu.")).blocks)
    assert once.count("Seen by Olu") == 1


def test_a_line_in_the_thread_alarms_or_gives_the_all_clear() -> None:
    bad, good = alert_line(alert(), "It is worse."), alert_line(over(alert()), "It is well.")
    assert (checked(bad).text, checked(good).text) == ("🚨 It is worse.", "✅ It is well.")


def test_the_alert_of_a_stop_says_who_and_why_and_how_to_go_on() -> None:
    note = drawn(alert(K.STOP_THROWN, STOPPED))
    assert heading(note) == "🛑 Everything is stopped"
    said = flowing(note.blocks)
    assert "Olu stopped everything." in said
    assert "It pays twice." in said
    assert "A refund manager lifts the stop." in said
    assert note.text.endswith("Olu stopped everything. It pays twice.")
    found = buttons(note.blocks)
    assert list(found) == ["alert_acknowledge", "desk_lift"]
    assert read_stop_target(found["desk_lift"]["value"]) is not None
    lifted = flowing(drawn(over(alert(K.STOP_THROWN, STOPPED))).blocks)
    assert "lifts the stop" not in lifted


def test_the_breakers_alert_lists_what_ran_and_what_can_be_done() -> None:
    rows: list[Json] = [RAN] * 30
    note = drawn(alert(K.BREAKER_OPENED, {**OPENED, "refunds": rows}))
    said = flowing(note.blocks)
    assert said.count("20.00 USD") == 25
    assert "on ORD-1 at 11:59:40 UTC" in said
    assert "… and 5 more" in said
    assert "The limit is 5 in 60 seconds." in said
    assert '"timestamp": 1795953660' in json.dumps(note.blocks)
    found = buttons(note.blocks)
    assert list(found) == ["alert_acknowledge", "breaker_reset", "desk_stop"]
    assert "as a trial" in said
    assert found["breaker_reset"]["confirm"]["confirm"]["text"] == "Go on"
    named = read_breaker_target(found["breaker_reset"]["value"])
    assert named is not None
    assert named.generation == 3
    closed = flowing(drawn(over(alert(K.BREAKER_OPENED, OPENED))).blocks)
    assert "as a trial" not in closed
    assert "20.00 USD" in closed


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        (0, None),
        (1, "One trial has failed: the trial did not succeed."),
        (3, "3 trials have failed: the trial did not succeed."),
    ],
)
def test_the_breakers_alert_counts_the_trials_that_failed(failed: int, said: str | None) -> None:
    body: Payload = {**OPENED, "failed_trials": failed, "refunds": [], "retry_at": None}
    shown = flowing(drawn(alert(K.BREAKER_OPENED, body)).blocks)
    assert (said in shown) if said else ("failed" not in shown)


def unknown(row: Approval, *, stopped: bool = False) -> Note:
    return drawn(alert(K.UNKNOWN_OUTCOME, UNKNOWN), view_of(row, vote(), stopped=stopped))


def test_an_unknown_outcome_can_be_settled_and_says_from_when() -> None:
    row = approval(status=S.UNKNOWN, attempts=3, clean_looks=1, first_sent_at=START)
    note = unknown(row)
    assert "is still unknown" in flowing(note.blocks)
    assert "after 2 looks in vain (1 so far)" in flowing(note.blocks)
    until = int((START + timedelta(hours=23)).timestamp())
    assert f'"timestamp": {until}' in json.dumps(note.blocks)
    found = buttons(note.blocks)
    assert list(found) == ["alert_acknowledge", "approval_settle", "approval_review"]
    for name in ("approval_settle", "approval_review"):
        target = read_target(found[name]["value"])
        assert target is not None
        assert (target.id, target.h) == (APPROVAL_ID, row.short_hash())
    # While it is being sent once more there is nothing to settle.
    resent = unknown(replace(row, status=S.EXECUTING))
    assert "approval_settle" not in buttons(resent.blocks)
    past = drawn(over(alert(K.UNKNOWN_OUTCOME, UNKNOWN)), view_of(row))
    assert "looks in vain" not in flowing(past.blocks)


def test_an_unknown_outcome_says_what_holds_it_up() -> None:
    row = approval(status=S.UNKNOWN, attempts=3, first_sent_at=START)
    held = "The desk keeps asking. While everything is stopped, nothing is sent again."
    assert held in flowing(unknown(row, stopped=True).blocks)
    assert held not in flowing(unknown(row).blocks)
    never_sent = json.dumps(unknown(approval(status=S.UNKNOWN)).blocks)
    assert '"type": "date"' not in never_sent
    mail = email_approval(status=S.UNKNOWN, attempts=1, first_sent_at=START)
    assert "cannot ask what became of it" in flowing(unknown(mail).blocks)


def test_what_is_silent_or_stuck_says_since_when_and_why() -> None:
    silent = flowing(drawn(alert(K.STALE_HEARTBEAT, SILENT)).blocks)
    assert "The last sign of life was at" in silent
    assert "the disk is full" in silent
    stuck = flowing(drawn(alert(K.DELIVERIES_STUCK, STUCK)).blocks)
    assert "The card of a request: not_in_channel" in stuck
    assert "new: no answer" in stuck


def test_an_alert_about_a_request_leads_to_it() -> None:
    row = approval(status=S.APPROVED)
    note = drawn(alert(K.BREAK_GLASS, approval_id=row.id), view_of(row))
    assert list(buttons(note.blocks)) == ["alert_acknowledge", "approval_review"]
    assert row.id in read(note.blocks)
    damaged = drawn(alert(K.CORRUPT_ROW, {"text": "It is damaged.", "approval_id": row.id}))
    assert row.id in read(damaged.blocks)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_alert_takes_hostile_text_literally(text: str) -> None:
    mark = f"MARK{text}"
    broken = {**OPENED, "why": mark, "failed_trials": 1, "text": mark}
    broken["refunds"] = [{**RAN, "order_id": mark, "conversation_id": mark}]
    row = approval(status=S.UNKNOWN, order_id=mark)
    about: list[tuple[Alert, ApprovalView | None]] = [
        (alert(body={"text": mark, "reason": mark}), None),
        (alert(K.BREAKER_OPENED, broken), None),
        (alert(K.UNKNOWN_OUTCOME, {"text": mark}), view_of(row, name=mark)),
        (alert(K.STALE_HEARTBEAT, {"text": mark, "problem": mark}), None),
        (alert(K.DELIVERIES_STUCK, {"problems": [{"kind": mark, "problem": mark}]}), None),
        (alert(K.CORRUPT_ROW, {"text": mark, "approval_id": mark}), None),
        (over(replace(seen(alert()), acknowledged_by=mark), mark), None),
        (alert(approval_id=ApprovalId(mark)), None),
    ]
    for note in [*(drawn(one, view) for one, view in about), checked(alert_line(alert(), mark))]:
        assert_literal(note.blocks, "MARK")
        assert "<!" not in note.text
        assert not any(char in note.text for char in UNSEEN)
