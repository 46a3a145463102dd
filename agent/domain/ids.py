"""Identifiers: prefixed ULIDs, sortable and unguessable."""

import re
from typing import Literal, NewType

ApprovalId = NewType("ApprovalId", str)
RunId = NewType("RunId", str)
ConversationId = NewType("ConversationId", str)
CustomerId = NewType("CustomerId", str)
ActorId = NewType("ActorId", str)

Prefix = Literal[
    "apr", "run", "cnv", "msg", "act", "dec", "att", "out", "rpl", "anon", "rf", "flg", "ask"
]

ULID_LENGTH = 26
_PREFIXED = re.compile(r"[a-z]+_([0-9A-HJKMNP-TV-Z]{26})")


def ulid_of(prefixed: str) -> str:
    """Return the 26-character ULID of a prefixed id; raises ValueError for another shape."""
    found = _PREFIXED.fullmatch(prefixed)
    if found is None:
        raise ValueError(f"not a prefixed ULID: {prefixed!r}")
    return found[1]


def idempotency_key(approval_id: ApprovalId) -> str:
    """Return the provider's key of an approval: `rd-<ulid>`, 29 characters of [A-Za-z0-9-].

    Fits Square's 45-character limit, the shortest of the known providers.
    """
    return f"rd-{ulid_of(approval_id)}"
