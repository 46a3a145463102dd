"""Ids: a prefix and a ULID, and the provider's key made of it."""

import re

import pytest

from agent.domain.ids import ULID_LENGTH, ApprovalId, idempotency_key, ulid_of
from tests.support.builders import ULID
from tests.support.doubles import CountingIds

# facts/payments.md: the shortest limit among the known providers is Square's.
SHORTEST_KEY_LIMIT = 45


@pytest.mark.parametrize("prefix", ["apr", "run", "cnv", "anon", "rf"])
def test_the_ulid_is_what_follows_the_prefix(prefix: str) -> None:
    assert ulid_of(f"{prefix}_{ULID}") == ULID


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("apr_", id="a prefix alone"),
        pytest.param(f"apr_{ULID[:-1]}", id="a digit short"),
        pytest.param(f"apr_{ULID}0", id="a digit too many"),
        pytest.param(f"apr-{ULID}", id="another separator"),
        pytest.param(f"apr_{ULID}_", id="a separator behind"),
        pytest.param(ULID, id="no prefix"),
        pytest.param(f"_{ULID}", id="an empty prefix"),
        pytest.param(f"apr_{'!' * ULID_LENGTH}", id="no letters and digits"),
        pytest.param(f"apr_{' ' * ULID_LENGTH}", id="spaces"),
    ],
)
def test_another_shape_is_no_prefixed_ulid(text: str) -> None:
    with pytest.raises(ValueError, match="not a prefixed ULID"):
        ulid_of(text)


def test_the_key_of_an_approval_fits_every_provider() -> None:
    key = idempotency_key(ApprovalId(f"apr_{ULID}"))
    assert key == f"rd-{ULID}"
    assert re.fullmatch(r"[A-Za-z0-9-]{29}", key)
    assert len(key) <= SHORTEST_KEY_LIMIT


def test_each_approval_has_its_own_key() -> None:
    ids = CountingIds()
    made = [ApprovalId(ids.new("apr")) for _ in range(100)]
    assert len({idempotency_key(one) for one in made}) == len(made)
