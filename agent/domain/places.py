"""Where messages go in Slack, how fast, and what a failure at one place means for the others."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.domain.deadlines import backoff

# Slack as a whole; its channels by their purpose; and what Slack counts by method, whoever it is
# for: the redrawing of messages, and of Home tabs.
EVERYTHING, UPDATE, HOME = "*", "update", "home"
APPROVALS, ONCALL, REVIEW, SPARE = "approvals", "oncall", "review", "spare"

# A channel that refuses messages, and a token that Slack refuses, are tried again so often.
LOOK_AGAIN = timedelta(minutes=1)
# Slack out of reach for so long is worth a page; a blip is not.
PAGE_AFTER = timedelta(minutes=5)
# A message that fails so often while others pass steps out of the line.
_TRIES_IN_LINE = 3
_FIRST_WAIT, _LONGEST_WAIT = timedelta(seconds=1), timedelta(minutes=1)
# Who takes the messages of a channel that refuses them, in this order.
_INSTEAD = {
    APPROVALS: (SPARE, ONCALL),
    REVIEW: (SPARE, ONCALL, APPROVALS),
    ONCALL: (SPARE, APPROVALS),
}


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a place rests after a message to it, and redrawing after each time.

    Slack takes one message a second in a channel, and in a workspace 50 updates and 100 Home tabs a
    minute at least (facts/slack.md §1.7).
    """

    message: timedelta = timedelta(seconds=1)
    update: timedelta = timedelta(milliseconds=1200)
    home: timedelta = timedelta(milliseconds=600)

    def of(self, place: str) -> timedelta:
        """Return how long `place` rests."""
        return {UPDATE: self.update, HOME: self.home}.get(place, self.message)


@dataclass(frozen=True, slots=True)
class Place:
    """How a place fares. Nothing is sent there before `free_at`.

    `failures` are those in a row; `problem` is the newest and `since` when the first of them was,
    None while all is well. A channel is closed, and its messages go elsewhere, until
    `closed_until`. A problem without failures and without closing is over as far as a look can
    tell, and the next message proves it.
    """

    name: str
    free_at: datetime
    failures: int = 0
    problem: str | None = None
    since: datetime | None = None
    closed_until: datetime | None = None

    @property
    def on_trial(self) -> bool:
        """Tell whether the next message that passes ends the problem."""
        return self.problem is not None and self.failures == 0 and self.closed_until is None

    @property
    def in_trouble(self) -> bool:
        """Tell whether this is worth a person's look: more than a message that failed once."""
        return self.problem is not None and (
            self.name == EVERYTHING
            or self.closed_until is not None
            or not is_in_line(self.failures)
        )

    def failed(self, problem: str, now: datetime, wait: timedelta) -> "Place":
        """Return the place after one more failure, resting for `wait`."""
        return replace(
            self,
            failures=self.failures + 1,
            problem=problem,
            since=self.since or now,
            free_at=max(self.free_at, now + wait),
        )

    def closed(self, problem: str, now: datetime) -> "Place":
        """Return the place as one whose messages go elsewhere until it is looked at again."""
        return replace(
            self, problem=problem, since=self.since or now, closed_until=now + LOOK_AGAIN
        )

    def tried(self, now: datetime) -> "Place":
        """Return the place put on trial: messages go there again from now on."""
        return replace(self, failures=0, closed_until=None, free_at=min(self.free_at, now))

    def well(self) -> "Place":
        """Return the place without a problem."""
        return replace(self, failures=0, problem=None, since=None, closed_until=None)


def rest_of_all(failures: int, jitter: float) -> timedelta:
    """Return how long nothing is sent after `failures` looks at a Slack that does not answer.

    Doubling from a second, at most a minute; `jitter`, of [0, 1), adds up to a quarter.
    """
    return min(backoff(failures, base=_FIRST_WAIT, jitter=jitter), _LONGEST_WAIT * (1 + jitter / 4))


def is_in_line(attempts: int) -> bool:
    """Tell whether a message is still tried before those that come after it."""
    return attempts <= _TRIES_IN_LINE


def is_alone(attempts: int, failures: int) -> bool:
    """Tell whether a message steps out of the line: it fails, and nobody else at its place does.

    `attempts` are those of the message and `failures` those in a row at its place, the newest
    counted in both. More failures than attempts may be the place's: it rests.
    """
    return not is_in_line(attempts) and failures <= attempts


def receiver(place: str, channels: Mapping[str, str], closed: Collection[str]) -> str:
    """Return the channel id that takes the messages of `place`.

    Its own, or while that is `closed` the first of its substitutes that is not; its own again
    where all of them are.
    """
    own = channels[place]
    if own not in closed:
        return own
    others = (channels[one] for one in _INSTEAD.get(place, ()) if one in channels)
    return next((one for one in others if one not in closed), own)


def neighbours(place: str, channels: Mapping[str, str], closed: Collection[str]) -> tuple[str, ...]:
    """Return every place whose messages go to the same channel as those of `place`, sorted."""
    if place not in channels:
        return (place,)
    where = receiver(place, channels, closed)
    return tuple(sorted(one for one in channels if receiver(one, channels, closed) == where))
