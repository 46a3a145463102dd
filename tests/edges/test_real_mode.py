"""With a workspace, a model server and a shop's own key set: the same story outside the sandbox."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import jwt
import pytest

from agent.providers.system import SystemClock
from tests.support.openai_standin import KEY, MODEL, Standin, calls, running_standin, says
from tests.support.process import DeskProcess, Json, eventually, made_desk
from tests.support.slack_sandbox import (
    MOUNT,
    Slack,
    Stage,
    real_clock,
    running_slack,
    running_stage,
)
from tests.support.socket_peer import APP_TOKEN, SocketPeer, running_peer

SMALL_EXPORT = Path(__file__).parents[1] / "data" / "orders_export_small.csv"
SECRET = "the shop's own secret, 32 bytes or more"
CUSTOMER = "cus_" + hashlib.sha256(b"nora.lind@example.com").hexdigest()[:16]


@dataclass
class World:
    """A desk outside the sandbox, and everything it talks to."""

    desk: DeskProcess
    slack: Slack
    model: Standin
    stage: Stage

    def customer(self) -> dict[str, str]:
        """Return the headers of the customer, signed by the shop."""
        now = SystemClock().now()
        claims = {
            "sub": CUSTOMER,
            "aud": "supportdesk",
            "iat": now,
            "exp": now + timedelta(minutes=5),
        }
        return {"Authorization": f"Bearer {jwt.encode(claims, SECRET, algorithm='HS256')}"}

    def says(self, conversation: str, words: str) -> None:
        """Send a message of the customer."""
        sent = self.desk.client.post(
            f"/chat/conversations/{conversation}/messages",
            json={"client_id": str(UUID(int=len(self.model.bodies) + 1)), "text": words},
            headers=self.customer(),
        )
        assert sent.status_code == 202, sent.text

    def reads(self, conversation: str, words: str) -> str:
        """Return what the customer reads that holds these words, as soon as it is there."""

        def look() -> str | None:
            events = self.desk.client.get(
                f"/chat/conversations/{conversation}/events", headers=self.customer()
            ).json()["events"]
            said = [e["data"]["text"] for e in events if e["data"].get("role") == "agent"]
            return next((text for text in said if words in text), None)

        try:
            return eventually(look, f"words {words!r}")
        except AssertionError as missing:
            missing.add_note(f"{self.model.refused}\n{self.desk.log}")
            raise


@contextmanager
def world_of(folder: Path, events_url: str = "") -> Iterator[World]:
    """Prepare a desk and its surroundings; the block starts the desk."""
    with running_stage() as stage, running_standin() as model, made_desk(folder) as desk:
        events = events_url or f"{desk.url}/slack/events"
        with running_slack(stage, folder, events, **real_clock()) as slack:
            desk.env = {
                **desk.env,
                "SLACK_BOT_TOKEN": slack.config.bot_token,
                "SLACK_SIGNING_SECRET": slack.config.signing_secret,
                "SLACK_API_URL": f"{stage.url}{MOUNT}/api/",
                "SLACK_APPROVALS_CHANNEL": "#refund-approvals",
                "SLACK_ONCALL_CHANNEL": "C07ONCALL",
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": model.url,
                "OPENAI_MODEL": MODEL,
                "WIDGET_JWT_SECRET": SECRET,
            }
            yield World(desk, slack, model, stage)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a world whose desk runs."""
    with world_of(tmp_path) as world:
        world.desk.start()
        world.desk.agent("shop", "import", str(SMALL_EXPORT))
        yield world
        world.desk.stop()


def refund_waits(world: World) -> tuple[str, Json]:
    """Let the customer ask for 60.00 USD; return the conversation and the card."""
    started = world.desk.client.post("/chat/conversations", json={}, headers=world.customer())
    conversation = started.json()["conversation_id"]
    wish = {
        "order_id": "S2001",
        "amount": "60.00",
        "currency": "USD",
        "scope": "partial",
        "reason": "the socks have holes",
        "confidence": 0.95,
    }
    world.model.script.append(calls(("call_a", "issue_refund", json.dumps(wish))))
    world.model.script.append(says("That needs a quick review by our team."))
    world.says(conversation, "The socks have holes, please give me 60 dollars back.")
    world.reads(conversation, "quick review")

    def card() -> Json | None:
        found = world.slack.look("/messages", channel="C07APPROVALS")
        return next((m for m in found if "60.00 USD" in m["text"]), None)

    return conversation, eventually(card, "card")


def test_the_story_with_a_workspace_a_model_server_and_the_shops_key(world: World) -> None:
    conversation, posted = refund_waits(world)
    world.model.script.append(says("Good news: 60.00 USD are on their way back."))
    clicked = world.slack.act(
        "/click", user="ana", channel="C07APPROVALS", ts=posted["ts"], action_id="approval_approve"
    )
    assert clicked["status"] == 200
    world.reads(conversation, "on their way back")
    paid = world.desk.rows("SELECT amount_minor FROM ledger_refunds WHERE key LIKE 'rd-%'")
    assert [row["amount_minor"] for row in paid] == [6000]
    asked = world.model.bodies[-1]
    assert asked["model"] == MODEL
    outcome = json.loads(asked["messages"][-1]["content"])
    assert outcome["outcome"] == "executed"
    assert world.model.refused == []


