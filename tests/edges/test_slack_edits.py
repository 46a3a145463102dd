"""The edit form per tool: what it holds, what saving does, and where a mistake is marked."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from bot.sandbox.cast import ANA
from storage.transaction import Store
from tests.support.slack_looks import action_ids, entries, shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

CLARA = "clara.nguyen@example.com"
LETTER: dict[str, Any] = {
    "subject": "About your chair",
    "body": "Hello Clara,\n\nwe are sorry.",
    "to": [CLARA],
}


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def writes(story: SlackStory, **changes: Any) -> Approval:
    """Let the agent propose an e-mail to Clara that waits; its card is posted."""
    story.proposes(story.opens_chat("cus_clara"), story.email_call(**(LETTER | changes)))
    return story.only(Status.PENDING)


def flags(story: SlackStory) -> Approval:
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.95"))
    return story.only(Status.PENDING)


def successor(story: SlackStory, approval: Approval) -> Approval:
    new = story.approval(approval.id).superseded_by
    assert new is not None
    return story.approval(new)


# --- refunds


def test_a_refund_is_edited_by_amount_and_order(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    assert entries(story.form("ana")) == {"amount": "160.00", "order": "ORD-1001", "reason": None}


def test_another_order_waits_for_somebody_else(story: SlackStory) -> None:
    approval = story.parks("55.00", "ORD-1013")
    story.clicks("ana", approval, "approval_edit")
    result = story.submits("ana", amount="55.00", order="ord-1001")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    new = successor(story, approval)
    assert (new.status, new.order_id, new.amount) == (
        Status.PENDING,
        "ORD-1001",
        Money(5500, "USD"),
    )
    assert "ORD-1013" in shown(story.card(new))
    story.clicks("ana", new, "approval_approve")
    assert "somebody else decides" in story.whispers("ana")[-1]
    story.model.says("It is paid.")
    story.clicks("ben", new, "approval_approve")
    assert story.paid() == [("ORD-1001", Money(5500, "USD"))]


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ("ORD-9999", "there is no such order"),
        ("ORD-1005", "No such order was found for this customer."),
        ("ORD-1002", "Only 48.00 USD of order ORD-1002 is left to refund."),
        (" ", "name the order"),
    ],
    ids=["unknown", "somebody-elses", "too-small", "empty"],
)
def test_an_order_that_cannot_be_is_marked_there(
    story: SlackStory, order: str, problem: str
) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    result = story.submits("ana", force=True, amount="100.00", order=order)
    assert (result["response_action"], result["errors"]) == ("errors", {"order": problem})
    assert story.forms("ana") == 1
    assert story.approval(approval.id).status is Status.PENDING


def test_what_saving_means_is_said_for_each_tool(story: SlackStory) -> None:
    refund = story.parks()
    story.clicks("ana", refund, "approval_edit")
    told = shown(story.form("ana"))
    assert "above what the agent proposed, the order is another, or you raised it" in told
    email = writes_besides(story, refund)
    story.clicks("ben", email, "approval_edit")
    assert "anybody whom the agent did not name, or you raised it" in shown(story.form("ben"))


def writes_besides(story: SlackStory, other: Approval) -> Approval:
    story.proposes(story.opens_chat("cus_clara"), story.email_call(**LETTER))
    (email,) = (row for row in story.all(Status.PENDING) if row.id != other.id)
    return email


# --- e-mails


def test_an_email_is_edited_part_by_part(story: SlackStory) -> None:
    approval = writes(story, cc=["shop@example.com"])
    story.clicks("ana", approval, "approval_edit")
    assert title(story.form("ana")) == "Edit e-mail"
    assert entries(story.form("ana")) == {
        "to": CLARA,
        "cc": "shop@example.com",
        "bcc": None,
        "subject": "About your chair",
        "body": "Hello Clara,\n\nwe are sorry.",
        "reason": None,
    }
    story.model.says("It is sent.")
    result = story.submits("ana", cc=None, subject="Your chair", body="Hello Clara,\n\nsorry!")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    new = successor(story, approval)
    # It goes to nobody new, so the editor's word is enough.
    assert new.status is Status.EXECUTED
    assert new.payload == approval.payload | {
        "cc": [],
        "subject": "Your chair",
        "body": "Hello Clara,\n\nsorry!",
    }


def test_an_email_to_somebody_new_waits_for_somebody_else(story: SlackStory) -> None:
    approval = writes(story)
    story.clicks("ana", approval, "approval_edit")
    story.submits("ana", to=f"{CLARA}; second@example.com, third@EXAMPLE.com")
    new = successor(story, approval)
    assert new.status is Status.PENDING
    assert new.payload["to"] == [CLARA, "second@example.com", "third@example.com"]
    # What nobody touched is as it was, to the byte.
    assert (new.payload["subject"], new.payload["body"]) == (LETTER["subject"], LETTER["body"])


def test_what_slack_trims_is_no_change(story: SlackStory) -> None:
    approval = writes(story, body="  Hello Clara,\r\n\r\nwe are sorry.\r\n")
    story.clicks("ana", approval, "approval_edit")
    story.model.says("It is sent.")
    story.submits("ana", subject="Your chair", body="Hello Clara,\n\nwe are sorry.")
    assert successor(story, approval).payload["body"] == "  Hello Clara,\r\n\r\nwe are sorry.\r\n"


BAD_EMAILS: dict[str, tuple[dict[str, str | None], str]] = {
    "to": ({"to": "not an address"}, "is not an address"),
    "cc": ({"cc": "a@b@c.example"}, "is not an address"),
    "bcc": ({"bcc": "ünï@example.com"}, "is not an address"),
    "to nobody": ({"to": " , ; "}, "at least one address"),
    "twice": ({"cc": CLARA.upper()}, "appears twice"),
    "subject": ({"subject": "x" * 201}, "200"),
    "nothing": ({}, "nothing is changed"),
}


@pytest.mark.parametrize("case", BAD_EMAILS)
def test_a_part_that_cannot_be_is_marked_there(story: SlackStory, case: str) -> None:
    values, problem = BAD_EMAILS[case]
    approval = writes(story)
    story.clicks("ana", approval, "approval_edit")
    result = story.submits("ana", force=True, **values)
    assert result["response_action"] == "errors"
    ((where, told),) = result["errors"].items()
    expected = {"twice": "to", "to nobody": "to", "nothing": "body"}
    assert where == expected.get(case, case)
    assert problem in told
    assert "Value error" not in told
    assert story.approval(approval.id).status is Status.PENDING


@pytest.mark.parametrize(
    ("body", "has_input"),
    [("x" * 3_000, True), ("x" * 3_001, False), ("🪑" * 1_501, False)],
    ids=["fits", "too-long", "counts-double"],
)
def test_a_text_too_long_for_slack_stays_as_it_is(
    story: SlackStory, body: str, has_input: bool
) -> None:
    approval = writes(story, body=body)
    story.clicks("ana", approval, "approval_review")
    story.presses_inside("ana", "approval_edit")
    form = story.form("ana")
    assert title(form) == "Edit e-mail"
    assert ("body" in entries(form)) is has_input
    assert ("too long for a form of Slack" in shown(form)) is not has_input
    story.model.says("It is sent.")
    result = story.submits("ana", subject="Shorter")
    assert (result["response_action"], result["problem"]) == ("clear", None)
    assert successor(story, approval).payload == approval.payload | {"subject": "Shorter"}


# --- fraud flags


def test_a_fraud_flag_is_decided_as_it_is(story: SlackStory) -> None:
    approval = flags(story)
    assert "approval_edit" not in action_ids(story.card(approval))
    story.clicks("mia", approval, "approval_review")
    assert "approval_edit" not in action_ids(story.form("mia"))
    value = json.dumps({"v": 1, "id": approval.id, "rev": 1, "h": approval.short_hash()})
    story.clicks("max", approval, "approval_edit", value)
    assert title(story.form("max")) == "Not possible"
    assert "approve or reject it" in shown(story.form("max"))


def test_a_rejected_flag_says_that_the_customer_hears_nothing(story: SlackStory) -> None:
    approval = flags(story)
    story.clicks("mia", approval, "approval_reject")
    assert "the customer hears nothing of it" in shown(story.form("mia"))
    result = story.submits("mia", category="other", reason="One claim is no pattern")
    assert result["response_action"] == "clear"
    assert story.approval(approval.id).status is Status.REJECTED


# --- two people


def test_a_click_on_a_replaced_card_names_the_new_request(story: SlackStory) -> None:
    approval = story.parks("100.00")
    value = story.card(approval)["blocks"][-1]["elements"][0]["value"]
    story.clicks("ana", approval, "approval_edit")
    story.submits("ana", amount="150.00")
    new = successor(story, approval)
    story.clicks("ben", approval, "approval_approve", value)
    assert f"Replaced by {new.id}" in story.whispers("ben")[-1]
    story.clicks("ben", approval, "approval_edit", value)
    assert title(story.form("ben")) == "Replaced by an edit"
    assert new.id in shown(story.form("ben"))
    assert story.trail().count("decision.refused") == 2
    assert story.approval(new.id).status is Status.PENDING


def test_of_two_people_who_edit_at_once_one_wins_and_the_other_is_told(
    story: SlackStory,
) -> None:
    approval = story.parks("100.00")
    amounts = {"ana": "150.00", "ben": "140.00"}
    for user in amounts:
        story.clicks(user, approval, "approval_edit")
    forms = {user: story.form(user)["id"] for user in amounts}

    def submit(user: str) -> dict[str, Any]:
        values = {"amount": amounts[user]}
        return dict(story.slack.act("/submit", user=user, view_id=forms[user], values=values))

    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(amounts, pool.map(submit, amounts), strict=True))
    story.rests()
    actions = {user: result["response_action"] for user, result in results.items()}
    assert sorted(actions.values()) == ["clear", "update"]
    (loser,) = (user for user, action in actions.items() if action == "update")
    (winner,) = amounts.keys() - {loser}
    new = story.only(Status.PENDING)
    assert str(new.amount) == f"{amounts[winner]} USD"
    assert title(story.form(loser)) == "Replaced by an edit"
    assert new.id in shown(story.form(loser))
    assert story.approval(approval.id).superseded_by == new.id


def test_an_edit_of_an_edit_starts_from_the_newest(story: SlackStory) -> None:
    first = story.parks("100.00")
    story.clicks("ana", first, "approval_edit")
    story.submits("ana", amount="150.00")
    second = successor(story, first)
    story.clicks("ben", second, "approval_edit")
    form = story.form("ben")
    assert entries(form)["amount"] == "150.00"
    assert "The agent proposed 100.00 USD." in shown(form)
    story.model.says("It is paid.")
    story.submits("ben", amount="90.00")
    assert successor(story, second).status is Status.EXECUTED
    assert ANA.slack_user_id in shown(story.card(second))
