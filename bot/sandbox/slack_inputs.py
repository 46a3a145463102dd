"""What a person enters: actions on elements, and the values of a message's or view's inputs."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import TypeAlias

from bot.sandbox.block_elements import options_of
from bot.sandbox.block_limits import elements_of, flat
from bot.sandbox.json_shape import JsonObject

Entered: TypeAlias = str | int | float | list[str] | None
Values: TypeAlias = Mapping[str, Entered | Mapping[str, Entered]]

_TEXT_MAX = 3_000
_TYPED = ("plain_text_input", "number_input", "email_text_input", "url_text_input")
# Elements that hold one thing: the field of their state, and the one that presets it.
_SINGLE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(_TYPED, ("value", "initial_value")),
        "datepicker": ("selected_date", "initial_date"),
        "timepicker": ("selected_time", "initial_time"),
        "datetimepicker": ("selected_date_time", "initial_date_time"),
        "users_select": ("selected_user", "initial_user"),
        "rich_text_input": ("rich_text_value", "initial_value"),
        "static_select": ("selected_option", "initial_option"),
        "radio_buttons": ("selected_option", "initial_option"),
    }
)
_MANY = ("checkboxes", "multi_static_select")
_STATEFUL = (*_SINGLE, *_MANY)
_REQUIRED = "Please complete this required field."
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")


class InputRefused(Exception):
    """Slack's client does not let this entry pass; `errors` names the blocks and the reasons."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{block}: {reason}" for block, reason in errors.items()))
        self.errors = errors


def find_element(
    blocks: list[JsonObject], action_id: str, block_id: str | None, value: Entered
) -> tuple[str, JsonObject] | None:
    """Find the element with this action_id, with its block_id.

    Where several blocks have it, one in `block_id` or one whose value is `value` comes first.
    """
    found = [
        (block["block_id"], element)
        for block in flat(blocks)
        for _, element in elements_of(block)
        if element.get("action_id") == action_id and block_id in (None, block["block_id"])
    ]
    return next((hit for hit in found if hit[1].get("value") == value), found[0] if found else None)


def _option(element: JsonObject, value: str) -> JsonObject:
    for option in options_of(element):
        if option["value"] == value:
            return option
    return {"text": {"type": "plain_text", "text": value}, "value": value}


def _texts(value: Entered) -> list[str]:
    if value is None:
        return []
    return value if isinstance(value, list) else [str(value)]


def entered(element: JsonObject, value: Entered) -> JsonObject:
    """Return the state of an element after a person entered `value`.

    Options are named by their value; one that is not offered is made up, as a forger would.
    """
    texts = [text for text in _texts(value) if text]
    if element["type"] in _MANY:
        return {"selected_options": [_option(element, text) for text in texts]}
    name, _ = _SINGLE.get(element["type"], ("selected_option", ""))
    return {name: _entry(element, name, texts[0]) if texts else None}


def _entry(element: JsonObject, name: str, text: str) -> object:
    match name:
        case "selected_option":
            return _option(element, text)
        case "rich_text_value":
            return _rich(text)
        case "selected_date_time" if text.isdecimal():
            return int(text)
        case _:
            return text


def _rich(text: str) -> JsonObject:
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return {"type": "rich_text", "elements": [section]}


def initial(element: JsonObject) -> JsonObject:
    """Return the state of an element that nobody has touched."""
    if element["type"] in _MANY:
        return {"selected_options": element.get("initial_options", [])}
    name, preset = _SINGLE.get(element["type"], ("selected_option", ""))
    return {name: element.get(preset) or None}


def action_on(element: JsonObject, block_id: str, value: Entered, ts: str) -> JsonObject:
    """Return the entry of `actions` for a person acting on an element with `value`."""
    action: JsonObject = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block_id,
        "action_ts": ts,
    }
    if element["type"] != "button":
        return action | (initial(element) if value is None else entered(element, value))
    shown = {name: element[name] for name in ("text", "value", "style") if name in element}
    return action | shown | ({} if value is None else {"value": value})


def _stateful(blocks: list[JsonObject]) -> Iterator[tuple[JsonObject, JsonObject]]:
    for block in flat(blocks):
        for _, element in elements_of(block):
            if element["type"] in _STATEFUL:
                yield block, element


