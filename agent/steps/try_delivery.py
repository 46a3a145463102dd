"""One try to deliver: read afresh, sent once, and Slack looked at where no answer came."""

import logging
from dataclasses import dataclass

from agent.desk import Desk
from agent.domain.errors import Corrupt
from agent.domain.places import is_in_line
from agent.ports import (
    ChannelClosed,
    Delivered,
    Limited,
    NoAnswer,
    NotAuthorized,
    Notifier,
    TryAgain,
    Undeliverable,
    Unreachable,
    Well,
)
from agent.steps.load_delivery import Loaded, Route, load_delivery
from storage.deliveries import Taken

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lost:
    """No message can leave at present: what a look at Slack says, and what the try ended with."""

    pulse: Unreachable | NotAuthorized
    problem: str
    ambiguous: bool


@dataclass(frozen=True, slots=True)
class There:
    """The message is there; `loaded` is what was sent."""

    loaded: Loaded
    answer: Delivered


Outcome = There | Limited | TryAgain | ChannelClosed | Lost | Undeliverable


@dataclass(frozen=True, slots=True)
class Tried:
    """One try and what came of it; `heard` tells that Slack answered, and let the desk in."""

    taken: Taken
    outcome: Outcome
    heard: bool


# What is left of the answers when the message is not there.
Failed = Limited | NoAnswer | TryAgain | ChannelClosed | NotAuthorized | Undeliverable


def try_delivery(desk: Desk, notifier: Notifier, taken: Taken, way: Route) -> Tried:
    """Send a message once, outside any transaction.

    One that the desk itself breaks on is tried again like one that Slack does not take, so that it
    never holds up the others; how far it came nobody knows.
    """
    try:
        return _try(desk, notifier, taken, way)
    except Corrupt as corrupt:
        return Tried(taken, Undeliverable(str(corrupt)), heard=False)
    except Exception as mistake:  # noqa: BLE001 - whatever it is, it is this message's
        _LOG.exception("%s %s cannot be worked on", taken.row.kind, taken.row.id)
        problem = f"{type(mistake).__name__}: {mistake}"
        return Tried(taken, TryAgain(problem, ambiguous=True), heard=False)


def _try(desk: Desk, notifier: Notifier, taken: Taken, way: Route) -> Tried:
    loaded = load_delivery(desk, taken.row, way)
    if loaded.is_moot:
        return Tried(taken, There(loaded, Delivered()), heard=False)
    answer = notifier.deliver(loaded.delivery)
    if isinstance(answer, Delivered):
        return Tried(taken, There(loaded, answer), heard=True)
    heard = isinstance(answer, Limited | TryAgain | ChannelClosed)
    return Tried(taken, _weighed(notifier, taken, answer), heard)


def _weighed(notifier: Notifier, taken: Taken, answer: Failed) -> Outcome:
    """Tell a message that breaks from a Slack that does not work."""
    known = notifier.channels.values()
    match answer:
        case NoAnswer(problem=problem, ambiguous=ambiguous):
            pulse = notifier.pulse()
            if isinstance(pulse, Well):
                return TryAgain(problem, ambiguous)
            return Lost(pulse, problem, ambiguous)
        case NotAuthorized(problem=problem):
            # One that is refused again and again by a Slack that is well stands alone.
            if not is_in_line(taken.row.attempts) and isinstance(notifier.pulse(), Well):
                return TryAgain(problem, ambiguous=False)
            return Lost(answer, problem, ambiguous=False)
        case ChannelClosed(problem=problem, channel=channel) if channel not in known:
            # Not the desk's to go around.
            return TryAgain(problem, ambiguous=False)
        case _:
            return answer
