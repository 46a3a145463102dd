"""Untrusted text made fit to be read: nothing in it is invisible, nothing in it is markup."""

import re
import unicodedata

# Controls, format characters (bidi, zero-width), private use, surrogates, unassigned, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that draw nothing although their category says otherwise.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BMP_END = 0xFFFF
# Marks are drawn upon what stands before them; no language heaps more than these upon a letter.
_MARKS = frozenset({"Mn", "Mc", "Me"})
_HEAP = 4

# How Slack sends a mention, a channel or an address in what was typed after a command.
_TOKEN = re.compile(r"<(?P<sign>[@#]?)(?P<what>[^<>|]{1,2000})(?:\|(?P<label>[^<>]{0,200}))?>")
# For texts that are shown whole.
NO_LIMIT = 1_000_000
# How much of a person's name stands in the middle of a line.
NAME_LIMIT = 60


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return the text with every character that cannot be seen written out, e.g. `\u202e`.

    So are marks that would be drawn over something else: those without a letter of their own, and
    a heap of them. With `lines` a line feed stays a line feed; without it the result is one line.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = _HEAP
    for char in text:
        if unicodedata.category(char) in _MARKS and char not in _BLANKS:
            marks += 1
            shown.append(char if marks <= _HEAP else _written_out(char))
        elif lines and char == "\n":
            marks = _HEAP
            shown.append(char)
        elif _is_unseen(char):
            marks = _HEAP
            shown.append(_written_out(char))
        else:
            marks = _HEAP if char.isspace() else 0
            shown.append(char)
    return "".join(shown)


def escape(text: str) -> str:
    """Return the text for mrkdwn and the top-level `text`: `&`, `<` and `>` as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Return what was typed, of a text that Slack has escaped."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def spoken(text: str) -> str:
    """Return what somebody typed after a command: names and addresses as they are read."""
    return unescape(_TOKEN.sub(_plainly, text))


def _plainly(found: re.Match[str]) -> str:
    sign, what, label = found["sign"], found["what"], found["label"]
    return f"{sign}{label or what}" if sign else what


def clip(text: str, limit: int) -> str:
    """Return what takes about `limit` characters; what was cut is counted in words at the end.

    Characters are counted as Slack counts them: `&` as five, angle brackets as four.
    """
    taken = _fitting(text, limit)
    if taken == len(text):
        return text
    return f"{text[:taken]} … ({len(text) - taken:,} more characters)"


def headline(text: str, limit: int) -> str:
    """Return at most `limit` characters as Slack counts them; what was cut ends in `…`.

    For a headline: what it is about is shown whole below it.
    """
    if _fitting(text, limit) == len(text):
        return text
    return f"{text[: _fitting(text, limit - 1)]}…"


def _fitting(text: str, limit: int) -> int:
    """Return how many characters take at most `limit` as Slack counts them."""
    if len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">")) <= limit:
        return len(text)
    left = limit
    for number, char in enumerate(text):
        left -= len(escape(char))
        if left < 0:
            return number
    return len(text)


def clip_bytes(text: str, limit: int) -> str:
    """Return at most `limit` UTF-8 bytes, cut between characters."""
    data = text.encode()
    if len(data) <= limit:
        return text
    return data[: limit - 3].decode(errors="ignore") + "…"


def chunks(text: str, size: int) -> list[str]:
    """Return the text in pieces of at most `size`, cut at line ends where there are any."""
    pieces: list[str] = []
    rest = text
    while len(rest) > size:
        at = rest.rfind("\n", 1, size) + 1 or size
        pieces.append(rest[:at])
        rest = rest[at:]
    return [*pieces, rest]


def _is_unseen(char: str) -> bool:
    return char in _BLANKS or unicodedata.category(char) in _UNSEEN


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= _BMP_END else f"\\U{code:08x}"
