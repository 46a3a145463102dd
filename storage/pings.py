"""The levels at which a request was brought up again: one row each, whoever reached it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select, text, update

from agent.domain.escalation import Level
from agent.domain.ids import ApprovalId
from storage.tables import pings
from storage.times import time_or_none, to_micros
from storage.transaction import Row, Tx

_REACH = text(
    "INSERT INTO pings (approval_id, level, at) VALUES (:approval, :level, :at) "
    "ON CONFLICT (approval_id, level) DO NOTHING"
)
_GET = select(pings).where(
    pings.c.approval_id == bindparam("approval"), pings.c.level == bindparam("wanted")
)
_ACKNOWLEDGE = (
    update(pings)
    .where(
        pings.c.approval_id == bindparam("approval"),
        pings.c.level == bindparam("wanted"),
        pings.c.acknowledged_at.is_(None),
    )
    .values(acknowledged_by=bindparam("who"), acknowledged_at=bindparam("now"))
)


@dataclass(frozen=True, slots=True)
class Ping:
    """Who has seen that a request was brought up, and when; both None while nobody said so."""

    acknowledged_by: str | None
    acknowledged_at: datetime | None


def reach(tx: Tx, approval_id: ApprovalId, level: Level, at: datetime) -> bool:
    """Note that a level is reached; False when it was before, and must not be told again."""
    return tx.change(_REACH, approval=approval_id, level=level.key, at=to_micros(at)) == 1


def get(tx: Tx, approval_id: ApprovalId, level: Level) -> Ping | None:
    """Return a level of a request, None when it was not reached."""
    row = tx.one(_GET, approval=approval_id, wanted=level.key)
    return None if row is None else _read(row)


def acknowledge(tx: Tx, approval_id: ApprovalId, level: Level, who: str, at: datetime) -> bool:
    """Note who looks into it; False when somebody has said so before."""
    done = tx.change(
        _ACKNOWLEDGE, approval=approval_id, wanted=level.key, who=who, now=to_micros(at)
    )
    return done == 1


def _read(row: Row) -> Ping:
    return Ping(row["acknowledged_by"], time_or_none(row["acknowledged_at"]))
