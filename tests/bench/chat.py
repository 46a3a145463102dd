"""What customers feel of the chat: the first word, the way back after a cut; and what it costs."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import httpx

from agent.domain.conversation import EventType
from agent.domain.ids import ConversationId, CustomerId
from agent.domain.languages import ENGLISH
from agent.providers.system import SystemClock, SystemIds
from bot.web.hub import Hub
from storage import conversations, schema
from storage.engine import open_engine
from storage.transaction import Store
from tests.bench.streams import Streams
from tests.support.counted_logs import CountedLogs
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import running_web
from tests.support.process import Chat, DeskProcess, made_desk
from tests.support.reader import Screen, patient_client, reads_on
from tests.support.tcp_proxy import running_proxy

CUSTOMER = "cus_clara"
QUESTION = "where is ORD-1001?"
ONE_HOUR_S = 3600.0


@dataclass(frozen=True)
class Answers:
    """Seconds from sending a message: to its first word on the stream, and to the stored answer."""

    first: list[float]
    whole: list[float]


@dataclass(frozen=True)
class Crowd:
    """Many open streams: what each costs, and how long the desk takes to end with all of them."""

    streams: int
    kib_each: float
    stop_s: float


@dataclass(frozen=True)
class Reads:
    """How often the database was read for each event, and until when all clients had it."""

    clients: int
    looks: float
    pages: float
    took: list[float]


@contextmanager
def running(folder: Path, chats: int, **env: str) -> Iterator[tuple[DeskProcess, list[str]]]:
    """Run a desk of the sandbox in which a customer has so many conversations."""
    with made_desk(folder, **env) as desk:
        made = _conversations(desk.database_url, chats)
        desk.start()
        yield desk, [f"/chat/conversations/{one}" for one in made]


def answers(folder: Path, rounds: int) -> Answers:
    """Ask so often over HTTP, and read the answers on the stream."""
    first, whole = list[float](), list[float]()
    # So that a word comes before the whole answer is there.
    with running(folder, rounds, OFFLINE_PACE_MS="1") as (desk, chats):
        for chat in chats:
            who = desk.customer(CUSTOMER)
            with httpx.Client(base_url=desk.url, timeout=30, trust_env=False) as client:
                headers = {**who, "accept": "text/event-stream"}
                with client.stream("GET", f"{chat}/events", headers=headers) as stream:
                    lines = stream.iter_lines()
                    _until(lines, '"status"')
                    started = perf_counter()
                    Chat(desk, CUSTOMER, chat.rpartition("/")[2]).sends(QUESTION)
                    _until(lines, '"delta"')
                    first.append(perf_counter() - started)
                    _until(lines, '"finish"')
                    whole.append(perf_counter() - started)
    return Answers(first, whole)


def returns(folder: Path, rounds: int) -> list[float]:
    """Cut a stream so often; seconds from the new connection to the line that was missed."""
    took = []
    with running(folder, 1) as (desk, (chat,)):
        who, screen = desk.customer(CUSTOMER), Screen()
        with running_proxy(desk.port) as proxy, patient_client(proxy.url) as client:

            def cut(_screen: Screen) -> None:
                if screen.status:
                    proxy.cut()

            for number in range(1, rounds + 1):
                assert not reads_on(client, chat, who, screen, cut)
                _tell(desk.database_url, chat)
                started = perf_counter()
                assert reads_on(client, chat, who, screen, _up_to(number))
                took.append(perf_counter() - started)
    return took


def crowd(folder: Path, streams: int) -> Crowd:
    """Open so many streams, each of a conversation of its own; then end the desk in good order."""
    with running(folder, streams) as (desk, chats):
        token = desk.customer(CUSTOMER)["authorization"].removeprefix("Bearer ")
        watched = [(chat.rpartition("/")[2], token) for chat in chats]
        # The threads and pools that some streams need are there for many.
        with Streams(desk.port, watched[:100]).followed():
            pass
        before = desk.resident_mib
        with Streams(desk.port, watched).followed():
            each = (desk.resident_mib - before) * 1024 / streams
            started = perf_counter()
            desk.stop()
            return Crowd(streams, each, perf_counter() - started)


def reads(clients: int, events: int) -> Reads:
    """Let so many clients watch one conversation, and count what the database is asked."""
    with tempfile.TemporaryDirectory(prefix="desk-bench-") as name:
        engine = open_engine(f"sqlite:///{Path(name) / 'desk.db'}")
        schema.upgrade(engine)
        store = Store(engine)
        logs, took = CountedLogs(store), list[float]()
        hub = Hub(logs, interval_s=ONE_HOUR_S, gap_s=0.001)
        with running_web(store, HandClock(), CountingIds(), hub=hub) as web:
            clara = web.customer(CUSTOMER)
            chat = web.opens(clara)
            token = clara.authorization.removeprefix("Bearer ")
            port = int(web.url.rpartition(":")[2])
            streams = Streams(port, [(chat.rpartition("/")[2], token)] * clients)
            with streams.followed():
                looks, pages = len(logs.looks), logs.pages
                for number in range(1, events + 1):
                    started = perf_counter()
                    _append(store, chat)
                    hub.poke()
                    streams.wait(number * clients)
                    took.append(perf_counter() - started)
                asked = (len(logs.looks) - looks) / events, (logs.pages - pages) / events
        store.close()
    return Reads(clients, *asked, took)


def _until(lines: Iterator[str], words: str) -> None:
    assert any(words in line for line in lines), f"the stream ended before {words}"


def _up_to(seq: int) -> Callable[[Screen], bool]:
    return lambda screen: screen.seen >= seq


def _conversations(url: str, number: int) -> list[str]:
    """Store new conversations of the customer in a database that nobody uses yet."""
    engine, ids, now = open_engine(url), SystemIds(), SystemClock().now()
    schema.upgrade(engine)
    store = Store(engine)
    made = [ConversationId(ids.new("cnv")) for _ in range(number)]
    with store.transaction() as tx:
        for one in made:
            conversations.create(tx, one, CustomerId(CUSTOMER), None, now, ENGLISH)
    store.close()
    return list(made)


def _tell(url: str, chat: str) -> None:
    """Add an event as another process would."""
    store = Store(open_engine(url))
    _append(store, chat)
    store.close()


def _append(store: Store, chat: str) -> None:
    entry = conversations.Entry(
        SystemIds().new("msg"), EventType.MESSAGE, {"role": "staff", "text": "News for you."}
    )
    with store.transaction() as tx:
        conversation = ConversationId(chat.rpartition("/")[2])
        conversations.append(tx, conversation, SystemClock().now(), entry)
