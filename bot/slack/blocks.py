"""Block Kit by the piece: untrusted text in literal carriers only, mrkdwn for our own words."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from bot.slack.names import Action
from bot.slack.text import clip_bytes, escape

Block: TypeAlias = dict[str, Any]
# One line of a rich text.
Row: TypeAlias = list[Block]

# What a header costs besides its text (facts: measured).
_HEADER_SURCHARGE = 100
# chat.update counts the text in bytes and refuses 4,000 (facts: measured).
_TEXT_BYTES = 3_800
_USER_ID = re.compile(r"[A-Z0-9]{2,32}")
_TIME_FORMAT = "{date_short_pretty}, {time}"


def plain(text: str) -> Block:
    """Return a text object that is shown letter by letter."""
    return {"type": "plain_text", "text": text, "emoji": False}


def ours(text: str) -> Block:
    """Return a mrkdwn object; only for text this product wrote."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def header(text: str) -> Block:
    """Return a header of at most 150 characters."""
    return {"type": "header", "text": plain(text)}


def section(text: str) -> Block:
    """Return a section of literal text, at most 3,000 characters."""
    return {"type": "section", "text": plain(text)}


def fields(pairs: Sequence[tuple[str, str]], accessory: Block | None = None) -> Block:
    """Return up to five labelled values: our label in bold, and beside it the value, literal.

    An `accessory` is a button to the right of them.
    """
    cells = [(ours(f"*{label}*"), plain(value)) for label, value in pairs]
    found: Block = {"type": "section", "fields": [cell for pair in cells for cell in pair]}
    return found if accessory is None else found | {"accessory": accessory}


def context(*elements: Block) -> Block:
    """Return a line of small print."""
    return {"type": "context", "elements": list(elements)}


def divider() -> Block:
    """Return a thin line."""
    return {"type": "divider"}


def actions(block_id: str, *elements: Block) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def button(
    action_id: Action, label: str, value: str, style: Literal["primary", "danger"] | None = None
) -> Block:
    """Return a button."""
    found: Block = {
        "type": "button",
        "action_id": action_id.value,
        "text": plain(label),
        "value": value,
    }
    return found if style is None else found | {"style": style}


def word(text: str, *styles: Literal["bold", "italic", "strike", "code"]) -> Block:
    """Return literal text inside a rich text; never empty, as Slack refuses that."""
    found: Block = {"type": "text", "text": text or " "}
    return found | {"style": dict.fromkeys(styles, True)} if styles else found


def mention(user_id: str | None, name: str) -> Block:
    """Return a mention of a Slack user, or the name where there is no such id."""
    if user_id is None or not _USER_ID.fullmatch(user_id):
        return word(name, "bold")
    return {"type": "user", "user_id": user_id}


def group_mention(group_id: str) -> Block:
    """Return a mention of a user group; everybody in it is notified."""
    return {"type": "usergroup", "usergroup_id": group_id}


def link(url: str, text: str) -> Block:
    """Return a link of ours inside a rich text."""
    return {"type": "link", "url": url, "text": text}


def emoji(name: str) -> Block:
    """Return an emoji by its Slack name."""
    return {"type": "emoji", "name": name}


def moment(at: datetime, *styles: Literal["bold", "italic"]) -> Block:
    """Return a time in the reader's own zone, for a rich text."""
    return _date(at, _TIME_FORMAT, utc(at), *styles)


def ago(at: datetime) -> Block:
    """Return how long ago something was, as the reader's own client counts it."""
    return _date(at, "{ago}", f"at {utc(at)}")


def moment_token(at: datetime) -> str:
    """Return a time in the reader's own zone, for mrkdwn."""
    return f"<!date^{int(at.timestamp())}^{_TIME_FORMAT}|{utc(at)}>"


def _date(at: datetime, form: str, instead: str, *styles: str) -> Block:
    found: Block = {
        "type": "date",
        "timestamp": int(at.timestamp()),
        "format": form,
        "fallback": instead,
    }
    return found | {"style": dict.fromkeys(styles, True)} if styles else found


def utc(at: datetime) -> str:
    """Return a time in UTC, for text that knows no reader."""
    return f"{at:%d %b %Y, %H:%M} UTC"


def line(*elements: Block) -> Block:
    """Return one paragraph of a rich text."""
    return {"type": "rich_text_section", "elements": list(elements)}


def lines(*rows: Sequence[Block]) -> Block:
    """Return one paragraph of several lines: clients differ on what parts two paragraphs."""
    elements = list(rows[0])
    for row in rows[1:]:
        elements += [word("\n"), *row]
    return line(*elements)


def changed(label: str, old: str, new: str) -> Row:
    """Return one line of old and new."""
    return [word(f"{label}: "), word(old, "strike"), word(" → "), word(new, "bold")]


def bullets(*lines: Block) -> Block:
    """Return a bulleted list of `line`s."""
    return {"type": "rich_text_list", "style": "bullet", "elements": list(lines)}


def quote(text: str) -> Block:
    """Return somebody's words as a quotation."""
    return {"type": "rich_text_quote", "elements": [word(text)]}


def code_block(text: str) -> Block:
    """Return fixed-width literal text."""
    return {"type": "rich_text_preformatted", "elements": [word(text)]}


def rich(*parts: Block) -> Block:
    """Return a rich text of paragraphs, lists, quotations and code blocks."""
    return {"type": "rich_text", "elements": list(parts)}


def table(rows: Sequence[Sequence[str]]) -> Block:
    """Return a table of literal cells, the first column left, the others right."""
    others: list[Block] = [{"align": "right"} for _ in rows[0][1:]]
    return {
        "type": "table",
        "rows": [[{"type": "raw_text", "text": cell or " "} for cell in row] for row in rows],
        "column_settings": [{"align": "left"}, *others],
    }


def fallback(text: str) -> str:
    """Return a message's top-level text, which notifications and screen readers show."""
    return clip_bytes(escape(text), _TEXT_BYTES)


def weight(value: object) -> int:
    """Return how many characters Slack counts: all text escaped, headers with a surcharge."""
    if isinstance(value, list):
        return sum(weight(item) for item in value)
    if not isinstance(value, dict):
        return 0
    own = value.get("text")
    total = len(escape(own)) if isinstance(own, str) else 0
    total += _HEADER_SURCHARGE if value.get("type") == "header" else 0
    return total + sum(weight(item) for item in value.values())
