"""Identifiers: prefixed ULIDs, sortable and unguessable."""

from typing import Literal, NewType

ApprovalId = NewType("ApprovalId", str)
RunId = NewType("RunId", str)
ConversationId = NewType("ConversationId", str)
CustomerId = NewType("CustomerId", str)
ActorId = NewType("ActorId", str)

Prefix = Literal["apr", "run", "cnv", "msg", "act", "dec", "att", "out", "rpl", "anon", "rf"]

ULID_LENGTH = 26


def ulid_of(prefixed: str) -> str:
    """Return the 26-character ULID of a prefixed id; raises ValueError for another shape."""
    _, _, ulid = prefixed.rpartition("_")
    if len(ulid) != ULID_LENGTH:
        raise ValueError(f"not a prefixed ULID: {prefixed!r}")
    return ulid


def idempotency_key(approval_id: ApprovalId) -> str:
    """Return the provider's key of an approval: `rd-<ulid>`, 29 characters of [A-Za-z0-9-].

    Fits Square's 45-character limit, the shortest of the known providers.
    """
    return f"rd-{ulid_of(approval_id)}"
