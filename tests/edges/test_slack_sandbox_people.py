"""What people do in the stand-in, and what the bot is sent and may answer."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from fastapi.responses import JSONResponse
from slack_sdk.signature import Clock, SignatureVerifier
from slack_sdk.webhook import WebhookClient
from typing_extensions import override

from bot.sandbox.cast import ANA, BEN, CHANNELS, MIA
from bot.sandbox.slack_config import Channel
from tests.support.slack_cards import (
    CARD,
    MODAL,
    click,
    option,
    problem_of,
    text,
)
from tests.support.slack_sandbox import (
    APPROVALS,
    ONCALL,
    SIGNING_SECRET,
    Bot,
    Slack,
    Stage,
    address,
    listening_socket,
    running_slack,
    running_stage,
)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture(scope="module")
def bot_stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.fixture
def bot(bot_stage: Stage) -> Bot:
    bot = Bot()
    bot_stage.app = bot.app()
    return bot


@pytest.fixture
def slack(stage: Stage, bot_stage: Stage, bot: Bot, tmp_path: Path) -> Iterator[Slack]:
    quiet = Channel("C07QUIET", "quiet", (BEN.slack_user_id,))
    url = f"{bot_stage.url}/slack/events"
    with running_slack(stage, tmp_path, url, channels=(*CHANNELS, quiet)) as slack:
        assert bot.received == []
        yield slack


# Clicks


def test_a_click_is_a_signed_block_actions_payload(slack: Slack, bot: Bot) -> None:
    ts = slack.post(blocks=CARD, text="a & b")
    answer = click(slack, ts)
    assert (answer["status"], answer["body"], answer["problem"]) == (200, "", None)
    payload = bot.payload
    (message,) = slack.look("/messages", channel=APPROVALS)
    ours = ("type", "team", "user", "api_app_id", "enterprise", "is_enterprise_install")
    assert {name: payload[name] for name in ours} == {
        "type": "block_actions",
        "team": {"id": slack.config.team_id, "domain": slack.config.team_domain},
        "user": {
            "id": ANA.slack_user_id,
            "username": "ana",
            "name": "ana",
            "team_id": slack.config.team_id,
        },
        "api_app_id": slack.config.app_id,
        "enterprise": None,
        "is_enterprise_install": False,
    }
    assert payload["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": APPROVALS,
        "is_ephemeral": False,
    }
    assert payload["channel"] == {"id": APPROVALS, "name": "refund-approvals"}
    assert payload["message"]["text"] == "a &amp; b"
    assert payload["message"]["blocks"] == message["blocks"]
    (action,) = payload["actions"]
    assert action.pop("action_ts") > ts
    assert action == {
        "type": "button",
        "action_id": "approve",
        "block_id": "act:apr_1:1",
        "style": "primary",
        "text": text("Yes &amp; pay"),
        "value": "apr_1",
    }


def test_the_signature_is_the_one_slack_makes(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD))

    class Then(Clock):
        @override
        def now(self) -> float:
            return slack.clock.at.timestamp()

    request, body = bot.received[-1], bot.bodies[-1]
    headers = dict(request.headers)
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert SignatureVerifier(SIGNING_SECRET, Then()).is_valid_request(body, headers)
    assert not SignatureVerifier("another secret", Then()).is_valid_request(body, headers)
    assert not SignatureVerifier(SIGNING_SECRET, Then()).is_valid_request(body + b"x", headers)


def test_the_state_holds_every_input_of_the_message(slack: Slack, bot: Bot) -> None:
    click(slack, slack.post(blocks=CARD), values={"category": "late", "day": "2026-12-24"})
    assert bot.payload["state"]["values"] == {
        "head": {"category": {"type": "static_select", "selected_option": option("late")}},
        "act:apr_1:1": {
            "boxes": {"type": "checkboxes", "selected_options": [option("two")]},
            "day": {"type": "datepicker", "selected_date": "2026-12-24"},
        },
    }


@pytest.mark.parametrize(
    ("action_id", "value", "chosen"),
    [
        ("category", "late", {"selected_option": option("late")}),
        ("category", "forged", {"selected_option": {"text": text("forged"), "value": "forged"}}),
        ("category", None, {"selected_option": None}),
        ("boxes", ["one", "two"], {"selected_options": [option("one"), option("two")]}),
        ("boxes", None, {"selected_options": [option("two")]}),
        ("day", "2026-12-24", {"selected_date": "2026-12-24"}),
    ],
    ids=str,
)
def test_a_choice_is_sent_as_its_element_sends_it(
    slack: Slack, bot: Bot, action_id: str, value: object, chosen: dict[str, Any]
) -> None:
    click(slack, slack.post(blocks=CARD), action_id, value=value)
    (action,) = bot.payload["actions"]
    assert {name: action[name] for name in chosen} == chosen


def test_a_click_can_be_forged(slack: Slack, bot: Bot) -> None:
    ts = slack.post(blocks=CARD)
    click(slack, ts, value="apr_2")
    assert bot.payload["actions"][0]["value"] == "apr_2"
    click(slack, ts, "pay_me", value="all", block_id="act:apr_1:1")
    (action,) = bot.payload["actions"]
    del action["action_ts"]
    assert action == {
        "type": "button",
        "action_id": "pay_me",
        "block_id": "act:apr_1:1",
        "value": "all",
    }


def test_a_click_in_a_thread_names_it(slack: Slack, bot: Bot) -> None:
    root = slack.post()
    click(slack, slack.post(thread_ts=root, blocks=CARD))
    assert bot.payload["container"]["thread_ts"] == root
    assert bot.payload["message"]["thread_ts"] == root


def test_only_its_reader_can_click_an_ephemeral(slack: Slack, bot: Bot) -> None:
    ts = slack.client.chat_postEphemeral(
        channel=APPROVALS, user=ANA.slack_user_id, text="x", blocks=CARD
    )["message_ts"]
    click(slack, ts)
    assert bot.payload["container"]["is_ephemeral"] is True
    assert "message" not in bot.payload
    own = {"channel": APPROVALS, "ts": ts, "action_id": "approve"}
    assert problem_of(slack, "/click", 404, user="ben", **own)["code"] == "message_not_found"


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"user": "nobody"}, 404, "user_not_found"),
        ({"channel": "nowhere"}, 404, "channel_not_found"),
        ({"channel": None}, 404, "channel_not_found"),
        ({"channel": "quiet"}, 403, "not_in_channel"),
        ({"ts": "1.2"}, 404, "message_not_found"),
        ({"view_id": "V1"}, 404, "view_not_found"),
        ({"values": {"nothing": "x"}}, 422, "invalid_input"),
        ({"action_id": ""}, 422, "invalid"),
        ({"colour": "red"}, 422, "invalid"),
    ],
    ids=str,
)
def test_a_click_on_nothing_is_refused(
    slack: Slack, bot: Bot, change: dict[str, Any], status: int, code: str
) -> None:
    body = {"user": "ana", "channel": APPROVALS, "ts": slack.post(blocks=CARD)}
    problem = problem_of(slack, "/click", status, **{**body, "action_id": "approve", **change})
    assert problem["code"] == code
    assert bot.received == []


def test_what_the_bot_answers_is_told(slack: Slack, bot: Bot) -> None:
    bot.reply = lambda _: Response("no such approval", 404)
    answer = click(slack, slack.post(blocks=CARD))
    assert (answer["status"], answer["body"]) == (404, "no such approval")
    assert answer["problem"] == "We had some trouble connecting. Try again?"


def test_a_bot_that_is_not_there_has_status_0(stage: Stage, tmp_path: Path) -> None:
    listener = listening_socket()
    url = address(listener)
    listener.close()
    with running_slack(stage, tmp_path, f"{url}/slack/events") as slack:
        answer = click(slack, slack.post(blocks=CARD))
    assert answer["status"] == 0
    assert answer["body"] not in ("", "timeout")


def test_a_bot_that_does_not_answer_in_time_is_given_up(stage: Stage, tmp_path: Path) -> None:
    # This socket takes the connection and never says a word.
    with listening_socket() as silent:
        url = f"{address(silent)}/slack/events"
        with running_slack(stage, tmp_path, url, ack_timeout_s=0.05) as slack:
            answer = click(slack, slack.post(blocks=CARD))
    assert (answer["status"], answer["body"]) == (0, "timeout")


# Response URLs


def responder(slack: Slack, bot: Bot, ts: str) -> WebhookClient:
    click(slack, ts)
    return WebhookClient(bot.payload["response_url"])


def test_a_response_url_answers_the_person_who_clicked(slack: Slack, bot: Bot) -> None:
    answered = responder(slack, bot, slack.post(blocks=CARD)).send(text="not you")
    assert (answered.status_code, answered.body) == (200, "ok")
    message = slack.look("/messages", channel=APPROVALS)[-1]
    assert (message["text"], message["ephemeral_for"]) == ("not you", ANA.slack_user_id)


def test_a_response_url_can_answer_everybody(slack: Slack, bot: Bot) -> None:
    responder(slack, bot, slack.post(blocks=CARD)).send(text="x", response_type="in_channel")
    assert slack.look("/messages", channel=APPROVALS)[-1]["ephemeral_for"] is None


@pytest.mark.parametrize("ephemeral", [False, True])
def test_a_response_url_replaces_and_deletes_its_message(
    slack: Slack,
    bot: Bot,
    ephemeral: bool,
) -> None:
    if ephemeral:
        ts = slack.client.chat_postEphemeral(
            channel=APPROVALS, user=ANA.slack_user_id, text="x", blocks=CARD
        )["message_ts"]
    else:
        ts = slack.post(blocks=CARD)
    url = responder(slack, bot, ts)
    assert url.send(text="replaced", replace_original=True).status_code == 200
    (message,) = slack.look("/messages", channel=APPROVALS)
    assert (message["ts"], message["text"], message["blocks"]) == (ts, "replaced", [])
    for _ in "12":
        assert url.send(delete_original=True).status_code == 200
        assert slack.look("/messages", channel=APPROVALS) == []


def test_a_response_url_does_not_count_all_text_together(slack: Slack, bot: Bot) -> None:
    long = [{"type": "section", "text": text("x" * 3_000)}] * 5
    url = responder(slack, bot, slack.post(blocks=CARD))
    assert url.send(blocks=long).status_code == 200


def test_a_response_url_is_used_five_times(slack: Slack, bot: Bot) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD))
    answers = [url.send(text=str(number)) for number in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert json.loads(answers[-1].body)["error"] == "used_url"


@pytest.mark.parametrize(("seconds", "status"), [(1_799, 200), (1_800, 404)])
def test_a_response_url_lasts_thirty_minutes(
    slack: Slack, bot: Bot, seconds: int, status: int
) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD))
    slack.clock.advance(seconds=seconds)
    assert url.send(text="x").status_code == status


def test_expired_response_urls_are_forgotten(slack: Slack, bot: Bot) -> None:
    old = responder(slack, bot, slack.post(blocks=CARD))
    slack.clock.advance(seconds=timedelta(minutes=31).total_seconds())
    assert responder(slack, bot, slack.post(blocks=CARD)).send(text="x").status_code == 200
    assert json.loads(old.send(text="x").body)["error"] == "expired_url"
    assert slack.config.journal.read_text().count('["hooks",') == 4


@pytest.mark.parametrize(
    ("body", "error"),
    [(b"{", "invalid_payload"), (b"[]", "invalid_payload"), (b"{}", "no_text")],
)
def test_a_response_that_says_nothing_is_refused(
    slack: Slack, bot: Bot, body: bytes, error: str
) -> None:
    url = responder(slack, bot, slack.post(blocks=CARD)).url
    headers = {"Content-Type": "application/json"}
    answer = slack.http.post(url, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


# Commands, Home, messages


def test_a_command_is_sent_as_a_form(slack: Slack, bot: Bot) -> None:
    slack.act("/command", user="mia", command="/refunds", text="show <apr_1> for @ana, not @zoe")
    assert bot.payload["command"] == "/refunds"
    assert bot.payload["text"] == (f"show &lt;apr_1&gt; for <@{ANA.slack_user_id}|ana>, not @zoe")
    assert bot.payload["user_id"] == MIA.slack_user_id
    assert (bot.payload["channel_id"], bot.payload["channel_name"]) == (
        APPROVALS,
        "refund-approvals",
    )
    view = slack.client.views_open(trigger_id=bot.payload["trigger_id"], view=MODAL)["view"]
    assert [shown["id"] for shown in slack.look("/views", user="mia")] == [view["id"]]
    assert slack.look("/messages", channel=APPROVALS) == []


@pytest.mark.parametrize(
    ("answer", "shown", "reader"),
    [
        (Response("nothing waits"), "nothing waits", MIA.slack_user_id),
        (JSONResponse({"text": "nothing waits"}), "nothing waits", MIA.slack_user_id),
        (JSONResponse({"text": "x", "response_type": "in_channel"}), "x", None),
    ],
    ids=["text", "json", "in channel"],
)
def test_the_answer_to_a_command_is_shown(
    slack: Slack, bot: Bot, answer: Response, shown: str, reader: str | None
) -> None:
    bot.reply = lambda _: answer
    result = slack.act("/command", user="mia", command="/refunds", channel="oncall")
    assert (result["status"], result["problem"]) == (200, None)
    (message,) = slack.look("/messages", channel=ONCALL)
    assert (message["text"], message["ephemeral_for"]) == (shown, reader)


def test_an_answer_to_a_command_that_slack_refuses_is_told(slack: Slack, bot: Bot) -> None:
    bot.reply = lambda _: JSONResponse({"text": "x", "blocks": [{"type": "marquee"}]})
    result = slack.act("/command", user="mia", command="/refunds")
    assert result["problem"].startswith("invalid_blocks: [ERROR] unsupported type: marquee")
    problem_of(slack, "/command", 422, user="mia", command="refunds")


def test_the_first_look_at_home_opens_it(slack: Slack, bot: Bot) -> None:
    home = {"type": "home", "blocks": CARD}

    def publish(callback: dict[str, Any]) -> Response:
        event = callback["event"]
        assert (event["type"], event["tab"]) == ("app_home_opened", "home")
        slack.client.views_publish(user_id=event["user"], view=home)
        return Response()

    bot.reply = publish
    shown = slack.look("/home", user="ana")
    assert [block["type"] for block in shown["blocks"]] == ["section", "actions"]
    assert bot.payload["type"] == "event_callback"
    assert slack.look("/home", user="ana") == shown
    assert len(bot.received) == 1
    assert slack.act("/home", user="ana")["status"] == 200
    assert bot.payload["event"]["view"]["id"] == shown["id"]
    slack.act("/click", user="ana", view_id=shown["id"], action_id="approve")
    assert bot.payload["container"] == {"type": "view", "view_id": shown["id"]}
    problem_of(slack, "/submit", 409, user="ana", view_id=shown["id"])
    problem_of(slack, "/click", 404, user="ben", view_id=shown["id"], action_id="approve")


def test_a_home_that_was_never_published_is_empty(slack: Slack, bot: Bot) -> None:
    empty: dict[str, Any] = {"user": ANA.slack_user_id, "id": None, "hash": None, "blocks": []}
    assert [slack.look("/home", user="ana") for _ in "12"] == [empty, empty]
    assert len(bot.received) == 1


def test_people_write_messages_themselves(slack: Slack) -> None:
    root = slack.post()
    slack.act("/messages", user="ben", channel="refund-approvals", text="why? <x>", thread_ts=root)
    message = slack.look("/messages", channel=APPROVALS)[-1]
    assert (message["user"], message["bot_id"]) == (BEN.slack_user_id, None)
    assert (message["text"], message["thread_ts"]) == ("why? &lt;x&gt;", root)
    thread = slack.client.conversations_replies(channel=APPROVALS, ts=root)["messages"]
    assert [shown["user"] for shown in thread] == [slack.config.bot_user_id, BEN.slack_user_id]


def test_channels_are_listed_for_the_page(slack: Slack) -> None:
    slack.post()
    channels = slack.look("/channels")
    assert channels[0]["id"] == APPROVALS
    assert channels[0]["name"] == "refund-approvals"
    assert (channels[0]["messages"], channels[1]["messages"]) == (1, 0)
    assert slack.http.get("/sandbox/slack/messages?channel=nowhere").status_code == 404
    assert slack.http.get("/sandbox/slack/nowhere").json()["code"] == "not_found"


# Waiting for changes


def test_whoever_is_behind_hears_at_once(slack: Slack) -> None:
    version = slack.look("/changes", wait="0")["version"]
    assert slack.look("/changes", after=str(version), wait="0")["version"] == version
    slack.post()
    assert slack.look("/changes", after=str(version), wait="25")["version"] == version + 1


def test_a_change_wakes_who_waits(slack: Slack) -> None:
    version = slack.look("/changes", wait="0")["version"]
    heard: list[int] = []
    waiting = threading.Thread(
        target=lambda: heard.append(slack.look("/changes", after=str(version))["version"])
    )
    waiting.start()
    slack.post()
    waiting.join()
    assert heard == [version + 1]


def test_the_end_of_the_server_wakes_who_waits(slack: Slack) -> None:
    heard: list[int] = []
    waiting = threading.Thread(
        target=lambda: heard.append(slack.look("/changes", after="0")["version"])
    )
    waiting.start()
    slack.app.state.release()
    waiting.join()
    assert heard == [0]