def test_there_is_no_sandbox_beside_a_workspace(world: World) -> None:
    for path in ("/sandbox/people", "/sandbox/payments", "/"):
        assert world.desk.client.get(path).status_code == 404


def test_a_database_of_a_real_workspace_is_no_sandbox(world: World) -> None:
    world.desk.stop()
    env = dict(world.desk.env)
    world.desk.env = {k: v for k, v in env.items() if not k.startswith("SLACK_")}
    refused = world.desk.launch()
    assert refused.wait(60) == 2
    assert "belongs to workspace" in world.desk.log
    world.desk.end()
    # Neither the refused start nor a command may leave anything of the sandbox behind.
    refused_command = world.desk.agent("breaker", "reset", "--reason", "looked at it", code=2)
    assert "belongs to workspace" in refused_command
    assert world.desk.rows("SELECT id FROM actors WHERE id = 'act_operator'") == []
    assert world.desk.rows("SELECT id FROM orders WHERE source = 'demo'") == []
    world.desk.env = env
    world.desk.start()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "invalid_auth"),
        ({"SLACK_APPROVALS_CHANNEL": "#nowhere"}, "#nowhere"),
        ({"SLACK_REVIEW_CHANNEL": "#nobody-reviews"}, "#nobody-reviews"),
        ({"SLACK_ONCALL_CHANNEL": ""}, "SLACK_ONCALL_CHANNEL"),
        ({"WIDGET_JWT_SECRET": "short"}, "WIDGET_JWT_SECRET"),
        ({"REFUND_AUTO_LIMIT": "fifty"}, "REFUND_AUTO_LIMIT"),
        ({"DATABASE_URL": "oracle://x"}, "DATABASE_URL"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    with world_of(tmp_path) as world:
        world.desk.env = {**world.desk.env, **change}
        refused = world.desk.launch()
        assert refused.wait(60) == 2
        assert words in world.desk.log
        assert "Traceback" not in world.desk.log


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"HOST": "0.0.0.0"}, "HOST"),  # noqa: S104 - the very thing that must be refused
        ({"STRIPE_API_KEY": "sk_live_x"}, "STRIPE_API_KEY"),
        ({"SMTP_URL": "smtp://mail.example.com"}, "SMTP_URL"),
    ],
)
def test_the_sandbox_does_not_start_beside_the_real_world(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    with made_desk(tmp_path, **change) as desk:
        refused = desk.launch()
        assert refused.wait(60) == 2
        assert words in desk.log


def test_nobody_writes_lines_into_the_log(tmp_path: Path) -> None:
    with made_desk(tmp_path) as desk:
        desk.start()
        forged = desk.client.post("/slack/events", content=b"x\nA LINE OF SOMEBODY ELSE")
        assert forged.status_code == 401
        desk.stop()
        assert "SOMEBODY ELSE" not in desk.log


@contextmanager
def world_of_a_socket(folder: Path, peer: SocketPeer) -> Iterator[World]:
    """Prepare a desk that hears Slack in Socket Mode alone."""
    with running_stage() as bridge, world_of(folder, f"{bridge.url}/slack/events") as world:
        bridge.app = peer.bridge()
        world.stage.app = peer.in_front_of(world.stage.app)
        env = {**world.desk.env, "SLACK_APP_TOKEN": APP_TOKEN}
        del env["SLACK_SIGNING_SECRET"]
        world.desk.env = env
        yield world


def test_without_a_public_address_slack_is_heard_in_socket_mode(tmp_path: Path) -> None:
    with running_peer() as peer, world_of_a_socket(tmp_path, peer) as world:
        world.desk.start()
        world.desk.agent("shop", "import", str(SMALL_EXPORT))
        assert "heard in Socket Mode" in world.desk.log
        # Without a signing secret nothing over HTTP can be told from a forgery.
        assert world.desk.client.post("/slack/events", content=b"{}").status_code == 404
        conversation, posted = refund_waits(world)
        world.model.script.append(says("Good news: 60.00 USD are on their way back."))
        where = {"channel": "C07APPROVALS", "ts": posted["ts"], "action_id": "approval_approve"}
        clicked = world.slack.act("/click", user="ana", **where)
        assert (clicked["status"], clicked["problem"]) == (200, None)
        world.reads(conversation, "on their way back")
        # Slack opens no connection any more: readiness says so, and it mends itself.
        peer.refusals += [(200, {"ok": False, "error": "internal_error"}, {})] * 4
        for line in list(peer.lines):
            peer.drops(line)
        answer = eventually(lambda: not_ready(world.desk), "desk that is not ready")
        assert "job socket" in answer["not_ready"]
        eventually(lambda: not_ready(world.desk) is None, "ready desk")
        world.desk.stop()
        eventually(lambda: not peer.lines, "end of the connections")


def not_ready(desk: DeskProcess) -> Json | None:
    answer = desk.client.get("/readyz")
    return None if answer.status_code == 200 else dict(answer.json())
