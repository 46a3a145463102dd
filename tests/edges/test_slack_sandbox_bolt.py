"""A real Bolt app and the stand-in talk to each other as with Slack."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from slack_bolt import Ack, App, BoltRequest
from slack_sdk import WebClient
from starlette.concurrency import run_in_threadpool

from bot.sandbox.cast import ANA
from tests.support.slack_sandbox import (
    APPROVALS,
    BOT_TOKEN,
    MOUNT,
    SIGNING_SECRET,
    Slack,
    Stage,
    real_clock,
    running_slack,
    running_stage,
)

CARD = [
    {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "action_id": "edit",
                "text": {"type": "plain_text", "text": "Edit"},
                "value": "apr_1",
            }
        ],
    }
]
MODAL = {
    "type": "modal",
    "callback_id": "edit",
    "title": {"type": "plain_text", "text": "Edit"},
    "submit": {"type": "plain_text", "text": "Save"},
    "blocks": [
        {
            "type": "input",
            "block_id": "amount",
            "label": {"type": "plain_text", "text": "Amount"},
            "element": {"type": "plain_text_input", "action_id": "amount"},
        }
    ],
}


def _bolt(base_url: str, signing_secret: str) -> App:
    client = WebClient(BOT_TOKEN, base_url=base_url, retry_handlers=[])
    app = App(
        client=client,
        signing_secret=signing_secret,
        token_verification_enabled=False,
        process_before_response=True,
    )

    @app.action("edit")
    def edit(ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        client.views_open(trigger_id=body["trigger_id"], view=MODAL)
        ack()

    @app.view("edit")
    def save(ack: Ack, view: dict[str, Any]) -> None:
        amount = view["state"]["values"]["amount"]["amount"]["value"]
        if amount == "12.50":
            ack()
        else:
            ack(response_action="errors", errors={"amount": f"{amount} is too much."})

    @app.command("/refunds")
    def refunds(ack: Ack, command: dict[str, Any]) -> None:
        ack(f"nothing waits for {command['user_name']}")

    @app.event("app_home_opened")
    def home(event: dict[str, Any], client: WebClient) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": CARD})

    return app


def _served(bolt: App) -> FastAPI:
    desk = FastAPI()

    @desk.post("/slack/events")
    async def events(request: Request) -> Response:
        body = (await request.body()).decode()
        headers: dict[str, str | Sequence[str]] = dict(request.headers)
        answer = await run_in_threadpool(bolt.dispatch, BoltRequest(body=body, headers=headers))
        return Response(answer.body, answer.status, answer.first_headers_without_set_cookie())

    return desk


@pytest.fixture(scope="module")
def stages() -> Iterator[tuple[Stage, Stage]]:
    with running_stage() as sandbox, running_stage() as desk:
        yield sandbox, desk


@pytest.fixture
def slack(stages: tuple[Stage, Stage], tmp_path: Path) -> Iterator[Slack]:
    sandbox, desk = stages
    desk.app = _served(_bolt(f"{sandbox.url}{MOUNT}/api/", SIGNING_SECRET))
    # Bolt looks at the real time when it verifies a signature.
    url = f"{desk.url}/slack/events"
    with running_slack(sandbox, tmp_path, url, **real_clock()) as running:
        yield running


def _click(slack: Slack, **more: object) -> dict[str, Any]:
    body = {"user": "ana", "channel": APPROVALS, "ts": slack.post(blocks=CARD)}
    return dict(slack.act("/click", **{**body, "action_id": "edit", **more}))


def test_a_click_opens_a_modal_and_its_submission_is_answered(slack: Slack) -> None:
    assert _click(slack)["status"] == 200
    (view,) = slack.look("/views", user="ana")
    own = {"user": "ana", "view_id": view["id"]}
    refused = slack.act("/submit", **own, values={"amount": "999"})
    assert (refused["response_action"], refused["errors"]) == (
        "errors",
        {"amount": "999 is too much."},
    )
    taken = slack.act("/submit", **own, values={"amount": "12.50"})
    assert (taken["status"], taken["body"], taken["response_action"]) == (200, "", None)
    assert slack.look("/views", user="ana") == []


def test_an_action_that_no_listener_knows_is_not_found(slack: Slack) -> None:
    answer = _click(slack, action_id="pay_me", value="all")
    assert answer["status"] == 404
    assert answer["problem"] is not None


def test_a_command_and_home_reach_their_listeners(slack: Slack) -> None:
    assert slack.act("/command", user="ana", command="/refunds")["status"] == 200
    (message,) = slack.look("/messages", channel=APPROVALS)
    assert (message["text"], message["ephemeral_for"]) == (
        "nothing waits for ana",
        ANA.slack_user_id,
    )
    home = slack.look("/home", user="ana")
    assert home["blocks"][0]["elements"][0]["action_id"] == "edit"


def test_another_signing_secret_is_turned_away(stages: tuple[Stage, Stage], slack: Slack) -> None:
    sandbox, desk = stages
    desk.app = _served(_bolt(f"{sandbox.url}{MOUNT}/api/", "another secret"))
    assert _click(slack)["status"] == 401


def test_a_stale_signature_is_turned_away(stages: tuple[Stage, Stage], tmp_path: Path) -> None:
    sandbox, desk = stages
    desk.app = _served(_bolt(f"{sandbox.url}{MOUNT}/api/", SIGNING_SECRET))
    clock = real_clock(minutes_behind=6)
    with running_slack(sandbox, tmp_path, f"{desk.url}/slack/events", **clock) as slack:
        assert _click(slack)["status"] == 401
