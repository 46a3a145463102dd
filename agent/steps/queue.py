"""What somebody who looks at the desk is shown: their queue, their day, how the switches stand."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.alerts import Alert, AlertKind
from agent.domain.approvals import Status
from agent.domain.breaker import BreakerState, shown_state
from agent.domain.ids import ApprovalId
from agent.domain.queue import (
    Deed,
    Page,
    Seat,
    Standing,
    Waiting,
    day_start,
    deeds_of,
    page_of,
    queue_of,
    read_reference,
    seat_of,
)
from agent.domain.roles import MAY_ACKNOWLEDGE, MAY_LIFT, MAY_RESET, MAY_STOP, Identity, Role
from agent.domain.stats import Act, Tally, tally
from storage import alerts, approvals, breaker, people, queue, stats
from storage.breaker import StopNote
from storage.transaction import Tx

# So much of the queue is read for one look, the soonest deadlines first.
READ = 1_000
_WEEK = timedelta(days=7)
# A day's own votes are read to this number before edits and votes of one moment become one act.
_VOTES = 40
# Longer ago than this a request is found by its whole id or its order alone.
_FOUND_FOR = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Pool:
    """What waits for people, as far as it is read at once; `total` counts all of it."""

    waiting: tuple[Waiting, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Switches:
    """How the breaker and the stop switch stand.

    `alert` is what people on call were told of an open breaker, None where that is over.
    """

    state: BreakerState
    generation: int
    retry_at: datetime | None
    stop: StopNote | None
    alert: Alert | None


@dataclass(frozen=True, slots=True)
class Powers:
    """Which switches somebody may throw, by the roles they provably hold."""

    stop: bool
    lift: bool
    reset: bool
    acknowledge: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What a member of staff sees.

    `mine` is a page of what waits for them, `others` counts what waits for other people, `unread`
    what was not read because so much waits. `deeds` are their newest acts of the day out of
    `done` in all; `since` is when their day began.
    """

    seat: Seat
    powers: Powers
    switches: Switches
    mine: Page[Waiting]
    others: int
    unread: int
    deeds: tuple[Deed, ...]
    done: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Numbers:
    """How it went: today and in seven days, what is open, and for managers who did how much."""

    today: Tally
    week: Tally
    pending: int
    unknown: int
    people: tuple[Act, ...] | None


def take_seat(tx: Tx, identity: Identity, now: datetime) -> Seat:
    """Return what somebody who looks is to the desk."""
    actor = people.find(tx, identity)
    known = actor is not None and actor.grants
    return seat_of(actor, () if known else people.rosters_of(tx), now)


def read_pool(tx: Tx) -> Pool:
    """Read what waits for people; one reading serves everybody who looks at the same moment."""
    total, _ = approvals.count(tx, Status.PENDING)
    return Pool(queue.waiting(tx, READ), total)


def look(tx: Tx, seat: Seat, now: datetime, page: int, size: int, pool: Pool | None = None) -> Look:
    """Return what a member of staff sees: a page of so many requests, as many acts of the day.

    Raises ValueError for anybody else.
    """
    actor = seat.actor
    if actor is None or seat.standing is not Standing.STAFF:
        raise ValueError("only staff is shown anything")
    pool = read_pool(tx) if pool is None else pool
    own = queue_of(pool.waiting, actor, now)
    since = day_start(now, people.ahead_of_utc(tx, actor.id))
    return Look(
        seat=seat,
        powers=powers_of(seat.roles),
        switches=read_switches(tx, now),
        mine=page_of(own, page, size),
        others=len(pool.waiting) - len(own),
        unread=max(0, pool.total - len(pool.waiting)),
        deeds=deeds_of(queue.deeds(tx, actor.id, since, _VOTES)),
        done=queue.count_deeds(tx, actor.id, since),
        since=since,
    )


def powers_of(roles: frozenset[Role]) -> Powers:
    """Return which switches the roles allow to throw; the steps ask again."""

    def held(*needed: Role) -> bool:
        return not roles.isdisjoint(needed)

    return Powers(held(*MAY_STOP), held(*MAY_LIFT), held(*MAY_RESET), held(*MAY_ACKNOWLEDGE))


def read_switches(tx: Tx, now: datetime) -> Switches:
    """Return how the breaker and the stop switch stand."""
    current = breaker.load(tx)
    told = alerts.still_open(tx, AlertKind.BREAKER_OPENED)
    return Switches(
        shown_state(current, now),
        current.generation,
        current.retry_at,
        breaker.stop_note(tx),
        told[-1] if told else None,
    )


def read_numbers(tx: Tx, seat: Seat, now: datetime) -> Numbers:
    """Return the numbers of somebody's day and of seven days; who did what is for managers."""
    ahead = timedelta() if seat.actor is None else people.ahead_of_utc(tx, seat.actor.id)
    today, week = day_start(now, ahead), now - _WEEK
    ended = stats.ended_since(tx, week)
    return Numbers(
        today=tally(ended, stats.ran_since(tx, today), today),
        week=tally(ended, stats.ran_since(tx, week), week),
        pending=approvals.count(tx, Status.PENDING)[0],
        unknown=approvals.count(tx, Status.UNKNOWN)[0],
        people=stats.acts_since(tx, week) if Role.REFUND_MANAGER in seat.roles else None,
    )


def find_requests(tx: Tx, typed: str, now: datetime, most: int) -> tuple[ApprovalId, ...]:
    """Return the requests that somebody means: by id, by an order, or by how the id ends.

    By its end an id is found among what is open and what ended in the last seven days.
    """
    meant = read_reference(typed)
    if meant.whole is not None:
        return () if approvals.get(tx, meant.whole) is None else (meant.whole,)
    found = queue.of_order(tx, meant.orders, most)
    if meant.tail is not None:
        found += queue.ending_in(tx, meant.tail, now - _FOUND_FOR, most)
    return tuple(dict.fromkeys(found))[:most]


def numbers(desk: Desk, identity: Identity) -> Numbers:
    """Return the numbers for somebody outside Slack, whoever they are."""
    with desk.store.transaction(write=False) as tx:
        now = desk.clock.now()
        return read_numbers(tx, take_seat(tx, identity, now), now)
