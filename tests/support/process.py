"""The desk as its users have it: a process, an HTTP address, a folder with files."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx

from tests.support.outside import (
    PATIENCE_S,
    Json,
    approval_of,
    eventually,
    read_rows,
    shown_text,
)

__all__ = [
    "APPROVALS",
    "ONCALL",
    "READY_S",
    "Chat",
    "DeskProcess",
    "Json",
    "eventually",
    "free_port",
    "made_desk",
    "running_desk",
]

ROOT = Path(__file__).parents[2]
APPROVALS, ONCALL = "C07APPROVALS", "C07ONCALL"
READY_S = 90.0
STOP_S = 5.0
_COMMAND = "from app import cli; cli()"


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

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def resident_mib(self) -> float:
        """How much memory it holds."""
        pages = Path(f"/proc/{self._running().pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def processor_s(self) -> float:
        """How long processors have worked for it."""
        stat = Path(f"/proc/{self._running().pid}/stat").read_text("ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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

    def signs_in_as_at(self, other: "DeskProcess") -> None:
        """Use the API tokens of another desk on the same database: only the newest ones count."""
        other.person("ana")
        self._people = other._people

    def customer(self, customer_id: str) -> dict[str, str]:
        """Return the headers with which a customer signs in."""
        if customer_id not in self._customers:
            answer = self.post("/sandbox/shop/token", {"customer_id": customer_id})
            assert answer.status_code == httpx.codes.OK, answer.text
            token = answer.json()["token"]
            self._customers[customer_id] = {"authorization": f"Bearer {token}"}
        return self._customers[customer_id]

    def signs(self, customer_id: str) -> str | None:
        """Sign a customer's token as the shop's backend does, from any thread; None while away."""
        body = {"customer_id": customer_id}
        try:
            answer = httpx.post(f"{self.url}/sandbox/shop/token", json=body, trust_env=False)
        except httpx.TransportError:
            return None
        return str(answer.json()["token"])

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
            and approval_of(message) == approval_id
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
        """Wait until somebody has a modal open, and return the one on top."""

        def look() -> Json | None:
            found = self.get("/sandbox/slack/views", user=name).json()
            return dict(found[-1]) if found else None

        return eventually(look, f"modal of {name}")

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

    The environment is empty but for PATH, HOME and what is given. Whatever it was used for, the
    desk must never have posted faster than Slack lets a channel take.
    """
    with made_desk(folder, database_url, **env) as desk:
        desk.start()
        yield desk
        if desk.is_running:
            assert desk.get("/sandbox/slack/app").json()["too_soon"] == 0


@contextmanager
def made_desk(folder: Path, database_url: str | None = None, **env: str) -> Iterator[DeskProcess]:
    """Prepare a desk that the block starts itself."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = database_url or f"sqlite:///{folder / 'desk.db'}"
    fixed = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PORT": str(port),
        "DATABASE_URL": url,
        "OFFLINE_PACE_MS": "0",
    }
    address = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
        desk = DeskProcess(folder, port, url, {**fixed, **env}, client)
        try:
            yield desk
        finally:
            desk.end()


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
