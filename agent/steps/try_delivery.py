"""One try to deliver: read afresh, sent once, and Slack looked at where no answer came."""

from dataclasses import dataclass

from agent.desk import Desk
from agent.domain.errors import Corrupt
from agent.domain.places import is_in_line
from agent.ports import (
    ChannelClosed,
    Delivered,
    DeliveryAnswer,
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


@dataclass(frozen=True, slots=True)
class Lost:
    """No message can leave at present: what a look at Slack says, and what the try ended with."""

    pulse: Unreachable | NotAuthorized
    problem: str
    ambiguous: bool


Outcome = Delivered | Limited | TryAgain | ChannelClosed | Lost | Undeliverable


@dataclass(frozen=True, slots=True)
class Tried:
    """One try and what came of it.

    `loaded` is None for a request that cannot be read; `heard` tells that Slack itself answered,
    and let the desk in.
    """

    taken: Taken
    loaded: Loaded | None
    outcome: Outcome
    heard: bool


def try_delivery(desk: Desk, notifier: Notifier, taken: Taken, way: Route) -> Tried:
    """Send a message once, outside any transaction."""
    try:
        loaded = load_delivery(desk, taken.row, way)
    except Corrupt as corrupt:
        return Tried(taken, None, Undeliverable(str(corrupt)), heard=False)
    if loaded.is_moot:
        return Tried(taken, loaded, Delivered(), heard=False)
    answer = notifier.deliver(loaded.delivery)
    heard = isinstance(answer, Delivered | Limited | TryAgain | ChannelClosed)
    return Tried(taken, loaded, _weighed(notifier, taken, answer), heard)


def _weighed(notifier: Notifier, taken: Taken, answer: DeliveryAnswer) -> Outcome:
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