def _given(block: JsonObject, element: JsonObject, values: Values) -> tuple[bool, Entered]:
    """Look an element's entry up by block_id, or by action_id where no block has that name."""
    for name in (block["block_id"], element["action_id"]):
        if name in values:
            entry = values[name]
            if not isinstance(entry, Mapping):
                return True, entry
            if element["action_id"] in entry:
                return True, entry[element["action_id"]]
    return False, None


def _refuse_unknown(blocks: list[JsonObject], values: Values) -> None:
    pairs = list(_stateful(blocks))
    known = {block["block_id"] for block, _ in pairs} | {e["action_id"] for _, e in pairs}
    unknown = {name: "There is no such input." for name in values if name not in known}
    if unknown:
        raise InputRefused(unknown)


def state_values(blocks: list[JsonObject], values: Values) -> JsonObject:
    """Return `state.values`: per block and action the entry, or the initial value.

    Raises InputRefused for values that belong to no input.
    """
    _refuse_unknown(blocks, values)
    state: JsonObject = {}
    for block, element in _stateful(blocks):
        touched, value = _given(block, element, values)
        current = entered(element, value) if touched else initial(element)
        inputs = state.setdefault(block["block_id"], {})
        inputs[element["action_id"]] = {"type": element["type"], **current}
    return state


def _text_problem(element: JsonObject, text: str) -> str | None:
    low, high = element.get("min_length", 0), element.get("max_length", _TEXT_MAX)
    if len(text) < low:
        return f"Please enter at least {low} characters."
    return f"Please enter at most {high} characters." if len(text) > high else None


def _number_problem(element: JsonObject, text: str) -> str | None:
    if not _DECIMAL.fullmatch(text):
        return "Please enter a number."
    if "." in text and not element["is_decimal_allowed"]:
        return "Please enter a whole number."
    low, high = Decimal(element.get("min_value", text)), Decimal(element.get("max_value", text))
    return None if low <= Decimal(text) <= high else f"Please enter {low} to {high}."


def _date_problem(text: str) -> str | None:
    try:
        date.fromisoformat(text)
    except ValueError:
        return "Please enter a date."
    return None


def _choice_problem(element: JsonObject, state: JsonObject) -> str | None:
    chosen = state.get("selected_options") or [state.get("selected_option")]
    offered = options_of(element)
    if any(option not in offered for option in chosen):
        return "That option is not offered."
    most = element.get("max_selected_items", len(chosen))
    return f"Please choose at most {most}." if len(chosen) > most else None


def _matches(pattern: str, text: str, what: str) -> str | None:
    return None if re.fullmatch(pattern, text) else f"Please enter {what}."


def _entry_problem(element: JsonObject, state: JsonObject) -> str | None:
    match element["type"]:
        case "plain_text_input":
            return _text_problem(element, state["value"])
        case "number_input":
            return _number_problem(element, state["value"])
        case "email_text_input":
            return _matches(r"[^@\s]+@[^@\s]+\.[^@\s]+", state["value"], "an e-mail address")
        case "url_text_input":
            return _matches(r"https?://\S+", state["value"], "an address that starts with http")
        case "datepicker":
            return _date_problem(state["selected_date"])
        case "timepicker":
            return _matches(r"([01]\d|2[0-3]):[0-5]\d", state["selected_time"], "a time")
        case "datetimepicker" | "users_select" | "rich_text_input":
            return None
        case _:
            return _choice_problem(element, state)


def refuse_bad_entries(blocks: list[JsonObject], state: JsonObject) -> None:
    """Raise InputRefused where Slack's client would not submit: missing, too long, no number."""
    errors: dict[str, str] = {}
    for block, element in _stateful(blocks):
        current = state[block["block_id"]][element["action_id"]]
        empty = not any(value for name, value in current.items() if name != "type")
        if empty and block["type"] == "input" and not block.get("optional", False):
            errors[block["block_id"]] = _REQUIRED
        elif not empty and (reason := _entry_problem(element, current)):
            errors[block["block_id"]] = reason
    if errors:
        raise InputRefused(errors)
