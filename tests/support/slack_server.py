"""The desk's Slack edge on a real server, beside the Slack stand-in: signed requests both ways."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request, Response
from slack_bolt import App
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Approval, Status
from agent.domain.decision import DecideAnswer, Decision
from agent.domain.policy import Policy
from agent.ports import Notifier
from agent.providers.system import SystemClock
from agent.steps.announce import announce
from bot.sandbox.slack_delivery import sign
from bot.slack.channels import Channels, check_channels
from bot.slack.client import INTERACTIVE_TIMEOUT_S, OUTBOX_TIMEOUT_S, SlackNotifier, web_client
from bot.slack.edge import Edge
from bot.slack.listeners import dispatch, slack_app
from bot.slack.names import INPUT
from bot.slack.people import SyncReport, sync_people
from bot.slack.prompt import Prompt
from bot.slack.rosters import SlackRosters
from bot.web.slack_events import SLACK_THREADS
from storage import cards
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.slack_sandbox import (
    APPROVALS,
    BOT_TOKEN,
    SIGNING_SECRET,
    Slack,
    Stage,
    real_clock,
    running_slack,
    running_stage,
)

# As an operator may write them: a name with #, one without, an id.
WANTED = Channels("#refund-approvals", "oncall", "C07REVIEW")


def seconds_of(clock: HandClock) -> float:
    """Return the time of a clock in seconds."""
    return clock.now().timestamp()


def uncounted(_decision: Decision, _answer: DecideAnswer) -> None:
    """Count nothing."""


class KeptPrompt(Prompt):
    """Work beside the answers to Slack, for which a test can wait."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[Future[object]] = []

    @override
    def start(self, work: Callable[[], object]) -> Future[object]:
        self._started.append(super().start(work))
        return self._started[-1]

    @override
    def call(self, work: Callable[[], object]) -> Future[object]:
        self._started.append(super().call(work))
        return self._started[-1]

    def settle(self) -> None:
        """Wait until all that was started has ended."""
        wait(self._started)


