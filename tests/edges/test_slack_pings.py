"""Reminders, pings and digests as people in Slack read them, and their buttons by real clicks."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.decision import Decision, Edits
from agent.domain.policy import read_policy
from agent.domain.roles import Channel
from agent.steps.decide import decide
from agent.steps.digest import daily_digest
from agent.steps.sweep import sweep
from bot.sandbox.cast import ANA, MIA, OLU
from storage.transaction import Store
from tests.support.builders import policy_document, usd
from tests.support.outside import button_value
from tests.support.slack_looks import action_ids, shown
from tests.support.slack_sandbox import APPROVALS, ONCALL
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

HOSTILE = "<!channel> *urgent* `x` \u202egnp.exe"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        told.model.otherwise = " "
        yield told


def at(story: SlackStory, row: Approval, minutes: float) -> None:
    """Let so much of a row's time pass, and sweep; roles are read again as their job would."""
    story.clock.at = row.created_at + timedelta(minutes=minutes)
    story.syncs()
    story.sweeps()


def broadcast(story: SlackStory) -> list[dict[str, Any]]:
    """Return the lines of threads that the whole approvals channel sees, oldest first."""
    return [m for m in story.posted(APPROVALS) if m["thread_ts"] and m["reply_broadcast"]]


def groups(message: dict[str, Any]) -> list[str]:
    """Return the user groups that a message names."""
    rows = [b for b in message["blocks"] if b["type"] == "rich_text"]
    parts = [e for row in rows for part in row["elements"] for e in part["elements"]]
    return [e["usergroup_id"] for e in parts if e["type"] == "usergroup"]


def test_a_reminder_names_the_group_in_the_thread_and_in_the_channel(story: SlackStory) -> None:
    row = story.parks()
    at(story, row, 14.9)
    assert broadcast(story) == []
    at(story, row, 15)
    (reminder,) = broadcast(story)
    assert reminder["thread_ts"] == story.card(row)["ts"]
    assert groups(reminder) == ["S07APPROVERS"]
    assert "Refund of 160.00 USD on order ORD-1001" in reminder["text"]
    assert "one refund approver" in shown(reminder)
    assert "Nobody has voted yet." in shown(reminder)
    assert str(int(row.expires_at.timestamp())) in shown(reminder)
    assert action_ids(reminder) == ["approval_take_over"]
    # It says how it ended as soon as it has, and has no button any more.
    story.clicks("ana", row, "approval_approve")
    (reminder,) = broadcast(story)
    assert f"Approved and paid by {ANA.name}" in plain(reminder)
    assert (action_ids(reminder), groups(reminder)) == ([], [])


def test_on_call_is_told_in_their_channel_and_acknowledges_once(story: SlackStory) -> None:
    row = story.parks("2340.00", "ORD-1004")
    story.clicks("mia", row, "approval_approve")
    at(story, row, 24)
    (ping,) = story.posted(ONCALL)
    assert groups(ping) == ["S07ONCALL"]
    assert "2,340.00 USD on order ORD-1004" in ping["text"]
    assert f"1 of 2 approvals: {MIA.name}" in shown(ping)
    assert "/archives/" in shown(ping)
    assert action_ids(ping) == ["ping_acknowledge", "approval_take_over"]
    assert "People on call were told" in story.replies(row)[-1]
    story.presses("gus", ping, "ping_acknowledge")
    assert story.whispers("gus", ONCALL) == ["The desk does not know you."]
    story.presses("olu", ping, "ping_acknowledge")
    (seen,) = story.posted(ONCALL)
    assert f"Acknowledged by {OLU.name}" in plain(seen)
    assert action_ids(seen) == ["approval_take_over"]
    # Whoever clicks an old picture is told who was first.
    story.presses("ana", seen, "ping_acknowledge", button_value(ping, "ping_acknowledge"))
    assert story.whispers("ana", ONCALL)[-1] == f"{OLU.name} has acknowledged it already."
    assert story.approval(row.id).status is Status.PENDING


def plain(message: dict[str, Any]) -> str:
    """Return all literal text of a message's rich texts in a row."""
    rows = [b for b in message["blocks"] if b["type"] == "rich_text"]
    parts = [e for row in rows for part in row["elements"] for e in part["elements"]]
    return "".join(str(e.get("text", "")) for e in parts)


