"""Socket Mode against a real peer: the same listeners, and nothing lost or doubled on the way."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from slack_bolt import Ack

from agent.domain.approvals import Approval, Status
from bot.sandbox.cast import ANA
from bot.slack.channels import SlackNotReady
from bot.slack.payloads import Body
from bot.slack.socket import SocketMode
from storage.transaction import Store
from tests.support.slack_sandbox import APPROVALS, Ticks
from tests.support.slack_server import Servers, SlackStory, running_servers, slack_story
from tests.support.socket_peer import APP_TOKEN, Envelope, SocketPeer, running_peer

TEAM = "T07SHOPSTRM"
# What Slack delivers does not depend on the kind of database.
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@dataclass
class World:
    """A story whose desk is connected to Slack's end of Socket Mode."""

    story: SlackStory
    peer: SocketPeer
    mode: SocketMode
    ticks: Ticks

    def opens(self, number: int = 2) -> None:
        """Let the job run, and wait until so many connections have been greeted."""
        self.mode.watch()
        self.peer.waits_for(lambda: self.mode.connections == number, f"{number} connections")

    def approval(self, approval: Approval, action_ts: str = "18.1") -> Envelope:
        """Return an envelope with Ana's click on Approve."""
        value = {"v": 1, "id": approval.id, "rev": approval.revision, "h": approval.short_hash()}
        action = {
            "type": "button",
            "action_id": "approval_approve",
            "block_id": "b",
            "value": json.dumps(value),
            "action_ts": action_ts,
        }
        payload = {
            "type": "block_actions",
            "user": {"id": ANA.slack_user_id, "team_id": TEAM},
            "team": {"id": TEAM},
            "channel": {"id": APPROVALS},
            "container": {"type": "message", "message_ts": "17.5"},
            "trigger_id": "1.x",
            "actions": [action],
        }
        return self.peer.makes("interactive", payload)

    def decided_once(self, approval: Approval) -> bool:
        """Tell whether there is one vote, one payment, and no word to anybody."""
        self.story.rests()
        assert self.story.approval(approval.id).status is Status.EXECUTED
        assert len(self.story.paid()) == 1
        assert self.story.trail().count("vote.cast") == 1
        assert self.story.trail().count("slack.acted") == 1
        return self.story.whispers("ana") == []


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running_servers() as running:
        yield running


@contextmanager
def world_of(servers: Servers, folder: Path, store: Store) -> Iterator[World]:
    with running_peer() as peer, slack_story(servers, folder, store) as story:
        story.model.otherwise = "It is paid."
        servers.slack.app = peer.in_front_of(servers.slack.app)
        servers.desk.app = peer.bridge()
        ticks = Ticks()
        url = f"{story.slack.config.base_url}/api/"
        mode = SocketMode(story.bolt, APP_TOKEN, url, ping_every_s=0.3, clock=ticks)
        try:
            yield World(story, peer, mode, ticks)
        finally:
            mode.close()


@pytest.fixture
def world(servers: Servers, tmp_path: Path, store: Store) -> Iterator[World]:
    with world_of(servers, tmp_path, store) as made:
        yield made


def test_people_click_type_and_look_over_connections_of_our_own(world: World) -> None:
    world.opens()
    story = world.story
    first, second = story.parks("61.00", "ORD-1004"), story.parks("62.00", "ORD-1004")
    answer = story.clicks("ana", first, "approval_approve")
    assert (answer["status"], answer["body"]) == (200, "")
    story.clicks("ben", second, "approval_reject")
    marked = story.submits("ben", category="other", reason="       ")
    assert (list(marked["errors"]), marked["problem"]) == (["reason"], None)
    closed = story.submits("ben", category="other", reason="Too late for that")
    assert (closed["response_action"], closed["problem"]) == ("clear", None)
    assert story.approval(first.id).status is Status.EXECUTED
    assert story.approval(second.id).status is Status.REJECTED
    told = story.commands("ana", "help")
    assert "/refunds" in json.dumps(told["blocks"]) + told["text"]
    answer = story.slack.act("/command", user="ana", command="/payouts", text="all")
    assert (answer["status"], answer["problem"]) == (200, None)
    assert story.whispers("ana")[-1] == "Unknown command."
    story.slack.act("/home", user="ana")
    story.rests()
    assert story.slack.look("/home", user="ana")["blocks"] != []
    # All of it came through both connections.
    assert len(world.peer.envelopes) > 5


