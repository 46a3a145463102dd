"""Which characters an e-mail may hold: none that a reader of the card could not see. Pure."""

import unicodedata

# Controls (a line break in a header begins another header), halves of characters, line separators.
_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_KEPT = frozenset("\n\u200c\u200d")
_BREAKS = dict.fromkeys(map(ord, "\t\r\n\u2028\u2029"))


def readable(text: str) -> str:
    """Return a text without what a mail may not hold or a reader would not see.

    Line breaks stay, and the joiners without which some scripts cannot be written.
    """
    return "".join(char if char.isprintable() or char in _KEPT else " " for char in text)


def is_mail_line(text: str) -> bool:
    """Return whether a text is one line without control characters, as headers need it."""
    return not any(unicodedata.category(character) in _HIDDEN for character in text)


def is_mail_text(text: str) -> bool:
    """Return whether a text has no control characters but tabs and line breaks."""
    return is_mail_line(text.translate(_BREAKS))
