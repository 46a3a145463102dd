"""Signs of life, and who has given none for too long."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

# The job that stands for the process itself, and the one that looks at the others.
REPLICA, WATCH = "replica", "watch"
# A command is a replica too, for as long as it runs.
COMMAND_PREFIX = "cli-"
_SILENT_AFTER = timedelta(seconds=30)
# Whoever has not looked for so long has slept, and finds everybody's signs old.
_AWAKE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """When a job of a replica last did its work, and what has gone wrong since, if anything."""

    replica: str
    job: str
    at: datetime
    problem: str | None

    @property
    def is_command(self) -> bool:
        """Tell whether this is of a command that somebody runs, which is no part of the desk."""
        return self.replica.startswith(COMMAND_PREFIX)


def patience_with(every: timedelta) -> timedelta:
    """Return how long a job may give no sign of life that is done every so often."""
    return max(_SILENT_AFTER, every * 1.5)


def is_awake(beats: Iterable[Heartbeat], replica: str, now: datetime) -> bool:
    """Tell whether a replica has looked at the others lately, and so can judge them."""
    own = (one for one in beats if one.replica == replica and one.job == WATCH)
    return any(now - one.at <= _AWAKE for one in own)


def silent(
    beats: Iterable[Heartbeat], patience: Mapping[str, timedelta], now: datetime
) -> tuple[Heartbeat, ...]:
    """Return the last signs of whoever is silent: of a replica as a whole, else of its jobs.

    `patience` is by job; others have 30 seconds. Commands are left out.
    """
    late = [
        one
        for one in beats
        if not one.is_command and now - one.at > patience.get(one.job, _SILENT_AFTER)
    ]
    gone = {one.replica for one in late if one.job == REPLICA}
    return tuple(one for one in late if one.job == REPLICA or one.replica not in gone)
