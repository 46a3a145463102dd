"""The desk's own words to customers, one file a language; what there is to say is in `shape.py`."""

from typing import assert_never

from agent.domain.languages import Language
from agent.domain.words.arabic import ARABIC
from agent.domain.words.english import ENGLISH
from agent.domain.words.german import GERMAN
from agent.domain.words.japanese import JAPANESE
from agent.domain.words.shape import Words
from agent.domain.words.spanish import SPANISH


def words_in(language: Language) -> Words:
    """Return what the desk says in a language."""
    match language:
        case "en":
            return ENGLISH
        case "de":
            return GERMAN
        case "es":
            return SPANISH
        case "ar":
            return ARABIC
        case "ja":
            return JAPANESE
        case _:
            assert_never(language)
