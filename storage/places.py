"""How Slack and each place in it fares, shared by all replicas."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import bindparam, or_, select, text

from agent.domain.places import EVERYTHING, Place
from storage.tables import slack_places
from storage.times import from_micros, micros_or_none, time_or_none, to_micros
from storage.transaction import Row, Tx

_EVERYTHING = select(slack_places).where(slack_places.c.place == EVERYTHING).with_for_update()
_GET = select(slack_places).where(slack_places.c.place == bindparam("wanted"))
_TROUBLED = (
    select(slack_places)
    .where(or_(slack_places.c.problem.is_not(None), slack_places.c.place == EVERYTHING))
    .order_by(slack_places.c.place)
)
_OCCUPY = text(
    "INSERT INTO slack_places (place, free_at, failures) VALUES (:place, :until, 0) "
    "ON CONFLICT (place) DO UPDATE SET free_at = excluded.free_at "
    "WHERE slack_places.free_at < excluded.free_at"
)
_SAVE = text(
    "INSERT INTO slack_places (place, free_at, failures, problem, since, closed_until) "
    "VALUES (:place, :free_at, :failures, :problem, :since, :closed_until) "
    "ON CONFLICT (place) DO UPDATE SET free_at = excluded.free_at, failures = excluded.failures, "
    "problem = excluded.problem, since = excluded.since, closed_until = excluded.closed_until"
)
_FREE = text("UPDATE slack_places SET free_at = :now WHERE free_at > :now")
_LOOK = text("UPDATE slack_places SET closed_until = :now WHERE closed_until > :now")


def hold(tx: Tx) -> dict[str, Place]:
    """Return Slack as a whole and every place in trouble; until the end nobody else holds them.

    Whoever claims, or says how it went, comes through here first: so one message at a time is
    chosen over all replicas, and what is read of a place may be saved changed.
    """
    tx.one(_EVERYTHING)
    return troubled(tx)


def troubled(tx: Tx) -> dict[str, Place]:
    """Return Slack as a whole and every place in trouble, by name."""
    return {row["place"]: _read(row) for row in tx.all(_TROUBLED)}


def get(tx: Tx, name: str, now: datetime) -> Place:
    """Return a place; one that nothing was ever sent to is free."""
    row = tx.one(_GET, wanted=name)
    return Place(name, now) if row is None else _read(row)


def occupy(tx: Tx, names: Iterable[str], until: datetime) -> None:
    """Let nothing be sent to these places before `until`."""
    for name in names:
        tx.change(_OCCUPY, place=name, until=to_micros(until))


def begin_anew(tx: Tx, now: datetime) -> None:
    """Let no place rest longer than until `now`: the clock by which it was to rest stepped back."""
    tx.change(_FREE, now=to_micros(now))
    tx.change(_LOOK, now=to_micros(now))


def save(tx: Tx, place: Place) -> None:
    """Store a place that was read under `hold`."""
    tx.change(
        _SAVE,
        place=place.name,
        free_at=to_micros(place.free_at),
        failures=place.failures,
        problem=place.problem,
        since=micros_or_none(place.since),
        closed_until=micros_or_none(place.closed_until),
    )


def _read(row: Row) -> Place:
    return Place(
        name=row["place"],
        free_at=from_micros(row["free_at"]),
        failures=row["failures"],
        problem=row["problem"],
        since=time_or_none(row["since"]),
        closed_until=time_or_none(row["closed_until"]),
    )
