"""Details: the request, the whole conversation, what happened, every try; page by page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import EventType
from bot.sandbox.cast import ANA
from bot.sandbox.slack_delivery import FORM
from bot.slack.targets import Target
from storage import conversations
from storage.conversations import Entry
from storage.transaction import Store
from tests.support.drawn import flowing
from tests.support.slack_looks import action_ids, shown, title
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

MESSAGES = 150
PHONE = "0171 1234567"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def chatters(story: SlackStory, approval: Approval) -> None:
    """Let the customer go on talking for long, with a message now and then as long as can be."""
    with story.desk.store.transaction() as tx:
        for number in range(MESSAGES):
            text = f"line {number}: " + ("\u202e<!channel>`" * 300 if number % 40 == 7 else PHONE)
            entry = Entry(
                story.desk.ids.new("msg"),
                EventType.MESSAGE,
                {"role": "customer", "text": text},
                client_id=f"chatter {number}",
            )
            conversations.append(tx, approval.conversation_id, story.clock.now(), entry)


def sent(kind: str, view: dict[str, Any], **more: object) -> bytes:
    """Return what Slack sends of Ana in a view as it was."""
    payload = {
        "type": kind,
        "user": {"id": ANA.slack_user_id, "team_id": "T07SHOPSTRM"},
        "team": {"id": "T07SHOPSTRM"},
        "trigger_id": "1.x",
        "view": view,
        **more,
    }
    return urlencode({"payload": json.dumps(payload)}).encode()


def lines(story: SlackStory) -> list[int]:
    """Return the numbers of the customer's lines on the page."""
    return [int(n) for n in re.findall(r"line (\d+): ", flowing(story.form("ana")["blocks"]))]


def test_a_long_conversation_is_read_whole_by_pages_forth_and_back(story: SlackStory) -> None:
    approval = story.parks()
    chatters(story, approval)
    story.clicks("ana", approval, "approval_review")
    assert title(story.form("ana")) == "Review refund"
    assert story.form("ana")["submit"]["text"] == "Approve 160.00 USD"

    story.presses_inside("ana", "details_conversation")
    assert title(story.form("ana")) == "Refund"
    assert story.form("ana")["submit"] is None
    forth = [lines(story)]
    while "details_next" in action_ids(story.form("ana")):
        story.presses_inside("ana", "details_next")
        forth.append(lines(story))
    assert [number for page in forth for number in page] == list(range(MESSAGES))
    assert len(forth) > 3
    back = [forth[-1]]
    while "details_previous" in action_ids(story.form("ana")):
        story.presses_inside("ana", "details_previous")
        back.append(lines(story))
    assert {number for page in back for number in page} == set(range(MESSAGES))
    assert lines(story)[0] == 0

    # What stands there is masked until somebody who may decide asks for it, by the page.
    assert PHONE not in shown(story.form("ana"))
    assert "•••67" in shown(story.form("ana"))
    story.presses_inside("ana", "approval_reveal")
    assert story.forms("ana") == 2
    assert PHONE in shown(story.form("ana"))
    assert story.trail().count("card.revealed") == 1


def test_history_and_tries_say_who_did_what_and_what_the_provider_answered(
    story: SlackStory,
) -> None:
    first = story.parks()
    story.clicks("sam", first, "approval_approve")
    story.clicks("ana", first, "approval_edit")
    story.model.says("It is paid.")
    story.submits("ana", amount="120.00", reason="They keep the cushion")
    done = story.only(Status.EXECUTED)

    story.clicks("ana", first, "approval_review", Target.of(done).text())
    assert "Approved and paid" in flowing(story.form("ana")["blocks"])
    story.presses_inside("ana", "details_history")
    told = flowing(story.form("ana")["blocks"])
    for needed in (
        "Put before people",
        "Tried to approve, in vain",
        "not_allowed",
        "Replaced by an edit · Ana Ribeiro",
        "160.00 USD → 120.00 USD",
        "They keep the cushion",
        "Voted to approve · Ana Ribeiro",
        "A try begins",
        "Clicked or sent · Ana Ribeiro",
        "The other side gave a clear answer",
    ):
        assert needed in told, needed
    # Nothing is told by the trail's own name, and nothing as done by a process of the desk.
    assert "slack.acted" not in told
    assert story.desk.replica not in told
    story.presses_inside("ana", "details_attempts")
    told = flowing(story.form("ana")["blocks"])
    assert done.idempotency_key in told
    assert "succeeded" in told
    story.presses_inside("ana", "details_request")
    assert "The exact request" in flowing(story.form("ana")["blocks"])


def test_details_over_a_request_that_ended_meanwhile_say_so_at_every_click(
    story: SlackStory,
) -> None:
    approval = story.parks()
    chatters(story, approval)
    story.clicks("ana", approval, "approval_review")
    form = story.form("ana")
    story.model.says("I am sorry.")
    story.clicks("ben", approval, "approval_reject")
    story.submits("ben", category="other", reason="Returned in the store")

    story.presses_inside("ana", "details_conversation")
    story.presses_inside("ana", "details_request")
    assert story.form("ana")["submit"] is None
    assert "Rejected" in flowing(story.form("ana")["blocks"])
    assert "Returned in the store" in flowing(story.form("ana")["blocks"])

    # The form that was open before the end is answered in the form as well.
    refused = story.sends(sent("view_submission", form), FORM).json()
    assert refused["response_action"] == "update"
    assert "Already rejected by Ben" in json.dumps(refused["view"])


def test_a_page_that_nobody_looks_at_any_more_is_not_drawn(story: SlackStory) -> None:
    approval = story.parks()
    story.clicks("ana", approval, "approval_review")
    stale = story.form("ana")
    story.presses_inside("ana", "details_history")
    after = story.form("ana")["hash"]
    # A click that was on its way when the page was turned, and one in a form that was closed.
    action = {"action_id": "details_conversation", "value": Target.of(approval).text()}
    for view in (stale, {**stale, "id": "VGONE"}):
        body = sent("block_actions", view, actions=[action])
        assert story.sends(body, FORM).status_code == 200
        story.prompt.settle()
    assert story.form("ana")["hash"] == after
    assert story.delivers() == 0


def test_who_has_no_role_reads_nothing(story: SlackStory) -> None:
    approval = story.parks()
    for action in ("approval_review", "approval_edit", "approval_reject"):
        story.clicks("gus", approval, action)
        assert title(story.form("gus")) == "Not possible"
        told = str(story.form("gus")["blocks"])
        assert "no role" in told
        assert "160.00" not in told
    assert story.trail().count("decision.refused") == 3
    # A support agent decides nothing, and reads all of it.
    story.clicks("sam", approval, "approval_review")
    assert "160.00" in flowing(story.form("sam")["blocks"])
