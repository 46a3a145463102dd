"""What Slack refuses in blocks and views, as one list of problems.

The limits are Slack's published ones and the measured total of all text of a message. Unknown
block types and unknown fields are refused, as Slack refuses them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from bot.sandbox import block_elements as kit
from bot.sandbox.json_shape import (
    Check,
    JsonObject,
    Problem,
    array,
    boolean,
    every,
    string,
    tagged,
)
from bot.sandbox.slack_text import stored_text

MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
MESSAGE_TEXT_TOTAL = 13_200
HEADER_SURCHARGE = 100
VIEW_BYTES = 250_000
# Slack documents no limit for one text of a context block; longer ones were refused.
CONTEXT_TEXT = 2_900

_CHOICES = {**kit.SELECT, **kit.RADIO, **kit.CHECKBOXES, **kit.DATE}
_ACTIONS = {**kit.BUTTON, **kit.OVERFLOW, **_CHOICES}
_INPUTS = {**kit.TEXT_INPUT, **kit.NUMBER_INPUT, **_CHOICES}
_CONTEXT = {**kit.IMAGE, **kit.text_kinds(CONTEXT_TEXT)}


def _block(
    name: str, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
) -> dict[str, Check]:
    return kit.kind(name, required, {"block_id": kit.ID, **(optional or {})})


def _says_something(value: object, at: str) -> Iterator[Problem]:
    if not {"text", "fields"} & cast("JsonObject", value).keys():
        yield Problem(at, "needs text or fields")


_SECTION = _block(
    "section",
    {},
    {
        "text": kit.text(),
        "fields": array(kit.text(2_000), 1, 10),
        "accessory": tagged({**_ACTIONS, **kit.IMAGE}),
        "expand": boolean,
    },
)
_EVERYWHERE = {
    "section": every(_SECTION["section"], _says_something),
    **_block("header", {"text": kit.plain(150)}),
    **_block("context", {"elements": array(tagged(_CONTEXT), 1, 10)}),
    **_block("actions", {"elements": array(tagged(_ACTIONS), 1, 25)}),
    **_block("divider", {}),
    **_block("image", kit.PICTURE, {"title": kit.plain(2_000)}),
    **_block(
        "input",
        {"label": kit.plain(2_000), "element": tagged(_INPUTS)},
        {"hint": kit.plain(2_000), "optional": boolean, "dispatch_action": boolean},
    ),
    **_block("rich_text", kit.RICH_TEXT_FIELDS),
}
_TABLE = _block("table", kit.TABLE_FIELDS, kit.TABLE_OPTIONS)


def elements_of(block: JsonObject) -> list[tuple[str, JsonObject]]:
    """Elements of a block a person can act on, each with its pointer inside the block."""
    match block["type"]:
        case "actions":
            return [(f"/elements/{n}", element) for n, element in enumerate(block["elements"])]
        case "section" if "accessory" in block and block["accessory"]["type"] != "image":
            return [("/accessory", block["accessory"])]
        case "input":
            return [("/element", block["element"])]
        case _:
            return []


def _repeated(found: list[tuple[str, str]], what: str) -> Iterator[Problem]:
    counts = Counter(identifier for _, identifier in found)
    for at, identifier in found:
        if counts[identifier] > 1:
            yield Problem(at, f"{what} {identifier} is not unique")


def _action_ids(blocks: list[JsonObject], at: str) -> list[tuple[str, str]]:
    return [
        (f"{at}/{index}{inside}/action_id", element["action_id"])
        for index, block in enumerate(blocks)
        for inside, element in elements_of(block)
        if "action_id" in element
    ]


def _unique_block_ids(value: object, at: str) -> Iterator[Problem]:
    blocks = cast("list[JsonObject]", value)
    ids = [(f"{at}/{n}/block_id", b["block_id"]) for n, b in enumerate(blocks) if "block_id" in b]
    yield from _repeated(ids, "block_id")


def _unique_in_message(value: object, at: str) -> Iterator[Problem]:
    yield from _repeated(_action_ids(cast("list[JsonObject]", value), at), "action_id")


def _unique_in_block(value: object, at: str) -> Iterator[Problem]:
    # A view repeats its row of buttons, so here an action_id is unique within its block only.
    for index, block in enumerate(cast("list[JsonObject]", value)):
        found = _action_ids([block], at)
        yield from _repeated([(f"{at}/{index}", action_id) for _, action_id in found], "action_id")


def _one_table(value: object, at: str) -> Iterator[Problem]:
    blocks = cast("list[JsonObject]", value)
    tables = [index for index, block in enumerate(blocks) if block["type"] == "table"]
    for index in tables[1:]:
        yield Problem(f"{at}/{index}", "only one table allowed")


_MESSAGE = every(
    array(tagged({**_EVERYWHERE, **_TABLE}), 0, MESSAGE_BLOCKS),
    _unique_block_ids,
    _unique_in_message,
    _one_table,
)
_MODAL_BLOCKS = every(
    array(tagged(_EVERYWHERE), 0, VIEW_BLOCKS), _unique_block_ids, _unique_in_block
)
_HOME_BLOCKS = every(
    array(tagged({**_EVERYWHERE, **_TABLE}), 0, VIEW_BLOCKS),
    _unique_block_ids,
    _unique_in_block,
    _one_table,
)
_VIEW_FIELDS: Mapping[str, Check] = {
    "private_metadata": string(0, 3_000),
    "callback_id": string(0, 255),
    "external_id": string(0, 255),
}


def _inputs_have_submit(value: object, at: str) -> Iterator[Problem]:
    view = cast("JsonObject", value)
    if "submit" not in view and any(block["type"] == "input" for block in view["blocks"]):
        yield Problem(at, "submit is required when blocks contain an input block")


_MODAL = kit.kind(
    "modal",
    {"title": kit.plain(24), "blocks": _MODAL_BLOCKS},
    {
        **_VIEW_FIELDS,
        "submit": kit.plain(24),
        "close": kit.plain(24),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)
_VIEWS = {
    "modal": every(_MODAL["modal"], _inputs_have_submit),
    **kit.kind("home", {"blocks": _HOME_BLOCKS}, _VIEW_FIELDS),
}


def text_total(value: object) -> int:
    """Count the characters of all text in blocks as Slack stores it, headers with surcharge."""
    if isinstance(value, list):
        return sum(text_total(item) for item in value)
    if not isinstance(value, dict):
        return 0
    total = HEADER_SURCHARGE if value.get("type") == "header" else 0
    if isinstance(value.get("text"), str):
        total += len(stored_text(value["text"], str(value.get("type"))))
    return total + sum(text_total(item) for item in value.values())


def check_message(blocks: object, *, total: bool = True) -> list[Problem]:
    """List what Slack refuses in the blocks of a message; empty when it takes them.

    `total` says whether the limit on all text together holds: it does not for a response_url.
    """
    problems = list(_MESSAGE(blocks, "/blocks"))
    if not problems and total and (length := text_total(blocks)) > MESSAGE_TEXT_TOTAL:
        reason = f"all text together is {length} of {MESSAGE_TEXT_TOTAL} characters"
        problems.append(Problem("/blocks", reason, "msg_blocks_too_long"))
    return problems


def check_view(view: object, *kinds: str) -> list[Problem]:
    """List what Slack refuses in a view of one of `kinds` (modal, home); empty when it takes it."""
    size = len(json.dumps(view, ensure_ascii=False).encode("utf-8", "replace"))
    if size > VIEW_BYTES:
        return [Problem("/view", f"{size} of {VIEW_BYTES} bytes", "view_too_large")]
    allowed = {name: _VIEWS[name] for name in kinds}
    return [
        Problem(problem.pointer, problem.reason, "invalid_arguments")
        for problem in tagged(allowed)(view, "/view")
    ]
