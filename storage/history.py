"""What the trail holds about one request, with those that people made of it by editing."""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, select

from agent.domain.approvals import Approval
from agent.domain.payload import Payload
from storage.audit_tables import audit
from storage.tables import approvals
from storage.times import from_micros
from storage.transaction import Tx

# One call of the model: its own request, and each that took the place of the one before.
_CHAIN = select(approvals.c.id).where(
    approvals.c.conversation_id == bindparam("conversation"),
    approvals.c.run_id == bindparam("run"),
    approvals.c.call_id == bindparam("call"),
)
_ABOUT = (
    select(audit.c.at, audit.c.type, audit.c.approval_id, audit.c.body)
    .where(audit.c.approval_id.in_(_CHAIN))
    .order_by(audit.c.at, audit.c.chain, audit.c.seq)
    .limit(bindparam("limit"))
    .offset(bindparam("skip"))
)
_COUNT = select(func.count().label("n")).where(audit.c.approval_id.in_(_CHAIN))


@dataclass(frozen=True, slots=True)
class PastFact:
    """One fact about a request: `actor` is who did it, as the trail names them."""

    at: datetime
    type: str
    actor: str
    channel: str
    approval_id: str
    data: Payload


def about(tx: Tx, approval: Approval, skip: int, limit: int) -> tuple[PastFact, ...]:
    """Return facts about a request and all it was before or after, oldest first.

    `skip` of them are left out, and no more than `limit` are returned.
    """
    rows = tx.all(_ABOUT, **_names(approval), skip=skip, limit=limit)
    found = []
    for row in rows:
        body = json.loads(row["body"])
        found.append(
            PastFact(
                from_micros(row["at"]),
                row["type"],
                body["actor"],
                body["channel"],
                row["approval_id"],
                body["data"],
            )
        )
    return tuple(found)


def count_about(tx: Tx, approval: Approval) -> int:
    """Return how many facts there are about a request and all it was before or after."""
    row = tx.one(_COUNT, **_names(approval))
    return 0 if row is None else int(row["n"])


def _names(approval: Approval) -> dict[str, str]:
    return {
        "conversation": approval.conversation_id,
        "run": approval.run_id,
        "call": approval.call_id,
    }
