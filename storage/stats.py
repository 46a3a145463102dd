"""What ended lately and who decided, for counting; nothing older than asked for is read."""

import json
from datetime import datetime

from sqlalchemy import bindparam, case, func, select, text

from agent.domain.approvals import Status
from agent.domain.stats import Act, Ended, Ran
from storage.tables import actors, approvals, decisions
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Row, Tx

_SINCE = (approvals.c.ended_at.is_not(None), approvals.c.ended_at >= bindparam("since"))
_ENDED = select(
    approvals.c.status,
    approvals.c.created_at,
    approvals.c.decided_at,
    approvals.c.ended_at,
    case((text("approvals.status = 'expired'"), approvals.c.result)).label("lapse"),
).where(*_SINCE, text("approvals.automatic = 0"))
# Summed, not grouped: a group by status would be read along an index of all there ever was.
_RAN = select(
    func.count().label("n"),
    func.sum(case((text("approvals.status = 'executed'"), 1), else_=0)).label("done"),
).where(*_SINCE, text("approvals.automatic = 1"))
_WHO = func.coalesce(actors.c.merged_into, actors.c.id)
_ACTS = (
    select(
        _WHO.label("who"),
        func.max(decisions.c.actor_name).label("name"),
        decisions.c.verdict,
        func.count().label("n"),
    )
    .join(actors, actors.c.id == decisions.c.actor_id)
    .where(decisions.c.at >= bindparam("since"))
    .group_by(_WHO, decisions.c.verdict)
    .order_by(_WHO, decisions.c.verdict)
)


def ended_since(tx: Tx, since: datetime) -> tuple[Ended, ...]:
    """Return every request that people were asked about and that ended since a moment."""
    return tuple(_ended(row) for row in tx.all(_ENDED, since=to_micros(since)))


def ran_since(tx: Tx, since: datetime) -> Ran:
    """Return how many effects ended since a moment that ran without a person."""
    row = tx.one(_RAN, since=to_micros(since))
    total, done = (0, 0) if row is None else (int(row["n"]), int(row["done"] or 0))
    return Ran(done, total - done)


def acts_since(tx: Tx, since: datetime) -> tuple[Act, ...]:
    """Return how often each person has said what since a moment, person by person."""
    return tuple(
        Act(row["name"], row["verdict"], int(row["n"]))
        for row in tx.all(_ACTS, since=to_micros(since))
    )


def _ended(row: Row) -> Ended:
    lapse = None if row["lapse"] is None else json.loads(row["lapse"])
    return Ended(
        Status(row["status"]),
        from_micros(row["created_at"]),
        time_or_none(row["decided_at"]),
        from_micros(row["ended_at"]),
        unseen=isinstance(lapse, dict) and lapse.get("unseen") is True,
    )