def test_an_envelope_whose_acknowledgement_was_lost_comes_again_and_is_decided_once(
    world: World,
) -> None:
    approval = world.story.parks()
    world.opens()
    envelope = world.approval(approval)
    world.peer.is_deaf = True
    world.peer.sends(envelope, on=0)
    world.peer.waits_for(
        lambda: world.story.approval(approval.id).status is not Status.PENDING, "a decision"
    )
    world.peer.is_deaf = False
    world.peer.sends(envelope, on=1)
    assert world.peer.answer_to(envelope) == {"envelope_id": envelope.id}
    assert world.decided_once(approval)


def test_a_connection_that_breaks_off_half_way_through_an_envelope_loses_nothing(
    world: World,
) -> None:
    approval = world.story.parks()
    world.opens()
    envelope = world.approval(approval)
    broken = world.peer.lines[0]
    world.peer.drops(broken, envelope)
    # The other one goes on, and the library opens a new one in place of the first.
    world.peer.sends(envelope, on=-1)
    assert world.peer.answer_to(envelope)
    world.peer.waits_for(lambda: world.peer.opened == 3, "a new connection")
    world.peer.waits_for(lambda: world.mode.connections == 2, "both greeted")
    again = world.peer.makes("interactive", envelope.body["payload"])
    world.peer.sends(again, on=-1)
    assert world.peer.answer_to(again)
    assert world.decided_once(approval)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_a_connection_that_slack_ends_is_renewed_and_what_it_carried_is_answered(
    world: World, reason: str
) -> None:
    approval = world.story.parks()
    world.opens()
    envelope, old = world.approval(approval), world.peer.lines[0]
    world.peer.sends(envelope, on=0)
    world.peer.ends(old, reason)
    world.peer.waits_for(lambda: world.peer.opened == 3 and old not in world.peer.lines, "renewal")
    assert world.peer.answer_to(envelope)
    world.peer.waits_for(lambda: world.mode.connections == 2, "both greeted")
    assert world.decided_once(approval)


def test_the_same_envelope_on_two_connections_at_once_is_one_click(world: World) -> None:
    approval = world.story.parks()
    world.opens()
    envelope = world.approval(approval)
    for line in (0, 1):
        world.peer.sends(envelope, on=line)
    world.peer.waits_for(lambda: len(envelope.acks) == 2, "two acks")
    assert envelope.acks == [{"envelope_id": envelope.id}] * 2
    assert world.decided_once(approval)


def test_a_long_envelope_and_a_long_answer_arrive_whole(world: World) -> None:
    seen: list[int] = []

    @world.story.bolt.action("a_long_one")
    def listen(body: Body, ack: Ack) -> None:
        seen.append(len(body["padding"]))
        ack(text="ü" * 200_000)

    world.opens()
    payload = {
        "type": "block_actions",
        "user": {"id": "U1"},
        "padding": "é" * 1_500_000,
        "actions": [{"action_id": "a_long_one", "type": "button", "block_id": "b"}],
    }
    envelope = world.peer.makes("interactive", payload)
    world.peer.sends(envelope)
    assert world.peer.answer_to(envelope)["payload"] == {"text": "ü" * 200_000}
    assert seen == [1_500_000]


