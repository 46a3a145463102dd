"""Why somebody may not decide: nobody holds the role, or Slack could not be asked; told apart."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.domain.approvals import Approval, Status
from bot.sandbox.cast import USER_GROUPS
from bot.sandbox.slack_config import UserGroup
from storage.transaction import Store
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


def emptied(*handles: str) -> tuple[UserGroup, ...]:
    """Return the workspace's groups with nobody in some of them."""
    return tuple(replace(g, members=()) if g.handle in handles else g for g in USER_GROUPS)


def refused(story: SlackStory, user: str, approval: Approval) -> str:
    """Return what a person reads who may not approve; nothing moves."""
    story.clicks(user, approval, "approval_approve")
    assert story.approval(approval.id).status is Status.PENDING
    return story.whispers(user)[-1]


def test_a_role_that_nobody_holds_is_called_so(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store):
        pass
    empty = emptied("refund-approvers", "refund-managers")
    with slack_story(servers, tmp_path, store, user_groups=empty) as story:
        approval = story.parks()
        told = refused(story, "ana", approval)
        assert told == "This needs the role refund_approver, which nobody holds at present."


def test_a_group_that_was_never_read_is_called_so(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store, user_groups=USER_GROUPS[2:]) as story:
        approval = story.parks()
        told = refused(story, "olu", approval)
        assert "could not be verified just now (slack:refund-approvers: there is none)" in told


def test_a_group_that_cannot_be_read_any_more_is_called_so(
    servers: Servers, tmp_path: Path, store: Store
) -> None:
    with slack_story(servers, tmp_path, store) as story:
        approval = story.parks()
        # For a minute the last look counts.
        story.slack.act(
            "/faults", 204, method="usergroups.users.list", error="ratelimited", times=3
        )
        story.syncs()
        assert refused(story, "olu", approval) == "This needs the role refund_approver."
        story.clock.advance(seconds=61)
        story.slack.act(
            "/faults", 204, method="usergroups.users.list", error="ratelimited", times=3
        )
        story.syncs()
        told = refused(story, "olu", approval)
        assert "could not be verified just now (slack:refund-approvers: ratelimited)" in told
        told = refused(story, "ana", approval)
        assert "could not be verified just now" in told
        story.syncs()
        assert refused(story, "olu", approval) == "This needs the role refund_approver."
        story.model.says("It is paid.")
        story.clicks("ana", approval, "approval_approve")
        assert story.approval(approval.id).status is Status.EXECUTED


@pytest.mark.parametrize("method", ["usergroups.list", "usergroups.users.list"])
def test_orders_tell_the_two_apart_as_well(
    servers: Servers, tmp_path: Path, store: Store, method: str
) -> None:
    with slack_story(servers, tmp_path, store) as story:
        story.asks_refund(story.opens_chat("cus_clara"), "40.00", "ORD-1002")
        (message,) = story.posted("C07REVIEW")
        story.clock.advance(seconds=61)
        story.slack.act("/faults", 204, method=method, error="internal_error", times=3)
        story.syncs()
        story.presses("olu", message, "review_right")
        told = story.whispers("olu", "C07REVIEW")[-1]
        assert "could not be verified just now" in told
        assert "internal_error" in told
