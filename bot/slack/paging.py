"""Long stories in views that Slack takes and a person reads: cut between blocks, never inside."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.blocks import Block

# One thing that happened, or was said, as one block or as several where it is long.
Entry = Sequence[Block]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a page begins: the number of the entry, from 1, and which of its blocks, from 0."""

    entry: int = 1
    piece: int = 0


@dataclass(frozen=True, slots=True)
class Reel:
    """Entries of a story around a place: the first of them has the number `first`.

    `total` is how many there are in all; they reach a page's length to both sides of the place.
    """

    entries: Sequence[Entry]
    first: int
    total: int


@dataclass(frozen=True, slots=True)
class Room:
    """What a page holds: so many blocks, and so many bytes of JSON."""

    blocks: int
    size: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page: its blocks, its first and last entry, and where the pages beside it begin."""

    blocks: list[Block]
    first: int
    last: int
    before: Spot | None
    after: Spot | None


def cut(reel: Reel, start: Spot, room: Room) -> Sheet:
    """Return the page that begins at `start`, or at the next entry there is.

    Every page holds a block at least: none is larger than any room.
    """
    flat = [
        (Spot(reel.first + number, piece), block)
        for number, entry in enumerate(reel.entries)
        for piece, block in enumerate(entry)
    ]
    if not flat:
        return Sheet([], 0, 0, None, None)
    wanted = (start.entry, start.piece)
    begin = next(
        (at for at, (spot, _) in enumerate(flat) if (spot.entry, spot.piece) >= wanted),
        len(flat) - 1,
    )
    end = begin + _fitting([block for _, block in flat[begin:]], room)
    back = _fitting([block for _, block in flat[begin - 1 :: -1]], room) if begin else 0
    last = flat[end - 1][0].entry
    more = Spot(last + 1) if last < reel.total else None
    return Sheet(
        blocks=[block for _, block in flat[begin:end]],
        first=flat[begin][0].entry,
        last=last,
        before=flat[begin - back][0] if begin else None,
        after=flat[end][0] if end < len(flat) else more,
    )


def _fitting(blocks: Sequence[Block], room: Room) -> int:
    """Return how many of the blocks, from the first on, fit; one at least."""
    size = 0
    for number, block in enumerate(blocks[: room.blocks]):
        size += len(json.dumps(block))
        if size > room.size and number:
            return number
    return min(len(blocks), room.blocks)
