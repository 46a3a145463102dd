"""What comes in over HTTP besides clicks: signatures, nonsense, failures of our own."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_bolt import App

from agent.providers.system import SystemClock
from bot.sandbox.cast import ANA
from bot.sandbox.slack_delivery import FORM, JSON, sign
from bot.slack.edge import Edge
from bot.slack.listeners import dispatch, slack_app
from bot.slack.names import View
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.slack_sandbox import APPROVALS, SIGNING_SECRET
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story, uncounted

COMMAND = {"team_id": "T07SHOPSTRM", "user_id": ANA.slack_user_id, "command": "/refunds"}


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


def form(**payload: Any) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def click(**changes: Any) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": ANA.slack_user_id, "team_id": "T07SHOPSTRM"},
        "team": {"id": "T07SHOPSTRM"},
        "channel": {"id": APPROVALS},
        "container": {"message_ts": "1.0"},
        "trigger_id": "1.x",
        "actions": [
            {
                "type": "button",
                "action_id": "approval_approve",
                "block_id": "b",
                "value": "{}",
                "action_ts": "1.0",
            }
        ],
        **changes,
    }


# --- signatures


def test_unsigned_old_future_and_forged_requests_are_401_and_leave_no_trace(
    story: SlackStory,
) -> None:
    body = form(**click())
    now = int(SystemClock().now().timestamp())
    before = len(story.trail())
    wrong = [
        {"x_slack_signature": ""},
        {"x_slack_signature": "v0=" + "0" * 64},
        {"x_slack_request_timestamp": "yesterday"},
        {"x_slack_request_timestamp": ""},
        {"x_slack_request_timestamp": "-1"},
        *(
            {
                "x_slack_request_timestamp": str(stamp),
                "x_slack_signature": sign(SIGNING_SECRET, str(stamp), body),
            }
            for stamp in (now - 360, now + 360)
        ),
        {"x_slack_signature": sign("another secret", str(now), body)},
    ]
    assert [story.sends(body, FORM, **headers).status_code for headers in wrong] == [401] * 8
    assert len(story.trail()) == before


def test_a_signature_that_is_no_ascii_is_401(story: SlackStory) -> None:
    stamp = str(int(SystemClock().now().timestamp()))
    headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": "v0=\xe9"}
    assert dispatch(story.bolt, form(**click()), headers)[0] == 401


def test_a_request_that_is_four_minutes_old_is_taken(story: SlackStory) -> None:
    body = urlencode(COMMAND).encode()
    stamp = str(int(SystemClock().now().timestamp()) - 240)
    signature = sign(SIGNING_SECRET, stamp, body)
    answer = story.sends(body, FORM, x_slack_request_timestamp=stamp, x_slack_signature=signature)
    assert answer.status_code == 200


def test_the_url_is_verified(story: SlackStory) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c4"}).encode()
    answer = story.sends(body, JSON)
    assert answer.status_code == 200
    assert "c4" in answer.text


# --- nonsense


def test_what_cannot_be_read_is_400(story: SlackStory) -> None:
    bodies = [b"\xff\xfe", b"payload=not-json", b"{", b"[1]", b'{"a":' * 100_000]
    answers = [story.sends(body, JSON).status_code for body in bodies]
    assert answers == [400] * len(bodies)


def test_signed_nonsense_is_acknowledged_never_404_or_500(story: SlackStory) -> None:
    payloads = [
        {},
        {"type": "block_actions"},
        click(actions=[]),
        click(actions=[{"type": "button"}]),
        click(user={}),
        click(user={"id": 7}),
        click(team=None, user={"id": ANA.slack_user_id}),
        click(trigger_id=None),
        {"type": "view_submission"},
        {"type": "view_submission", "view": {"type": "modal", "callback_id": "edit_form"}},
        {"type": "view_submission", "view": {"type": "modal", "callback_id": "nobody_knows"}},
        {"type": "view_submission", "view": {"callback_id": "edit_form"}},
        {"type": "view_closed", "view": {"callback_id": "edit_form"}},
        {"type": "shortcut", "callback_id": "x", "user": {"id": "U1"}},
        {"type": "brand_new"},
        {"type": "event_callback", "event": {"type": "reaction_added"}, "event_id": "Ev1"},
        {"type": "event_callback", "event": {"type": "app_home_opened"}, "event_id": "Ev2"},
    ]
    answers = {
        json.dumps(payload): story.sends(form(**payload), FORM).status_code for payload in payloads
    }
    assert {text: status for text, status in answers.items() if status != 200} == {}


def test_a_submission_of_an_unknown_form_says_so_and_is_noted(story: SlackStory) -> None:
    sender = {"id": ANA.slack_user_id, "team_id": "T07SHOPSTRM"}
    view = {"type": "modal", "private_metadata": "nonsense", "state": {"values": {}}}
    silent = {View.DETAILS, View.NOTICE}
    for callback_id in (*(view for view in View if view not in silent), "unknown"):
        before = story.trail().count("decision.refused")
        payload = {
            "type": "view_submission",
            "user": sender,
            "view": {**view, "callback_id": callback_id},
        }
        answer = story.sends(form(**payload), FORM).json()
        assert answer["response_action"] == "update"
        assert "not one the desk knows" in json.dumps(answer["view"])
        assert story.trail().count("decision.refused") == before + 1


def test_a_lone_surrogate_in_a_value_is_noted_in_the_trail(story: SlackStory) -> None:
    body = b"payload=" + urlencode(
        {"": json.dumps(click(actions=[{**click()["actions"][0], "value": "\ud800"}]))}
    ).encode().removeprefix(b"=")
    assert story.sends(body, FORM).status_code == 200
    assert story.trail().count("decision.refused") == 1


# --- failures of our own


@pytest.fixture
def broken(story: SlackStory, tmp_path: Path) -> Iterator[App]:
    """Return the app of a desk whose database has no tables."""
    empty = Store(open_engine(f"sqlite:///{tmp_path / 'empty.db'}"))
    desk = replace(story.desk, store=empty)
    yield slack_app(
        Edge(desk, story.slack.client, story.slack.config.team_id, uncounted), SIGNING_SECRET
    )
    empty.close()


def dispatched(app: App, body: bytes) -> tuple[int, str]:
    stamp = str(int(SystemClock().now().timestamp()))
    headers = {
        "Content-Type": FORM,
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": sign(SIGNING_SECRET, stamp, body),
    }
    status, _, text = dispatch(app, body, headers)
    return status, text


def test_a_form_that_fails_says_so_and_the_log_has_the_traceback(
    broken: App, caplog: pytest.LogCaptureFixture
) -> None:
    target = {"v": 1, "id": f"apr_{'0' * 26}", "rev": 1, "h": "0" * 16, "channel": ""}
    view = {"type": "modal", "callback_id": "review", "private_metadata": json.dumps(target)}
    sender = {"id": ANA.slack_user_id, "team_id": "T07SHOPSTRM"}
    status, text = dispatched(broken, form(type="view_submission", user=sender, view=view))
    assert status == 200
    assert json.loads(text)["response_action"] == "update"
    assert "Nothing was decided unless the card says so" in text
    assert any("no such table" in str(record.exc_info) for record in caplog.records)


def test_a_command_that_fails_says_so(broken: App) -> None:
    status, text = dispatched(broken, urlencode(COMMAND).encode())
    assert status == 200
    assert text.startswith("Something went wrong")


def test_a_click_that_cannot_even_be_answered_is_marked_by_slack(broken: App) -> None:
    status, text = dispatched(broken, form(**click()))
    assert (status, text) == (500, "")


# --- commands


def test_an_unknown_command_is_answered(story: SlackStory) -> None:
    answer = story.slack.act("/command", user="ana", command="/payouts", text="all")
    assert (answer["status"], answer["problem"]) == (200, None)
    assert story.whispers("ana")[-1] == "Unknown command."
