"""What leaves the desk: a message of the outbox is taken under a lease, and then it is gone or not.

Taken is the message that came first of those that may leave now: it is due, its place is free and
sends nothing else, nothing else about the same thing is on its way, and what it draws is posted.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import and_, bindparam, case, delete, func, or_, select, text, update

from agent.domain.payload import Payload
from storage.outbox import OutboxRow, lease, read_row
from storage.tables import outbox, slack_places
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Row, Tx

# A message tried so often is in trouble, though it may still arrive.
_STUCK_AFTER = 5
_MOST_PROBLEMS = 10

_sent, _first = outbox.alias("sent"), outbox.alias("first")
_IN_FLIGHT = and_(
    _sent.c.lane == "slack",
    _sent.c.lease_owner.is_not(None),
    _sent.c.next_at > bindparam("now"),
)
# Its first message is still to come; one that was given up is not waited for.
_IS_AWAITED = (
    select(_first.c.id)
    .where(
        _first.c.about == outbox.c.about,
        text("first.kind IN ('card','review','alert','hand_off')"),
        _first.c.next_at.is_not(None),
    )
    .exists()
)
_FREE_AT = func.coalesce(slack_places.c.free_at, 0)
_MAY_LEAVE = and_(
    outbox.c.lane == "slack",
    outbox.c.place.not_in(select(_sent.c.place).where(_IN_FLIGHT)),
    or_(
        outbox.c.about.is_(None),
        and_(
            outbox.c.about.not_in(
                select(_sent.c.about).where(_IN_FLIGHT, _sent.c.about.is_not(None))
            ),
            or_(text("outbox.kind IN ('card','review','alert','hand_off')"), ~_IS_AWAITED),
        ),
    ),
)
_PLACED = outbox.outerjoin(slack_places, slack_places.c.place == outbox.c.place)
# Before all that has to be looked up for each message: a long line at a place that rests is passed
# over quickly, while all others wait for whoever chooses.
_RESTING = select(slack_places.c.place).where(slack_places.c.free_at > bindparam("now"))
_DUE_IN_SLACK = (
    select(outbox)
    .where(
        outbox.c.next_at <= bindparam("now"),
        outbox.c.place.not_in(_RESTING),
        _MAY_LEAVE,
    )
    .order_by(outbox.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_NEXT_IN_SLACK = (
    select(func.min(case((outbox.c.next_at > _FREE_AT, outbox.c.next_at), else_=_FREE_AT)))
    .select_from(_PLACED)
    .where(_MAY_LEAVE, outbox.c.next_at.is_not(None))
)
_DUE = (
    select(outbox)
    .where(outbox.c.lane == bindparam("wanted"), outbox.c.next_at <= bindparam("now"))
    .order_by(outbox.c.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_NEXT = select(func.min(outbox.c.next_at)).where(outbox.c.lane == bindparam("wanted"))
_STILL_MINE = and_(
    outbox.c.id == bindparam("row_id"),
    outbox.c.lease_owner == bindparam("owner"),
    outbox.c.attempts == bindparam("taken"),
)
_ARRIVED = delete(outbox).where(_STILL_MINE)
_AGAIN = (
    update(outbox)
    .where(_STILL_MINE)
    .values(
        next_at=bindparam("at"),
        lease_owner=None,
        attempts=bindparam("counted"),
        last_error=bindparam("problem"),
        ambiguous=bindparam("is_ambiguous"),
    )
)
_GIVE_UP = (
    update(outbox)
    .where(_STILL_MINE)
    .values(
        next_at=None,
        lease_owner=None,
        last_error=bindparam("problem"),
        ambiguous=bindparam("is_ambiguous"),
    )
)
_RELEASE = (
    update(outbox)
    .where(
        text("lane IN ('slack','mail')"),
        outbox.c.lease_owner == bindparam("owner"),
        outbox.c.next_at > bindparam("now"),
    )
    .values(next_at=bindparam("now"))
)
_REVIVE = (
    update(outbox)
    .where(text("lane IN ('slack','mail')"), outbox.c.next_at.is_(None))
    .values(next_at=bindparam("now"))
)
_HURRY = (
    update(outbox)
    .where(
        outbox.c.lane == "slack",
        outbox.c.place == bindparam("at_place"),
        outbox.c.lease_owner.is_(None),
        outbox.c.next_at > bindparam("now"),
    )
    .values(next_at=bindparam("now"))
)
_ABOUT = select(outbox.c.id, outbox.c.kind).where(
    outbox.c.about == bindparam("what"), outbox.c.lease_owner.is_(None)
)
_DROP = delete(outbox).where(outbox.c.id == bindparam("row_id"), outbox.c.lease_owner.is_(None))
_IS_STUCK = (
    text("lane IN ('slack','mail')"),
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

_WAITING = select(func.count().label("n"), func.min(outbox.c.created_at).label("oldest")).where(
    outbox.c.lane == "slack", outbox.c.next_at.is_not(None)
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A message on its way; `owner` holds it until the lease runs out.

    `row.attempts` counts this try.
    """

    row: OutboxRow
    owner: str


