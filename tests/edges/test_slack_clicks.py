"""Approve, Edit, Reject and Review by real signed clicks, against the real stand-in."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import text

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from bot.sandbox.cast import ANA, MIA, PEOPLE
from bot.sandbox.slack_delivery import FORM
from bot.slack.names import Action
from storage.transaction import Store
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def shown(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def action_ids(message: dict[str, Any]) -> list[str]:
    rows = [block for block in message["blocks"] if block["type"] == "actions"]
    return [element["action_id"] for row in rows for element in row["elements"]]


def test_a_parked_refund_is_a_card_with_its_outbox_row_named(story: SlackStory) -> None:
    approval = story.parks()
    card = story.card(approval)
    assert action_ids(card) == [
        "approval_approve",
        "approval_edit",
        "approval_ask",
        "approval_reject",
        "approval_review",
    ]
    assert card["metadata"]["event_type"] == "supportdesk"
    assert card["metadata"]["event_payload"]["approval_id"] == approval.id
    assert card["metadata"]["event_payload"]["outbox_id"].startswith("out_")
    assert approval.short_hash() in shown(card)


def test_approve_pays_once_and_the_card_says_who(story: SlackStory) -> None:
    approval = story.parks()
    story.model.says("It is paid.")
    answer = story.clicks("ana", approval, "approval_approve")
    assert (answer["status"], answer["body"]) == (200, "")
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]
    card = story.card(approval)
    assert action_ids(card) == []
    assert "Approved and paid" in shown(card)
    assert ANA.slack_user_id in shown(card)
    assert "✅" in card["text"]
    approved, paid = story.replies(approval)
    assert f"approved by {ANA.name}" in approved
    assert "approved and paid" in paid


def test_a_second_click_is_told_who_was_first(story: SlackStory) -> None:
    approval = story.parks()
    old = story.card(approval)
    story.model.says("It is paid.")
    value = next(b for b in old["blocks"] if b["type"] == "actions")["elements"][0]["value"]
    story.clicks("ana", approval, "approval_approve", value)
    answer = story.clicks("ben", approval, "approval_approve", value)
    assert answer["status"] == 200
    (told,) = story.whispers("ben")
    assert f"Already approved by {ANA.name}" in told
    assert len(story.paid()) == 1


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ("sam", "needs the role refund_approver"),
        ("gus", "does not know you"),
        ("olu", "needs the role refund_approver"),
    ],
)
def test_who_may_not_decide_is_told_so_and_nothing_moves(
    story: SlackStory, user: str, told: str
) -> None:
    approval = story.parks()
    answer = story.clicks(user, approval, "approval_approve")
    assert (answer["status"], answer["body"]) == (200, "")
    assert told in story.whispers(user)[-1]
    assert story.approval(approval.id).status is Status.PENDING
    assert story.paid() == []
    assert story.trail().count("decision.refused") == 1


def test_roles_that_were_not_read_for_a_minute_prove_nothing(story: SlackStory) -> None:
    approval = story.parks()
    story.clock.advance(seconds=61)
    story.clicks("ana", approval, "approval_approve")
    assert "could not be verified" in story.whispers("ana")[-1]
    story.syncs()
    story.model.says("It is paid.")
    story.clicks("ana", approval, "approval_approve")
    assert len(story.paid()) == 1


def test_a_wrong_hash_is_refused_and_the_card_drawn_again(story: SlackStory) -> None:
    approval = story.parks()
    forged = json.dumps({"v": 1, "id": approval.id, "rev": 1, "h": "0" * 16})
    story.clicks("ana", approval, "approval_approve", forged)
    assert "is not what is stored" in story.whispers("ana")[-1]
    assert story.card(approval)["edited"] is not None
    assert story.approval(approval.id).status is Status.PENDING


def test_an_expired_card_pays_nothing_and_can_only_be_asked_again(story: SlackStory) -> None:
    approval = story.parks()
    story.clock.advance(minutes=31)
    story.syncs()
    story.model.says("Nobody decided in time.")
    story.clicks("ana", approval, "approval_approve")
    assert "nobody decided before the deadline" in story.whispers("ana")[-1]
    card = story.card(approval)
    assert action_ids(card) == ["approval_ask_again"]
    assert "Nobody decided in time" in shown(card)
    assert story.paid() == []


def test_two_people_decide_together_on_a_large_refund(story: SlackStory) -> None:
    approval = story.parks("2340.00", "ORD-1004")
    assert approval.tier.approvals_needed == 2
    story.clicks("ana", approval, "approval_approve")
    card = story.card(approval)
    assert "1 of 2 approvals" in shown(card)
    assert "approval_approve" in action_ids(card)
    story.clicks("ana", approval, "approval_approve")
    assert "You have voted already." in story.whispers("ana")[-1]
    story.model.says("It is paid.")
    story.clicks("mia", approval, "approval_approve")
    assert len(story.paid()) == 1
    assert {ANA.slack_user_id, MIA.slack_user_id} <= set(
        shown(story.card(approval)).replace('"', " ").split()
    )


# --- when Slack or the click is at fault


def test_a_form_that_slack_does_not_open_is_explained(story: SlackStory) -> None:
    approval = story.parks()
    story.slack.act("/faults", 204, method="views.open", error="expired_trigger_id")
    answer = story.clicks("ana", approval, "approval_edit")
    assert (answer["status"], answer["body"]) == (200, "")
    assert "Click again" in story.whispers("ana")[-1]
    assert story.forms("ana") == 0


FOREIGN_VALUES = [
    "",
    "{}",
    "not json",
    '{"v":2,"id":"apr_00000000000000000000000001","rev":1,"h":"0000000000000000"}',
    '{"v":1,"id":"apr_1; DROP TABLE approvals","rev":1,"h":"0000000000000000"}',
    '{"v":1,"id":"apr_00000000000000000000000001","rev":"1","h":"0000000000000000"}',
    '{"v":1,"id":"apr_00000000000000000000000001","rev":1,"h":"short"}',
    '{"v":1,"generation":-1}',
    '{"v":1,"since":-1}',
    "\u202e<!channel>",
]


# What is read of a value does not depend on the kind of database.
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("action_id", list(Action))
def test_a_value_that_is_not_ours_is_answered_and_noted(story: SlackStory, action_id: str) -> None:
    approval = story.parks()
    for number, value in enumerate(FOREIGN_VALUES, start=1):
        answer = story.clicks("ana", approval, action_id, value)
        assert (answer["status"], answer["body"]) == (200, "")
        assert story.trail().count("decision.refused") == number
    assert len(story.whispers("ana")) == len(FOREIGN_VALUES)
    assert "not one the desk knows" in story.whispers("ana")[-1]
    assert story.forms("ana") == 0


def test_an_id_that_does_not_exist_is_refused(story: SlackStory) -> None:
    approval = story.parks()
    unknown = json.dumps({"v": 1, "id": "apr_00000000000000000000000ZZZ", "rev": 1, "h": "0" * 16})
    story.clicks("ana", approval, "approval_approve", unknown)
    assert "There is no such request." in story.whispers("ana")[-1]
    story.clicks("ana", approval, "approval_reject", unknown)
    assert "There is no such request." in shown(story.form("ana"))


@pytest.mark.parametrize("action_id", ["approval_delete_everything", "x" * 255])
def test_an_unknown_button_is_answered_and_noted(story: SlackStory, action_id: str) -> None:
    approval = story.parks()
    answer = story.clicks("ana", approval, action_id, "anything")
    assert (answer["status"], answer["body"]) == (200, "")
    assert story.trail().count("decision.refused") == 1
    assert "not one the desk knows" in story.whispers("ana")[-1]


def test_people_of_another_workspace_cannot_decide(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    strangers = tuple(
        replace(person, team_id="T0OTHERCOMP") if person.id == "ana" else person
        for person in PEOPLE
    )
    with slack_story(servers, tmp_path, store, people=strangers) as story:
        approval = story.parks()
        for action_id in ("approval_approve", "approval_edit", "approval_review"):
            answer = story.clicks("ana", approval, action_id)
            assert answer["status"] == 200
            assert "Only people of this workspace" in story.whispers("ana")[-1]
        assert story.forms("ana") == 0
        assert story.approval(approval.id).status is Status.PENDING
        assert story.trail().count("decision.refused") == 3


def test_a_form_sent_by_somebody_of_another_workspace_is_refused(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_review")
    form = story.form("ana")
    view = {name: form[name] for name in ("type", "callback_id", "private_metadata", "state")}
    payload = {
        "type": "view_submission",
        "user": {"id": ANA.slack_user_id, "team_id": "T0OTHERCOMP"},
        "team": {"id": "T0OTHERCOMP"},
        "view": view,
    }
    answer = story.sends(urlencode({"payload": json.dumps(payload)}).encode(), FORM).json()
    assert answer["response_action"] == "update"
    assert "Only people of this workspace" in json.dumps(answer["view"])
    assert story.approval(approval.id).status is Status.PENDING
    assert story.trail().count("decision.refused") == 1


def test_a_form_is_not_offered_over_a_hash_that_was_never_shown(story: SlackStory) -> None:
    approval = story.parks()
    forged = json.dumps({"v": 1, "id": approval.id, "rev": 1, "h": "0" * 16})
    story.clicks("ana", approval, "approval_edit", forged)
    form = story.form("ana")
    assert form["submit"] is None
    assert "is not what is stored" in shown(form)
    # Whatever it was that they saw, the card says now what is stored.
    assert story.card(approval)["edited"] is not None


def test_a_damaged_row_is_neither_shown_nor_decided(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_reject")
    with story.desk.store.transaction() as tx:
        tx.change(text("UPDATE approvals SET payload = :damaged"), damaged='{"amount":1.5}')
    result = story.submits("ana", category="other", reason="Not this time")
    assert result["response_action"] == "update"
    assert "damaged" in shown(story.form("ana"))
    story.clicks("ben", approval, "approval_review")
    assert "damaged" in shown(story.form("ben"))
    assert story.paid() == []


def _value(story: SlackStory, approval: Approval) -> str:
    row = next(b for b in story.card(approval)["blocks"] if b["type"] == "actions")
    return str(row["elements"][0]["value"])