def test_who_looks_into_it_stands_on_the_card_and_on_every_ping(story: SlackStory) -> None:
    row = story.parks()
    at(story, row, 15)
    at(story, row, 24)
    (reminder,), (ping,) = broadcast(story), story.posted(ONCALL)
    story.presses("olu", ping, "approval_take_over")
    for message in (story.card(row), *broadcast(story), *story.posted(ONCALL)):
        assert f"{OLU.name} looks into it since" in plain(message)
    assert story.whispers("olu", ONCALL)[-1].startswith("Everybody can see")
    # It is no right of theirs alone.
    story.presses("ana", reminder, "approval_take_over")
    assert f"{ANA.name} looks into it since" in plain(story.card(row))
    story.clicks("mia", row, "approval_approve")
    assert story.approval(row.id).status is not Status.PENDING
    assert "looks into it" not in plain(story.card(row))
    old = button_value(reminder, "approval_take_over")
    story.presses("ana", reminder, "approval_take_over", old)
    assert "does not wait any more" in story.whispers("ana")[-1]


def test_the_senior_group_is_told_of_the_new_deadline(story: SlackStory) -> None:
    row = story.parks("2340.00", "ORD-1004")
    at(story, row, 24)
    at(story, row, 30)
    more = story.approval(row.id)
    senior = broadcast(story)[-1]
    assert groups(senior) == ["S07MANAGERS"]
    assert "Nobody decided in time." in shown(senior)
    assert action_ids(senior) == ["ping_acknowledge", "approval_take_over"]
    deadline = str(int(more.expires_at.timestamp()))
    for message in (senior, story.card(row), *story.posted(ONCALL)):
        assert deadline in shown(message)
    assert "approval_approve" in action_ids(story.card(row))
    at(story, row, 60)
    for message in (*broadcast(story), *story.posted(ONCALL)):
        assert "Expired" in shown(message)
        assert action_ids(message) == []


def test_where_a_group_is_not_known_it_is_named_in_words(story: SlackStory) -> None:
    row = story.parks()
    story.happens("UPDATE rosters SET group_id = 'no id of Slack'")
    story.clock.at = row.created_at + timedelta(minutes=15)
    sweep(story.desk)
    story.happens("DELETE FROM rosters WHERE role = 'oncall'")
    story.clock.at = row.created_at + timedelta(minutes=24)
    sweep(story.desk)
    story.delivers()
    (reminder,), (ping,) = broadcast(story), story.posted(ONCALL)
    assert "@refund-approvers" in plain(reminder)
    assert "people on call" in plain(ping)
    assert groups(reminder) == groups(ping) == []


def test_a_queue_that_is_long_is_one_message(story: SlackStory) -> None:
    document = policy_document()
    document["escalation"]["digest_over"] = 1
    few = story.under(read_policy(document))
    story.parks()
    subject = f"{HOSTILE} about your order"
    call = story.email_call(subject=subject, body="Hello.", order_id="ORD-1001")
    story.proposes(story.opens_chat("cus_clara"), call)
    mail = story.newest("send_email")
    story.clock.at = mail.created_at + timedelta(minutes=15)
    few.sweeps()
    assert broadcast(story) == []
    digest = story.posted(APPROVALS)[-1]
    assert "2 requests wait" in digest["text"]
    assert groups(digest) == ["S07APPROVERS"]
    assert "Home tab" in shown(digest)
    assert "<!channel> *urgent* `x` \\\\u202egnp.exe" in shown(digest)
    story.clock.at = mail.created_at + timedelta(minutes=24)
    few.sweeps()
    (oncall,) = story.posted(ONCALL)
    assert groups(oncall) == ["S07ONCALL"]


def test_the_day_is_told_in_the_approvals_channel(story: SlackStory) -> None:
    # Far from the time at which days end, whenever this is run.
    tomorrow = story.clock.at.date() + timedelta(days=1)
    story.clock.at = datetime.combine(tomorrow, time(12), UTC)
    daily_digest(story.desk)
    row = story.parks()
    mia = story.hire("boss", *story.desk.policy.roles)
    edit = Decision(
        row.id,
        mia,
        Verdict.EDIT,
        row.payload_hash,
        Channel.API,
        reason=HOSTILE,
        edits=Edits(amount=usd("150.00")),
    )
    decide(story.desk, edit)
    story.rests()
    lost = story.parks("60.00", "ORD-1005")
    at(story, lost, 15)
    at(story, lost, 30)
    story.clock.advance(days=1)
    daily_digest(story.desk)
    story.delivers()
    told = story.posted(APPROVALS)[-1]
    assert "The last day at the desk" in told["text"]
    words = plain(told)
    assert "Refund 1 carried out · 1 edited" in words
    assert "Not decided in time 1. Nobody has denied these." in words
    assert "Approved by Boss 1" in words
    assert "once: " in shown(told)
    assert "<!channel> *urgent* `x` \\\\u202egnp.exe" in shown(told)
    assert "Waiting now 0" in words
