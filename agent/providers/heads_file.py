"""A copy of the signed heads in a file, one JSON line a head; it is only ever appended to."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.domain.heads import Head, from_line, to_line
from agent.ports import HeadCopy

# A head's line is at most 40 KiB.
_TAIL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class HeadsFile(HeadCopy):
    """The copy at `path`; processes of one machine may share it."""

    path: Path

    @override
    def lines(self) -> Iterator[str]:
        """Yield each whole line; none when there is no file. Raises OSError."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line.decode(errors="surrogateescape").rstrip("\n")

    @override
    def catch_up(self, after: Callable[[int], Sequence[Head]]) -> int:
        """Append every head that is newer than the last line and return how many those were.

        The last line says how far the copy has come, so a write that failed is made up for at the
        next call. Raises OSError, and InvalidInput when the last line is not a head's.
        """
        count = 0
        with self._held() as file:
            number = _last_number(file)
            while heads := after(number):
                file.write("".join(f"{to_line(head)}\n" for head in heads).encode())
                file.flush()
                os.fsync(file.fileno())
                count += len(heads)
                number = heads[-1].number
        return count

    @contextmanager
    def _held(self) -> Iterator[IO[bytes]]:
        """Open the file for this process alone; closing it lets go of it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _last_number(file: IO[bytes]) -> int:
    """Return the number of the last line, 0 for an empty file; a torn line is taken off."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read()
    whole = tail[: tail.rfind(b"\n") + 1]
    torn = len(tail) - len(whole)
    if torn and (whole or torn == size):
        # A crash in the middle of a write: that head is still in the database.
        file.truncate(size - torn)
    if size == torn:
        return 0
    last = whole.splitlines()[-1] if whole else b""
    try:
        return from_line(last.decode(errors="surrogateescape")).number
    except InvalidInput as damaged:
        raise InvalidInput(file.name, "its last line is not a signed head") from damaged
