"""A card and a modal with every kind of input, and people who use them."""

from typing import Any

from tests.support.slack_sandbox import APPROVALS, Bot, Slack


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


def option(value: str) -> dict[str, Any]:
    return {"text": text(value.title()), "value": value}


APPROVE = {
    "type": "button",
    "action_id": "approve",
    "style": "primary",
    "text": text("Yes & pay"),
    "value": "apr_1",
}
CATEGORY = {
    "type": "static_select",
    "action_id": "category",
    "options": [option("damaged"), option("late")],
}
BOXES = {
    "type": "checkboxes",
    "action_id": "boxes",
    "options": [option("one"), option("two")],
    "initial_options": [option("two")],
}
DAY = {"type": "datepicker", "action_id": "day", "initial_date": "2026-11-29"}
CARD: list[dict[str, Any]] = [
    {"type": "section", "block_id": "head", "text": text("Refund"), "accessory": CATEGORY},
    {"type": "actions", "block_id": "act:apr_1:1", "elements": [APPROVE, BOXES, DAY]},
]


def field(name: str, element: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {"type": "input", "block_id": name, "label": text(name), "element": element, **fields}


AMOUNT = {
    "type": "number_input",
    "action_id": "amount",
    "is_decimal_allowed": True,
    "min_value": "0.01",
    "max_value": "160.00",
    "initial_value": "160.00",
}
REASON = {
    "type": "plain_text_input",
    "action_id": "reason",
    "min_length": 5,
    "max_length": 20,
}
PIECES = {"type": "number_input", "action_id": "pieces", "is_decimal_allowed": False}
CHOICE = {"type": "radio_buttons", "action_id": "choice", "options": [option("a"), option("b")]}
WHEN = {"type": "datepicker", "action_id": "when"}
MODAL: dict[str, Any] = {
    "type": "modal",
    "callback_id": "edit",
    "title": text("Edit <b>"),
    "submit": text("Save"),
    "private_metadata": "apr_1",
    "notify_on_close": True,
    "blocks": [
        field("amount-block", AMOUNT),
        field("reason-block", REASON),
        field("pieces-block", PIECES, optional=True),
        field("choice-block", CHOICE, optional=True),
        field("when-block", WHEN, optional=True),
        {"type": "actions", "block_id": "row 1", "elements": [{**APPROVE, "value": "1"}]},
        {"type": "actions", "block_id": "row 2", "elements": [{**APPROVE, "value": "2"}]},
    ],
}
FILLED = {"amount-block": "12.50", "reason-block": {"reason": "too much"}}


def click(slack: Slack, ts: str, action_id: str = "approve", **more: Any) -> dict[str, Any]:
    body = {"user": "ana", "channel": APPROVALS, "ts": ts, "action_id": action_id, **more}
    return dict(slack.act("/click", **body))


def opened(slack: Slack, bot: Bot, view: dict[str, Any] = MODAL) -> str:
    """Return the id of a modal that ana opened with a click."""
    click(slack, slack.post(blocks=CARD))
    trigger_id = bot.payload["trigger_id"]
    return str(slack.client.views_open(trigger_id=trigger_id, view=view)["view"]["id"])


def submit(slack: Slack, view_id: str, **more: Any) -> dict[str, Any]:
    body = {"user": "ana", "view_id": view_id, "values": FILLED, **more}
    return dict(slack.act("/submit", **body))


def stack(slack: Slack) -> list[dict[str, Any]]:
    return list(slack.look("/views", user="ana"))


def problem_of(slack: Slack, path: str, status: int, **body: object) -> dict[str, Any]:
    problem = slack.act(path, status, **body)
    assert problem["status"] == status
    return dict(problem)
