"""The Slack stand-in on a real server, with a bot beside it that answers as a test tells it to."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.sandbox.cast import CHANNELS, PEOPLE, USER_GROUPS
from bot.sandbox.guard import SandboxGuard
from bot.sandbox.slack_app import slack_sandbox
from bot.sandbox.slack_config import SlackSandboxConfig
from tests.support.doubles import HandClock

BOT_TOKEN = "xoxb-a-token-for-tests"
SIGNING_SECRET = "a-signing-secret-for-tests"
MOUNT = "/sandbox/slack"
_ACK_PATIENCE_S = 20.0
APPROVALS, ONCALL = CHANNELS[0].id, CHANNELS[1].id


def listening_socket() -> socket.socket:
    """Return a socket that listens on a free port of this machine."""
    # asyncio turns Nagle's algorithm off, 40 ms an answer, only where the protocol is spelled out.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def address(listener: socket.socket) -> str:
    """Return `http://127.0.0.1:port` of a listening socket."""
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def served(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """Serve `app` on a socket that listens already, so that no caller has to wait for the start."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@dataclass
class Stage:
    """A running server whose application changes from test to test."""

    url: str
    app: ASGIApp = field(default_factory=FastAPI)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request to the application of the moment."""
        await self.app(scope, receive, send)


@contextmanager
def running_stage() -> Iterator[Stage]:
    """Run a server on a free port."""
    listener = listening_socket()
    stage = Stage(address(listener))
    with served(stage, listener):
        yield stage


@dataclass
class Ticks:
    """A monotonic clock that moves only when told to."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """Return the seconds so far."""
        return self.seconds


def real_clock(minutes_behind: float = 0) -> dict[str, Any]:
    """Return the config's clocks for whoever compares them with the time of day."""
    late = timedelta(minutes=minutes_behind)
    return {"now": lambda: datetime.now(UTC) - late, "monotonic": time.monotonic}


@dataclass
class Bot:
    """A bot that keeps what it was sent and answers what `reply` says."""

    received: list[Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    reply: Callable[[dict[str, Any]], Response] = lambda _: Response()

    @property
    def payload(self) -> dict[str, Any]:
        """The newest body, decoded."""
        return decoded(self.received[-1], self.bodies[-1])

    def app(self) -> FastAPI:
        """Return the application with the bot's one URL, `/slack/events`."""
        app = FastAPI()

        @app.post("/slack/events")
        async def events(request: Request) -> Response:
            body = await request.body()
            self.received.append(request)
            self.bodies.append(body)
            return self.reply(decoded(request, body))

        return app


def decoded(request: Request, body: bytes) -> dict[str, Any]:
    """Return a payload, the fields of a command, or an event callback."""
    if request.headers["content-type"] == "application/json":
        return dict(json.loads(body))
    form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
    return dict(json.loads(form["payload"])) if "payload" in form else form


@dataclass
class Slack:
    """A running stand-in: the bot's client, a person's client, and the clocks."""

    config: SlackSandboxConfig
    client: WebClient
    http: httpx.Client
    app: FastAPI
    clock: HandClock
    ticks: Ticks
    pauses: list[float]

    def look(self, path: str, **params: str) -> Any:
        """Return what a GET of the person's side answers."""
        response = self.http.get(f"{MOUNT}{path}", params=params)
        response.raise_for_status()
        return response.json()

    def act(self, path: str, expected: int = 200, /, **body: object) -> Any:
        """Return what a POST of the person's side answers; the status must be `expected`."""
        response = self.http.post(f"{MOUNT}{path}", json=body)
        assert response.status_code == expected, response.text
        return response.json() if response.content else None

    def error_of(self, method: str, **arguments: object) -> SlackApiError:
        """Return the error that a call of the Web API raises."""
        try:
            self.client.api_call(method, json=arguments)
        except SlackApiError as error:
            return error
        raise AssertionError(f"{method} was carried out")

    def error_code(self, method: str, **arguments: object) -> str:
        """Return Slack's code of the error that a call of the Web API raises."""
        return str(self.error_of(method, **arguments).response["error"])

    def post(self, channel: str = APPROVALS, **content: object) -> str:
        """Return the ts of a message the bot posts."""
        arguments = {"text": "card", **content}
        return str(
            self.client.api_call("chat.postMessage", json={"channel": channel, **arguments})["ts"]
        )


@contextmanager
def running_slack(
    stage: Stage, folder: Path, events_url: str = "", **changes: Any
) -> Iterator[Slack]:
    """Run a stand-in whose journal is in `folder`, sending to `events_url`."""
    clock, ticks, tokens = HandClock(), Ticks(), count(1)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    config = SlackSandboxConfig(
        bot_token=BOT_TOKEN,
        signing_secret=SIGNING_SECRET,
        events_url=events_url or f"{stage.url}/slack/events",
        base_url=f"{stage.url}{MOUNT}",
        journal=folder / "slack.jsonl",
        people=PEOPLE,
        channels=CHANNELS,
        user_groups=USER_GROUPS,
        now=clock.now,
        monotonic=ticks,
        token=lambda: f"token{next(tokens):015d}",
        pause=pause,
        # How soon a click is acknowledged is measured by `make bench`; a machine that is busy with
        # other tests must not decide what these show.
        ack_timeout_s=_ACK_PATIENCE_S,
    )
    config = replace(config, **changes)
    sandbox, desk = slack_sandbox(config), FastAPI()
    desk.mount(MOUNT, sandbox)
    desk.add_middleware(SandboxGuard)
    stage.app = desk
    client = WebClient(BOT_TOKEN, base_url=f"{config.base_url}/api/", retry_handlers=[])
    # Plain HTTP only: a context that trusts nobody is made in no time.
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        with httpx.Client(base_url=stage.url, trust_env=False, verify=tls) as http:
            yield Slack(config, client, http, sandbox, clock, ticks, pauses)
    finally:
        sandbox.state.release()
        sandbox.state.close()
