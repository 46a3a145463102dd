"""Pages of a long story: every block on one of them, in order, and none too large."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.slack.paging import Reel, Room, Spot, cut

ENTRIES = st.lists(st.lists(st.text("x", max_size=60), min_size=1, max_size=4), max_size=30)


@settings(max_examples=150, deadline=None)
@given(ENTRIES, st.integers(1, 6), st.integers(40, 300), st.integers(1, 9))
def test_turning_forth_shows_all_and_turning_back_arrives_at_the_start(
    texts: list[list[str]], most: int, size: int, window: int
) -> None:
    entries = [[{"text": text} for text in entry] for entry in texts]
    room = Room(most, size)

    def page(start: Spot) -> Reel:
        """Return the entries around a place as a reader's window brings them."""
        first = max(start.entry - window, 1)
        return Reel(entries[first - 1 : start.entry - 1 + window], first, len(entries))

    spot: Spot | None = Spot()
    seen: list[object] = []
    starts: list[Spot] = []
    while spot is not None:
        sheet = cut(page(spot), spot, room)
        assert len(sheet.blocks) <= most
        assert sum(len(json.dumps(block)) for block in sheet.blocks) <= size or (
            len(sheet.blocks) == 1
        )
        seen += sheet.blocks
        starts.append(spot)
        spot = sheet.after
    assert seen == [block for entry in entries for block in entry]
    back = starts[-1]
    while (before := cut(page(back), back, room).before) is not None:
        assert (before.entry, before.piece) < (back.entry, back.piece)
        back = before
    assert back == Spot()


def test_a_page_that_is_not_there_is_the_nearest_one() -> None:
    reel = Reel([[{"text": "a"}], [{"text": "b"}]], 1, 2)
    assert cut(reel, Spot(9), Room(5, 100)).blocks == [{"text": "b"}]
    assert cut(Reel([], 1, 0), Spot(), Room(5, 100)).blocks == []
