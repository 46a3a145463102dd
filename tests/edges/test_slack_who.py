"""Who clicked (facts: platform facts, who clicked): every row by a click that Slack signed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_sdk.signature import SignatureVerifier

from agent.domain.approvals import Approval, Status
from agent.providers.system import SystemClock
from bot.sandbox.cast import ANA, PEOPLE, SAM, USER_GROUPS
from bot.sandbox.slack_delivery import FORM
from storage.transaction import Store
from tests.support.slack_sandbox import APPROVALS, SIGNING_SECRET
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story

TEAM, OTHER = "T07SHOPSTRM", "T0OTHERCOMP"
# Who may click does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

FLAGS: dict[str, dict[str, Any]] = {
    "ana": {"deleted": True},
    "ben": {"is_bot": True},
    "mia": {"is_workflow_bot": True},
    "max": {"is_restricted": True},
    "olu": {"is_ultra_restricted": True},
    "sam": {"is_stranger": True},
    "gus": {"is_email_confirmed": False},
}


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def clicks(story: SlackStory, approval: Approval, number: int, **changes: Any) -> None:
    """Send a click on Approve, signed by Slack's own library; it must be acknowledged."""
    value = {"v": 1, "id": approval.id, "rev": approval.revision, "h": approval.short_hash()}
    payload = {
        "type": "block_actions",
        "user": {"id": ANA.slack_user_id, "username": "ana", "name": "ana", "team_id": TEAM},
        "team": {"id": TEAM, "domain": "shopstream"},
        "enterprise": None,
        "is_enterprise_install": False,
        "channel": {"id": APPROVALS},
        "container": {"type": "message", "message_ts": "17.5", "channel_id": APPROVALS},
        "trigger_id": f"{number}.x",
        "actions": [
            {
                "type": "button",
                "action_id": "approval_approve",
                "block_id": "b",
                "value": json.dumps(value),
                "action_ts": f"18.{number}",
            }
        ],
    } | changes
    body = urlencode({"payload": json.dumps(payload)})
    stamp = str(int(SystemClock().now().timestamp()))
    signature = SignatureVerifier(SIGNING_SECRET).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    answer = story.sends(body.encode(), FORM, x_slack_signature=signature)
    assert (answer.status_code, answer.text) == (200, "")
    story.rests()


def refusals(story: SlackStory) -> list[dict[str, Any]]:
    return [fact["data"] for fact in story.facts() if fact["type"] == "decision.refused"]


def test_nobody_decides_whose_account_is_not_a_members(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    people = tuple(replace(person, **FLAGS[person.id]) for person in PEOPLE)
    everyone = tuple(person.slack_user_id for person in people)
    # Whoever runs the group may put anybody into it.
    groups = tuple(replace(group, members=everyone) for group in USER_GROUPS)
    with slack_story(servers, tmp_path, store, people=people, user_groups=groups) as story:
        approval = story.parks()
        for number, person in enumerate(people, start=1):
            for action_id in ("approval_approve", "approval_reject"):
                answer = story.clicks(person.id, approval, action_id)
                assert (answer["status"], answer["problem"]) == (200, None)
            told = "Guests and inactive accounts may not decide."
            assert story.whispers(person.id)[-1] == told
            assert "cannot use this desk" in str(story.form(person.id)["blocks"])
            assert len(refusals(story)) == 2 * number
        assert {data["code"] for data in refusals(story)} == {"not_allowed"}
        assert story.approval(approval.id).status is Status.PENDING
        assert story.paid() == []


def test_it_is_team_and_user_id_that_count_and_nothing_else(story: SlackStory) -> None:
    approval = story.parks()
    ana, elsewhere = {"id": ANA.slack_user_id}, {"id": OTHER, "domain": "other"}
    wrong: list[dict[str, Any]] = [
        # Somebody of another company in a shared channel: the message is in our workspace.
        {"user": {**ana, "team_id": OTHER}},
        # A message of theirs, or a person of whom nothing says where they belong.
        {"user": ana, "team": elsewhere},
        {"user": ana, "team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True},
        {"user": {**ana, "team_id": ""}, "team": None},
        # A name that anybody may take, an id in small letters, an id of the Grid.
        {"user": {"id": SAM.slack_user_id, "team_id": TEAM, "username": "ana", "name": "ana"}},
        {"user": {"id": ANA.slack_user_id.lower(), "team_id": TEAM}},
        {"user": {"id": "W07ANA", "team_id": TEAM}},
    ]
    for number, changes in enumerate(wrong, start=1):
        clicks(story, approval, number, **changes)
        assert len(refusals(story)) == number
    assert story.approval(approval.id).status is Status.PENDING
    assert {data.get("problem") for data in refusals(story)[:4]} == {"other team"}
    assert {data["code"] for data in refusals(story)[4:]} == {"not_allowed"}
    # All of them are acts in the trail as well, each with its own hash and time.
    acts = [fact["data"] for fact in story.facts() if fact["type"] == "slack.acted"]
    assert len({data["act"] for data in acts}) == len(wrong)
    # An installation for a whole organisation names no workspace; the person does.
    story.model.says("It is paid.")
    grid = {"team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True}
    clicks(story, approval, 9, user={**ana, "team_id": TEAM}, **grid)
    assert story.approval(approval.id).status is Status.EXECUTED


def test_a_role_is_what_the_group_said_at_most_a_minute_ago(story: SlackStory) -> None:
    first, second = story.parks("61.00", "ORD-1004"), story.parks("62.00", "ORD-1004")
    story.slack.act("/groups", 204, group="refund-approvers", members=["ben"])
    story.clock.advance(seconds=60)
    story.model.says("It is paid.")
    # What the mirror saw counts for so long, and no longer.
    clicks(story, first, 1)
    assert story.approval(first.id).status is Status.EXECUTED
    story.clock.advance(seconds=1)
    clicks(story, second, 2)
    assert refusals(story)[-1]["code"] == "role_unverified"
    assert "could not be verified" in story.whispers("ana")[-1]
    story.syncs()
    clicks(story, second, 3)
    assert refusals(story)[-1]["code"] == "not_allowed"
    assert story.approval(second.id).status is Status.PENDING