def test_what_failed_is_not_acknowledged_and_nonsense_is(world: World) -> None:
    tries: list[int] = []

    @world.story.bolt.event("app_mention")
    def listen() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise TimeoutError("the database is busy")

    world.opens()
    event = {"type": "event_callback", "event_id": "Ev9", "event": {"type": "app_mention"}}
    envelope = world.peer.makes("events_api", event)
    nonsense = world.peer.makes("interactive", {"type": "block_actions", "actions": 7})
    world.peer.sends(envelope)
    world.peer.sends(nonsense)
    assert world.peer.answer_to(nonsense) == {"envelope_id": nonsense.id}
    world.peer.waits_for(lambda: tries, "a try")
    assert envelope.acks == []
    world.peer.sends(envelope, on=1)
    assert world.peer.answer_to(envelope) == {"envelope_id": envelope.id}
    assert len(tries) == 2


def test_a_connection_that_says_nothing_is_replaced(world: World) -> None:
    world.opens()
    first = list(world.peer.lines)

    # Both are there as far as the library knows, and nothing has come for a while.
    def replaced() -> bool:
        # A pong may come between the two lines.
        world.ticks.seconds += 31
        world.mode.watch()
        return not set(first) & set(world.peer.lines)

    world.peer.waits_for(replaced, "new connections")
    world.opens()
    assert world.peer.opened >= 4
    # One that is never greeted is none.
    world.peer.greets, before = False, world.peer.opened
    for line in list(world.peer.lines):
        world.peer.drops(line)
    world.peer.waits_for(lambda: world.peer.opened == before + 2, "two that are not greeted")
    world.ticks.seconds += 31
    with pytest.raises(SlackNotReady, match="has not said hello"):
        world.mode.watch()
    world.peer.greets = True
    world.ticks.seconds += 31
    world.opens()


def test_slack_that_opens_no_connection_is_named_and_asked_as_often_as_it_wants(
    world: World,
) -> None:
    limited = (429, {"ok": False, "error": "ratelimited"}, {"retry-after": "30"})
    world.peer.refusals += [limited]
    with pytest.raises(SlackNotReady, match="no connection to Slack: ratelimited"):
        world.mode.watch()
    assert (world.peer.opened, world.peer.refusals) == (0, [])
    world.ticks.seconds += 29
    with pytest.raises(SlackNotReady):
        world.mode.watch()
    assert world.peer.opened == 0
    world.ticks.seconds += 1
    world.peer.refusals += [(200, {"ok": False, "error": "invalid_auth"}, {})]
    with pytest.raises(SlackNotReady, match="invalid_auth"):
        world.mode.watch()
    world.ticks.seconds += 3
    world.opens()
    # A renewal that is refused is tried again, no sooner than Slack wants it.
    world.peer.refusals += [limited]
    world.peer.drops(world.peer.lines[0])
    world.peer.waits_for(lambda: not world.peer.refusals, "a refusal")
    assert world.peer.opened == 2

    def renewed() -> bool:
        world.ticks.seconds += 30
        return world.peer.opened == 3

    world.peer.waits_for(renewed, "new connection")


def test_closing_finishes_what_is_under_way_and_leaves_the_rest_to_others(world: World) -> None:
    begun, go = threading.Event(), threading.Event()

    @world.story.bolt.event("app_mention")
    def listen() -> None:
        begun.set()
        assert go.wait(30)

    world.opens()
    event = {"type": "event_callback", "event": {"type": "app_mention"}}
    under_way = world.peer.makes("events_api", {**event, "event_id": "Ev1"})
    world.peer.sends(under_way)
    assert begun.wait(30)
    closing = threading.Thread(target=world.mode.close)
    closing.start()
    world.peer.waits_for(lambda: world.mode._closing, "closing")
    late = world.peer.makes("events_api", {**event, "event_id": "Ev2"})
    world.peer.sends(late)
    go.set()
    assert world.peer.answer_to(under_way)
    closing.join(30)
    world.peer.waits_for(lambda: not world.peer.lines, "the end")
    assert late.acks == []
    assert world.mode.watch() is False
    assert world.peer.opened == 2
