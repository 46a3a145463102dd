"""The desk's web edge on a real server, and people who call it over HTTP."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt

from agent.desk import Lane
from agent.domain.approvals import Approval, Status
from agent.domain.roles import ActorKind, Identity, Role
from agent.steps.receive import token_hash
from bot.web.application import web_app
from bot.web.chat_keys import AUDIENCE, ChatKeys
from bot.web.context import WebContext
from bot.web.hub import Hub, StoredLogs
from bot.web.metrics import Metrics
from bot.web.server import WebServer
from storage import schema
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock

JWT_SECRET = "a-secret-of-the-shop-for-the-tests"
# Far above what any answer takes: a request that hangs fails its test instead of all tests.
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Headers:
    """How somebody signs in."""

    authorization: str

    def __call__(self, **more: str) -> dict[str, str]:
        """Return the request headers, with others added."""
        return {"authorization": self.authorization, **more}


@dataclass
class Web:
    """A running server over a story's desk."""

    story: Story
    context: WebContext
    url: str
    client: httpx.Client
    _tokens: dict[str, str] = field(default_factory=dict)

    def staff(
        self, name: str, *roles: Role, kind: ActorKind = ActorKind.MEMBER, active: bool = True
    ) -> Headers:
        """Hire a person with an API token and return how they sign in."""
        token = f"token-of-{name}"
        identity = Identity("token", token_hash(token))
        self.story.hire(name, *roles, kind=kind, identities=[identity], active=active)
        return Headers(f"Bearer {token}")

    def customer(self, customer_id: str) -> Headers:
        """Return how a customer signs in whom the shop has signed in just now."""
        return Headers(f"Bearer {shop_token(customer_id, self.story.clock.now())}")

    def get(self, path: str, who: Headers | None = None, **query: Any) -> httpx.Response:
        """Ask for something."""
        return self.client.get(path, headers=who() if who else {}, params=query)

    def post(self, path: str, body: object, who: Headers | None = None) -> httpx.Response:
        """Send a JSON body."""
        return self.client.post(path, headers=who() if who else {}, json=body)

    def opens(self, who: Headers) -> str:
        """Open a conversation and return its path."""
        answer = self.post("/chat/conversations", {}, who)
        assert answer.status_code == 201, answer.text
        return f"/chat/conversations/{answer.json()['conversation_id']}"

    def parks(self, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
        """Let the owner of an order ask for a refund that waits, and return it."""
        owner = self.story.desk.shop.order(order)
        assert owner is not None
        chat = self.story.opens_chat(owner.customer_id)
        before = {approval.id for approval in self.story.all(Status.PENDING)}
        self.story.asks_refund(chat, amount, order)
        (new,) = (a for a in self.story.all(Status.PENDING) if a.id not in before)
        return new


def shop_token(customer_id: str, now: datetime, **claims: object) -> str:
    """Return a token as the shop signs it, for 15 minutes, with some claims replaced."""
    usual = {"sub": customer_id, "aud": AUDIENCE, "iat": now, "exp": now + timedelta(minutes=15)}
    signed = {name: value for name, value in (usual | claims).items() if value is not None}
    return jwt.encode(signed, JWT_SECRET, algorithm="HS256")


@contextmanager
def running_web(
    store: Store,
    clock: HandClock,
    ids: CountingIds,
    *,
    wake: Callable[[Lane], None] | None = None,
    stuck_s: float = 30.0,
    **changes: Any,
) -> Iterator[Web]:
    """Run a server over a new story; `changes` replace parts of the web context."""
    story = tell_story(store, clock, ids)
    if wake is not None:
        story.desk = replace(story.desk, wake=wake)
    hub = changes.pop("hub", None) or Hub(StoredLogs(store), interval_s=0.05, gap_s=0.001)
    story.desk = replace(story.desk, live=hub)
    usual = WebContext(
        desk=story.desk,
        hub=hub,
        metrics=Metrics(story.desk),
        chat_keys=ChatKeys(secret=JWT_SECRET),
    )
    context = replace(usual, **changes)
    with served(context, stuck_s) as url, httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
        yield Web(story, context, url, client)


@contextmanager
def running_web_on_sqlite(
    folder: Path, clock: HandClock | None = None, **changes: Any
) -> Iterator[Web]:
    """Run a server over a new SQLite file, for tests that are not about the database."""
    engine = open_engine(f"sqlite:///{folder / 'desk.db'}")
    schema.upgrade(engine)
    store = Store(engine)
    with running_web(store, clock or HandClock(), CountingIds(), **changes) as web:
        yield web
    store.close()


@contextmanager
def served(context: WebContext, stuck_s: float = 30.0) -> Iterator[str]:
    """Serve the application on a free port until the block ends, then stop in good order."""
    # It listens before the server starts, so nobody has to wait for that.
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = WebServer(
            web_app(context), context.hub, trusted_proxies=("127.0.0.1/32",), stuck_s=stuck_s
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
