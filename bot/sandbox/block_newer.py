"""Slack's blocks of 2025 and 2026; a workspace may not have them yet and then refuses them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from bot.sandbox import block_elements as kit
from bot.sandbox.block_rich_text import RICH_TEXT
from bot.sandbox.json_shape import (
    Check,
    JsonObject,
    Problem,
    array,
    boolean,
    every,
    number,
    one_of,
    record,
    string,
    tagged,
)

MARKDOWN_TEXT = 12_000
CHARTS = 2
_WORDS = string(1, 3_000)
_ID: Mapping[str, Check] = {"block_id": kit.ID}
_PICTURE = tagged(kit.IMAGE)


def needs_one_of(*names: str) -> Check:
    """Accept an object that has at least one of these fields."""

    def check(value: object, at: str) -> Iterator[Problem]:
        if not set(names) & cast("JsonObject", value).keys():
            yield Problem(at, f"needs {' or '.join(names)}")

    return check


_CARD = kit.kind(
    "card",
    {},
    {
        **_ID,
        "hero_image": _PICTURE,
        "icon": _PICTURE,
        "title": kit.text(150),
        "subtitle": kit.text(150),
        "body": kit.text(200),
        "subtext": kit.text(200),
        "actions": array(tagged(kit.BUTTON), 1, 3),
    },
)
CARD = {"card": every(_CARD["card"], needs_one_of("hero_image", "title", "body", "actions"))}
CAROUSEL = kit.kind("carousel", {"elements": array(tagged(CARD), 1, 10)}, _ID)
ALERT = kit.kind(
    "alert",
    {"text": kit.text(200)},
    {**_ID, "level": one_of("default", "info", "warning", "error", "success")},
)
MARKDOWN = kit.kind("markdown", {"text": string(1, MARKDOWN_TEXT)}, _ID)


def container(children: Mapping[str, Check]) -> dict[str, Check]:
    """Return the kind of block that holds up to ten of `children` under a title."""
    shape = kit.kind(
        "container",
        {"child_blocks": array(tagged(children), 1, 10)},
        {
            **_ID,
            "title": kit.plain(150),
            "rich_text_title": tagged(RICH_TEXT),
            "subtitle": kit.text(150),
            "width": one_of("narrow", "standard", "wide", "full"),
            "icon": _PICTURE,
            "is_collapsible": boolean,
            "default_collapsed": boolean,
            "has_header_divider": boolean,
        },
    )
    return {"container": every(shape["container"], needs_one_of("title", "rich_text_title"))}


_STATUS = one_of("pending", "in_progress", "complete", "error")
_SOURCE = kit.kind("url", {"url": kit.URL, "text": _WORDS})
_TASK_FIELDS: Mapping[str, Check] = {"task_id": kit.ID, "title": _WORDS, "status": _STATUS}
_TASK_MORE: Mapping[str, Check] = {
    "details": tagged(RICH_TEXT),
    "output": tagged(RICH_TEXT),
    "sources": array(tagged(_SOURCE), 1, 100),
}


def _not_pending(value: object, at: str) -> Iterator[Problem]:
    if cast("JsonObject", value)["status"] == "pending":
        yield Problem(f"{at}/status", "only a task of a plan is pending")


def _tasks_apart(value: object, at: str) -> Iterator[Problem]:
    ids = [task["task_id"] for task in cast("JsonObject", value)["tasks"]]
    for index, task_id in enumerate(ids):
        if Counter(ids)[task_id] > 1:
            yield Problem(f"{at}/tasks/{index}/task_id", f"task_id {task_id} is not unique")


_TASK_CARD = kit.kind("task_card", _TASK_FIELDS, {**_ID, **_TASK_MORE})
TASK_CARD = {"task_card": every(_TASK_CARD["task_card"], _not_pending)}
_PLAN = kit.kind(
    "plan", {"title": _WORDS, "tasks": array(record(_TASK_FIELDS, _TASK_MORE), 1, 50)}, _ID
)
PLAN = {"plan": every(_PLAN["plan"], _tasks_apart)}

_FEEDBACK = record(
    {"text": kit.plain(75), "value": string(1, 2_000)},
    {"accessibility_label": string(1, 75)},
)
_CONTEXT_ACTION = tagged(
    {
        **kit.kind(
            "feedback_buttons",
            {"positive_button": _FEEDBACK, "negative_button": _FEEDBACK},
            {"action_id": kit.ID},
        ),
        **kit.kind(
            "icon_button",
            {"icon": kit.ID, "text": kit.plain(75)},
            {
                "action_id": kit.ID,
                "value": string(1, 2_000),
                "confirm": kit.CONFIRM,
                "accessibility_label": string(1, 75),
                "visible_to_user_ids": array(kit.ID, 1, 10),
            },
        ),
    }
)
CONTEXT_ACTIONS = kit.kind("context_actions", {"elements": array(_CONTEXT_ACTION, 1, 5)}, _ID)

_LABEL = string(1, 20)
_POINTS = array(record({"label": _LABEL, "value": number}, {}), 1, 20)
_AXES = record(
    {"categories": array(_LABEL, 1, 20)}, {"x_label": string(1, 50), "y_label": string(1, 50)}
)
_AXIS_CHART: Mapping[str, Check] = {
    "series": array(record({"name": _LABEL, "data": _POINTS}, {}), 1, 12),
    "axis_config": _AXES,
}
_CHART = tagged(
    {
        **kit.kind(
            "pie", {"segments": array(record({"label": _LABEL, "value": number}, {}), 1, 12)}
        ),
        **{name: kit.kind(name, _AXIS_CHART)[name] for name in ("bar", "area", "line")},
    }
)
DATA_VISUALIZATION = kit.kind("data_visualization", {"title": string(1, 50), "chart": _CHART}, _ID)
