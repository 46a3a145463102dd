"""Words on a terminal: nothing unseen, nothing cut, every column aligned."""

import json

import pytest

from agent.domain.payload import Json
from bot.cli_text import flatten, json_text, pairs, table, visible

UNSEEN = (
    "\x00\x07\x1b\x7f\x9b\u00a0\u00ad\u034f\u200b\u202e\u2028\u2066\u3164\ufeff\U000e0041\ud800"
)


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("a\u202eb\U000e0041c\nd") == "a\\u202eb\\U000e0041c\\u000ad"
    assert visible("a\nb\r", lines=True) == "a\nb\\u000d"
    assert visible("\u00fcber \u6771\u4eac \U0001f600") == "\u00fcber \u6771\u4eac \U0001f600"


@pytest.mark.parametrize("char", UNSEEN, ids=lambda char: f"U+{ord(char):04X}")
def test_no_unseen_character_is_left(char: str) -> None:
    for shown in (visible(char), pairs([(char, char)]), table([""], [[char]]), json_text([char])):
        assert char not in shown
        assert shown.isascii()


def test_json_is_the_same_value() -> None:
    value: Json = {"text": UNSEEN[:-1] + "\u00fcber \U0001f600", "list": [1, None, True, {}]}
    assert json.loads(json_text(value)) == value


@pytest.mark.parametrize(
    ("value", "leaves"),
    [
        ({"a": {"b": 1}, "c": "x"}, [("p.a.b", "1"), ("p.c", '"x"')]),
        ({"a": [1, {"b": None}]}, [("p.a[0]", "1"), ("p.a[1].b", "null")]),
        ({"a": [], "b": {}, "c": "1"}, [("p.a", "[]"), ("p.b", "{}"), ("p.c", '"1"')]),
    ],
)
def test_every_leaf_of_a_payload_is_shown(value: Json, leaves: list[tuple[str, str]]) -> None:
    assert list(flatten("p", value)) == leaves


def test_columns_are_aligned() -> None:
    rows = [("a", 1, ""), ("bbb", 22, "x y")]
    assert table(("ID", "N", "WHY"), rows).splitlines() == [
        "ID   N   WHY",
        "a    1   -",
        "bbb  22  x y",
    ]
    assert pairs([("a", 1), ("bbb", "")]) == "a    1\nbbb"
    assert pairs([]) == ""
