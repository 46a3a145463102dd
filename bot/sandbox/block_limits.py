"""What Slack refuses in blocks and views, as one list of problems.

The limits are Slack's published ones and the measured total of all text of a message. Unknown
block types and unknown fields are refused, as Slack refuses them.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import cast

from bot.sandbox import block_elements as kit
from bot.sandbox import block_newer as newer
from bot.sandbox import block_rich_text as rich
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

_CHOICES = {**kit.SELECT, **kit.USERS, **kit.RADIO, **kit.CHECKBOXES, **kit.WHEN}
_ACTIONS = {**kit.BUTTON, **kit.OVERFLOW, **_CHOICES, **rich.INPUT}
_ACCESSORIES = {**kit.BUTTON, **kit.OVERFLOW, **_CHOICES, **kit.IMAGE}
_INPUTS = {**kit.TEXT_INPUT, **kit.NUMBER_INPUT, **kit.ADDRESS_INPUTS, **rich.INPUT, **_CHOICES}
_CONTEXT = {**kit.IMAGE, **kit.text_kinds(CONTEXT_TEXT)}


def _block(
    name: str, required: Mapping[str, Check], optional: Mapping[str, Check] | None = None
) -> dict[str, Check]:
    return kit.kind(name, required, {"block_id": kit.ID, **(optional or {})})


_SECTION = _block(
    "section",
    {},
    {
        "text": kit.text(),
        "fields": array(kit.text(2_000), 1, 10),
        "accessory": tagged(_ACCESSORIES),
        "expand": boolean,
    },
)
_CLASSIC = {
    "section": every(_SECTION["section"], newer.needs_one_of("text", "fields")),
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
    **rich.RICH_TEXT,
}
_IN_HOME = {
    **_CLASSIC,
    **rich.TABLE,
    **rich.DATA_TABLE,
    **newer.CARD,
    **newer.CAROUSEL,
    **newer.container({**_CLASSIC, **rich.TABLE}),
    **newer.DATA_VISUALIZATION,
}
_IN_MESSAGE = {
    **_IN_HOME,
    **newer.MARKDOWN,
    **newer.CONTEXT_ACTIONS,
    **newer.TASK_CARD,
    **newer.PLAN,
}
_IN_MODAL = {**_CLASSIC, **newer.CARD, **newer.ALERT}


def flat(blocks: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield every block, and after a container the blocks inside it."""
    for block in blocks:
        yield block
        yield from block.get("child_blocks", [])


def elements_of(block: JsonObject) -> list[tuple[str, JsonObject]]:
    """Elements of a block a person can act on, each with its pointer inside the block."""
    match block["type"]:
        case "actions" | "context_actions":
            return [(f"/elements/{n}", element) for n, element in enumerate(block["elements"])]
        case "section" if "accessory" in block and block["accessory"]["type"] != "image":
            return [("/accessory", block["accessory"])]
        case "input":
            return [("/element", block["element"])]
        case "card":
            return [(f"/actions/{n}", button) for n, button in enumerate(block.get("actions", []))]
        case "carousel":
            return [
                (f"/elements/{n}{inside}", button)
                for n, card in enumerate(block["elements"])
                for inside, button in elements_of(card)
            ]
        case _:
            return []


