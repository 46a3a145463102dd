"""What a test reads off messages and forms of the stand-in."""

import json
from typing import Any


def shown(message: dict[str, Any]) -> str:
    """Return the blocks of a message or a view as text to search in."""
    return json.dumps(message["blocks"], ensure_ascii=False)


def action_ids(message: dict[str, Any]) -> list[str]:
    """Return the names of all buttons in rows of buttons, in their order."""
    rows = [block for block in message["blocks"] if block["type"] == "actions"]
    return [element["action_id"] for row in rows for element in row["elements"]]


def entries(form: dict[str, Any]) -> dict[str, Any]:
    """Return what the inputs of a form hold before anybody has touched them, by block."""
    inputs = [block for block in form["blocks"] if block["type"] == "input"]
    return {block["block_id"]: block["element"].get("initial_value") for block in inputs}


def title(form: dict[str, Any]) -> str:
    """Return the title of a form."""
    return str(form["title"]["text"])
