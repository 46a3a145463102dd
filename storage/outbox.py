"""What the world must hear: written with the fact, delivered at least once, then deleted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, func, insert, or_, select, update

from agent.domain.ids import ApprovalId, ConversationId, RunId
from agent.domain.payload import Payload, canonical
from storage.tables import outbox
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

# A message tried so often is in trouble, though it may still arrive.
_STUCK_AFTER = 5
_MOST_PROBLEMS = 10
_PUT = insert(outbox)
_DUE = (
    select(outbox)
    .where(
        outbox.c.lane == "slack",
        outbox.c.next_at <= bindparam("now"),
    )
    .order_by(outbox.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_LEASE = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"), outbox.c.next_at <= bindparam("now"))
    .values(
        next_at=bindparam("until"),
        lease_owner=bindparam("owner"),
        attempts=outbox.c.attempts + 1,
    )
)
_DROP = delete(outbox).where(outbox.c.id == bindparam("row_id"))
_RETRY = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"))
    .values(
        next_at=bindparam("at"),
        lease_owner=None,
        last_error=bindparam("problem"),
        ambiguous=bindparam("is_ambiguous"),
    )
)
_GIVE_UP = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"))
    .values(next_at=None, lease_owner=None, last_error=bindparam("problem"))
)
_RELEASE = (
    update(outbox)
    .where(
        outbox.c.lane == "slack",
        outbox.c.lease_owner == bindparam("owner"),
        outbox.c.next_at > bindparam("now"),
    )
    .values(next_at=bindparam("now"))
)
_REVIVE = (
    update(outbox)
    .where(outbox.c.lane == "slack", outbox.c.next_at.is_(None))
    .values(next_at=bindparam("now"))
)
_EXISTS = select(outbox.c.id).where(outbox.c.key == bindparam("key"))
_TAKEN = select(outbox.c.id).where(
    outbox.c.key == bindparam("key"), outbox.c.lease_owner.is_not(None)
)
_NEXT_DUE = select(func.min(outbox.c.next_at).label("at")).where(
    outbox.c.lane == bindparam("lane"), outbox.c.next_at.is_not(None)
)
_IS_STUCK = (
    outbox.c.lane == "slack",
    or_(outbox.c.next_at.is_(None), outbox.c.attempts >= _STUCK_AFTER),
)
_STUCK = select(func.count().label("n")).where(*_IS_STUCK)
_STUCK_FOR = (
    select(outbox.c.kind, outbox.c.last_error)
    .where(*_IS_STUCK)
    .group_by(outbox.c.kind, outbox.c.last_error)
    .order_by(func.min(outbox.c.id))
    .limit(_MOST_PROBLEMS)
)


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One message on its way. `ambiguous`: an earlier try may have arrived."""

    id: str
    kind: str
    key: str
    conversation_id: ConversationId | None
    run_id: RunId | None
    approval_id: ApprovalId | None
    body: Payload
    attempts: int
    ambiguous: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """A message to add; `key` is unique among those on their way.

    `place` is where in Slack it goes, as far as pacing and pauses are concerned.
    """

    id: str
    lane: str
    kind: str
    key: str
    body: Payload
    conversation_id: ConversationId | None = None
    run_id: RunId | None = None
    approval_id: ApprovalId | None = None
    place: str = ""


def add(tx: Tx, at: datetime, *messages: Message) -> None:
    """Add messages that are not on their way already under the same key."""
    micros = to_micros(at)
    fresh = [m for m in messages if tx.one(_EXISTS, key=m.key) is None]
    tx.put(
        _PUT,
        *(
            {
                "id": m.id,
                "lane": m.lane,
                "place": m.place,
                "kind": m.kind,
                "key": m.key,
                "conversation_id": m.conversation_id,
                "run_id": m.run_id,
                "approval_id": m.approval_id,
                "body": canonical(m.body),
                "attempts": 0,
                "ambiguous": 0,
                "created_at": micros,
                "next_at": micros,
            }
            for m in fresh
        ),
    )


def is_being_delivered(tx: Tx, key: str) -> bool:
    """Tell whether somebody has taken a message and not said yet how it went."""
    return tx.one(_TAKEN, key=key) is not None


def claim_slack(tx: Tx, owner: str, now: datetime, lease: timedelta) -> OutboxRow | None:
    """Take the due Slack message that came first; it comes due again if the lease runs out.

    A message whose earlier taker never said how it went may have arrived: it is ambiguous.
    """
    micros = to_micros(now)
    row = tx.one(_DUE, now=micros)
    if row is None:
        return None
    tx.change(_LEASE, row_id=row["id"], now=micros, until=to_micros(now + lease), owner=owner)
    taken = read_row(row)
    return replace(taken, ambiguous=taken.ambiguous or row["lease_owner"] is not None)


def release(tx: Tx, owner: str, now: datetime) -> int:
    """Make due what a dead replica had taken; its name stays, for the message may have arrived."""
    return tx.change(_RELEASE, owner=owner, now=to_micros(now))


def drop(tx: Tx, row_id: str) -> None:
    """Forget a message that arrived."""
    tx.change(_DROP, row_id=row_id)


def retry(tx: Tx, row_id: str, at: datetime, problem: str, *, ambiguous: bool) -> None:
    """Make a message due again at `at`."""
    tx.change(
        _RETRY,
        row_id=row_id,
        at=to_micros(at),
        problem=problem[:500],
        is_ambiguous=int(ambiguous),
    )


def give_up(tx: Tx, row_id: str, problem: str) -> None:
    """Keep a message that cannot be delivered, for a person to look at."""
    tx.change(_GIVE_UP, row_id=row_id, problem=problem[:500])


def revive(tx: Tx, now: datetime) -> int:
    """Make every given-up message due again: a person may have mended what stood in its way."""
    return tx.change(_REVIVE, now=to_micros(now))


def on_their_way(tx: Tx, keys: Sequence[str]) -> frozenset[str]:
    """Return which of the keys have a message on its way."""
    return frozenset(key for key in keys if tx.one(_EXISTS, key=key) is not None)


def next_due(tx: Tx, lane: str) -> datetime | None:
    """Return when the next message of a lane comes due, None when there is none."""
    row = tx.one(_NEXT_DUE, lane=lane)
    return None if row is None or row["at"] is None else from_micros(row["at"])


def stuck(tx: Tx) -> int:
    """Return how many Slack messages were given up or tried five times and more."""
    row = tx.one(_STUCK)
    return 0 if row is None else int(row["n"])


def stuck_for(tx: Tx) -> tuple[Payload, ...]:
    """Return what is stuck and why, each `kind` with each `problem` once, the oldest first."""
    return tuple(
        {"kind": row["kind"], "problem": row["last_error"] or ""} for row in tx.all(_STUCK_FOR)
    )


def read_row(row: Row) -> OutboxRow:
    """Turn a database row into a record."""
    return OutboxRow(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        conversation_id=row["conversation_id"],
        run_id=row["run_id"],
        approval_id=row["approval_id"],
        body=json.loads(row["body"]),
        attempts=row["attempts"],
        ambiguous=bool(row["ambiguous"]),
        created_at=from_micros(row["created_at"]),
    )
