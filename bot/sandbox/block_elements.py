"""Slack's text objects and block elements, as shapes with their limits (Block Kit reference)."""

from collections.abc import Iterator, Mapping
from typing import cast

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

TEXT_MAX = 3_000
ID = string(1, 255)
URL = string(1, 3_000)
_DATE = string(10, 10, r"\d{4}-\d{2}-\d{2}")
_DECIMAL = string(1, 255, r"-?\d+(\.\d+)?")


def kind(
    name: str, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
) -> dict[str, Check]:
    """One entry of a table of kinds: objects whose `type` is `name`."""
    return {name: record({"type": one_of(name), **required}, optional or {})}


def text_kinds(limit: int = TEXT_MAX) -> dict[str, Check]:
    """Kinds of text object, of 1 to `limit` characters."""
    characters = {"text": string(1, limit)}
    return {
        **kind("plain_text", characters, {"emoji": boolean}),
        **kind("mrkdwn", characters, {"verbatim": boolean}),
    }


def plain(limit: int = TEXT_MAX) -> Check:
    """Accept a plain_text object of 1 to `limit` characters."""
    return tagged({"plain_text": text_kinds(limit)["plain_text"]})


def text(limit: int = TEXT_MAX) -> Check:
    """Accept a plain_text or mrkdwn object of 1 to `limit` characters."""
    return tagged(text_kinds(limit))


_STYLE = one_of("primary", "danger")
_CONFIRM = record(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": _STYLE},
)
_DISPATCH = record(
    {"trigger_actions_on": array(one_of("on_enter_pressed", "on_character_entered"), 1, 2)}, {}
)
_ACTION: Mapping[str, Check] = {"action_id": ID}
_FOCUS: Mapping[str, Check] = {"action_id": ID, "focus_on_load": boolean}
_PLACEHOLDER: Mapping[str, Check] = {"placeholder": plain(150)}


_OPTION_VALUE: Mapping[str, Check] = {"value": string(1, 150)}
_PLAIN_OPTION = record({"text": plain(75), **_OPTION_VALUE}, {"description": plain(75)})
_TEXT_OPTION = record({"text": text(75), **_OPTION_VALUE}, {"description": text(75)})
_MENU_OPTION = record({"text": plain(75), **_OPTION_VALUE}, {"description": plain(75), "url": URL})
_GROUP = record({"label": plain(75), "options": array(_PLAIN_OPTION, 1, 100)}, {})


def options_of(element: JsonObject) -> list[JsonObject]:
    """Options of a select, radio, checkbox or overflow element, groups flattened."""
    grouped = [option for group in element.get("option_groups", []) for option in group["options"]]
    return [*element.get("options", []), *grouped]


def _initial_is_offered(value: object, at: str) -> Iterator[Problem]:
    element = cast("JsonObject", value)
    offered = options_of(element)
    chosen = element.get("initial_options", [])
    if "initial_option" in element:
        chosen = [element["initial_option"]]
    if any(option not in offered for option in chosen):
        yield Problem(at, "initial option is not among the options")


def _options_or_groups(value: object, at: str) -> Iterator[Problem]:
    element = cast("JsonObject", value)
    if ("options" in element) == ("option_groups" in element):
        yield Problem(at, "needs either options or option_groups")


def _lengths_in_order(value: object, at: str) -> Iterator[Problem]:
    element = cast("JsonObject", value)
    if element.get("min_length", 0) > element.get("max_length", TEXT_MAX):
        yield Problem(f"{at}/min_length", "must not be above max_length")


