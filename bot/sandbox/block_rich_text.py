"""Slack's rich text and its two kinds of table, as shapes with their limits."""

from collections.abc import Iterator, Mapping
from typing import cast

from bot.sandbox.block_elements import DISPATCH, FOCUS, ID, PLACEHOLDER, URL, kind
from bot.sandbox.json_shape import (
    Check,
    JsonObject,
    Problem,
    array,
    boolean,
    every,
    integer,
    nullable,
    number,
    one_of,
    record,
    string,
    tagged,
)

TABLE_TEXT = 10_000
DATA_TABLE_TEXT = 20_000
_MANY = 10_000
_ANY_TEXT = string(1, 40_000)


def _style(*more: str) -> Mapping[str, Check]:
    marks = ("bold", "italic", "strike", "underline", *more)
    return {"style": record({}, dict.fromkeys(marks, boolean))}


_LETTERS, _NAMES = _style("code"), _style("highlight", "client_highlight", "unlink")
_TEXT = kind("text", {"text": _ANY_TEXT}, _LETTERS)
_LINK = kind("link", {"url": URL}, {"text": _ANY_TEXT, "unsafe": boolean, **_LETTERS})
_PIECE = tagged(
    {
        **_TEXT,
        **_LINK,
        **kind("user", {"user_id": ID}, _NAMES),
        **kind("usergroup", {"usergroup_id": ID}, _NAMES),
        **kind("team", {"team_id": ID}, _NAMES),
        **kind("channel", {"channel_id": ID}, _NAMES),
        **kind("broadcast", {"range": one_of("here", "channel", "everyone")}, _NAMES),
        **kind("color", {"value": string(4, 7, r"#[0-9A-Fa-f]{3,6}")}, _NAMES),
        **kind("emoji", {"name": ID}, {"unicode": ID, "skin_tone": integer(1, 6), **_LETTERS}),
        **kind(
            "date",
            {"timestamp": integer(0, 2**53), "format": ID},
            {"url": URL, "fallback": _ANY_TEXT, **_LETTERS},
        ),
    }
)
_BORDER: Mapping[str, Check] = {"border": integer(0, 1)}
_SECTION = kind("rich_text_section", {"elements": array(_PIECE, 1, _MANY)})
_PARTS = tagged(
    {
        **_SECTION,
        **kind(
            "rich_text_list",
            {"style": one_of("bullet", "ordered"), "elements": array(tagged(_SECTION), 1, _MANY)},
            {"indent": integer(0, 8), "offset": integer(0, _MANY), **_BORDER},
        ),
        **kind(
            "rich_text_preformatted",
            {"elements": array(tagged({**_TEXT, **_LINK}), 1, _MANY)},
            {**_BORDER, "language": ID},
        ),
        **kind("rich_text_quote", {"elements": array(_PIECE, 1, _MANY)}, _BORDER),
    }
)
RICH_TEXT_FIELDS: Mapping[str, Check] = {"elements": array(_PARTS, 1, _MANY)}
RICH_TEXT = kind("rich_text", RICH_TEXT_FIELDS, {"block_id": ID})

_INPUT = kind(
    "rich_text_input",
    {},
    {
        **FOCUS,
        **PLACEHOLDER,
        "initial_value": tagged(RICH_TEXT),
        "min_lines": integer(1, 100),
        "max_lines": integer(1, 100),
        "dispatch_action_config": DISPATCH,
    },
)


def _lines_in_order(value: object, at: str) -> Iterator[Problem]:
    element = cast("JsonObject", value)
    if element.get("min_lines", 1) > element.get("max_lines", 100):
        yield Problem(f"{at}/min_lines", "must not be above max_lines")


INPUT = {"rich_text_input": every(_INPUT["rich_text_input"], _lines_in_order)}

_RAW = {
    **kind("raw_text", {"text": _ANY_TEXT}),
    **kind("raw_number", {"value": number, "text": _ANY_TEXT}),
}
_CELL = tagged({**_RAW, **RICH_TEXT})
_COLUMN = record({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})
_TABLE = kind(
    "table",
    {"rows": array(array(_CELL, 1, 20), 1, 100)},
    {"block_id": ID, "column_settings": array(nullable(_COLUMN), 1, 20)},
)
_DATA_TABLE = kind(
    "data_table",
    {"rows": array(array(_CELL, 1, 20), 2, 201), "caption": string(1, 3_000)},
    {"block_id": ID, "page_size": integer(1, 100), "row_header_column_index": integer(0, 19)},
)


def letters(value: object) -> int:
    """Count the characters of every text inside a table, as they were sent."""
    if isinstance(value, list):
        return sum(letters(item) for item in value)
    if not isinstance(value, dict):
        return 0
    own = value.get("text")
    return (len(own) if isinstance(own, str) else 0) + sum(letters(v) for v in value.values())


def _holds(limit: int) -> Check:
    def check(value: object, at: str) -> Iterator[Problem]:
        total = letters(cast("JsonObject", value)["rows"])
        if total > limit:
            yield Problem(f"{at}/rows", f"all cells together are {total} of {limit} characters")

    return check


def _even_rows(value: object, at: str) -> Iterator[Problem]:
    table = cast("JsonObject", value)
    width = len(table["rows"][0])
    for index, row in enumerate(table["rows"]):
        if len(row) != width:
            yield Problem(f"{at}/rows/{index}", f"must have {width} cells, as the header row")
    for index, cell in enumerate(table["rows"][0]):
        if cell["type"] == "rich_text":
            yield Problem(f"{at}/rows/0/{index}/type", "a header cell holds no rich text")
    if table.get("row_header_column_index", 0) >= width:
        yield Problem(f"{at}/row_header_column_index", "there is no such column")


TABLE = {"table": every(_TABLE["table"], _holds(TABLE_TEXT))}
DATA_TABLE = {"data_table": every(_DATA_TABLE["data_table"], _holds(DATA_TABLE_TEXT), _even_rows)}