def _placed(blocks: list[JsonObject], at: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield each block with its pointer, those inside containers too."""
    for index, block in enumerate(blocks):
        yield f"{at}/{index}", block
        for inner, child in enumerate(block.get("child_blocks", [])):
            yield f"{at}/{index}/child_blocks/{inner}", child


def _repeated(found: list[tuple[str, str]], what: str) -> Iterator[Problem]:
    counts = Counter(identifier for _, identifier in found)
    for at, identifier in found:
        if counts[identifier] > 1:
            yield Problem(at, f"{what} {identifier} is not unique")


def _action_ids(block: JsonObject, at: str) -> list[tuple[str, str]]:
    return [
        (f"{at}{inside}/action_id", element["action_id"])
        for inside, element in elements_of(block)
        if "action_id" in element
    ]


def _unique_block_ids(value: object, at: str) -> Iterator[Problem]:
    placed = _placed(cast("list[JsonObject]", value), at)
    ids = [(f"{place}/block_id", b["block_id"]) for place, b in placed if "block_id" in b]
    yield from _repeated(ids, "block_id")


def _unique_in_message(value: object, at: str) -> Iterator[Problem]:
    placed = _placed(cast("list[JsonObject]", value), at)
    yield from _repeated([one for p, b in placed for one in _action_ids(b, p)], "action_id")


def _unique_in_block(value: object, at: str) -> Iterator[Problem]:
    # A view repeats its row of buttons, so here an action_id is unique within its block only.
    for place, block in _placed(cast("list[JsonObject]", value), at):
        yield from _repeated([(place, one) for _, one in _action_ids(block, place)], "action_id")


def _one_focus(value: object, at: str) -> Iterator[Problem]:
    focused = [
        f"{place}{inside}"
        for place, block in _placed(cast("list[JsonObject]", value), at)
        for inside, element in elements_of(block)
        if element.get("focus_on_load")
    ]
    for place in focused[1:]:
        yield Problem(f"{place}/focus_on_load", "only one element may have the focus")


def _at_most(most: int, kind: str) -> Check:
    def check(value: object, at: str) -> Iterator[Problem]:
        blocks = _placed(cast("list[JsonObject]", value), at)
        found = [place for place, block in blocks if block["type"] == kind]
        for place in found[most:]:
            yield Problem(place, f"only {'one' if most == 1 else most} {kind} allowed")

    return check


def _together(kind: str, limit: int, measure: str) -> Check:
    """Accept blocks of a kind whose texts under `measure` are at most `limit` characters."""

    def check(value: object, at: str) -> Iterator[Problem]:
        found = [b for _, b in _placed(cast("list[JsonObject]", value), at) if b["type"] == kind]
        total = sum(
            len(block[measure]) if isinstance(block[measure], str) else rich.letters(block[measure])
            for block in found
        )
        if total > limit:
            yield Problem(at, f"all {kind} blocks together are {total} of {limit} characters")

    return check


_CROWDS = (
    _at_most(1, "table"),
    _at_most(newer.CHARTS, "data_visualization"),
    _together("data_table", rich.DATA_TABLE_TEXT, "rows"),
    _together("markdown", newer.MARKDOWN_TEXT, "text"),
)


_MESSAGE = every(
    array(tagged(_IN_MESSAGE), 0, MESSAGE_BLOCKS), _unique_block_ids, _unique_in_message, *_CROWDS
)
_MODAL_BLOCKS = every(
    array(tagged(_IN_MODAL), 0, VIEW_BLOCKS), _unique_block_ids, _unique_in_block, _one_focus
)
_HOME_BLOCKS = every(
    array(tagged(_IN_HOME), 0, VIEW_BLOCKS),
    _unique_block_ids,
    _unique_in_block,
    _one_focus,
    *_CROWDS,
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
    """Count the characters of all text in blocks as Slack stores it, headers with surcharge.

    A data_table has a limit of its own above this one, so it is left out.
    """
    if isinstance(value, list):
        return sum(text_total(item) for item in value)
    if not isinstance(value, dict) or value.get("type") == "data_table":
        return 0
    total = HEADER_SURCHARGE if value.get("type") == "header" else 0
    if isinstance(value.get("text"), str):
        total += len(stored_text(value["text"], str(value.get("type"))))
    return total + sum(text_total(item) for item in value.values())


def _missing(blocks: object, lacking: Collection[str], at: str) -> list[Problem]:
    """List the blocks of kinds that this workspace has not got yet."""
    if not lacking or not isinstance(blocks, list):
        return []
    known = [block for block in blocks if isinstance(block, dict)]
    return [
        Problem(f"{place}/type", f"unsupported type: {block.get('type')}")
        for place, block in _placed(known, at)
        if block.get("type") in lacking
    ]


def check_message(
    blocks: object, *, total: bool = True, lacking: Collection[str] = ()
) -> list[Problem]:
    """List what Slack refuses in the blocks of a message; empty when it takes them.

    `total` says whether the limit on all text together holds: it does not for a response_url.
    `lacking` names kinds of block that have not reached the workspace.
    """
    problems = list(_MESSAGE(blocks, "/blocks")) or _missing(blocks, lacking, "/blocks")
    if not problems and total and (length := text_total(blocks)) > MESSAGE_TEXT_TOTAL:
        reason = f"all text together is {length} of {MESSAGE_TEXT_TOTAL} characters"
        problems.append(Problem("/blocks", reason, "msg_blocks_too_long"))
    return problems


def check_view(view: object, *kinds: str, lacking: Collection[str] = ()) -> list[Problem]:
    """List what Slack refuses in a view of one of `kinds` (modal, home); empty when it takes it."""
    size = len(json.dumps(view, ensure_ascii=False).encode("utf-8", "replace"))
    if size > VIEW_BYTES:
        return [Problem("/view", f"{size} of {VIEW_BYTES} bytes", "view_too_large")]
    allowed = {name: _VIEWS[name] for name in kinds}
    problems = list(tagged(allowed)(view, "/view"))
    if not problems and isinstance(view, dict):
        problems = _missing(view["blocks"], lacking, "/view/blocks")
    return [Problem(one.pointer, one.reason, "invalid_arguments") for one in problems]
