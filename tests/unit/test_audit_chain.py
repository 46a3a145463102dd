"""The trail: each link is a hash over the one before and the stored text."""

import hashlib
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.audit import DESK_CHAIN, GENESIS, AuditType, event_hash

links = st.from_regex(r"[0-9a-f]{64}", fullmatch=True)
bodies = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def chain(stored: list[str]) -> list[str]:
    """Return the links over stored texts, oldest first."""
    found = [GENESIS]
    for body in stored:
        found.append(event_hash(found[-1], body))
    return found[1:]


def test_the_first_link_is_written_down() -> None:
    text = b"supportdesk/audit/v1\n" + b"0" * 64 + b'\n{"a":1}'
    assert event_hash(GENESIS, '{"a":1}') == hashlib.sha256(text).hexdigest()


def test_a_chain_starts_from_64_zeros() -> None:
    assert GENESIS == "0" * 64
    assert DESK_CHAIN == "desk"


@given(previous=links, body=bodies)
def test_a_link_is_64_hex_digits(previous: str, body: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", event_hash(previous, body))


@given(stored=st.lists(bodies, min_size=1, max_size=6), data=st.data())
def test_one_changed_character_changes_every_link_after_it(
    stored: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(stored) - 1))
    forged = [*stored[:place], stored[place] + "x", *stored[place + 1 :]]
    honest, broken = chain(stored), chain(forged)
    assert honest[:place] == broken[:place]
    assert all(a != b for a, b in zip(honest[place:], broken[place:], strict=True))


@given(stored=st.lists(bodies, min_size=2, max_size=6, unique=True), data=st.data())
def test_a_dropped_or_swapped_event_breaks_the_chain(
    stored: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(stored) - 2))
    dropped = stored[:place] + stored[place + 1 :]
    swapped = [*stored]
    swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
    assert chain(dropped)[-1] != chain(stored)[-1]
    assert chain(swapped)[-1] != chain(stored)[-1]


@pytest.mark.parametrize("tag", list(AuditType), ids=str)
def test_a_tag_is_a_subject_and_an_action(tag: AuditType) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z]+(_[a-z]+)*", tag.value)


def test_links_of_one_chain_all_differ() -> None:
    found = [GENESIS, *chain(["same"] * 5)]
    assert len(set(found)) == len(found)
    assert all(event_hash(one, "same") == other for one, other in pairwise(found))
