"""CSV records out of raw lines, going on after a line that nobody can read."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

# A note may run over many lines; a quote that nobody closed must not swallow the rest of the file.
_MOST_LINES = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Record:
    """One record with as many cells as the first one has; `number` is its line in the file."""

    number: int
    last: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """One line that is no record; `start` is its first cell as far as it can be made out."""

    number: int
    start: str
    problem: str


def records(lines: Iterable[bytes]) -> Iterator[Record | Broken]:
    """Yield what a file of UTF-8 lines holds, empty records left out; lines count from 1.

    A record that cannot be read gives up its first line alone: its other lines are tried anew.
    """
    feed = _Feed(lines)
    width: int | None = None
    while group := feed.group():
        read = _parse([text for _, text in group], width, group[0][0])
        if isinstance(read, Broken):
            feed.give_back(group[1:])
        elif _is_empty(read.cells):
            continue
        else:
            width = width or len(read.cells)
        yield read


class _Feed:
    """Numbered, decoded lines that can be given back."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = enumerate(map(_decode, lines), start=1)
        self._returned: deque[tuple[int, str]] = deque()

    def group(self) -> list[tuple[int, str]]:
        """Return the next line, with those that follow until every quote is closed."""
        group: list[tuple[int, str]] = []
        is_open = False
        for number, text in islice(self._rest(), _MOST_LINES):
            group.append((number, text))
            is_open ^= text.count('"') % 2 == 1
            if not is_open:
                break
        return group

    def give_back(self, lines: list[tuple[int, str]]) -> None:
        """Let these lines come again, before all others."""
        self._returned.extendleft(reversed(lines))

    def _rest(self) -> Iterator[tuple[int, str]]:
        while self._returned:
            yield self._returned.popleft()
        yield from self._lines


def _decode(line: bytes) -> str:
    # Bytes that are no UTF-8 become surrogates, which no UTF-8 text can hold.
    return line.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")


def _parse(lines: list[str], width: int | None, number: int) -> Record | Broken:
    first = lines[0]
    start = first.partition(",")[0].replace('"', "").strip()
    if any(map(_SURROGATE.search, lines)):
        return Broken(number, start.encode(errors="replace").decode(), "is not UTF-8")
    try:
        (cells,) = csv.reader(lines, strict=True)
    except (csv.Error, ValueError):
        return Broken(number, start, "the quotes do not match")
    if width is not None and len(cells) != width and not _is_empty(cells):
        problem = f"has {len(cells)} columns, the first row has {width}"
        return Broken(number, start, problem)
    return Record(number, number + len(lines) - 1, tuple(cells))


def _is_empty(cells: Iterable[str]) -> bool:
    return not any(cell.strip() for cell in cells)