BUTTON = kind(
    "button",
    {"text": plain(75)},
    {
        **_ACTION,
        "url": URL,
        "value": string(1, 2_000),
        "style": _STYLE,
        "confirm": _CONFIRM,
        "accessibility_label": string(1, 75),
    },
)
_SELECT = kind(
    "static_select",
    {},
    {
        **_FOCUS,
        **_PLACEHOLDER,
        "options": array(_PLAIN_OPTION, 1, 100),
        "option_groups": array(_GROUP, 1, 100),
        "initial_option": _PLAIN_OPTION,
        "confirm": _CONFIRM,
    },
)
SELECT = {"static_select": every(_SELECT["static_select"], _options_or_groups, _initial_is_offered)}
_RADIO = kind(
    "radio_buttons",
    {"options": array(_TEXT_OPTION, 1, 10)},
    {**_FOCUS, "initial_option": _TEXT_OPTION, "confirm": _CONFIRM},
)
RADIO = {"radio_buttons": every(_RADIO["radio_buttons"], _initial_is_offered)}
_CHECKBOXES = kind(
    "checkboxes",
    {"options": array(_TEXT_OPTION, 1, 10)},
    {**_FOCUS, "initial_options": array(_TEXT_OPTION, 1, 10), "confirm": _CONFIRM},
)
CHECKBOXES = {"checkboxes": every(_CHECKBOXES["checkboxes"], _initial_is_offered)}
OVERFLOW = kind(
    "overflow", {"options": array(_MENU_OPTION, 1, 5)}, {**_ACTION, "confirm": _CONFIRM}
)
DATE = kind(
    "datepicker", {}, {**_FOCUS, **_PLACEHOLDER, "initial_date": _DATE, "confirm": _CONFIRM}
)
_TEXT_INPUT = kind(
    "plain_text_input",
    {},
    {
        **_FOCUS,
        **_PLACEHOLDER,
        "initial_value": string(0, TEXT_MAX),
        "multiline": boolean,
        "min_length": integer(0, TEXT_MAX),
        "max_length": integer(1, TEXT_MAX),
        "dispatch_action_config": _DISPATCH,
    },
)
TEXT_INPUT = {"plain_text_input": every(_TEXT_INPUT["plain_text_input"], _lengths_in_order)}
NUMBER_INPUT = kind(
    "number_input",
    {"is_decimal_allowed": boolean},
    {
        **_FOCUS,
        **_PLACEHOLDER,
        "initial_value": _DECIMAL,
        "min_value": _DECIMAL,
        "max_value": _DECIMAL,
        "dispatch_action_config": _DISPATCH,
    },
)
PICTURE: Mapping[str, Check] = {"image_url": URL, "alt_text": string(1, 2_000)}
IMAGE = kind("image", PICTURE)

_MARKS = record(
    {}, dict.fromkeys(("bold", "italic", "strike", "code", "underline", "highlight"), boolean)
)
_STYLED: Mapping[str, Check] = {"style": _MARKS}
_ANY_TEXT = string(1, 40_000)
_RICH_TEXT = kind("text", {"text": _ANY_TEXT}, _STYLED)
_RICH_LINK = kind("link", {"url": URL}, {"text": _ANY_TEXT, "unsafe": boolean, **_STYLED})
_RICH = tagged(
    {
        **_RICH_TEXT,
        **_RICH_LINK,
        **kind("user", {"user_id": ID}, _STYLED),
        **kind("usergroup", {"usergroup_id": ID}, _STYLED),
        **kind("channel", {"channel_id": ID}, _STYLED),
        **kind("emoji", {"name": ID}, {"unicode": ID, "skin_tone": integer(1, 6), **_STYLED}),
        **kind("broadcast", {"range": one_of("here", "channel", "everyone")}, _STYLED),
        **kind("color", {"value": ID}, _STYLED),
        **kind(
            "date",
            {"timestamp": integer(0, 2**53), "format": ID},
            {"url": URL, "fallback": _ANY_TEXT, **_STYLED},
        ),
    }
)
_MANY = 10_000
_BORDER: Mapping[str, Check] = {"border": integer(0, 1)}
_SECTION = kind("rich_text_section", {"elements": array(_RICH, 1, _MANY)})
_RICH_PARTS = tagged(
    {
        **_SECTION,
        **kind(
            "rich_text_list",
            {"style": one_of("bullet", "ordered"), "elements": array(tagged(_SECTION), 1, _MANY)},
            {"indent": integer(0, 8), "offset": integer(0, _MANY), **_BORDER},
        ),
        **kind(
            "rich_text_preformatted",
            {"elements": array(tagged({**_RICH_TEXT, **_RICH_LINK}), 1, _MANY)},
            _BORDER,
        ),
        **kind("rich_text_quote", {"elements": array(_RICH, 1, _MANY)}, _BORDER),
    }
)
RICH_TEXT_FIELDS: Mapping[str, Check] = {"elements": array(_RICH_PARTS, 1, _MANY)}

_CELL = tagged(
    {
        **kind("raw_text", {"text": _ANY_TEXT}),
        **kind("raw_number", {"value": number, "text": _ANY_TEXT}),
        **kind("rich_text", RICH_TEXT_FIELDS, {"block_id": ID}),
    }
)
_COLUMN = record({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})
TABLE_FIELDS: Mapping[str, Check] = {"rows": array(array(_CELL, 1, 20), 1, 100)}
TABLE_OPTIONS: Mapping[str, Check] = {"column_settings": array(nullable(_COLUMN), 1, 20)}
