"""The live stream: what is stored arrives, once, in order, whatever is cut in between."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.domain.conversation import EventType
from agent.domain.ids import ConversationId, RunId
from agent.steps.turn import take_turn
from bot.web.context import StreamTimes
from bot.web.hub import Hub, StoredLogs
from storage import conversations
from storage.transaction import Store
from tests.support.counted_logs import CountedLogs
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Headers, Web, running_web, running_web_on_sqlite
from tests.support.scripted import Dictated

ONE_HOUR_S = 3600.0


class Stream:
    """An open stream, read block by block."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines = answer.iter_lines()

    def news(self) -> dict[str, str]:
        """Return the next block that is no comment; fails where none comes for two heartbeats."""
        for _ in range(2):
            while (fields := self.block()) != {"": "still here"}:
                if "data" in fields:
                    return fields
        raise AssertionError("nothing came")

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
        """Return the next stored event; comments and what is live only are left out."""
        while "id" not in (fields := self.news()):
            pass
        event: dict[str, Any] = json.loads(fields["data"])
        assert fields["id"] == str(event["seq"])
        return event

    def live(self) -> tuple[str, Any]:
        """Return the next thing that is live only, by its type; fails for a stored event."""
        fields = self.news()
        assert "id" not in fields, fields
        line: dict[str, Any] = json.loads(fields["data"])
        assert set(line) == {"type", "data"}
        return line["type"], line["data"]

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


@pytest.mark.parametrize("mark", ["abc", "-5", "", "1e3", "9" * 400, "²", "3", "9" * 18])
def test_a_mark_that_no_event_has_starts_from_the_question(tmp_path: Path, mark: str) -> None:
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


def test_who_asks_for_what_is_to_come_keeps_nobody_from_it(web: Web) -> None:
    """A client may know more than the log, as after a restored database."""
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    adds(web, chat, "one")
    headers = clara(accept="text/event-stream")
    with web.client.stream("GET", f"{chat}/events?after=1000", headers=headers) as answer:
        ahead = Stream(answer)
        assert ahead.live() == ("status", {"status": "idle"})
        with listening(web, chat, clara) as stream:
            assert stream.event()["seq"] == 1
            adds(web, chat, "two")
            assert stream.event()["seq"] == ahead.event()["seq"] == 2


def test_a_poke_is_enough(store: Store, clock: HandClock, ids: CountingIds) -> None:
    hub = Hub(StoredLogs(store), interval_s=ONE_HOUR_S)
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
            assert stream.live() == ("status", {"status": "idle"})
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
        assert stream.live() == ("status", {"status": "idle"})
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
            assert stream.live() == ("status", {"status": "idle"})
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


