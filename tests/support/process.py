"""The desk as its users have it: a process, an HTTP address, a folder with files."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.support.postgres import fresh_database

ROOT = Path(__file__).parents[2]
APPROVALS, ONCALL = "C07APPROVALS", "C07ONCALL"
# Far above what anything takes on a busy machine: what hangs fails its own test only.
READY_S = 90.0
PATIENCE_S = 30.0
STOP_S = 5.0
_PAUSE_S = 0.02
_COMMAND = "from app import cli; cli()"

Found = TypeVar("Found")
Json = dict[str, Any]


def eventually(look: Callable[[], Found | None], what: str, within: float = PATIENCE_S) -> Found:
    """Return what `look` finds as soon as it finds something true; fails after `within` seconds."""
    ends_at = time.monotonic() + within
    pause = Event()
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < ends_at, f"after {within:.0f} s there is no {what}"
        pause.wait(_PAUSE_S)


@dataclass
class DeskProcess:
    """One desk: its process comes and goes, its folder, address and database stay."""

    folder: Path
    port: int
    database_url: str
    env: Mapping[str, str]
    client: httpx.Client
    _process: subprocess.Popen[bytes] | None = None
    _people: dict[str, Json] = field(default_factory=dict)
    _customers: dict[str, dict[str, str]] = field(default_factory=dict)

    # --- the process

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything it has written so far, over all its starts."""
        path = self._log_file
        return path.read_text("utf-8", errors="replace") if path.exists() else ""

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the process without waiting for it to be ready."""
        assert self._process is None, "it runs already"
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, ROOT / "app.py"],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._people.clear()
        self._customers.clear()
        return self._process

    def start(self) -> None:
        """Start the process and wait until `/readyz` says that it can work."""
        process = self.launch()
        eventually(lambda: process.poll() is not None or self._is_ready(), "ready desk", READY_S)
        assert process.poll() is None, f"the desk ended: {self.log}"

    def kill(self) -> None:
        """End the process as a power cut would."""
        process, self._process = self._running(), None
        process.kill()
        process.wait(PATIENCE_S)

    def stop(self) -> None:
        """Ask the process to end; it has 5 seconds and exits with 0."""
        process, self._process = self._running(), None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_S)
            raise AssertionError(f"still there {STOP_S} s after SIGTERM: {self.log}") from None
        assert code == 0, f"it ended with {code}: {self.log}"

    def end(self) -> None:
        """End the process if there is one, without asking how."""
        if self._process is not None:
            self.kill()

    def agent(self, *words: str, code: int = 0) -> str:
        """Run `agent …` beside the desk and return what it prints; fails for another exit code."""
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, *words],
            cwd=self.folder,
            env={**self.env, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=READY_S,
            check=False,
        )
        assert done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def rows(self, statement: str, **values: object) -> list[Json]:
        """Return rows of its database, read from outside."""
        return read_rows(self.database_url, statement, **values)

    # --- people

    def person(self, name: str) -> Json:
        """Return somebody of the cast, with this start's token."""
        if not self._people:
            self._people |= {one["id"]: one for one in self.get("/sandbox/people").json()}
        return self._people[name]

    def staff(self, name: str) -> dict[str, str]:
        """Return the headers with which somebody of the cast signs in."""
        return {"authorization": f"Bearer {self.person(name)['api_token']}"}

    def customer(self, customer_id: str) -> dict[str, str]:
        """Return the headers with which a customer signs in."""
        if customer_id not in self._customers:
            answer = self.post("/sandbox/shop/token", {"customer_id": customer_id})
            assert answer.status_code == httpx.codes.OK, answer.text
            token = answer.json()["token"]
            self._customers[customer_id] = {"authorization": f"Bearer {token}"}
        return self._customers[customer_id]

    def get(
        self, path: str, who: Mapping[str, str] | None = None, **query: str | int
    ) -> httpx.Response:
        """Ask for something."""
        return self.client.get(path, headers=who, params=query)

    def post(self, path: str, body: object, who: Mapping[str, str] | None = None) -> httpx.Response:
        """Send a JSON body."""
        return self.client.post(path, headers=who, json=body)

    # --- the customer's chat

    def opens_chat(self, customer_id: str) -> "Chat":
        """Open a conversation of a customer."""
        answer = self.post("/chat/conversations", {}, self.customer(customer_id))
        assert answer.status_code == httpx.codes.CREATED, answer.text
        return Chat(self, customer_id, str(answer.json()["conversation_id"]))

    # --- approvals

    def waiting(self) -> list[Json]:
        """Return every approval that waits, oldest first."""
        answer = self.get("/approvals", self.staff("ana"), limit=100)
        assert answer.status_code == httpx.codes.OK, answer.text
        return list(answer.json()["items"])

    def parked(self, conversation_id: str) -> Json:
        """Return the newest approval of a conversation that waits."""
        return [a for a in self.waiting() if a["conversation_id"] == conversation_id][-1]

    def approval(self, approval_id: str) -> Json:
        """Return an approval as it stands."""
        answer = self.get(f"/approvals/{approval_id}", self.staff("ana"))
        assert answer.status_code == httpx.codes.OK, answer.text
        return dict(answer.json())

    def becomes(self, approval_id: str, *statuses: str) -> Json:
        """Wait until an approval has one of these statuses, and return it."""

        def look() -> Json | None:
            found = self.approval(approval_id)
            return found if found["status"] in statuses else None

        return eventually(look, f"{approval_id} that is {' or '.join(statuses)}")

    def decides(
        self, verb: str, approval: Json, who: Mapping[str, str] | None, /, **body: object
    ) -> httpx.Response:
        """Say a word about an approval through the API, with the hash that was shown."""
        shown = {"payload_hash": approval["payload_hash"], **body}
        return self.post(f"/approvals/{approval['id']}/{verb}", shown, who)

    # --- Slack

    def slack(self, channel: str = APPROVALS) -> list[Json]:
        """Return what the bot has posted in a channel."""
        return list(self.get("/sandbox/slack/messages", channel=channel).json())

    def cards(self, approval_id: str) -> list[Json]:
        """Return every copy of an approval's card."""
        return [
            message
            for message in self.slack()
            if message["thread_ts"] is None
            and message["ephemeral_for"] is None
            and _about(message) == approval_id
        ]

    def card(self, approval_id: str, shows: str = "") -> Json:
        """Wait until the one card of an approval is there and shows some words; return it."""

        def look() -> Json | None:
            found = self.cards(approval_id)
            assert len(found) <= 1, f"{len(found)} cards of {approval_id}"
            return found[0] if found and shows in shown_text(found[0]) else None

        return eventually(look, f"card of {approval_id} with {shows!r}")

    def whispers(self, name: str, shows: str = "") -> Json:
        """Wait until somebody alone is told something, and return the newest such message."""
        user = self.person(name)["slack_user_id"]

        def look() -> Json | None:
            told = [m for m in self.slack() if m["ephemeral_for"] == user and shows in m["text"]]
            return told[-1] if told else None

        return eventually(look, f"word to {name} with {shows!r}")

    def clicks(self, name: str, message: Json, action_id: str, **more: object) -> Json:
        """Let somebody click a button of a message, and return how the desk answered."""
        body = {"user": name, "channel": message["channel"], "ts": message["ts"]}
        answer = self.post("/sandbox/slack/click", {**body, "action_id": action_id, **more})
        assert answer.status_code == httpx.codes.OK, answer.text
        return dict(answer.json())

    def form(self, name: str) -> Json:
        """Return the modal that somebody has open on top."""
        return dict(self.get("/sandbox/slack/views", user=name).json()[-1])

    def submits(self, name: str, values: Mapping[str, str]) -> Json:
        """Let somebody submit the modal on top, and return how the desk answered."""
        body = {"user": name, "view_id": self.form(name)["id"], "values": values}
        answer = self.post("/sandbox/slack/submit", body)
        assert answer.status_code == httpx.codes.OK, answer.text
        return dict(answer.json())

    def slack_fails(self, method: str, **how: object) -> None:
        """Let the next calls of a Slack method go wrong."""
        answer = self.post("/sandbox/slack/faults", {"method": method, **how})
        assert answer.status_code == httpx.codes.NO_CONTENT, answer.text

    # --- money

    def payments(self, order_id: str | None = None) -> list[Json]:
        """Return the provider's book, or what it says about one order."""
        book = list(self.get("/sandbox/payments").json())
        return [one for one in book if order_id in (None, one["order_id"])]

    def payments_fail(self, kind: str, times: int = 1) -> None:
        """Let the next refunds go wrong."""
        answer = self.post("/sandbox/payments/faults", {"kind": kind, "times": times})
        assert answer.status_code == httpx.codes.NO_CONTENT, answer.text

    def breaker(self) -> Json:
        """Return how the breaker stands."""
        return dict(self.get("/breaker", self.staff("olu")).json())

    # --- inside

    @property
    def _log_file(self) -> Path:
        return self.folder / f"desk-{self.port}.log"

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it does not run"
        return self._process

    def _is_ready(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


@dataclass
class Chat:
    """One conversation, as the customer's browser has it."""

    desk: DeskProcess
    customer_id: str
    conversation_id: str

    @property
    def path(self) -> str:
        """Where the conversation is."""
        return f"/chat/conversations/{self.conversation_id}"

    @property
    def who(self) -> dict[str, str]:
        """The headers with which the customer signs in."""
        return self.desk.customer(self.customer_id)

    def sends(self, words: str) -> int:
        """Send a message without waiting for an answer, and return its seq."""
        body = {"client_id": str(uuid4()), "text": words}
        answer = self.desk.post(f"{self.path}/messages", body, self.who)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        return int(answer.json()["seq"])

    def says(self, words: str) -> str:
        """Send a message and return the agent's answer to it."""
        return self.reads("", after=self.sends(words))

    def events(self, after: int = 0) -> list[Json]:
        """Return the events after a seq."""
        answer = self.desk.get(f"{self.path}/events", self.who, after=after)
        assert answer.status_code == httpx.codes.OK, answer.text
        return list(answer.json()["events"])

    def told(self, after: int = 0) -> list[str]:
        """Return what the agent has said after a seq."""
        return [
            str(event["data"]["text"])
            for event in self.events(after)
            if event["type"] == "message" and event["data"]["role"] == "agent"
        ]

    def reads(self, words: str, after: int = 0) -> str:
        """Wait until the agent has said something with these words, and return it."""

        def look() -> str | None:
            return next((said for said in self.told(after) if words in said), None)

        return eventually(look, f"answer with {words!r}; there is {self.told(after)}")

    def chips(self) -> list[Json]:
        """Return the approval events, oldest first."""
        return [event["data"] for event in self.events() if event["type"] == "approval"]

    def parks(self, words: str) -> Json:
        """Ask for a refund that waits for people, and return its approval."""
        said = self.says(words)
        assert "needs a quick review by our team" in said, said
        return self.desk.parked(self.conversation_id)


@contextmanager
def running_desk(
    folder: Path, database_url: str | None = None, **env: str
) -> Iterator[DeskProcess]:
    """Run `app.py` in a folder until the block ends; without a URL its database is a file there.

    The environment is empty but for PATH, HOME and what is given.
    """
    with made_desk(folder, database_url, **env) as desk:
        desk.start()
        yield desk


@contextmanager
def made_desk(folder: Path, database_url: str | None = None, **env: str) -> Iterator[DeskProcess]:
    """Prepare a desk that the block starts itself."""
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    url = database_url or f"sqlite:///{folder / 'desk.db'}"
    fixed = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PORT": str(port),
        "DATABASE_URL": url,
    }
    address = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
        desk = DeskProcess(folder, port, url, {**fixed, **env}, client)
        try:
            yield desk
        finally:
            desk.end()


