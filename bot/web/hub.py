"""One waiter per process for all open streams: a poke or a second, one look, and who has news."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from agent.domain.ids import ConversationId
from storage import conversations
from storage.transaction import Store

log = logging.getLogger(__name__)

LastSeqs = Callable[[frozenset[ConversationId]], Mapping[ConversationId, int]]

_INTERVAL_S = 1.0
# Under a storm of pokes, the most that news waits and the least between two looks.
_GAP_S = 0.05


def last_seqs_of(store: Store) -> LastSeqs:
    """Return how to look up the newest seq of many conversations, in one short transaction."""

    def look(watched: frozenset[ConversationId]) -> dict[ConversationId, int]:
        with store.transaction(write=False) as tx:
            return conversations.last_seqs(tx, watched)

    return look


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


class Watch(Bell):
    """One stream's bell, rung when its conversation has events after `seen`."""

    def __init__(self, seen: int) -> None:
        """Start with everything up to `seen` sent."""
        super().__init__()
        self.seen = seen


class Hub:
    """Wakes streams whose conversation has grown. `poke` and `close` may come from any thread.

    A poke that is lost costs a second at most: the hub looks by itself while anybody waits.
    """

    def __init__(
        self, last_seqs: LastSeqs, *, interval_s: float = _INTERVAL_S, gap_s: float = _GAP_S
    ) -> None:
        """Keep how to look; nothing runs before `run`."""
        self._last_seqs = last_seqs
        self.interval_s = interval_s
        self._gap_s = gap_s
        self._watches: dict[ConversationId, set[Watch]] = {}
        self._listeners: set[Bell] = set()
        self._poked = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    def poke(self) -> None:
        """Say that something may have happened."""
        self._on_loop(self._poked.set)

    def close(self) -> None:
        """End every stream and wait, as the server is about to stop."""
        self.closed = True
        self._on_loop(self._release)

    @contextmanager
    def watch(self, conversation_id: ConversationId, seen: int) -> Iterator[Watch]:
        """Take a place for a stream that has sent everything up to `seen`."""
        watch = Watch(seen)
        self._watches.setdefault(conversation_id, set()).add(watch)
        # The loop may be resting because nobody waited.
        self._poked.set()
        try:
            yield watch
        finally:
            others = self._watches[conversation_id]
            others.discard(watch)
            if not others:
                del self._watches[conversation_id]

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
            async with asyncio.timeout(self.interval_s if self._watches else None):
                await self._poked.wait()

    async def _look(self, pool: ThreadPoolExecutor) -> None:
        for bell in self._listeners:
            bell.ring()
        watched = frozenset(self._watches)
        if not watched:
            return
        loop = asyncio.get_running_loop()
        newest = await loop.run_in_executor(pool, self._last_seqs, watched)
        for conversation_id, seq in newest.items():
            for watch in self._watches.get(conversation_id, ()):
                if seq > watch.seen:
                    watch.ring()

    def _release(self) -> None:
        self._poked.set()
        for bell in self._listeners:
            bell.ring()
        for watches in self._watches.values():
            for watch in watches:
                watch.ring()

    def _on_loop(self, action: Callable[[], None]) -> None:
        # Before the start and after the end there is nobody to wake.
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action)
