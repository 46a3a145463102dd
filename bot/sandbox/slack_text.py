"""How Slack stores text: escaped once, with its own control sequences kept."""

import re

_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")
# Mentions, channel and date tokens, and links; everything else in angle brackets is plain text.
_CONTROL = re.compile(
    r"<(?:[@#][A-Z0-9]+|![a-z]+(?:\^[^<>|]+)?|https?://[^<>|\s]+|mailto:[^<>|\s]+)(?:\|[^<>]*)?>"
)
# Kinds whose text Slack shows letter by letter: an entity in them is not decoded.
_LITERAL = ("text", "link", "raw_text", "raw_number")


def escape(text: str) -> str:
    """Escape every `&`, `<` and `>`, as a client does before it sends."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _brackets(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def stored_text(text: str, kind: str = "mrkdwn") -> str:
    """Text of an object of this kind as Slack keeps, echoes and counts it.

    An entity that is there already stays. In mrkdwn, control sequences stay too. Rich text and
    table cells are shown letter by letter, so all of them is escaped.
    """
    if kind in _LITERAL:
        return escape(text)
    text = _AMPERSAND.sub("&amp;", text)
    if kind == "plain_text":
        return _brackets(text)
    kept = _CONTROL.findall(text)
    parts = [_brackets(part) for part in _CONTROL.split(text)]
    return "".join(part + token for part, token in zip(parts, [*kept, ""], strict=True))