def test_a_database_that_was_away_does_not_end_the_stream(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    logs = CountedLogs(store, is_away=True)
    with running_web(store, clock, ids, hub=Hub(logs, interval_s=0.05)) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        with listening(web, chat, clara) as stream:
            adds(web, chat, "after all")
            assert stream.event()["data"]["text"] == "after all"
        assert not logs.is_away


def test_what_is_new_is_read_once_for_all_streams(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    logs = CountedLogs(store)
    with running_web(store, clock, ids, hub=Hub(logs, interval_s=ONE_HOUR_S)) as web:
        clara = web.customer("cus_clara")
        chat, other = web.opens(clara), web.opens(clara)
        with ExitStack() as held:
            streams = [held.enter_context(listening(web, chat, clara)) for _ in range(20)]
            beside = held.enter_context(listening(web, other, clara))
            for stream in (*streams, beside):
                assert stream.live() == ("status", {"status": "idle"})
            for number in range(1, 4):
                pages, looks = logs.pages, len(logs.looks)
                adds(web, chat, f"news {number}")
                web.context.hub.poke()
                assert {stream.event()["seq"] for stream in streams} == {number}
                assert logs.pages == pages + 1
                assert len(logs.looks) == looks + 1
            adds(web, other, "elsewhere")
            web.context.hub.poke()
            assert beside.event()["data"]["text"] == "elsewhere"
            # Who comes later reads what was, for itself.
            with listening(web, chat, clara) as late:
                assert [late.event()["seq"] for _ in range(3)] == [1, 2, 3]


def test_one_chat_has_room_for_so_many_streams_and_the_oldest_makes_it(
    store: Store, clock: HandClock, ids: CountingIds
) -> None:
    hub = Hub(StoredLogs(store), most_watches=2)
    with running_web(store, clock, ids, hub=hub) as web, ExitStack() as held:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        oldest, older, new = (held.enter_context(listening(web, chat, clara)) for _ in range(3))
        assert new.live() == older.live() == ("status", {"status": "idle"})
        oldest.rest()
        adds(web, chat, "news")
        assert new.event()["seq"] == older.event()["seq"] == 1
        assert hub.open_streams == 2


def test_an_answer_is_read_while_it_comes(store: Store, clock: HandClock, ids: CountingIds) -> None:
    model = Dictated()
    with running_web(store, clock, ids) as web, ExitStack() as held:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        stream = held.enter_context(listening(web, chat, clara))
        assert stream.live() == ("status", {"status": "idle"})
        body = {"client_id": "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01", "text": "My chair?"}
        run_id = web.post(f"{chat}/messages", body, clara).json()["run_id"]
        assert stream.event()["data"]["text"] == "My chair?"
        assert stream.live() == ("status", {"status": "thinking"})
        turn = threading.Thread(target=take_turn, args=[replace(web.story.desk, model=model)])
        turn.start()

        def delta(offset: int, text: str) -> tuple[str, object]:
            return "delta", {"run_id": run_id, "offset": offset, "text": text}

        model.says("Your chair 🪑")
        assert stream.live() == delta(0, "Your chair 🪑")
        model.says(" is\non")
        # Half a surrogate pair counts as JavaScript counts it.
        assert stream.live() == delta(13, " is\non")
        with listening(web, chat, clara, **{"last-event-id": "1"}) as late:
            assert late.live() == ("status", {"status": "thinking"})
            assert late.live() == delta(0, "Your chair 🪑 is\non")
            model.says(" its way")
            assert late.live() == stream.live() == delta(19, " its way")
            # The model's server broke off, and is asked again.
            model.begins_anew()
            model.says("It is here.")
            assert late.live() == stream.live() == delta(0, "It is here.")
        # Another message does not disturb the answer; it is told whole behind the event.
        adds(web, chat, "between")
        assert stream.event()["data"]["text"] == "between"
        assert stream.live() == delta(0, "It is here.")
        model.ends()
        told = stream.event()["data"]
        assert (told["role"], told["text"], told["finish"]) == ("agent", "It is here.", "complete")
        assert stream.live() == ("status", {"status": "idle"})
        turn.join()
        # Whoever comes now reads what is stored, and nothing twice.
        with listening(web, chat, clara) as late:
            assert [late.event()["seq"] for _ in range(3)] == [1, 2, 3]
            assert late.live() == ("status", {"status": "idle"})


def test_words_that_came_to_nothing_are_taken_back(tmp_path: Path) -> None:
    """An outcome may turn out to have been told already, when its words are on the screen."""
    with running_web_on_sqlite(tmp_path) as web:
        clara = web.customer("cus_clara")
        chat, hub = web.opens(clara), web.context.hub
        body = {"client_id": "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01", "text": "Hello"}
        run_id = web.post(f"{chat}/messages", body, clara).json()["run_id"]
        with listening(web, chat, clara) as stream:
            assert stream.event()["data"]["text"] == "Hello"
            assert stream.live() == ("status", {"status": "thinking"})
            watched = ConversationId(chat.rpartition("/")[2])
            hub.show(watched, RunId(run_id), "Well, ")
            shown = {"run_id": run_id, "offset": 0, "text": "Well, "}
            assert stream.live() == ("delta", shown)
            hub.hide(watched)
            web.story.happens("DELETE FROM outbox WHERE lane = 'turn'")
            hub.poke()
            assert stream.live() == ("status", {"status": "idle"})
            assert stream.live() == ("delta", shown | {"text": ""})
