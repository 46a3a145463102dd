"""Untrusted text made fit to be read, and cut where it must be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.text import chunks, clip, clip_bytes, escape, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\u202eb", r"a\u202eb"),
        ("a\nb", r"a\u000ab"),
        ("\U000e0041", r"\U000e0041"),
        ("\u3164", r"\u3164"),
        ("ü € 日本 🙂", "ü € 日本 🙂"),
        ("e\u0301 \u0e01\u0e33\u0e49 ❤\ufe0f", "e\u0301 \u0e01\u0e33\u0e49 ❤\ufe0f"),
        ("\u0336a \u0336", r"\u0336a \u0336"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + r"\u0301\u0301"),
        ("שלום", "שלום"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_only_line_feeds_survive_where_lines_are_allowed() -> None:
    assert visible("a\nb\rc\u2028", lines=True) == "a\nb\\u000dc\\u2028"


def test_escaping_touches_exactly_three_characters() -> None:
    assert escape('<a href="x">&amp;') == '&lt;a href="x"&gt;&amp;amp;'


def test_a_cut_says_how_much_is_missing() -> None:
    assert clip("abcdef", 4) == "abcd … (2 more characters)"
    assert clip("abcd", 4) == "abcd"


@given(st.text(max_size=60), st.integers(min_value=8, max_value=60))
def test_bytes_are_cut_between_characters(text: str, limit: int) -> None:
    cut = clip_bytes(text, limit)
    assert len(cut.encode()) <= limit
    assert cut == text or cut.endswith("…")


@given(st.text(alphabet="ab\n", max_size=200), st.integers(min_value=1, max_value=30))
def test_pieces_join_to_the_whole(text: str, size: int) -> None:
    pieces = chunks(text, size)
    assert "".join(pieces) == text
    assert all(len(piece) <= size for piece in pieces)
