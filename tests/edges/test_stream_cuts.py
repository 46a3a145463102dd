"""A stream that is cut at any byte: no line is lost, none comes twice, and the order is kept."""

import asyncio
import re
import socket
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from agent.domain.conversation import EventType
from agent.domain.ids import ConversationId, RunId
from bot.web.context import WebContext
from bot.web.hub import Hub, StoredLogs
from bot.web.stream import MEDIA_TYPE, event_stream
from storage import conversations
from tests.support.http import Web, running_web_on_sqlite
from tests.support.outside import eventually
from tests.support.reader import Screen, patient_client, reads_on
from tests.support.tcp_proxy import running_proxy

WORDS = ("Hello?", "Grüße 🪑\nzwei Zeilen", "data: no\n\nid: 99", "مرحبا", "last")
STREAMS = "supportdesk_chat_streams_open "
DRAFT = "It is on 🚚 its way."


def adds(web: Web, chat: str, *texts: str) -> None:
    """Store events as some other process would."""
    for text in texts:
        entry = conversations.Entry(
            web.story.desk.ids.new("msg"), EventType.MESSAGE, {"role": "staff", "text": text}
        )
        with web.story.desk.store.transaction() as tx:
            conversations.append(tx, id_of(chat), web.story.clock.now(), entry)


def id_of(chat: str) -> ConversationId:
    """Return the id at the end of a path."""
    return ConversationId(chat.rpartition("/")[2])


def open_streams(web: Web) -> int:
    """Return how many streams the desk says are open."""
    (line,) = [one for one in web.get("/metrics").text.split("\n") if re.match(STREAMS, one)]
    return int(float(line.split()[1]))


def up_to(seq: int) -> Callable[[Screen], bool]:
    """Return how to tell that a screen has come so far."""
    return lambda screen: screen.seen == seq


async def reads(
    context: WebContext,
    chat: str,
    screen: Screen,
    most: int | None = None,
    draft: str | None = DRAFT,
) -> None:
    """Let a screen read a stream until it shows everything, or so many bytes of it."""
    screen.cut()
    taken = 0
    stream = event_stream(context, id_of(chat), screen.seen)
    async with aclosing(stream):
        async for chunk in stream:
            kept = chunk if most is None else chunk[: most - taken]
            taken += len(kept)
            screen.take(kept)
            is_whole = screen.seen == len(WORDS) and screen.draft == draft and screen.status
            if taken == most or (most is None and is_whole):
                return


def test_cut_at_every_byte_a_screen_shows_the_same(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        chat = web.opens(web.customer("cus_clara"))
        adds(web, chat, *WORDS)

        async def cut_everywhere() -> int:
            hub = Hub(StoredLogs(web.story.desk.store), interval_s=0.01, gap_s=0)
            context = WebContext(web.story.desk, hub, web.context.metrics, web.context.chat_keys)
            looking = asyncio.create_task(hub.run())
            whole, length = Screen(), 0
            await reads(context, chat, whole, draft=None)
            hub.show(id_of(chat), RunId("run_1"), DRAFT)
            await reads(context, chat, whole)
            for length in range(1, 4_000):
                screen = Screen()
                await reads(context, chat, screen, most=length)
                reached = screen.seen
                assert screen.lines == whole.lines[:reached]
                if reached == len(WORDS) and screen.draft == DRAFT:
                    break
                await reads(context, chat, screen)
                assert (screen.lines, screen.draft) == (whole.lines, DRAFT)
                assert screen.doubled == 0
            hub.close()
            await looking
            return length

        assert asyncio.run(cut_everywhere()) > 500


def test_cut_by_the_network_a_screen_goes_on(tmp_path: Path) -> None:
    """Cut in the head, in an id, in a character, at a line's end; and a server that is away."""
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        adds(web, chat, *WORDS)
        port = int(web.url.rpartition(":")[2])
        with running_proxy(port) as proxy, patient_client(proxy.url) as client:
            whole = Screen()
            assert reads_on(client, chat, clara(), whole, lambda s: s.status)
            length = proxy.passed
            for after in (0, 1, *range(17, length, length // 12)):
                screen = Screen()
                proxy.cuts_answer(b"GET /chat", after)
                assert not reads_on(client, chat, clara(), screen, lambda _s: False)
                assert reads_on(client, chat, clara(), screen, lambda s: s.status)
                assert (screen.lines, screen.doubled) == (whole.lines, 0)
            # Cut while it waits for news, which come before it is back.

            def cut_when_idle(screen: Screen) -> None:
                if screen.status:
                    proxy.cut()

            for number in range(3):
                assert not reads_on(client, chat, clara(), whole, cut_when_idle)
                adds(web, chat, f"more {number}")
            proxy.shut()
            assert not reads_on(client, chat, clara(), whole, lambda _s: False)
            adds(web, chat, "while it was away")
            proxy.open()
            assert reads_on(client, chat, clara(), whole, lambda s: s.seen == 9)
            said = [*WORDS, *(f"more {number}" for number in range(3)), "while it was away"]
            assert (whole.texts("staff"), whole.doubled) == (said, 0)


def test_a_client_that_takes_nothing_holds_up_nobody_and_is_let_go(tmp_path: Path) -> None:
    """What it lacks is not kept for it: it costs what its connection holds, and for a time."""
    with (
        running_web_on_sqlite(tmp_path, stuck_s=1.0) as web,
        patient_client(web.url) as client,
        socket.socket() as stuck,
    ):
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.connect(("127.0.0.1", int(web.url.rpartition(":")[2])))
        head = "".join(f"{k}: {v}\r\n" for k, v in clara(accept=MEDIA_TYPE).items())
        stuck.sendall(f"GET {chat}/events HTTP/1.1\r\nhost: x\r\n{head}\r\n".encode())
        assert stuck.recv(15) == b"HTTP/1.1 200 OK"
        eventually(lambda: open_streams(web) == 1, "open stream")
        screen = Screen()
        for newest in range(20, 301, 20):
            adds(web, chat, *["x" * 30_000] * 20)
            assert reads_on(client, chat, clara(), screen, up_to(newest))
        # It never said that it was leaving, and has not taken what was sent.
        eventually(lambda: open_streams(web) == 0, "end of the stuck stream")
