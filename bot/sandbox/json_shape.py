"""Checks of JSON shapes: small functions that say where a value is wrong, and why."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from typing_extensions import override

JsonObject: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """One thing wrong: a JSON pointer to it, a reason, and Slack's error code for it."""

    pointer: str
    reason: str
    code: str = "invalid_blocks"

    @override
    def __str__(self) -> str:
        return f"[ERROR] {self.reason} [json-pointer:{self.pointer or '/'}]"


Check: TypeAlias = Callable[[object, str], Iterator[Problem]]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_json(text: str | bytes) -> object:
    """Parse JSON that can be written out again; ValueError for NaN, lone surrogates, deep nests."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def string(low: int, high: int, pattern: str | None = None) -> Check:
    """Accept a string of `low` to `high` characters that matches `pattern` as a whole."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if not isinstance(value, str):
            yield Problem(at, "must be a string")
        elif len(value) < low:
            yield Problem(at, f"must be more than {low - 1} characters")
        elif len(value) > high:
            yield Problem(at, f"must be less than {high + 1} characters")
        elif pattern and not re.fullmatch(pattern, value):
            yield Problem(at, f"does not match {pattern}")

    return check


def one_of(*allowed: str) -> Check:
    """Accept one of these strings."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if value not in allowed:
            yield Problem(at, f"must be one of {', '.join(allowed)}")

    return check


def boolean(value: object, at: str) -> Iterator[Problem]:
    """Accept true and false."""
    if not isinstance(value, bool):
        yield Problem(at, "must be a boolean")


def number(value: object, at: str) -> Iterator[Problem]:
    """Accept a JSON number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Problem(at, "must be a number")


def integer(low: int, high: int) -> Check:
    """Accept a whole number from `low` to `high`."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if isinstance(value, bool) or not isinstance(value, int):
            yield Problem(at, "must be an integer")
        elif not low <= value <= high:
            yield Problem(at, f"must be between {low} and {high}")

    return check


def nullable(check_value: Check) -> Check:
    """Accept null, and what `check_value` accepts."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if value is not None:
            yield from check_value(value, at)

    return check


def array(item: Check, low: int, high: int) -> Check:
    """Accept a list of `low` to `high` values, each accepted by `item`."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if not isinstance(value, list):
            yield Problem(at, "must be an array")
            return
        if len(value) < low:
            yield Problem(at, f"no fewer than {low} items allowed")
        if len(value) > high:
            yield Problem(at, f"no more than {high} items allowed")
        for index, element in enumerate(value):
            yield from item(element, f"{at}/{index}")

    return check


def record(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """Accept an object with all `required` and any `optional` fields, and no other field."""
    fields = {**required, **optional}

    def check(value: object, at: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield Problem(at, "must be an object")
            return
        for name in required:
            if name not in value:
                yield Problem(at, f"missing required field: {name}")
        for name, field in value.items():
            if name in fields:
                yield from fields[name](field, f"{at}/{name}")
            else:
                yield Problem(f"{at}/{name}", f"unknown field: {name}")

    return check


def tagged(kinds: Mapping[str, Check]) -> Check:
    """Accept an object that the check under its `type` accepts."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield Problem(at, "must be an object")
        elif value.get("type") not in kinds:
            yield Problem(f"{at}/type", f"unsupported type: {value.get('type')}")
        else:
            yield from kinds[value["type"]](value, at)

    return check


def every(*checks: Check) -> Check:
    """Accept what the first check accepts and no later check objects to.

    Later checks run only on values of the right shape, so they need no guards of their own.
    """
    first, *others = checks

    def check(value: object, at: str) -> Iterator[Problem]:
        problems = list(first(value, at))
        if not problems:
            problems = [problem for other in others for problem in other(value, at)]
        yield from problems

    return check
