"""The languages that the desk has words of its own in, and which of them somebody means."""

from typing import Literal, get_args

Language = Literal["en", "de", "es", "ar", "ja"]

ENGLISH: Language = "en"
LANGUAGES: tuple[Language, ...] = get_args(Language)
# Written from right to left.
RIGHT_TO_LEFT: frozenset[Language] = frozenset({"ar"})
# The longest language tag that is looked at (RFC 5646 §4.4.1 asks for 35).
MAX_TAG = 35


def language_of(tag: str | None) -> Language:
    """Return the desk's language for a tag such as `de-AT`; English where it has no words."""
    primary = (tag or "").strip().lower().replace("_", "-").split("-")[0]
    return next((known for known in LANGUAGES if known == primary), ENGLISH)
