"""The stand-in's memory: tables folded from an append-only file of JSON lines.

A line is a list of `[table, key, value]` changes that belong together; a null value removes the
key. A line is written whole before the change is visible, so a killed process loses at most the
line it was writing, and that line is cut off when the file is opened again.
"""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import TypeAlias

from bot.sandbox.json_shape import JsonObject

Change: TypeAlias = tuple[str, str, JsonObject | None]


class JournalDamaged(Exception):
    """A line of the journal is not one the stand-in wrote; move the file away to start afresh."""


class Journal:
    """Tables of JSON objects that survive the process, and a way to wait for the next change.

    It belongs to one event loop, `release` excepted: nothing here locks.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.version = 0
        self._tables: dict[str, dict[str, JsonObject]] = {}
        self._replay(path)
        self._file = path.open("ab")
        self._next = asyncio.Event()
        self._waited_on: asyncio.AbstractEventLoop | None = None
        self._hurry = False

    def _replay(self, path: Path) -> None:
        if not path.exists():
            return
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with path.open("r+b") as file:
                file.truncate(whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                self._apply([(table, key, value) for table, key, value in json.loads(line)])
            except (ValueError, TypeError) as error:
                raise JournalDamaged(f"{path}, line {number}") from error

    def _apply(self, changes: list[Change]) -> None:
        for table, key, value in changes:
            if value is None:
                self._tables.setdefault(table, {}).pop(key, None)
            else:
                self._tables.setdefault(table, {})[key] = value
        self.version += 1

    def table(self, name: str) -> dict[str, JsonObject]:
        """Rows of a table in the order of their first writing; only `write` may change them."""
        return self._tables.setdefault(name, {})

    def write(self, *changes: Change) -> None:
        """Make changes that become visible, and survive, together."""
        self._file.write(json.dumps(changes, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        self._apply(list(changes))
        changed, self._next = self._next, asyncio.Event()
        changed.set()

    async def changed(self, after: int, seconds: float) -> int:
        """Return the version once it differs from `after`, or after `seconds`, or at `release`."""
        self._waited_on = asyncio.get_running_loop()
        if self.version == after and not self._hurry:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._next.wait()
        return self.version

    def release(self) -> None:
        """Let nobody wait any more, now or later: the server is about to stop.

        Any thread may call this: a server that stops waits for its connections first.
        """
        self._hurry = True
        if self._waited_on is not None and not self._waited_on.is_closed():
            self._waited_on.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._next.set()

    def close(self) -> None:
        """Close the file; nothing can be written afterwards."""
        self._file.close()
