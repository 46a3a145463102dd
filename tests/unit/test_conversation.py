"""What a conversation may hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.conversation import storable


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("Grüße 🎉\n\ttab", "Grüße 🎉\n\ttab", id="text as it is"),
        pytest.param("a\0b", "a\ufffdb", id="a NUL"),
        pytest.param("half \ud83c of", "half ? of", id="half a character"),
    ],
)
def test_what_no_database_holds_is_replaced(text: str, kept: str) -> None:
    assert storable(text) == kept


@given(st.text(st.characters(codec=None)))
def test_any_text_becomes_storable_and_stays_as_long(text: str) -> None:
    kept = storable(text)
    assert "\0" not in kept
    assert len(kept) == len(text)
    assert storable(kept) == kept
    assert kept.encode().decode() == kept
