"""What came of a try is written down: the message is gone from the outbox, or waits in line."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import assert_never

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.deadlines import backoff
from agent.domain.payload import Payload
from agent.domain.places import EVERYTHING, Place, is_alone, is_in_line, neighbours, rest_of_all
from agent.domain.roles import Channel
from agent.ports import ChannelClosed, Limited, NotAuthorized, TryAgain, Undeliverable
from agent.steps.load_delivery import route
from agent.steps.note_delivered import note_delivered
from agent.steps.trouble import close_channel, lose_slack, open_place, regain_slack
from agent.steps.try_delivery import Lost, There, Tried
from storage import audit, deliveries, places
from storage.deliveries import Taken
from storage.transaction import Tx

_BASE = timedelta(seconds=1)


def settle_delivery(tx: Tx, desk: Desk, channels: Mapping[str, str], tried: Tried) -> None:
    """Write down what came of a try, and how far a failure reaches."""
    troubled = places.hold(tx)
    now, taken = desk.clock.now(), tried.taken
    if tried.heard:
        _note_well(tx, desk, channels, troubled, tried, now)
    match tried.outcome:
        case There(answer=answer) as there:
            note_delivered(tx, desk, taken, there, now)
            for channel, problem in answer.closed:
                close_channel(tx, desk, now, channels, ChannelClosed(problem, channel))
        case Limited(problem=problem, after_s=after_s, ambiguous=ambiguous):
            wait = _BASE if after_s is None else timedelta(seconds=after_s)
            way = route(channels, troubled)
            places.occupy(tx, neighbours(taken.row.place, channels, way.closed), now + wait)
            deliveries.again(tx, taken, now, problem, ambiguous=ambiguous, counts=False)
        case TryAgain() as failed:
            _wait(tx, desk, taken, failed, now)
        case ChannelClosed() as closed:
            close_channel(tx, desk, now, channels, closed)
            deliveries.again(tx, taken, now, closed.problem, ambiguous=False, counts=False)
        case Lost(pulse=pulse, problem=problem, ambiguous=ambiguous):
            lose_slack(tx, desk, now, pulse)
            counts = isinstance(pulse, NotAuthorized)
            deliveries.again(tx, taken, now, problem, ambiguous=ambiguous, counts=counts)
        case Undeliverable(problem=problem):
            _give_up(tx, desk, taken, problem, now)
        case _:
            assert_never(tried.outcome)


def _note_well(
    tx: Tx,
    desk: Desk,
    channels: Mapping[str, str],
    troubled: Mapping[str, Place],
    tried: Tried,
    now: datetime,
) -> None:
    """End what an answer of Slack's has shown to be over."""
    if troubled[EVERYTHING].on_trial:
        regain_slack(tx, desk, now, troubled[EVERYTHING])
    place = troubled.get(tried.taken.row.place)
    is_open = place is not None and place.closed_until is None
    if place is not None and is_open and isinstance(tried.outcome, There):
        open_place(tx, desk, now, channels, place)
        if not is_in_line(place.failures):
            # It was not one message alone: those that stepped aside go in their order again.
            deliveries.hurry(tx, place.name, now)


def _wait(tx: Tx, desk: Desk, taken: Taken, failed: TryAgain, now: datetime) -> None:
    """Let the line wait for its first message; one that fails alone waits by itself.

    Where others fail too, the place rests, and its first message lets another show what is wrong:
    else two that Slack never takes would hold up all that come after them.
    """
    place, attempts = places.get(tx, taken.row.place, now), taken.row.attempts
    failures, at = place.failures + 1, now
    if is_alone(attempts, failures):
        at = now + backoff(attempts, base=_BASE, jitter=desk.ids.jitter())
    else:
        wait = rest_of_all(max(attempts, failures), desk.ids.jitter())
        places.save(tx, place.failed(failed.problem, now, wait))
        if not is_in_line(attempts):
            at = now + wait + backoff(attempts, base=_BASE, jitter=desk.ids.jitter())
    deliveries.again(tx, taken, at, failed.problem, ambiguous=failed.ambiguous)


def _give_up(tx: Tx, desk: Desk, taken: Taken, problem: str, now: datetime) -> None:
    row = taken.row
    if not deliveries.give_up(tx, taken, problem):
        return
    data: Payload = {"kind": row.kind, "key": row.key, "problem": problem[:500]}
    fact = audit.Fact(AuditType.DELIVERY_FAILED, desk.replica, Channel.SLACK, data, row.approval_id)
    audit.append(tx, row.run_id, now, fact)
