"""What changes around a bot: its installation, its channels, user groups, its pace, its luck."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from bot.sandbox.cast import ANA, BEN, CHANNELS, OLU
from tests.support.slack_sandbox import (
    APPROVALS,
    ONCALL,
    Bot,
    Slack,
    Stage,
    running_slack,
    running_stage,
)


@pytest.fixture(scope="module")
def stages() -> Iterator[tuple[Stage, Stage]]:
    with running_stage() as slack, running_stage() as bot:
        yield slack, bot


@pytest.fixture
def bot(stages: tuple[Stage, Stage]) -> Bot:
    bot = Bot()
    stages[1].app = bot.app()
    return bot


@pytest.fixture
def slack(stages: tuple[Stage, Stage], bot: Bot, tmp_path: Path) -> Iterator[Slack]:
    assert bot.received == []
    with running_slack(stages[0], tmp_path, f"{stages[1].url}/slack/events") as slack:
        yield slack


def events(bot: Bot) -> list[dict[str, Any]]:
    """Return the type and channel of each event the bot was told of."""
    told = []
    for request, body in zip(bot.received, bot.bodies, strict=True):
        assert request.headers["content-type"] == "application/json"
        told.append(json.loads(body)["event"])
    return [{name: event[name] for name in ("type", "channel") if name in event} for event in told]


def test_every_answer_names_the_scopes_there_are_and_those_that_would_do(slack: Slack) -> None:
    slack.act("/app", scopes=["chat:write", "channels:read"])
    answer = slack.client.conversations_info(channel=APPROVALS)
    assert answer.headers["x-oauth-scopes"] == "chat:write,channels:read"
    assert "channels:read" in answer.headers["x-accepted-oauth-scopes"].split(",")
    error = slack.error_of("users.info", user=ANA.slack_user_id).response
    assert (error["error"], error["needed"]) == ("missing_scope", "users:read")
    assert error["provided"] == "chat:write,channels:read"
    assert error.headers["x-accepted-oauth-scopes"] == "users:read"
    assert slack.client.auth_test()["ok"]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("token_revoked", ["tokens_revoked"]),
        ("account_inactive", ["tokens_revoked", "app_uninstalled"]),
        ("invalid_auth", []),
    ],
)
def test_a_token_that_opens_nothing_any_more(
    slack: Slack, bot: Bot, error: str, told: list[str]
) -> None:
    slack.act("/app", error=error)
    assert slack.error_code("auth.test") == slack.error_code("chat.postMessage") == error
    assert [event["type"] for event in events(bot)] == told
    assert slack.act("/app", error="")["error"] is None
    assert slack.client.auth_test()["ok"]


def test_a_channel_is_archived_left_shared_and_deleted(slack: Slack, bot: Bot) -> None:
    ts = slack.post()
    slack.act("/channels", 204, channel="refund-approvals", is_archived=True)
    info = slack.client.conversations_info(channel=APPROVALS)["channel"]
    assert info["is_archived"] is True
    post = {"channel": APPROVALS, "text": "x"}
    assert slack.error_code("chat.postMessage", **post) == "is_archived"
    refused = slack.act("/messages", 409, user="ana", channel=APPROVALS, text="Hello?")
    assert refused["code"] == "is_archived"
    slack.act("/channels", 204, channel=APPROVALS, is_archived=False, is_member=False)
    assert slack.error_code("chat.postMessage", **post) == "not_in_channel"
    slack.act("/channels", 204, channel=APPROVALS, is_member=True, is_ext_shared=True)
    assert slack.client.conversations_info(channel=APPROVALS)["channel"]["is_ext_shared"] is True
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="still there")
    slack.act("/channels", 204, channel=APPROVALS, is_deleted=True)
    assert slack.error_code("chat.postMessage", **post) == "channel_not_found"
    assert [one["id"] for one in slack.look("/channels")] == [c.id for c in CHANNELS[1:]]
    kinds = ("archive", "unarchive", "left", "shared", "deleted")
    assert events(bot) == [{"type": f"channel_{kind}", "channel": APPROVALS} for kind in kinds]


def test_a_change_outlives_the_stand_in(
    stages: tuple[Stage, Stage], bot: Bot, tmp_path: Path
) -> None:
    events_url = f"{stages[1].url}/slack/events"
    with running_slack(stages[0], tmp_path, events_url) as slack:
        slack.act("/channels", 204, channel=ONCALL, is_archived=True)
        slack.act("/channels", 204, channel=ONCALL, is_archived=True)
        slack.act("/groups", 204, group="@oncall", members=["ben"])
    assert len(bot.received) == 1
    with running_slack(stages[0], tmp_path, events_url) as slack:
        assert slack.error_code("chat.postMessage", channel=ONCALL, text="x") == "is_archived"
        group = slack.client.usergroups_users_list(usergroup="S07ONCALL")
        assert group["users"] == [BEN.slack_user_id]


def test_an_event_nobody_asked_for_is_not_sent(
    stages: tuple[Stage, Stage], bot: Bot, tmp_path: Path
) -> None:
    wanted = frozenset({"channel_archive"})
    with running_slack(
        stages[0], tmp_path, f"{stages[1].url}/slack/events", events=wanted
    ) as slack:
        slack.act("/channels", 204, channel=ONCALL, is_archived=True)
        slack.act("/channels", 204, channel=ONCALL, is_archived=False)
        assert slack.act("/home", user="ana")["status"] == 200
    assert events(bot) == [{"type": "channel_archive", "channel": ONCALL}]


def test_user_groups_have_other_members_or_are_switched_off(slack: Slack) -> None:
    slack.act("/groups", 204, group="refund-approvers", members=["olu", BEN.slack_user_id])
    found = slack.client.usergroups_users_list(usergroup="S07APPROVERS")["users"]
    assert found == [OLU.slack_user_id, BEN.slack_user_id]
    shown = {group["handle"]: group["members"] for group in slack.look("/groups")}
    assert shown["refund-approvers"] == ["olu", "ben"]
    slack.act("/groups", 204, group="refund-approvers", is_disabled=True)
    assert slack.error_code("usergroups.users.list", usergroup="S07APPROVERS") == "no_such_subteam"
    handles = {group["handle"] for group in slack.client.usergroups_list()["usergroups"]}
    assert handles == {"refund-managers", "oncall", "support-agents"}
    everyone = slack.client.usergroups_list(include_disabled=True)["usergroups"]
    assert [g["handle"] for g in everyone if g["date_delete"]] == ["refund-approvers"]
    assert slack.act("/groups", 404, group="nobody")["code"] == "no_such_subteam"
    unknown = slack.act("/groups", 404, group="oncall", members=["zoe"])
    assert unknown["code"] == "user_not_found"


def test_a_channel_takes_a_short_burst_and_then_one_post_a_second(
    stages: tuple[Stage, Stage], tmp_path: Path
) -> None:
    with running_slack(stages[0], tmp_path, burst=2) as slack:
        slack.post()
        slack.post()
        slack.post(ONCALL)
        with pytest.raises(SlackApiError) as hot:
            slack.post()
        assert hot.value.response.status_code == 429
        assert hot.value.response["error"] == "ratelimited"
        assert hot.value.response.headers["retry-after"] == "1"
        slack.ticks.seconds += 0.999
        with pytest.raises(SlackApiError):
            slack.post()
        slack.ticks.seconds += 0.001
        slack.post()
        assert len(slack.look("/messages", channel=APPROVALS)) == 3
        assert slack.look("/app")["too_soon"] == 2
        assert slack.act("/app", burst=None)["burst"] is None
        slack.post()


def test_a_call_may_land_and_fail_all_the_same(slack: Slack) -> None:
    slack.act("/faults", 204, method="chat.postMessage", status=500, times=2, landed=True)
    slack.act("/faults", 204, method="chat.update", error="msg_too_long")
    ordered = [(one["method"], one["times"], one["landed"]) for one in slack.look("/faults")]
    assert ordered == [("chat.postMessage", 2, True), ("chat.update", 1, False)]
    with pytest.raises(SlackApiError):
        slack.post()
    (message,) = slack.look("/messages", channel=APPROVALS)
    assert message["text"] == "card"
    slack.act("/faults/clear", 204)
    assert slack.look("/faults") == []
    slack.client.chat_update(channel=APPROVALS, ts=message["ts"], text="as if nothing were")


def test_a_workspace_without_the_newest_blocks_refuses_them(
    stages: tuple[Stage, Stage], tmp_path: Path
) -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}
    with running_slack(stages[0], tmp_path, lacking=frozenset({"table"})) as slack:
        post = {"channel": APPROVALS, "text": "x", "blocks": [table]}
        error = slack.error_of("chat.postMessage", **post).response
        assert error["error"] == "invalid_blocks"
        assert "unsupported type: table" in error["response_metadata"]["messages"][0]
        home = {"type": "home", "blocks": [table]}
        publish = {"user_id": ANA.slack_user_id, "view": home}
        assert slack.error_code("views.publish", **publish) == "invalid_arguments"


def test_a_private_channel_names_its_events_by_its_kind(
    stages: tuple[Stage, Stage], bot: Bot, tmp_path: Path
) -> None:
    private = replace(CHANNELS[0], is_private=True)
    with running_slack(
        stages[0], tmp_path, f"{stages[1].url}/slack/events", channels=(private,)
    ) as slack:
        slack.act("/channels", 204, channel=APPROVALS, is_archived=True)
        dm = slack.client.conversations_open(users=ANA.slack_user_id)["channel"]["id"]
        refused = slack.act("/channels", 422, channel=dm, is_archived=True)
    assert refused["code"] == "method_not_supported"
    assert events(bot) == [{"type": "group_archive", "channel": APPROVALS}]
