"""Only this machine and the sandbox's own page reach the sandbox."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from bot.sandbox.guard import SandboxGuard
from tests.support.slack_sandbox import (
    APPROVALS,
    MOUNT,
    Stage,
    running_slack,
    running_stage,
)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with running_stage() as running:
        yield running


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        ("/channels", {"Host": "shop.example"}, 421, "foreign_host"),
        ("/channels", {"Host": "127.0.0.1.shop.example"}, 421, "foreign_host"),
        ("/channels", {"Host": "127.0.0.1@shop.example"}, 421, "foreign_host"),
        ("/channels", {"Host": "192.168.1.7:3000"}, 421, "foreign_host"),
        ("/channels", {"Host": "[::1"}, 421, "foreign_host"),
        ("/channels", {"Host": ""}, 421, "foreign_host"),
        ("/api/auth.test", {"Host": "shop.example"}, 421, "foreign_host"),
        ("/channels", {"Origin": "https://shop.example"}, 403, "foreign_origin"),
        ("/channels", {"Origin": "null"}, 403, "foreign_origin"),
        (
            "/channels",
            {"Host": "localhost:1", "Origin": "http://localhost:2"},
            403,
            "foreign_origin",
        ),
        (
            "/channels",
            {"Host": "localhost:1", "Origin": "https://localhost:1"},
            403,
            "foreign_origin",
        ),
    ],
    ids=str,
)
def test_the_sandbox_keeps_others_out(
    stage: Stage, tmp_path: Path, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    with running_slack(stage, tmp_path) as slack:
        answer = slack.http.get(f"{MOUNT}{path}", headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:3000", "Origin": "http://localhost:3000"},
        {"Host": "127.9.9.9"},
        {"Host": "[::1]:3000"},
    ],
    ids=str,
)
def test_the_sandbox_lets_its_own_page_in(
    stage: Stage, tmp_path: Path, headers: dict[str, str]
) -> None:
    with running_slack(stage, tmp_path) as slack:
        assert slack.http.get(f"{MOUNT}/channels", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("content_type", "taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/jsonp", False),
        ("", False),
    ],
)
def test_bodies_are_json_except_for_the_web_api(
    stage: Stage, tmp_path: Path, content_type: str, taken: bool
) -> None:
    body = json.dumps({"user": "ana", "channel": APPROVALS, "text": "x"})
    headers = {"Content-Type": content_type}
    with running_slack(stage, tmp_path) as slack:
        own = slack.http.post(f"{MOUNT}/messages", content=body, headers=headers)
        api = slack.http.post(f"{MOUNT}/api/auth.test", content=body, headers=headers)
    assert (own.status_code == 200) is taken
    assert taken or own.json()["code"] == "not_json"
    assert api.json()["error"] == "not_authed"


def test_the_guard_leaves_the_rest_of_the_server_alone(stage: Stage, tmp_path: Path) -> None:
    with running_slack(stage, tmp_path) as slack:
        answers = [
            slack.http.get(path, headers={"Host": "shop.example"})
            for path in ("/", "/sandboxes", "/sandbox")
        ]
    assert [answer.status_code for answer in answers] == [404, 404, 421]


def test_a_socket_of_another_site_is_closed() -> None:
    sent: list[str] = []

    async def inner(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    for origin in (b"http://localhost:3000", b"https://shop.example"):
        headers = [(b"host", b"localhost:3000"), (b"origin", origin)]
        scope = {"type": "websocket", "scheme": "ws", "path": "/sandbox/x", "headers": headers}
        asyncio.run(SandboxGuard(inner)(scope, receive, send))
    assert sent == ["websocket.accept", "websocket.close"]
