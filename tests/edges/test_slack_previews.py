"""The Edit form while it is typed into: what saving would change, and what is wrong where."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from agent.domain.approvals import Status
from agent.domain.money import Money
from bot.sandbox.cast import ANA
from bot.sandbox.slack_delivery import FORM
from storage.transaction import Store
from tests.support.drawn import flowing
from tests.support.slack_looks import entries, shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

CLARA = "clara.nguyen@example.com"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def preview(story: SlackStory) -> str:
    """Return what the form says that saving would do."""
    (block,) = (b for b in story.form("ana")["blocks"] if b["block_id"] == "preview")
    return flowing(block) or str(block["elements"][0]["text"])


def problem(story: SlackStory) -> tuple[str, str]:
    """Return the input above the problem, and the problem; empty where there is none."""
    blocks = story.form("ana")["blocks"]
    for above, block in pairwise(blocks):
        if block["block_id"].startswith("problem:"):
            return above["block_id"], flowing(block).strip()
    return "", ""


def test_a_refund_is_previewed_with_every_letter_and_saved_as_it_was_shown(
    story: SlackStory,
) -> None:
    approval = story.parks()
    before = len(story.trail())
    story.clicks("ana", approval, "approval_edit")
    assert preview(story) == "Nothing is changed yet."
    amount = next(b for b in story.form("ana")["blocks"] if b["block_id"] == "amount")
    assert amount["dispatch_action"] is True

    answer = story.types("ana", "amount", amount="120.00", reason="They keep the cushion")
    assert (answer["status"], answer["body"]) == (200, "")
    assert problem(story) == ("", "")
    told = preview(story)
    assert "Amount: 160.00 USD → 120.00 USD" in told
    assert "Left to refund after it: 0.00 USD → 40.00 USD" in told
    assert "one refund approver. It counts as your approval too" in told
    # What was typed is still there, and the cursor stays where it is.
    assert entries(story.form("ana")) == {
        "amount": "120.00",
        "order": "ORD-1001",
        "reason": "They keep the cushion",
    }
    assert "focus_on_load" not in shown(story.form("ana"))

    for entered, words in (
        ("12,5", "plain decimal number"),
        ("0", "more than zero"),
        ("1.005", "decimals"),
        ("200.00", "160.00 USD"),
        ("", "number"),
    ):
        story.types("ana", "amount", amount=entered)
        where, told = problem(story)
        assert where == "amount", entered
        assert words in told, told
        assert preview(story) == "It cannot be saved like this."
    story.types("ana", "order", amount="120.00", order="ORD-9999")
    assert problem(story) == ("order", "there is no such order")
    story.types("ana", "order", amount="160.00", order=" ORD-1001 ")
    assert (problem(story), preview(story)) == (("", ""), "Nothing is changed yet.")
    # A letter is no act of anybody's: only the click that opened the form is in the trail.
    assert len(story.trail()) == before + 1

    story.model.says("It is paid.")
    story.submits("ana", amount="120.00")
    assert story.paid() == [("ORD-1001", Money(12000, "USD"))]


def test_an_email_is_previewed_by_what_differs_and_who_would_decide(story: SlackStory) -> None:
    letter: dict[str, Any] = {
        "subject": "About your chair",
        "body": "Hello,\n\nwe are sorry.",
        "to": [CLARA],
    }
    story.proposes(story.opens_chat("cus_clara"), story.email_call(**letter))
    story.clicks("ana", story.only(Status.PENDING), "approval_edit")
    story.types("ana", "body", body="Hello,\n\nwe are very <!channel> sorry.")
    told = preview(story)
    assert "- we are sorry.\n+ we are very <!channel> sorry." in told
    assert "It counts as your approval too" in told
    story.types("ana", "cc", cc="boss@example.com, ceo@example.com")
    assert "Cc: nobody → boss@example.com, ceo@example.com" in preview(story)
    assert "Somebody else has to approve it." in preview(story)
    for where, entered in (("cc", "not an address"), ("to", ""), ("subject", "x" * 400)):
        story.types("ana", where, **{"to": CLARA, "cc": "", where: entered})
        assert problem(story)[0] == where


def test_what_ended_while_somebody_typed_says_so_also_to_who_has_closed_the_form(
    story: SlackStory,
) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    form = story.form("ana")
    story.model.says("I am sorry.")
    story.clicks("ben", approval, "approval_reject")
    story.submits("ben", category="other", reason="Returned in the store")
    story.types("ana", "amount", amount="120.00")
    assert title(story.form("ana")) == "Too late"
    assert "Rejected by Ben" in shown(story.form("ana"))

    story.slack.act("/close", user="ana", view_id=form["id"])
    assert story.sends(keystroke(form, "130.00", "2.0"), FORM).status_code == 200
    story.prompt.settle()
    assert story.delivers() == 1


def test_letters_that_overtake_each_other_end_in_what_was_typed_last(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_edit")
    form = story.form("ana")
    # All of them carry the view as it was before the first preview.
    for amount, at in (("1", "1.0"), ("120", "3.0"), ("12", "2.0"), ("120.5", "4.0")):
        assert story.sends(keystroke(form, amount, at), FORM).status_code == 200
    story.prompt.settle()
    assert "Amount: 160.00 USD → 120.50 USD" in preview(story)


def keystroke(form: dict[str, Any], amount: str, at: str) -> bytes:
    """Return what Slack sends of a letter that Ana types into a form as it was."""
    state = {"values": {"amount": {"value": {"type": "plain_text_input", "value": amount}}}}
    payload = {
        "type": "block_actions",
        "user": {"id": ANA.slack_user_id, "team_id": "T07SHOPSTRM"},
        "team": {"id": "T07SHOPSTRM"},
        "trigger_id": "1.x",
        "view": {**form, "state": state},
        "actions": [{"action_id": "value", "block_id": "amount", "action_ts": at}],
    }
    order = {"order": {"value": {"type": "plain_text_input", "value": "ORD-1001"}}}
    state["values"] |= order
    return urlencode({"payload": json.dumps(payload)}).encode()
