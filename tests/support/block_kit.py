"""Block Kit as short as it can be written, for tables of what Slack takes and refuses."""

from bot.sandbox.json_shape import JsonObject


def plain(length: int = 1, **more: object) -> JsonObject:
    return {"type": "plain_text", "text": "x" * length, **more}


def mrkdwn(length: int = 1, **more: object) -> JsonObject:
    return {"type": "mrkdwn", "text": "x" * length, **more}


def section(**fields: object) -> JsonObject:
    return {"type": "section", **fields}


def button(action_id: str = "go", **fields: object) -> JsonObject:
    return {"type": "button", "text": plain(), "action_id": action_id, **fields}


def actions(*elements: JsonObject, **fields: object) -> JsonObject:
    return {"type": "actions", "elements": list(elements), **fields}


def option(value: str = "v", **fields: object) -> JsonObject:
    return {"text": plain(), "value": value, **fields}


def options(count: int) -> list[JsonObject]:
    return [option(str(number)) for number in range(count)]


def select(**fields: object) -> JsonObject:
    return {"type": "static_select", "action_id": "s", "options": options(2), **fields}


def radio(**fields: object) -> JsonObject:
    return {"type": "radio_buttons", "action_id": "r", "options": options(2), **fields}


def confirm(**fields: object) -> JsonObject:
    texts = {"title": plain(), "text": mrkdwn(), "confirm": plain(), "deny": plain()}
    return {**texts, **fields}


def field(element: JsonObject, **fields: object) -> JsonObject:
    return {"type": "input", "label": plain(), "element": element, **fields}


def text_input(**fields: object) -> JsonObject:
    return {"type": "plain_text_input", "action_id": "t", **fields}


def number_input(**fields: object) -> JsonObject:
    return {"type": "number_input", "action_id": "n", "is_decimal_allowed": True, **fields}


def context(*elements: JsonObject) -> JsonObject:
    return {"type": "context", "elements": list(elements)}


def image(**fields: object) -> JsonObject:
    return {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "x", **fields}


def rich(*parts: JsonObject) -> JsonObject:
    return {"type": "rich_text", "elements": list(parts)}


def code(text: str) -> JsonObject:
    return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text}]}


def table(rows: int = 1, cells: int = 1, text: int = 1, **fields: object) -> JsonObject:
    row = [{"type": "raw_text", "text": "x" * text}] * cells
    return {"type": "table", "rows": [row] * rows, **fields}


def modal(*blocks: JsonObject, **fields: object) -> JsonObject:
    return {"type": "modal", "title": plain(), "blocks": list(blocks), **fields}


def home(*blocks: JsonObject, **fields: object) -> JsonObject:
    return {"type": "home", "blocks": list(blocks), **fields}


def card(**fields: object) -> JsonObject:
    return {"type": "card", "title": mrkdwn(150), **fields}


def data_table(rows: int = 2, columns: int = 1, cell: str = "x", **fields: object) -> JsonObject:
    cells = [{"type": "raw_text", "text": cell}] * columns
    return {"type": "data_table", "caption": "Waiting", "rows": [cells] * rows, **fields}


def container(*blocks: JsonObject, **fields: object) -> JsonObject:
    return {"type": "container", "title": plain(150), "child_blocks": list(blocks), **fields}


def task(task_id: str = "t", **fields: object) -> JsonObject:
    return {"task_id": task_id, "title": "Look", "status": "complete", **fields}


def plan(*tasks: JsonObject) -> JsonObject:
    return {"type": "plan", "title": "Steps", "tasks": list(tasks)}


def feedback() -> JsonObject:
    side = {"text": plain(75), "value": "v" * 2_000}
    return {"type": "feedback_buttons", "positive_button": side, "negative_button": side}


def chart(**fields: object) -> JsonObject:
    pie = {"type": "pie", "segments": [{"label": "x" * 20, "value": 1}] * 12}
    return {"type": "data_visualization", "title": "x" * 50, "chart": pie, **fields}


def markdown(length: int) -> JsonObject:
    return {"type": "markdown", "text": "x" * length}


def alert(length: int = 200, **fields: object) -> JsonObject:
    return {"type": "alert", "text": mrkdwn(length), **fields}


def piece(kind: str, **fields: object) -> JsonObject:
    return rich({"type": "rich_text_section", "elements": [{"type": kind, **fields}]})


def rich_input(**fields: object) -> JsonObject:
    return {"type": "rich_text_input", "action_id": "x", **fields}


DIVIDER = {"type": "divider"}
