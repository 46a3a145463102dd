"""The workspace is looked at before the first message leaves."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.slack.channels import Channels, SlackNotReady, check_channels, identify
from storage.transaction import Store
from tests.support.slack_sandbox import APPROVALS, ONCALL
from tests.support.slack_server import WANTED, Servers, SlackStory, running_servers, slack_story

# What is tried here does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@pytest.fixture
def story(servers: Servers, tmp_path: Path, store: Store) -> Iterator[SlackStory]:
    with slack_story(servers, tmp_path, store) as told:
        yield told


def fault(story: SlackStory, method: str, error: str) -> None:
    story.slack.act("/faults", 204, method=method, error=error)


def test_channels_are_found_by_name_and_by_id(story: SlackStory) -> None:
    assert check_channels(story.slack.client, WANTED) == Channels(APPROVALS, ONCALL, "C07REVIEW")


def test_the_token_says_whose_workspace_it_is(story: SlackStory) -> None:
    workspace = identify(story.slack.client)
    assert (workspace.team_id, workspace.bot_user_id) == ("T07SHOPSTRM", "U07SUPPDESK")


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ({"is_ext_shared": True}, "shared with another company"),
        ({"is_pending_ext_shared": True}, "shared with another company"),
        ({"is_shared": True}, "shared with another company"),
        ({"is_archived": True}, "is archived"),
        ({"is_member": False}, "invite it"),
    ],
)
def test_a_channel_the_desk_must_not_or_cannot_use_is_refused(
    servers: Servers, tmp_path: Path, store: Store, flag: dict[str, Any], problem: str
) -> None:
    with slack_story(servers, tmp_path, store) as story:
        config = story.slack.config
        first = replace(config.channels[0], **flag)
    with (
        pytest.raises(SlackNotReady, match=problem) as refused,
        slack_story(servers, tmp_path, store, channels=(first, *config.channels[1:])),
    ):
        pass
    assert not refused.value.temporary


def test_an_unknown_channel_is_refused_and_an_outage_is_not_held_against_it(
    story: SlackStory,
) -> None:
    client = story.slack.client
    with pytest.raises(SlackNotReady, match="sees no channel #nowhere") as unknown:
        check_channels(client, replace(WANTED, approvals="#nowhere"))
    assert not unknown.value.temporary
    fault(story, "conversations.info", error="ratelimited")
    with pytest.raises(SlackNotReady, match="ratelimited") as outage:
        check_channels(client, WANTED)
    assert outage.value.temporary
    fault(story, "auth.test", error="invalid_auth")
    with pytest.raises(SlackNotReady, match="invalid_auth") as token:
        identify(client)
    assert not token.value.temporary