@dataclass(kw_only=True)
class SlackStory(Story):
    """A story whose outbox reaches the stand-in and whose people click there."""

    slack: Slack
    sender: Notifier
    bolt: App
    prompt: KeptPrompt
    events_url: str

    @override
    def rests(self) -> None:
        """Wait for what runs beside the answers to Slack, then run every worker."""
        self.prompt.settle()
        super().rests()

    @override
    def delivers(self) -> int:
        """Deliver all that is due to the stand-in and return how many messages there were."""
        count = 0
        while announce(self.desk, self.sender, self.pace):
            count += 1
        return count

    def syncs(self) -> SyncReport:
        """Mirror the user groups of the stand-in."""
        return sync_people(self.desk, self.slack.client, self.slack.config.team_id)

    def parks(self, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
        """Let the customer of an order ask for a refund that waits; its card is posted."""
        before = {approval.id for approval in self.all(Status.PENDING)}
        owner = self.desk.shop.order(order)
        assert owner is not None
        self.asks_refund(self.opens_chat(owner.customer_id), amount, order)
        (fresh,) = (row for row in self.all(Status.PENDING) if row.id not in before)
        return fresh

    def cards(self, approval: Approval) -> list[dict[str, Any]]:
        """Return the posted copies of an approval's card as Slack has them, oldest first."""
        with self.desk.store.transaction(write=False) as tx:
            known = {ref.ts for ref in cards.of(tx, approval.id)}
        posted = self.slack.look("/messages", channel=APPROVALS)
        return [message for message in posted if message["ts"] in known]

    def card(self, approval: Approval) -> dict[str, Any]:
        """Return the newest posted card of an approval."""
        return self.cards(approval)[-1]

    def clicks(
        self, user: str, approval: Approval, action_id: str, value: str | None = None
    ) -> dict[str, Any]:
        """Let a person click a button of the card, then run what follows."""
        return self.presses(user, self.card(approval), action_id, value)

    def posted(self, channel: str) -> list[dict[str, Any]]:
        """Return what everybody in a channel reads, oldest first."""
        found = self.slack.look("/messages", channel=channel)
        return [message for message in found if message["ephemeral_for"] is None]

    def presses(
        self, user: str, message: dict[str, Any], action_id: str, value: str | None = None
    ) -> dict[str, Any]:
        """Let a person click a button of any message, then run what follows."""
        where = {"channel": message["channel"], "ts": message["ts"], "action_id": action_id}
        body = {"user": user, **where, **({} if value is None else {"value": value})}
        answer: dict[str, Any] = self.slack.act("/click", **body)
        self.rests()
        return answer

    def presses_inside(self, user: str, action_id: str) -> dict[str, Any]:
        """Let a person click a button of the modal on top, then run what follows."""
        body = {"user": user, "view_id": self.form(user)["id"], "action_id": action_id}
        answer: dict[str, Any] = self.slack.act("/click", **body)
        self.rests()
        return answer

    def types(self, user: str, where: str, **values: object) -> dict[str, Any]:
        """Let a person type into an input of the modal on top; `values` are all its entries."""
        body = {
            "user": user,
            "view_id": self.form(user)["id"],
            "action_id": INPUT,
            "block_id": where,
            "value": values[where],
            "values": values,
        }
        answer: dict[str, Any] = self.slack.act("/click", **body)
        self.rests()
        return answer

    def form(self, user: str) -> dict[str, Any]:
        """Return the modal that lies on top for a person."""
        self.prompt.settle()
        return dict(self.slack.look("/views", user=user)[-1])

    def forms(self, user: str) -> int:
        """Return how many modals lie open for a person."""
        self.prompt.settle()
        return len(self.slack.look("/views", user=user))

    def submits(self, user: str, *, force: bool = False, **values: object) -> dict[str, Any]:
        """Let a person submit the modal on top, then run what follows."""
        body = {"user": user, "view_id": self.form(user)["id"], "values": values, "force": force}
        answer: dict[str, Any] = self.slack.act("/submit", **body)
        self.rests()
        return answer

    def opens_home(self, user: str) -> dict[str, Any]:
        """Let a person open their Home tab, run what follows, and return what they see."""
        self.slack.act("/home", user=user)
        self.rests()
        return self.home(user)

    def home(self, user: str) -> dict[str, Any]:
        """Return the Home tab as a person has it before them."""
        return dict(self.slack.look("/home", user=user))

    def presses_home(self, user: str, action_id: str, value: str | None = None) -> dict[str, Any]:
        """Let a person click a button of their Home tab, then run what follows."""
        body = {"user": user, "view_id": self.home(user)["id"], "action_id": action_id}
        sent = body if value is None else body | {"value": value}
        answer: dict[str, Any] = self.slack.act("/click", **sent)
        self.rests()
        return answer

    def commands(self, user: str, text: str) -> dict[str, Any]:
        """Let a person type the command, and return the message they alone read as an answer."""
        answer = self.slack.act("/command", user=user, command="/refunds", text=text)
        assert (answer["status"], answer["problem"]) == (200, None)
        found = self.slack.look("/messages", channel=APPROVALS)
        return dict([message for message in found if message["ephemeral_for"] is not None][-1])

    def whispers(self, user: str, channel: str = APPROVALS) -> list[str]:
        """Return what a person alone reads in a channel, oldest first."""
        (slack_id,) = (p.slack_user_id for p in self.slack.config.people if p.id == user)
        return [
            message["text"]
            for message in self.slack.look("/messages", channel=channel)
            if message["ephemeral_for"] == slack_id
        ]

    def replies(self, approval: Approval) -> list[str]:
        """Return the lines in the thread of the card."""
        root = self.cards(approval)[0]["ts"]
        posted = self.slack.look("/messages", channel=APPROVALS)
        return [message["text"] for message in posted if message["thread_ts"] == root]

    def sends(self, body: bytes, content_type: str, **headers: str) -> httpx.Response:
        """Send a signed request to the desk; headers named with `_` are replaced or added."""
        stamp = str(int(SystemClock().now().timestamp()))
        signed = {
            "content-type": content_type,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": sign(SIGNING_SECRET, stamp, body),
        }
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        with httpx.Client(trust_env=False) as client:
            return client.post(self.events_url, content=body, headers=signed | changed)


@dataclass(frozen=True)
class Servers:
    """Two running servers: one for the stand-in, one for the desk."""

    slack: Stage
    desk: Stage


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Run both servers, for as many stories as come."""
    with running_stage() as slack, running_stage() as desk:
        yield Servers(slack, desk)


@contextmanager
def slack_story(
    servers: Servers,
    folder: Path,
    store: Store,
    policy: Policy | None = None,
    around: Callable[[Desk], Desk] = lambda desk: desk,
    clock: HandClock | None = None,
    **changes: Any,
) -> Iterator[SlackStory]:
    """Let a desk and a stand-in know each other; roles are mirrored, nothing has happened yet.

    The clock of the desk starts at the real time, as signatures and message timestamps have it.
    `around` puts something between the desk and the outside; with a `clock` the stand-in's time is
    the desk's, for what needs no signed request.
    """
    own = {} if clock is None else {"now": clock.now, "monotonic": partial(seconds_of, clock)}
    at = real_clock() | own | changes
    events_url = f"{servers.desk.url}/slack/events"
    with running_slack(servers.slack, folder, events_url, **at) as slack:
        base_url = f"{slack.config.base_url}/api/"
        told = tell_story(store, clock or HandClock(SystemClock().now()), CountingIds(), policy)
        quick = web_client(BOT_TOKEN, base_url, timeout_s=INTERACTIVE_TIMEOUT_S)
        patient = web_client(BOT_TOKEN, base_url, timeout_s=OUTBOX_TIMEOUT_S)
        prompt = KeptPrompt()
        rosters = SlackRosters(told.desk, quick, slack.config.team_id)
        told.desk = around(replace(told.desk, rosters=rosters))
        edge = Edge(told.desk, quick, slack.config.team_id, uncounted, prompt)
        bolt = slack_app(edge, SIGNING_SECRET)
        servers.desk.app = desk_app(bolt)
        story = SlackStory(
            **{field.name: getattr(told, field.name) for field in fields(told)},
            slack=slack,
            sender=SlackNotifier(
                patient, quick, check_channels(patient, WANTED), store, told.clock
            ),
            bolt=bolt,
            prompt=prompt,
            events_url=events_url,
        )
        story.syncs()
        yield story


def desk_app(bolt: App) -> FastAPI:
    """Return the desk's one address, `/slack/events`, as an application with as many threads."""
    app, pool = FastAPI(), ThreadPoolExecutor(SLACK_THREADS)

    @app.post("/slack/events")
    async def events(request: Request) -> Response:
        body = await request.body()
        status, headers, text = await asyncio.get_running_loop().run_in_executor(
            pool, dispatch, bolt, body, dict(request.headers)
        )
        return Response(text, status, headers)

    return app
