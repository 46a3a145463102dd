"""Many customers who watch their chats, read on one thread of their own."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress


class Streams:
    """Live streams of a desk; `events` counts the stored events that came, over all of them."""

    def __init__(self, port: int, chats: Sequence[tuple[str, str]]) -> None:
        """Keep what is to be followed: (conversation, bearer token)."""
        self._port, self._chats = port, chats
        self._open = threading.Semaphore(0)
        self._over = asyncio.Event()
        self._changed = threading.Condition()
        self.events = 0

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow all of them while the block lasts; they are open when it begins."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_until_complete, args=(self._follow_all(),))
        thread.start()
        for _ in self._chats:
            assert self._open.acquire(timeout=60), "a stream does not open"
        try:
            yield
        finally:
            loop.call_soon_threadsafe(self._over.set)
            thread.join()
            loop.close()

    def wait(self, events: int, timeout_s: float = 60) -> None:
        """Wait until so many events have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.events >= events, timeout_s), self.events

    async def _follow_all(self) -> None:
        tasks = [asyncio.create_task(self._follow(*chat)) for chat in self._chats]
        await self._over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, conversation: str, token: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            f"GET /chat/conversations/{conversation}/events HTTP/1.1\r\nHost: desk\r\n"
            f"Accept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        try:
            writer.write(head.encode())
            await self._read(reader)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        status = await reader.readline()
        assert b" 200 " in status, status
        is_open = False
        while line := await reader.readline():
            if not is_open and b'"status"' in line:
                # It has caught up: what is new comes by itself.
                is_open = True
                self._open.release()
            if line.startswith(b"id:"):
                with self._changed:
                    self.events += 1
                    self._changed.notify_all()
