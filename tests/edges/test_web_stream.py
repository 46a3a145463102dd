"""The live stream: what is stored arrives, once, in order, whatever is cut in between."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.domain.conversation import EventType
from agent.domain.ids import ConversationId
from bot.web.context import StreamTimes
from bot.web.hub import Hub, LastSeqs, last_seqs_of
from storage import conversations
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import PATIENCE_S, Headers, Web, running_web, running_web_on_sqlite

ONE_HOUR_S = 3600.0


class Stream:
    """An open stream, read block by block."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def block(self) -> dict[str, str]:
        """Return the fields of the next block; a comment has the name ''."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return fields
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        raise EOFError

    def event(self) -> dict[str, Any]:
        """Return the next event, comments and times to retry left out."""
        while "data" not in (fields := self.block()):
            pass
        event: dict[str, Any] = json.loads(fields["data"])
        assert fields["id"] == str(event["seq"])
        return event

    def rest(self) -> list[dict[str, str]]:
        """Return every block up to the end of the stream."""
        found = []
        while True:
            try:
                found.append(self.block())
            except EOFError:
                return found


@contextmanager
def listening(web: Web, chat: str, who: Headers, **headers: str) -> Iterator[Stream]:
    """Open the stream and read its beginning."""
    asked = who(accept="text/event-stream", **headers)
    with web.client.stream("GET", f"{chat}/events", headers=asked) as answer:
        assert answer.status_code == 200
        stream = Stream(answer)
        assert stream.block() == {"": "open", "retry": "2000"}
        yield stream


def adds(web: Web, chat: str, text: str) -> None:
    """Store an event as some other process would: nobody pokes the hub."""
    entry = conversations.Entry(
        web.story.desk.ids.new("msg"), EventType.MESSAGE, {"role": "agent", "text": text}
    )
    with web.story.desk.store.transaction() as tx:
        conversations.append(
            tx, ConversationId(chat.rpartition("/")[2]), web.story.clock.now(), entry
        )


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        yield web


def test_the_stream_shows_what_was_and_what_comes(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    adds(web, chat, "first")
    with listening(web, chat, clara) as stream:
        assert stream.answer.headers["content-type"].startswith("text/event-stream")
        assert stream.answer.headers["x-accel-buffering"] == "no"
        assert stream.answer.headers["cache-control"] == "no-store"
        assert stream.event() == {
            "seq": 1,
            "at": "2026-11-29T12:00:00Z",
            "type": "message",
            "data": {"role": "agent", "text": "first"},
        }
        for number in range(2, 7):
            adds(web, chat, f"line {number}\nand another\r\rdata: no")
            event = stream.event()
            assert event["seq"] == number
            assert event["data"]["text"] == f"line {number}\nand another\r\rdata: no"


def test_a_stream_goes_on_where_the_last_one_was_cut(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    for text in ("one", "two", "three"):
        adds(web, chat, text)
    with listening(web, chat, clara) as stream:
        assert stream.event()["seq"] == 1
    with listening(web, chat, clara, **{"last-event-id": "1"}) as stream:
        assert [stream.event()["seq"] for _ in range(2)] == [2, 3]
    with listening(web, f"{chat}", clara, **{"last-event-id": "3"}) as stream:
        adds(web, chat, "four")
        assert stream.event()["seq"] == 4


@pytest.mark.parametrize("mark", ["abc", "-5", "", "1e3", "9" * 400, "²"])
def test_a_mark_that_is_no_number_starts_from_the_question(tmp_path: Path, mark: str) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        adds(web, chat, "one")
        adds(web, chat, "two")
        asked = [(k.encode(), v.encode()) for k, v in clara(accept="text/event-stream").items()]
        asked.append((b"last-event-id", mark.encode()))
        url = f"{chat}/events?after=1"
        with web.client.stream("GET", url, headers=asked) as answer:
            assert Stream(answer).event()["seq"] == 2


def test_a_poke_is_enough(store: Store, clock: HandClock, ids: CountingIds) -> None:
    hub = Hub(last_seqs_of(store), interval_s=ONE_HOUR_S)
    with running_web(store, clock, ids, hub=hub) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        with listening(web, chat, clara) as stream:
            body = {"client_id": "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01", "text": "Hello"}
            assert web.post(f"{chat}/messages", body, clara).status_code == 202
            assert stream.event()["data"]["text"] == "Hello"
            adds(web, chat, "from a worker")
            hub.poke()
            assert stream.event()["data"]["text"] == "from a worker"


def test_streams_hear_of_their_own_conversation_only(web: Web) -> None:
    clara, ben = web.customer("cus_clara"), web.customer("cus_ben")
    hers, his = web.opens(clara), web.opens(ben)
    with listening(web, hers, clara) as one, listening(web, his, ben) as two:
        adds(web, his, "for Ben")
        assert two.event()["data"]["text"] == "for Ben"
        adds(web, hers, "for Clara")
        assert one.event()["data"]["text"] == "for Clara"


def test_a_long_log_streams_through(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        for number in range(1, 502):
            adds(web, chat, str(number))
        with listening(web, chat, clara) as stream:
            assert [stream.event()["seq"] for _ in range(501)] == list(range(1, 502))


def test_an_idle_stream_says_that_it_lives_and_ends_in_good_order(tmp_path: Path) -> None:
    times = StreamTimes(heartbeat_s=0.02, max_age_s=0.5)
    with running_web_on_sqlite(tmp_path, stream=times) as web:
        clara = web.customer("cus_clara")
        with listening(web, web.opens(clara), clara) as stream:
            blocks = stream.rest()
        assert len(blocks) > 2
        assert all(block == {"": "still here"} for block in blocks)


def test_a_stopping_server_ends_its_streams_at_once(tmp_path: Path) -> None:
    ended: list[list[dict[str, str]]] = []
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        asked = web.client.build_request(
            "GET", f"{web.opens(clara)}/events", headers=clara(accept="text/event-stream")
        )
        stream = Stream(web.client.send(asked, stream=True))
        assert stream.block() == {"": "open", "retry": "2000"}
        reader = threading.Thread(target=lambda: ended.append(stream.rest()))
        reader.start()
        web.context.hub.close()
        reader.join()
        assert ended == [[]]
        stream.answer.close()


def test_a_fault_is_said_in_band_and_the_client_comes_back(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        with listening(web, chat, clara) as stream:
            spoil(web, chat)
            assert stream.rest() == [{"event": "error", "data": '{"code": "internal"}'}]


class Unheard(StrEnum):
    """A type of event that nobody wrote."""

    OF = "unheard_of"


def spoil(web: Web, chat: str) -> None:
    """Store an event that cannot be read back, as a damaged row would be."""
    entry = conversations.Entry(web.story.desk.ids.new("msg"), Unheard.OF, {})  # type: ignore[arg-type]
    with web.story.desk.store.transaction() as tx:
        conversations.append(
            tx, ConversationId(chat.rpartition("/")[2]), web.story.clock.now(), entry
        )


class Flaky:
    """A look that fails the first time."""

    def __init__(self, look: LastSeqs) -> None:
        self.look = look
        self.failed = False

    def __call__(self, watched: frozenset[ConversationId]) -> Mapping[ConversationId, int]:
        if not self.failed:
            self.failed = True
            raise ConnectionError("the database is away")
        return self.look(watched)


def test_a_database_that_was_away_does_not_end_the_stream(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    look = Flaky(last_seqs_of(store))
    with running_web(store, clock, ids, hub=Hub(look, interval_s=0.05)) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        with listening(web, chat, clara) as stream:
            adds(web, chat, "after all")
            assert stream.event()["data"]["text"] == "after all"
        assert look.failed


def test_one_look_serves_every_stream(store: Store, clock: HandClock, ids: CountingIds) -> None:
    look, all_three = last_seqs_of(store), threading.Event()

    def counted(watched: frozenset[ConversationId]) -> Mapping[ConversationId, int]:
        if watched == expected:
            all_three.set()
        return look(watched)

    with running_web(store, clock, ids, hub=Hub(counted, interval_s=ONE_HOUR_S)) as web:
        clara = web.customer("cus_clara")
        chats = [web.opens(clara) for _ in range(3)]
        expected = {ConversationId(chat.rpartition("/")[2]) for chat in chats}
        with (
            listening(web, chats[0], clara) as one,
            listening(web, chats[1], clara) as two,
            listening(web, chats[2], clara) as three,
        ):
            assert all_three.wait(PATIENCE_S)
            for chat in chats:
                adds(web, chat, "news")
            web.context.hub.poke()
            assert {stream.event()["seq"] for stream in (one, two, three)} == {1}