def take_for_slack(tx: Tx, owner: str, now: datetime, lease: timedelta) -> Taken | None:
    """Take the message for Slack that is to leave next; its place is the caller's to occupy.

    The places are held by this transaction. A message whose earlier taker never said how it went
    may have arrived: it is ambiguous.
    """
    return _take(tx, tx.one(_DUE_IN_SLACK, now=to_micros(now)), owner, now + lease)


def take(tx: Tx, lane: str, owner: str, now: datetime, lease: timedelta) -> Taken | None:
    """Take the message of another lane that came first; its lease is like that of Slack's."""
    return _take(tx, tx.one(_DUE, wanted=lane, now=to_micros(now)), owner, now + lease)


def arrived(tx: Tx, taken: Taken) -> bool:
    """Forget a message that is there; False when its lease was lost and somebody else has it."""
    return tx.change(_ARRIVED, **_mine(taken)) == 1


def again(
    tx: Tx, taken: Taken, at: datetime, problem: str, *, ambiguous: bool, counts: bool = True
) -> bool:
    """Let a message be tried again from `at`; False when its lease was lost.

    What was no fault of the message does not count among its attempts.
    """
    changed = tx.change(
        _AGAIN,
        **_mine(taken),
        at=to_micros(at),
        counted=taken.row.attempts - (not counts),
        problem=problem[:500],
        is_ambiguous=int(ambiguous or taken.row.ambiguous),
    )
    return changed == 1


def give_up(tx: Tx, taken: Taken, problem: str) -> bool:
    """Keep a message that cannot be delivered for a person; False when its lease was lost."""
    changed = tx.change(
        _GIVE_UP,
        **_mine(taken),
        problem=problem[:500],
        is_ambiguous=int(taken.row.ambiguous),
    )
    return changed == 1


def release(tx: Tx, owner: str, now: datetime) -> int:
    """Make due what a dead replica had taken; its name stays, for the message may have arrived."""
    return tx.change(_RELEASE, owner=owner, now=to_micros(now))


def hurry(tx: Tx, place: str, now: datetime) -> None:
    """Make due what waits by itself at a place that takes messages again."""
    tx.change(_HURRY, at_place=place, now=to_micros(now))


def revive(tx: Tx, now: datetime) -> int:
    """Make every given-up message due again: a person may have mended what stood in its way."""
    return tx.change(_REVIVE, now=to_micros(now))


def waiting_about(tx: Tx, about: str) -> dict[str, str]:
    """Return the id and kind of each message about a thing that is not on its way."""
    return {row["id"]: row["kind"] for row in tx.all(_ABOUT, what=about)}


def drop(tx: Tx, row_ids: Iterable[str]) -> None:
    """Forget messages that have nothing to say any more, unless somebody has taken one."""
    for row_id in row_ids:
        tx.change(_DROP, row_id=row_id)


def next_for_slack(tx: Tx, now: datetime) -> datetime | None:
    """Return when the next message may leave for Slack, None when none waits for the time."""
    return _time(tx.one(_NEXT_IN_SLACK, now=to_micros(now)))


def next_of(tx: Tx, lane: str) -> datetime | None:
    """Return when the next message of another lane comes due, None when there is none."""
    return _time(tx.one(_NEXT, wanted=lane))


def waiting(tx: Tx) -> tuple[int, datetime | None]:
    """Return how many messages are to leave for Slack, and since when the oldest waits."""
    row = tx.one(_WAITING)
    return (0, None) if row is None else (int(row["n"]), time_or_none(row["oldest"]))


def stuck(tx: Tx) -> int:
    """Return how many messages were given up or tried five times and more."""
    row = tx.one(_STUCK)
    return 0 if row is None else int(row["n"])


def stuck_for(tx: Tx) -> tuple[Payload, ...]:
    """Return what is stuck and why, each `kind` with each `problem` once, the oldest first."""
    return tuple(
        {"kind": row["kind"], "problem": row["last_error"] or ""} for row in tx.all(_STUCK_FOR)
    )


def _take(tx: Tx, row: Row | None, owner: str, until: datetime) -> Taken | None:
    if row is None:
        return None
    lease(tx, row["id"], owner, until)
    found = read_row(row)
    ambiguous = found.ambiguous or row["lease_owner"] is not None
    return Taken(replace(found, ambiguous=ambiguous, attempts=found.attempts + 1), owner)


def _mine(taken: Taken) -> dict[str, object]:
    return {"row_id": taken.row.id, "owner": taken.owner, "taken": taken.row.attempts}


def _time(row: Row | None) -> datetime | None:
    value = None if row is None else next(iter(row.values()))
    return None if value is None else from_micros(value)
