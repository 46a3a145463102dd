"""Untrusted text made fit to be read: nothing in it is invisible, nothing in it is markup."""

import unicodedata

# Controls, format characters (bidi, zero-width), private use, surrogates, unassigned, separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that draw nothing although their category says otherwise.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_BMP_END = 0xFFFF

# For texts that are shown whole.
NO_LIMIT = 1_000_000


def visible(text: str, *, lines: bool = False) -> str:
    r"""Return the text with every character that cannot be seen written out, e.g. `\u202e`.

    With `lines` a line feed stays a line feed; without it the result is one line.
    """
    return "".join(
        char if (lines and char == "\n") or not _is_unseen(char) else _written_out(char)
        for char in text
    )


def escape(text: str) -> str:
    """Return the text for mrkdwn and the top-level `text`: `&`, `<` and `>` as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Return what was typed, of a text that Slack has escaped."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def clip(text: str, limit: int) -> str:
    """Return at most about `limit` characters; what was cut is counted in words at the end."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … ({len(text) - limit:,} more characters)"


def clip_escaped(text: str, limit: int) -> str:
    """Return what takes about `limit` characters as Slack counts them; the rest is counted.

    Slack counts `&` as five and angle brackets as four.
    """
    if len(escape(text)) <= limit:
        return text
    taken, most = 0, limit
    for char in text:
        most -= len(escape(char))
        if most < 0:
            break
        taken += 1
    return f"{text[:taken]} … ({len(text) - taken:,} more characters)"


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