@contextmanager
def database(kind: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Yield what `running_desk` takes for a new database of a kind, `sqlite` or `postgresql`."""
    if kind == "sqlite":
        yield None
        return
    with fresh_database(request.getfixturevalue("postgres_admin")) as url:
        yield url


def read_rows(database_url: str, statement: str, **values: object) -> list[Json]:
    """Return rows of a database as mappings, in a transaction of its own that changes nothing."""
    engine = create_engine(_psycopg(database_url), poolclass=NullPool)
    with engine.connect() as connection:
        found = connection.execute(text(statement), values).mappings().all()
    return [dict(row) for row in found]


def write_rows(database_url: str, *statements: str) -> None:
    """Change a database behind the desk's back."""
    engine = create_engine(_psycopg(database_url), poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def shown_text(message: Json) -> str:
    """Return every text that a message's or a view's blocks show, one a line, as stored."""
    return "\n".join(_texts(message["blocks"]))


def button_value(message: Json, action_id: str) -> str:
    """Return what a button of a message carries."""
    (found,) = [
        element["value"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["action_id"] == action_id
    ]
    return str(found)


def is_over(at: str | None) -> bool:
    """Tell whether a time that the desk names has come; no time has."""
    return at is None or datetime.now(UTC) >= datetime.fromisoformat(at)


def unix_now() -> int:
    """Return the time in whole seconds since 1970, as Slack stamps its requests."""
    return int(time.time())


def as_json(words: str) -> Json:
    """Read one JSON object."""
    return dict(json.loads(words))


def parts_of(blocks: object, kind: str) -> list[Json]:
    """Return every object of a `type` in a message's or a view's blocks, at any depth."""
    found: list[Json] = []
    if isinstance(blocks, dict):
        found += [blocks] if blocks.get("type") == kind else []
        blocks = list(blocks.values())
    if isinstance(blocks, list):
        found += [part for one in blocks for part in parts_of(one, kind)]
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        own = value.get("text")
        if isinstance(own, str):
            yield own
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)


def _about(message: Json) -> str | None:
    found = (message["metadata"] or {}).get("event_payload", {}).get("approval_id")
    return None if found is None else str(found)


def _psycopg(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
