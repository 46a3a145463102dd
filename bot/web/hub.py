"""One reader per process for all open streams: what is new is read once and kept for everybody."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from typing_extensions import override

from agent.domain.conversation import LogEvent
from agent.domain.ids import ConversationId, RunId
from agent.ports import Live
from bot.web.lines import delta_line, event_line, status_line, utf16_length
from storage import conversations
from storage.conversations import Standing
from storage.transaction import Store

log = logging.getLogger(__name__)

_INTERVAL_S = 1.0
# Under a storm of pokes, the most that news waits and the least between two looks.
_GAP_S = 0.05
# So many events of a conversation are kept for streams that lag behind; others read for themselves.
_KEPT = 64
_PAGE = 500
# A browser has one stream however many tabs it has; a customer with more of them than this is none.
_MOST_WATCHES = 128


class Logs(Protocol):
    """Where the hub reads; each call is one short transaction, and blocks."""

    def standings(self, watched: frozenset[ConversationId]) -> Mapping[ConversationId, Standing]:
        """Return how the conversations stand."""

    def page(self, conversation_id: ConversationId, after: int) -> Sequence[LogEvent]:
        """Return the next events of a conversation with seq > `after`, at most 500."""


class StoredLogs(Logs):
    """The logs in the database."""

    def __init__(self, store: Store) -> None:
        """Keep where to look."""
        self._store = store

    @override
    def standings(self, watched: frozenset[ConversationId]) -> dict[ConversationId, Standing]:
        """Return how the conversations stand."""
        with self._store.transaction(write=False) as tx:
            return conversations.standings(tx, watched)

    @override
    def page(self, conversation_id: ConversationId, after: int) -> tuple[LogEvent, ...]:
        """Return the next events of a conversation with seq > `after`, at most 500."""
        with self._store.transaction(write=False) as tx:
            return conversations.events_after(tx, conversation_id, after, _PAGE)


class Bell:
    """Something to wait for; a ring is kept until somebody waits."""

    def __init__(self) -> None:
        """Start silent."""
        self._rung = asyncio.Event()

    async def wait(self, timeout_s: float) -> bool:
        """Return True when rung, or when the hub closes; False after `timeout_s` seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True

    def ring(self) -> None:
        """Let `wait` return."""
        self._rung.set()


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer under way; `number` tells one that began anew from the one before.

    `is_far` tells that another replica makes it, of whose end this one may hear late or never.
    """

    number: int
    run_id: RunId
    text: str
    is_far: bool = False


@dataclass(slots=True)
class Channel:
    """What the hub knows of one conversation while anybody watches it.

    `known` is the newest seq that was read, None before anybody read; `lines` are the newest of
    those events as bytes, made once for all streams.
    """

    known: int | None = None
    is_thinking: bool | None = None
    lines: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    watches: dict["Watch", None] = field(default_factory=dict)

    def ring(self) -> None:
        """Let every stream look."""
        for watch in self.watches:
            watch.ring()


class Watch(Bell):
    """One stream's place: how far it is, in the log and in the answer under way.

    Nothing is queued for a stream: it takes what it lacks when it can, so that a slow one holds up
    nobody and costs no memory.
    """

    def __init__(self, hub: "Hub", conversation_id: ConversationId, seen: int) -> None:
        """Start with everything up to `seen` sent."""
        super().__init__()
        self.seen = seen
        self.is_over = False
        self.conversation_id = conversation_id
        self._hub = hub
        self._was_thinking: bool | None = None
        self._draft: Draft | None = None

    def end(self) -> None:
        """Let the stream end; its client comes back if there is one."""
        self.is_over = True
        self.ring()

    def stored(self) -> list[bytes] | None:
        """Return the events that the stream lacks; None where it has to read for itself."""
        channel = self._hub.channel(self.conversation_id)
        if channel.known is None:
            return None
        if channel.known <= self.seen:
            return []
        if not channel.lines or channel.lines[0][0] > self.seen + 1:
            return None
        lines = [line for seq, line in channel.lines if seq > self.seen]
        self.sent(channel.known)
        return lines

    def sent(self, seq: int) -> None:
        """Note that everything up to `seq` is sent.

        What is stored may have ended the draft that a client shows: the next one is told whole.
        """
        self.seen = seq
        self._draft = None

    def live(self) -> Iterator[bytes]:
        """Yield what the client lacks of that which is not stored."""
        is_thinking = self._hub.channel(self.conversation_id).is_thinking
        if is_thinking is not None and is_thinking != self._was_thinking:
            self._was_thinking = is_thinking
            yield status_line(is_thinking=is_thinking)
        draft, before = self._hub.draft(self.conversation_id), self._draft
        if draft is not None and draft.is_far and not is_thinking:
            # It is over, as far as the log says.
            draft = None
        if draft is None:
            if before is not None and is_thinking is False:
                # What was said came to nothing: an outcome, say, that had been told already.
                self._draft = None
                yield delta_line(before.run_id, 0, "")
            return
        self._draft = draft
        goes_on = before is not None and before.number == draft.number
        start = len(before.text) if before is not None and goes_on else 0
        if start < len(draft.text):
            offset = utf16_length(draft.text[:start])
            yield delta_line(draft.run_id, offset, draft.text[start:])


class Hub(Live):
    """Wakes streams that lack something. `poke`, `close`, `show`, `hide` may come from any thread.

    A poke that is lost costs a second at most: the hub looks by itself while anybody waits.
    """

    def __init__(
        self,
        logs: Logs,
        *,
        interval_s: float = _INTERVAL_S,
        gap_s: float = _GAP_S,
        most_watches: int = _MOST_WATCHES,
    ) -> None:
        """Keep where to look, and how many streams a conversation may have; `run` starts it."""
        self._logs = logs
        self.interval_s = interval_s
        self._gap_s = gap_s
        self._most_watches = most_watches
        self._channels: dict[ConversationId, Channel] = {}
        self._drafts: dict[ConversationId, Draft] = {}
        self._number = 0
        self._listeners: set[Bell] = set()
        self._poked = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False
        self._is_over = False

    def leave(self) -> None:
        """Let answers under way go: the process is about to end. Streams stay open until then."""
        self._is_over = True

    @property
    @override
    def is_over(self) -> bool:
        """Return whether the process is about to end."""
        return self._is_over

    @property
    def open_streams(self) -> int:
        """Return how many streams are open."""
        return sum(len(channel.watches) for channel in list(self._channels.values()))

    def poke(self) -> None:
        """Say that something may have happened."""
        self._on_loop(self._poked.set)

    def close(self) -> None:
        """End every stream and wait, as the server is about to stop."""
        self.closed = True
        self._on_loop(self._release)

    @override
    def show(
        self, conversation_id: ConversationId, run_id: RunId, so_far: str, *, is_far: bool = False
    ) -> None:
        """Let every stream of a conversation show an answer so far."""
        self._on_loop(lambda: self._show(conversation_id, run_id, so_far, is_far=is_far))

    @override
    def hide(self, conversation_id: ConversationId) -> None:
        """Show no more of the answer; who has some of it keeps it until an event ends it."""
        self._on_loop(lambda: self._drafts.pop(conversation_id, None))

    def channel(self, conversation_id: ConversationId) -> Channel:
        """Return what is known of a conversation that is watched."""
        return self._channels[conversation_id]

    def draft(self, conversation_id: ConversationId) -> Draft | None:
        """Return the answer under way, None without one."""
        return self._drafts.get(conversation_id)

    @contextmanager
    def watch(self, conversation_id: ConversationId, seen: int) -> Iterator[Watch]:
        """Take a place for a stream that has sent everything up to `seen`.

        Where a conversation has no place left, the stream that was there longest makes room.
        """
        watch = Watch(self, conversation_id, seen)
        channel = self._channels.setdefault(conversation_id, Channel())
        channel.watches[watch] = None
        staying = [one for one in channel.watches if not one.is_over]
        for one in staying[: -self._most_watches]:
            one.end()
        try:
            yield watch
        finally:
            del channel.watches[watch]
            if not channel.watches:
                del self._channels[conversation_id]

    async def read(self, watch: Watch) -> Sequence[LogEvent]:
        """Return the next events that a stream lacks, read for it alone."""
        events = await run_in_threadpool(self._logs.page, watch.conversation_id, watch.seen)
        channel = self.channel(watch.conversation_id)
        if len(events) < _PAGE and channel.known is None:
            # From here on the hub reads for everybody.
            channel.known = events[-1].seq if events else watch.seen
            self._poked.set()
        return events

    @contextmanager
    def listen(self) -> Iterator[Bell]:
        """Take a bell that rings after every poke; whoever waits looks once a second besides."""
        bell = Bell()
        self._listeners.add(bell)
        try:
            yield bell
        finally:
            self._listeners.discard(bell)

    async def run(self) -> None:
        """Look until closed; a look that fails is logged and tried again."""
        self._loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "hub") as pool:
            while not self.closed:
                await self._rest()
                self._poked.clear()
                try:
                    await self._look(pool)
                except Exception:
                    # The database is away: streams stay open and hear of it when it is back.
                    log.exception("looking for news of conversations failed")
                await asyncio.sleep(self._gap_s)
        self._release()

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.interval_s if self._channels else None):
                await self._poked.wait()

    async def _look(self, pool: ThreadPoolExecutor) -> None:
        for bell in self._listeners:
            bell.ring()
        watched = frozenset(self._channels)
        if not watched:
            return
        loop = asyncio.get_running_loop()
        standings = await loop.run_in_executor(pool, self._logs.standings, watched)
        for conversation_id, standing in standings.items():
            channel = self._channels.get(conversation_id)
            if channel is None or channel.known is None:
                continue
            if channel.known < standing.last_seq:
                await self._read_on(conversation_id, channel, standing.last_seq, pool)
            elif channel.is_thinking == standing.is_thinking:
                continue
            channel.is_thinking = standing.is_thinking
            channel.ring()

    async def _read_on(
        self,
        conversation_id: ConversationId,
        channel: Channel,
        newest: int,
        pool: ThreadPoolExecutor,
    ) -> None:
        """Read what is new of a conversation, once for all its streams."""
        loop, known = asyncio.get_running_loop(), channel.known or 0
        try:
            events = await loop.run_in_executor(pool, self._logs.page, conversation_id, known)
            lines = [(event.seq, event_line(event)) for event in events]
        except Exception:
            # Each stream finds out for itself and says so; those of other conversations go on.
            log.exception("what is new of %s cannot be read", conversation_id)
            channel.lines.clear()
            channel.known = newest
            return
        channel.lines.extend(lines)
        channel.known = max((seq for seq, _line in lines), default=newest)

    def _show(
        self, conversation_id: ConversationId, run_id: RunId, so_far: str, *, is_far: bool
    ) -> None:
        before = self._drafts.get(conversation_id)
        goes_on = before is not None and before.run_id == run_id and so_far.startswith(before.text)
        self._number += not goes_on
        self._drafts[conversation_id] = Draft(self._number, run_id, so_far, is_far)
        channel = self._channels.get(conversation_id)
        if channel is not None:
            if is_far and not channel.is_thinking:
                # Nobody poked: the message that is answered came to another replica.
                self._poked.set()
            channel.ring()

    def _release(self) -> None:
        self._poked.set()
        for bell in self._listeners:
            bell.ring()
        for channel in self._channels.values():
            channel.ring()

    def _on_loop(self, action: Callable[[], object]) -> None:
        # Before the start and after the end there is nobody to wake.
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action)
