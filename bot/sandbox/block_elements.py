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
    one_of,
    record,
    string,
    tagged,
)

TEXT_MAX = 3_000
ID = string(1, 255)
URL = string(1, 3_000)
_DATE = string(10, 10, r"\d{4}-\d{2}-\d{2}")
_TIME = string(5, 5, r"([01]\d|2[0-3]):[0-5]\d")
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
CONFIRM = record(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": _STYLE},
)
DISPATCH = record(
    {"trigger_actions_on": array(one_of("on_enter_pressed", "on_character_entered"), 1, 2)}, {}
)
_ACTION: Mapping[str, Check] = {"action_id": ID}
FOCUS: Mapping[str, Check] = {"action_id": ID, "focus_on_load": boolean}
PLACEHOLDER: Mapping[str, Check] = {"placeholder": plain(150)}
_PICKER: Mapping[str, Check] = {**FOCUS, **PLACEHOLDER, "confirm": CONFIRM}

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
        "confirm": CONFIRM,
        "accessibility_label": string(1, 75),
    },
)
_SELECT = kind(
    "static_select",
    {},
    {
        **_PICKER,
        "options": array(_PLAIN_OPTION, 1, 100),
        "option_groups": array(_GROUP, 1, 100),
        "initial_option": _PLAIN_OPTION,
    },
)
_MULTI_SELECT = kind(
    "multi_static_select",
    {},
    {
        **_PICKER,
        "options": array(_PLAIN_OPTION, 1, 100),
        "option_groups": array(_GROUP, 1, 100),
        "initial_options": array(_PLAIN_OPTION, 1, 100),
        "max_selected_items": integer(1, 100),
    },
)
SELECT = {
    name: every(check, _options_or_groups, _initial_is_offered)
    for name, check in (_SELECT | _MULTI_SELECT).items()
}
_RADIO = kind(
    "radio_buttons",
    {"options": array(_TEXT_OPTION, 1, 10)},
    {**FOCUS, "initial_option": _TEXT_OPTION, "confirm": CONFIRM},
)
RADIO = {"radio_buttons": every(_RADIO["radio_buttons"], _initial_is_offered)}
_CHECKBOXES = kind(
    "checkboxes",
    {"options": array(_TEXT_OPTION, 1, 10)},
    {**FOCUS, "initial_options": array(_TEXT_OPTION, 1, 10), "confirm": CONFIRM},
)
CHECKBOXES = {"checkboxes": every(_CHECKBOXES["checkboxes"], _initial_is_offered)}
OVERFLOW = kind("overflow", {"options": array(_MENU_OPTION, 1, 5)}, {**_ACTION, "confirm": CONFIRM})
WHEN = {
    **kind("datepicker", {}, {**_PICKER, "initial_date": _DATE}),
    **kind("timepicker", {}, {**_PICKER, "initial_time": _TIME, "timezone": ID}),
    **kind(
        "datetimepicker",
        {},
        {**FOCUS, "initial_date_time": integer(10**9, 10**10 - 1), "confirm": CONFIRM},
    ),
}
USERS = kind("users_select", {}, {**_PICKER, "initial_user": ID})
_TEXT_INPUT = kind(
    "plain_text_input",
    {},
    {
        **FOCUS,
        **PLACEHOLDER,
        "initial_value": string(0, TEXT_MAX),
        "multiline": boolean,
        "min_length": integer(0, TEXT_MAX),
        "max_length": integer(1, TEXT_MAX),
        "dispatch_action_config": DISPATCH,
    },
)
TEXT_INPUT = {"plain_text_input": every(_TEXT_INPUT["plain_text_input"], _lengths_in_order)}
_TYPED: Mapping[str, Check] = {
    **FOCUS,
    **PLACEHOLDER,
    "initial_value": string(0, TEXT_MAX),
    "dispatch_action_config": DISPATCH,
}
ADDRESS_INPUTS = {**kind("email_text_input", {}, _TYPED), **kind("url_text_input", {}, _TYPED)}
NUMBER_INPUT = kind(
    "number_input",
    {"is_decimal_allowed": boolean},
    {
        **FOCUS,
        **PLACEHOLDER,
        "initial_value": _DECIMAL,
        "min_value": _DECIMAL,
        "max_value": _DECIMAL,
        "dispatch_action_config": DISPATCH,
    },
)
PICTURE: Mapping[str, Check] = {"image_url": URL, "alt_text": string(1, 2_000)}
IMAGE = kind("image", PICTURE)
