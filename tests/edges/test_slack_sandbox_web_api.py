"""The stand-in's Web API, called by Slack's own client over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.sandbox.cast import ANA, CHANNELS, GUS, PEOPLE, USER_GROUPS
from bot.sandbox.slack_config import Channel
from tests.support.slack_sandbox import (
    APPROVALS,
    BOT_TOKEN,
    MOUNT,
    Slack,
    Stage,
    running_slack,
    running_stage,
)

NOWHERE = "1700000000.000000"
EXTRA = (
    Channel("C07OTHERS", "others", (), is_member=False),
    Channel("C07SECRET", "secret", (), is_member=False, is_private=True),
    Channel("C07ARCHIVE", "old", (), is_archived=True),
)
CARD: list[dict[str, Any]] = [
    {"type": "header", "text": {"type": "plain_text", "text": "Refund & more"}},
    {
        "type": "actions",
        "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Approve"}}],
    },
]
MODAL = {"type": "modal", "title": {"type": "plain_text", "text": "Edit"}, "blocks": []}
HOME = {"type": "home", "blocks": []}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture
def slack(stage: Stage, tmp_path: Path) -> Iterator[Slack]:
    with running_slack(stage, tmp_path, channels=(*CHANNELS, *EXTRA)) as running:
        yield running


def _stored(slack: Slack, ts: str, channel: str = APPROVALS) -> dict[str, Any]:
    (message,) = [m for m in slack.look("/messages", channel=channel) if m["ts"] == ts]
    return dict(message)


# Calls and tokens


def test_the_token_is_whose_the_bot_is(slack: Slack) -> None:
    answer = slack.client.auth_test()
    assert (answer["user_id"], answer["bot_id"]) == (slack.config.bot_user_id, slack.config.bot_id)
    assert answer["team_id"] == slack.config.team_id


def test_another_token_is_invalid(slack: Slack) -> None:
    stranger = WebClient("xoxb-another", base_url=slack.client.base_url)
    with pytest.raises(SlackApiError, match="invalid_auth"):
        stranger.auth_test()


def test_no_token_is_not_authed(slack: Slack) -> None:
    answer = slack.http.post(f"{MOUNT}/api/auth.test")
    assert (answer.status_code, answer.json()) == (200, {"ok": False, "error": "not_authed"})


@pytest.mark.parametrize(
    "given",
    [{"params": {"token": BOT_TOKEN}}, {"headers": {"Authorization": f"Bearer {BOT_TOKEN}"}}],
    ids=["query", "header"],
)
def test_a_token_may_come_in_the_query_or_the_header(slack: Slack, given: dict[str, Any]) -> None:
    assert slack.http.get(f"{MOUNT}/api/auth.test", **given).json()["ok"] is True


def test_an_unknown_method_is_named(slack: Slack) -> None:
    error = slack.error_of("chat.whisper")
    assert error.response["error"] == "unknown_method"
    assert error.response["req_method"] == "chat.whisper"


@pytest.mark.parametrize(
    ("body", "content_type", "error"),
    [
        (b"{", "application/json", "invalid_json"),
        (b'{"text": "\\ud800"}', "application/json", "invalid_json"),
        (b"[]", "application/json; charset=utf-8", "json_not_object"),
        (b"\xff", "application/x-www-form-urlencoded", "invalid_form_data"),
    ],
)
def test_a_body_nobody_can_read_is_refused(
    slack: Slack, body: bytes, content_type: str, error: str
) -> None:
    headers = {"Authorization": f"Bearer {BOT_TOKEN}", "Content-Type": content_type}
    answer = slack.http.post(f"{MOUNT}/api/chat.postMessage", content=body, headers=headers)
    assert answer.json() == {"ok": False, "error": error}


# Posting


def test_a_message_is_posted_and_shown(slack: Slack) -> None:
    answer = slack.client.chat_postMessage(channel=APPROVALS, text="a < b & <!here>", blocks=CARD)
    assert answer["channel"] == APPROVALS
    message = _stored(slack, answer["ts"])
    assert message["text"] == "a &lt; b &amp; <!here>"
    assert message["blocks"][0]["text"]["text"] == "Refund &amp; more"
    assert message["blocks"][0]["block_id"] != message["blocks"][1]["block_id"]
    assert message["blocks"][1]["elements"][0]["action_id"]
    assert message["user"] == slack.config.bot_user_id
    nothing = ("thread_ts", "metadata", "edited", "ephemeral_for")
    assert [message[name] for name in nothing] == [None] * 4
    assert "metadata" not in answer["message"]


def test_a_form_with_json_inside_is_taken(slack: Slack) -> None:
    metadata = {"event_type": "approval", "event_payload": {"outbox_id": "obx_1"}}
    form = {
        "channel": APPROVALS,
        "blocks": json.dumps(CARD),
        "metadata": json.dumps(metadata),
        "reply_broadcast": True,
    }
    answer = slack.client.api_call("chat.postMessage", params=form)
    assert _stored(slack, answer["ts"])["metadata"] == metadata


def test_timestamps_are_unique_and_increase(slack: Slack) -> None:
    first, second = slack.post(), slack.post()
    assert first < second
    seconds, fraction = second.split(".")
    assert (len(seconds), len(fraction)) == (10, 6)


def test_a_post_may_name_its_channel_or_a_person(slack: Slack) -> None:
    by_name = slack.client.chat_postMessage(channel="#refund-approvals", text="x")
    assert by_name["channel"] == APPROVALS
    direct = slack.client.chat_postMessage(channel=ANA.slack_user_id, text="x")
    opened = slack.client.conversations_open(users=ANA.slack_user_id)
    assert direct["channel"] == opened["channel"]["id"]
    assert direct["channel"].startswith("D")
    assert direct["channel"] in [channel["id"] for channel in slack.look("/channels")]


def test_text_beyond_the_limit_is_cut_on_posting(slack: Slack) -> None:
    assert len(_stored(slack, slack.post(text="x" * 40_001))["text"]) == 40_000


def test_a_reply_belongs_to_the_root_of_its_thread(slack: Slack) -> None:
    root = slack.post()
    reply = slack.post(thread_ts=root, reply_broadcast=True)
    deeper = slack.post(thread_ts=reply)
    assert _stored(slack, reply)["thread_ts"] == root
    assert _stored(slack, deeper)["thread_ts"] == root
    thread = slack.client.conversations_replies(channel=APPROVALS, ts=reply)["messages"]
    assert [message["ts"] for message in thread] == [root, reply, deeper]
    top = slack.client.conversations_history(channel=APPROVALS, limit=2)["messages"]
    assert [message["ts"] for message in top] == [reply, root]
    assert top[0]["subtype"] == "thread_broadcast"


def _sections(*lengths: int) -> list[dict[str, Any]]:
    texts = [{"type": "plain_text", "text": "x" * length} for length in lengths]
    return [{"type": "section", "text": text} for text in texts]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C07NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": "C07SECRET", "text": "x"}, "channel_not_found"),
        ({"channel": "C07OTHERS", "text": "x"}, "not_in_channel"),
        ({"channel": "C07ARCHIVE", "text": "x"}, "is_archived"),
        ({"text": "x"}, "invalid_arguments"),
        ({"channel": 7, "text": "x"}, "invalid_arguments"),
        ({"channel": APPROVALS}, "no_text"),
        ({"channel": APPROVALS, "text": " ", "blocks": []}, "no_text"),
        ({"channel": APPROVALS, "text": "x", "blocks": "{"}, "invalid_blocks_format"),
        ({"channel": APPROVALS, "text": "x", "blocks": {}}, "invalid_blocks_format"),
        ({"channel": APPROVALS, "text": "x", "blocks": [{}]}, "invalid_blocks"),
        ({"channel": APPROVALS, "blocks": _sections(*[3_000] * 4, 1_201)}, "msg_blocks_too_long"),
        (
            {"channel": APPROVALS, "text": "x", "attachments": [{"text": "x"}]},
            "invalid_attachments",
        ),
        ({"channel": APPROVALS, "text": "x", "thread_ts": NOWHERE}, "cannot_reply_to_message"),
        (
            {"channel": APPROVALS, "text": "x", "metadata": {"event_type": "x"}},
            "invalid_metadata_format",
        ),
        ({"channel": APPROVALS, "text": "x", "metadata": "nonsense"}, "invalid_metadata_format"),
        (
            {
                "channel": APPROVALS,
                "text": "x",
                "metadata": {"event_type": "x", "event_payload": {"id": "x" * 1_024}},
            },
            "metadata_too_large",
        ),
    ],
    ids=str,
)
def test_a_post_that_slack_refuses(slack: Slack, arguments: dict[str, Any], error: str) -> None:
    before = len(slack.look("/messages", channel=APPROVALS))
    assert slack.error_code("chat.postMessage", **arguments) == error
    assert len(slack.look("/messages", channel=APPROVALS)) == before


def test_an_error_says_where_the_block_is_wrong(slack: Slack) -> None:
    error = slack.error_of("chat.postMessage", channel=APPROVALS, blocks=_sections(5, 0))
    assert error.response["response_metadata"]["messages"] == [
        "[ERROR] must be more than 0 characters [json-pointer:/blocks/1/text/text]"
    ]


# Updating


def test_an_update_replaces_text_and_blocks(slack: Slack) -> None:
    ts = slack.post(blocks=CARD, text="waiting")
    answer = slack.client.chat_update(channel=APPROVALS, ts=ts, text="done", blocks=_sections(2))
    message = _stored(slack, ts)
    assert (answer["ts"], answer["text"], message["text"]) == (ts, "done", "done")
    assert [block["type"] for block in message["blocks"]] == ["section"]
    assert message["edited"]["user"] == slack.config.bot_user_id
    assert message["edited"]["ts"] > ts


def test_an_update_of_the_text_alone_leaves_the_blocks(slack: Slack) -> None:
    ts = slack.post(blocks=CARD)
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="done")
    assert len(_stored(slack, ts)["blocks"]) == 2
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="done", blocks=[])
    assert _stored(slack, ts)["blocks"] == []


def test_an_update_keeps_metadata_until_it_is_emptied(slack: Slack) -> None:
    metadata = {"event_type": "approval", "event_payload": {"id": "apr_1"}}
    ts = slack.post(metadata=metadata)
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="x")
    assert _stored(slack, ts)["metadata"] == metadata
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="x", metadata={})
    assert _stored(slack, ts)["metadata"] is None


def test_text_of_an_update_is_measured_in_bytes(slack: Slack) -> None:
    ts = slack.post()
    slack.client.chat_update(channel=APPROVALS, ts=ts, text="é" * 2_000)
    long = slack.error_code("chat.update", channel=APPROVALS, ts=ts, text="é" * 2_000 + "x")
    assert long == "msg_too_long"


@pytest.mark.parametrize("method", ["chat.update", "chat.delete"])
def test_only_what_the_bot_posted_can_be_changed(slack: Slack, method: str) -> None:
    written = slack.act("/messages", user="ana", channel="refund-approvals", text="hello")["ts"]
    word = method.removeprefix("chat.")
    own = {"channel": APPROVALS, "text": "x"}
    assert slack.error_code(method, ts=written, **own) == f"cant_{word}_message"
    assert slack.error_code(method, ts=NOWHERE, **own) == "message_not_found"
    ephemeral = slack.client.chat_postEphemeral(
        channel=APPROVALS, user=ANA.slack_user_id, text="only you"
    )["message_ts"]
    assert slack.error_code(method, ts=ephemeral, **own) == "message_not_found"
    named = {**own, "channel": "refund-approvals", "ts": slack.post()}
    assert slack.error_code(method, **named) == "channel_not_found"


def test_an_update_that_says_nothing_is_refused(slack: Slack) -> None:
    ts = slack.post()
    assert slack.error_code("chat.update", channel=APPROVALS, ts=ts) == "no_text"


def test_a_message_can_be_deleted(slack: Slack) -> None:
    ts = slack.post()
    slack.client.chat_delete(channel=APPROVALS, ts=ts)
    assert (
        slack.error_code("chat.update", channel=APPROVALS, ts=ts, text="x") == "message_not_found"
    )


def test_a_permalink_leads_to_the_page(slack: Slack) -> None:
    ts = slack.post()
    link = slack.client.chat_getPermalink(channel=APPROVALS, message_ts=ts)["permalink"]
    answer = httpx.get(link, trust_env=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/#slack/{APPROVALS}/{ts}")
    assert httpx.get(f"{link[:-6]}999999", trust_env=False).status_code == 404
    gone = slack.error_code("chat.getPermalink", channel=APPROVALS, message_ts=NOWHERE)
    assert gone == "message_not_found"


# Ephemerals


def test_an_ephemeral_is_for_one_person_and_not_in_the_history(slack: Slack) -> None:
    ts = slack.client.chat_postEphemeral(
        channel=APPROVALS, user=GUS.slack_user_id, text="not for you"
    )["message_ts"]
    assert _stored(slack, ts)["ephemeral_for"] == GUS.slack_user_id
    seen = {
        name: ts in [m["ts"] for m in slack.look("/messages", channel=APPROVALS, user=name)]
        for name in ("gus", "ana")
    }
    assert seen == {"gus": True, "ana": False}
    history = slack.client.conversations_history(channel=APPROVALS)["messages"]
    assert ts not in [message["ts"] for message in history]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": APPROVALS, "user": "U07NOBODY"}, "user_not_in_channel"),
        ({"channel": "C07OTHERS", "user": ANA.slack_user_id}, "not_in_channel"),
        ({"channel": "C07NOWHERE", "user": ANA.slack_user_id}, "channel_not_found"),
        ({"channel": APPROVALS, "user": ANA.slack_user_id, "text": ""}, "no_text"),
        ({"channel": APPROVALS}, "invalid_arguments"),
    ],
    ids=str,
)
def test_an_ephemeral_that_slack_refuses(
    slack: Slack, arguments: dict[str, Any], error: str
) -> None:
    assert slack.error_code("chat.postEphemeral", **{"text": "x", **arguments}) == error


# Reading


def test_history_shows_metadata_when_asked(slack: Slack) -> None:
    metadata = {"event_type": "approval", "event_payload": {"outbox_id": "obx_1"}}
    slack.post(metadata=metadata)
    history = slack.client.conversations_history
    (plain,) = history(channel=APPROVALS)["messages"]
    assert "metadata" not in plain
    (full,) = history(channel=APPROVALS, include_all_metadata=True)["messages"]
    assert full["metadata"] == metadata


def test_history_is_bounded_and_comes_in_pages(slack: Slack) -> None:
    posted = [slack.post(text=str(number)) for number in range(5)]
    history = slack.client.conversations_history
    after = history(channel=APPROVALS, oldest=posted[2])["messages"]
    assert [message["ts"] for message in after] == [posted[4], posted[3]]
    between = history(channel=APPROVALS, oldest=posted[1], latest=posted[2], inclusive=True)
    assert [message["ts"] for message in between["messages"]] == [posted[2], posted[1]]
    pages = [
        ([message["ts"] for message in page["messages"]], page["has_more"])
        for page in history(channel=APPROVALS, limit=2)
    ]
    assert pages == [
        ([posted[4], posted[3]], True),
        ([posted[2], posted[1]], True),
        ([posted[0]], False),
    ]


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("conversations.history", {"channel": "C07NOWHERE"}, "channel_not_found"),
        ("conversations.history", {"channel": "C07OTHERS"}, "not_in_channel"),
        ("conversations.history", {"oldest": "yesterday"}, "invalid_ts_oldest"),
        ("conversations.history", {"latest": "NaN"}, "invalid_ts_latest"),
        ("conversations.history", {"cursor": "x"}, "invalid_cursor"),
        ("conversations.history", {"limit": 0}, "invalid_arguments"),
        ("conversations.history", {"inclusive": "perhaps"}, "invalid_arguments"),
        ("conversations.replies", {"ts": NOWHERE}, "thread_not_found"),
        ("conversations.info", {"channel": "C07SECRET"}, "channel_not_found"),
        ("conversations.open", {}, "users_list_not_supplied"),
        ("conversations.open", {"users": "U07NOBODY"}, "user_not_found"),
        ("users.info", {"user": "ana"}, "user_not_found"),
        ("users.lookupByEmail", {"email": "x@x.example"}, "users_not_found"),
        ("usergroups.users.list", {"usergroup": "S07NOBODY"}, "no_such_subteam"),
        ("views.publish", {"user_id": "U07NOBODY", "view": HOME}, "user_not_found"),
        ("views.publish", {"user_id": ANA.slack_user_id, "view": MODAL}, "invalid_arguments"),
        ("views.publish", {"user_id": ANA.slack_user_id}, "invalid_arguments"),
        ("views.update", {"view_id": "V07NOWHERE", "view": MODAL}, "not_found"),
        ("views.update", {"view": MODAL}, "invalid_arguments"),
        ("views.open", {"trigger_id": "1.2.3", "view": MODAL}, "invalid_trigger_id"),
        ("views.open", {"trigger_id": "1.2.3", "view": "{"}, "invalid_arguments"),
        ("views.open", {"trigger_id": "1.2.3", "view": HOME}, "invalid_arguments"),
        (
            "views.open",
            {"trigger_id": "1.2.3", "view": {**MODAL, "private_metadata": "m" * 250_000}},
            "view_too_large",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_call_that_slack_refuses(
    slack: Slack, method: str, arguments: dict[str, Any], error: str
) -> None:
    channel = {"channel": APPROVALS} if method.endswith(("history", "replies")) else {}
    assert slack.error_code(method, **{**channel, **arguments}) == error


def test_channels_are_described(slack: Slack) -> None:
    channel = slack.client.conversations_info(channel=APPROVALS)["channel"]
    assert (channel["name"], channel["is_member"], channel["is_ext_shared"]) == (
        "refund-approvals",
        True,
        False,
    )
    names = [c["name"] for c in slack.client.conversations_list()["channels"]]
    assert names == ["refund-approvals", "oncall", "refund-review", "others", "old"]
    members = slack.client.conversations_members(channel=APPROVALS)["members"]
    assert set(members) == {p.slack_user_id for p in PEOPLE} | {slack.config.bot_user_id}
    direct = slack.client.conversations_open(users=ANA.slack_user_id)["channel"]["id"]
    described = slack.client.conversations_info(channel=direct)["channel"]
    assert (described["is_im"], described["user"]) == (True, ANA.slack_user_id)
    assert slack.client.conversations_open(channel=direct)["channel"]["id"] == direct


def test_people_are_described_with_their_flags(slack: Slack) -> None:
    guest = slack.client.users_info(user=GUS.slack_user_id)["user"]
    assert (guest["is_restricted"], guest["deleted"], guest["is_bot"]) == (True, False, False)
    assert guest["team_id"] == slack.config.team_id
    assert slack.client.users_info(user=slack.config.bot_user_id)["user"]["is_bot"] is True
    found = slack.client.users_lookupByEmail(email=ANA.email.upper())["user"]
    assert found["id"] == ANA.slack_user_id
    assert len(slack.client.users_list()["members"]) == len(PEOPLE) + 1


def test_user_groups_have_the_members_of_the_roles(slack: Slack) -> None:
    groups = slack.client.usergroups_list(include_users=True)["usergroups"]
    assert {group["handle"]: group["user_count"] for group in groups} == {
        "refund-approvers": 2,
        "refund-managers": 2,
        "oncall": 1,
        "support-agents": 1,
    }
    assert groups[0]["users"] == list(USER_GROUPS[0].members)
    assert "users" not in slack.client.usergroups_list()["usergroups"][0]
    users = slack.client.usergroups_users_list(usergroup=groups[1]["id"])["users"]
    assert users == list(USER_GROUPS[1].members)


def test_an_outsider_and_a_deleted_person_are_told_apart(stage: Stage, tmp_path: Path) -> None:
    outsider = replace(GUS, team_id="T07OTHER", is_stranger=True, deleted=True)
    with running_slack(stage, tmp_path, people=(outsider,)) as slack:
        user = slack.client.users_info(user=GUS.slack_user_id)["user"]
        assert (user["team_id"], user["is_stranger"], user["deleted"]) == ("T07OTHER", True, True)
        opened = slack.error_code("conversations.open", users=GUS.slack_user_id)
        assert opened == "user_disabled"


# App Home


def test_a_home_is_published_and_guarded_by_its_hash(slack: Slack) -> None:
    user = ANA.slack_user_id
    first = slack.client.views_publish(user_id=user, view=HOME)["view"]
    second = slack.client.views_publish(user_id=user, view=HOME, hash=first["hash"])["view"]
    assert (second["id"], second["hash"] != first["hash"]) == (first["id"], True)
    stale = slack.error_code("views.publish", user_id=user, view=HOME, hash=first["hash"])
    assert stale == "hash_conflict"
    shown = slack.look("/home", user="ana")
    assert (shown["user"], shown["hash"], shown["blocks"]) == (user, second["hash"], [])


# Ordered faults


def test_an_ordered_error_lasts_as_often_as_ordered(slack: Slack) -> None:
    slack.act("/faults", 204, method="chat.postMessage", error="is_archived", times=2)
    codes = [slack.error_code("chat.postMessage", channel=APPROVALS, text="x") for _ in "12"]
    assert codes == ["is_archived"] * 2
    slack.post()
    assert len(slack.look("/messages", channel=APPROVALS)) == 1


def test_only_calls_of_that_method_with_a_good_token_use_a_fault_up(slack: Slack) -> None:
    slack.act("/faults", 204, method="chat.update", error="fatal_error", times=1)
    slack.post()
    stranger = WebClient("xoxb-another", base_url=slack.client.base_url)
    with pytest.raises(SlackApiError, match="invalid_auth"):
        stranger.chat_update(channel=APPROVALS, ts=NOWHERE, text="x")
    codes = [slack.error_code("chat.update", channel=APPROVALS, ts=NOWHERE) for _ in "12"]
    assert codes == ["fatal_error", "message_not_found"]


@pytest.mark.parametrize("fault", [{"error": "ratelimited"}, {"status": 429}], ids=str)
def test_a_rate_limit_says_when_to_come_back(slack: Slack, fault: dict[str, Any]) -> None:
    slack.act("/faults", 204, method="chat.update", times=1, retry_after=7, **fault)
    error = slack.error_of("chat.update", channel=APPROVALS, ts=NOWHERE, text="x")
    assert (error.response.status_code, error.response["error"]) == (429, "ratelimited")
    assert error.response.headers["Retry-After"] == "7"


def test_an_ordered_status_has_no_effect_and_no_json(slack: Slack) -> None:
    slack.act("/faults", 204, method="chat.postMessage", status=503, delay_s=1.5)
    error = slack.error_of("chat.postMessage", channel=APPROVALS, text="x")
    assert error.response.status_code == 503
    assert slack.pauses == [1.5]
    assert slack.look("/messages", channel=APPROVALS) == []


def test_a_late_answer_comes_after_the_effect(slack: Slack) -> None:
    slack.act("/faults", 204, method="chat.postMessage", delay_s=4)
    assert slack.post()
    assert slack.pauses == [4.0]
    slack.act("/faults", 204, method="chat.update", delay_s=3)
    assert slack.error_code("chat.update", channel=APPROVALS, ts=NOWHERE) == "message_not_found"
    assert slack.pauses == [4.0, 3.0]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"method": "chat.whisper", "error": "x"}, "chat.whisper"),
        ({"method": "chat.update"}, "error, status or delay_s"),
        ({"method": "chat.update", "error": "x", "status": 500}, "not both"),
        ({"method": "chat.update", "status": 200}, "status"),
        ({"method": "chat.update", "error": "x", "times": 0}, "times"),
        ({"method": "chat.update", "error": "x", "colour": 1}, "colour"),
        ({"error": "x"}, "method"),
    ],
    ids=str,
)
def test_a_fault_that_makes_no_sense_is_refused(
    slack: Slack, order: dict[str, Any], reason: str
) -> None:
    problem = slack.act("/faults", 422, **order)
    assert problem["status"] == 422
    assert reason in problem["detail"]
