"""The desk's own words to customers, one file a language; every shape is in `shape.py`."""

from agent.domain.languages import Language
from agent.domain.words.english import ENGLISH
from agent.domain.words.shape import Words

_CATALOGUE: dict[Language, Words] = {"en": ENGLISH}


def words_in(language: Language) -> Words:
    """Return what the desk says in a language."""
    return _CATALOGUE.get(language, ENGLISH)
