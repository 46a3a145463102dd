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
from bot.sandbox.cast import ANA, BEN, MIA, PEOPLE
from bot.sandbox.slack_delivery import FORM
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
        ("sam", "does not know you"),
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


def test_an_expired_card_pays_nothing_and_loses_its_buttons(story: SlackStory) -> None:
    approval = story.parks()
    story.clock.advance(minutes=31)
    story.syncs()
    story.model.says("Nobody decided in time.")
    story.clicks("ana", approval, "approval_approve")
    assert "nobody decided before the deadline" in story.whispers("ana")[-1]
    card = story.card(approval)
    assert action_ids(card) == []
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


# --- edit


def test_an_edit_makes_a_new_card_and_the_old_one_points_to_it(story: SlackStory) -> None:
    approval = story.parks()
    answer = story.clicks("ana", approval, "approval_edit")
    assert (answer["status"], answer["body"]) == (200, "")
    form = story.form("ana")
    amount = next(b for b in form["blocks"] if b["block_id"] == "amount")
    assert amount["element"]["initial_value"] == "160.00"
    story.model.says("It is paid.")
    result = story.submits("ana", amount="120.00", reason="They keep the cushion")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert story.forms("ana") == 0
    assert story.paid() == [("ORD-1001", Money(12000, "USD"))]
    old = story.card(approval)
    successor = story.approval(approval.id).superseded_by
    assert successor is not None
    assert action_ids(old) == []
    assert successor in shown(old)
    assert "open its card" in shown(old)
    new = story.card(story.approval(successor))
    assert "Edited" in shown(new)
    assert "120.00 USD" in shown(new)


def test_an_edit_above_the_proposal_waits_for_somebody_else(story: SlackStory) -> None:
    approval = story.parks("100.00")
    story.clicks("ana", approval, "approval_edit")
    story.submits("ana", amount="150.00")
    new = story.only(Status.PENDING)
    assert new.amount == Money(15000, "USD")
    story.clicks("ana", new, "approval_approve")
    assert "You edited this request" in story.whispers("ana")[-1]
    story.model.says("It is paid.")
    story.clicks("ben", new, "approval_approve")
    assert story.paid() == [("ORD-1001", Money(15000, "USD"))]


BAD_AMOUNTS = {
    "12,50": "plain decimal number",
    "NaN": "plain decimal number",
    "1e3": "plain decimal number",
    "12.345": "more decimals",
    "0": "more than zero",
    "-5": "more than zero",
    "160.01": "is left to refund",
    "160.00": "the same as before",
    "999999999999999": "too large",
}


def test_a_bad_amount_is_marked_in_the_form_which_stays(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    for amount, problem in BAD_AMOUNTS.items():
        result = story.submits("ana", amount=amount)
        assert result["response_action"] == "errors"
        assert problem in result["errors"]["amount"]
    assert story.forms("ana") == 1
    assert story.approval(approval.id).status is Status.PENDING


# --- reject


def test_a_rejection_pays_nothing_and_shows_its_reason(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_reject")
    story.model.says("Sorry, this was declined.")
    result = story.submits(
        "ana", category="not_eligible", reason="Outside the return window", note="third time"
    )
    assert result["response_action"] == "clear"
    card = story.card(approval)
    assert action_ids(card) == []
    assert "Outside the return window" in shown(card)
    assert "Not eligible under the shop's rules" in shown(card)
    assert "third time" not in shown(card)
    assert f"rejected by {ANA.name}" in story.replies(approval)[0]
    assert story.paid() == []


def test_a_reason_of_spaces_is_no_reason(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_reject")
    result = story.submits("ana", category="other", reason="      ")
    assert result["response_action"] == "errors"
    assert list(result["errors"]) == ["reason"]


@pytest.mark.parametrize("category", ["forged", None])
def test_a_category_that_is_not_offered_is_marked(story: SlackStory, category: str | None) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_reject")
    result = story.submits("ana", force=True, category=category, reason="Long enough")
    assert result["response_action"] == "errors"
    assert list(result["errors"]) == ["category"]
    assert story.approval(approval.id).status is Status.PENDING


def test_a_form_by_somebody_without_the_role_says_so(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("sam", approval, "approval_reject")
    result = story.submits("sam", category="other", reason="Because I say so")
    assert result["response_action"] == "update"
    form = story.form("sam")
    assert form["title"]["text"] == "Not allowed"
    assert form["submit"] is None
    assert story.approval(approval.id).status is Status.PENDING


def test_a_form_over_a_request_decided_meanwhile_says_who_decided(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    story.clicks("ben", approval, "approval_reject")
    story.model.says("Sorry.")
    story.submits("ben", category="other", reason="Not this time")
    result = story.submits("ana", amount="100.00")
    assert result["response_action"] == "update"
    assert f"Already rejected by {BEN.name}" in shown(story.form("ana"))


def test_a_form_is_not_offered_for_a_request_that_has_ended(story: SlackStory) -> None:
    approval = story.parks()
    value = _value(story, approval)
    story.model.says("Sorry.")
    story.clicks("ben", approval, "approval_reject")
    story.submits("ben", category="other", reason="Not this time")
    story.clicks("ana", approval, "approval_edit", value)
    form = story.form("ana")
    assert form["title"]["text"] == "Already decided"
    assert form["submit"] is None
    assert f"Rejected by {BEN.name}" in shown(form)


# --- review


def test_review_shows_every_bound_field_and_approves_inside(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_review")
    form = story.form("ana")
    for bound in (approval.id, approval.payload_hash, approval.policy_version, "issue_refund"):
        assert bound in shown(form)
    assert form["submit"]["text"] == "Approve 160.00 USD"
    story.model.says("It is paid.")
    result = story.submits("ana")
    assert result["response_action"] == "clear"
    assert len(story.paid()) == 1


def test_reject_inside_the_review_lies_on_top_and_closes_both(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_review")
    view_id = story.form("ana")["id"]
    story.slack.act("/click", user="ana", view_id=view_id, action_id="approval_reject")
    assert story.forms("ana") == 2
    story.model.says("Sorry.")
    story.submits("ana", category="other", reason="Not this time")
    assert story.forms("ana") == 0
    assert story.approval(approval.id).status is Status.REJECTED


def test_review_of_an_ended_request_has_nothing_to_submit(story: SlackStory) -> None:
    approval = story.parks()
    value = _value(story, approval)
    story.model.says("It is paid.")
    story.clicks("ana", approval, "approval_approve")
    story.clicks("ben", approval, "approval_review", value)
    form = story.form("ben")
    assert form["submit"] is None
    assert approval.payload_hash in shown(form)


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
    "\u202e<!channel>",
]


@pytest.mark.parametrize("action_id", ["approval_approve", "approval_edit", "breaker_reset"])
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
