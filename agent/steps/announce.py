"""What the world must hear leaves the outbox: claimed, delivered at least once, written down.

One message at a time in a place, at the pace that Slack allows, the one that came first before the
others; and while Slack itself is the trouble nothing leaves, and it is looked at instead.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.deadlines import DELIVERY_LEASE
from agent.domain.places import EVERYTHING, LOOK_AGAIN, Pace, Place, neighbours
from agent.ports import Notifier
from agent.steps.load_delivery import Route, route
from agent.steps.settle_delivery import settle_delivery
from agent.steps.trouble import feel_pulse, look_at, regain_slack
from agent.steps.try_delivery import try_delivery
from storage import deliveries, places
from storage.deliveries import Taken
from storage.transaction import Tx

# Longer than a look takes; another worker looks if this one never says what it saw.
_LOOK_LEASE = timedelta(seconds=5)


def announce(desk: Desk, notifier: Notifier, pace: Pace) -> bool:
    """Deliver the message that is to leave next, or look at what is in the way.

    Returns False when there was nothing to do; `next_announcement` tells when there is.
    """
    with desk.store.transaction() as tx:
        task = _next(tx, desk, notifier, pace)
    if task is None:
        return False
    if isinstance(task, Place):
        _look_at(desk, notifier, task)
        return True
    taken, way = task
    tried = try_delivery(desk, notifier, taken, way)
    with desk.store.transaction() as tx:
        settle_delivery(tx, desk, notifier.channels, tried)
    return True


def _look_at(desk: Desk, notifier: Notifier, place: Place) -> None:
    if place.name == EVERYTHING:
        feel_pulse(desk, notifier)
    else:
        look_at(desk, notifier, place.name)


def next_announcement(desk: Desk) -> datetime | None:
    """Return when there may be something to do, None when nothing waits for the time."""
    with desk.store.transaction(write=False) as tx:
        troubled, now = places.troubled(tx), desk.clock.now()
        everything = troubled[EVERYTHING]
        if everything.problem is not None and everything.free_at > now:
            return everything.free_at
        looks = [one.closed_until for one in troubled.values() if one.closed_until is not None]
        due = deliveries.next_for_slack(tx, now)
    return min([*looks, *([] if due is None else [due])], default=None)


def _next(tx: Tx, desk: Desk, notifier: Notifier, pace: Pace) -> Place | tuple[Taken, Route] | None:
    """Take what is to be done next, so that no other worker does it."""
    troubled = places.hold(tx)
    # Read after the lock: whoever held it may have taken a while.
    now, everything = desk.clock.now(), troubled[EVERYTHING]
    if everything.failures:
        return _look(tx, everything, now)
    for place in troubled.values():
        if place.closed_until is not None and place.closed_until <= now:
            places.save(tx, replace(place, closed_until=now + LOOK_AGAIN))
            return place
    taken = deliveries.take_for_slack(tx, desk.replica, now, DELIVERY_LEASE)
    if taken is None:
        if everything.on_trial and deliveries.next_for_slack(tx, now) is None:
            # Nothing waits that could prove it.
            regain_slack(tx, desk, now, everything)
        return None
    way = route(notifier.channels, troubled)
    name = taken.row.place
    places.occupy(tx, neighbours(name, way.channels, way.closed), now + pace.of(name))
    return taken, way


def _look(tx: Tx, everything: Place, now: datetime) -> Place | None:
    """Take it upon this worker to look at a Slack that did not work, once it is time."""
    if everything.free_at > now:
        return None
    places.save(tx, replace(everything, free_at=now + _LOOK_LEASE))
    return everything
