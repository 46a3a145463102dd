"""Edit, Reject and Review: the forms behind the buttons, answered by real submissions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from bot.sandbox.cast import ANA, BEN
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


def _value(story: SlackStory, approval: Approval) -> str:
    row = next(b for b in story.card(approval)["blocks"] if b["type"] == "actions")
    return str(row["elements"][0]["value"])
