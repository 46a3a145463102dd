"""How a request that waits is brought up again, and what its deadline makes of it (§10). Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Self

from agent.domain.approvals import Approval
from agent.domain.working_time import Schedule, share_of


class Level(IntEnum):
    """How far a request was brought up; each level is reached once, and none after a higher one."""

    REMINDER = 1
    ONCALL = 2
    SENIOR = 3

    @property
    def key(self) -> str:
        """Return the level as it is stored and audited."""
        return self.name.lower()

    @classmethod
    def named(cls, key: object) -> Self:
        """Return the level of a key; raises ValueError for any other text."""
        for level in cls:
            if level.key == key:
                return level
        raise ValueError(f"no level {key!r}")


@dataclass(frozen=True, slots=True)
class Wait:
    """The period under way of a request that waits; `pinged` is the highest level reached."""

    since: datetime
    until: datetime
    pinged: int = 0
    extended: bool = False

    @classmethod
    def of(cls, waiting: Approval) -> Self:
        """Return the period of a row."""
        since = waiting.waits_since or waiting.created_at
        return cls(since, waiting.expires_at, waiting.pinged, waiting.escalations > 0)

    def ahead(self, schedule: Schedule) -> list[tuple[datetime, Level]]:
        """Return the levels before the deadline that are not reached, and when each is."""
        if self.extended:
            # The senior group was told at its beginning; nobody else is asked.
            return []
        shares = (
            (schedule.remind_at, Level.REMINDER),
            (schedule.oncall_at, Level.ONCALL),
        )
        found = [
            (share_of(schedule.hours, self.since, self.until, share), level)
            for share, level in shares
            if level > self.pinged
        ]
        return [(at, level) for at, level in found if at < self.until]


def wakes_at(wait: Wait, schedule: Schedule) -> datetime:
    """Return when the row must be looked at next: at its next level, or at its deadline."""
    return min([wait.until, *(at for at, _ in wait.ahead(schedule))])


def due_level(wait: Wait, schedule: Schedule, now: datetime) -> Level | None:
    """Return the highest level that has come due; those below it are skipped, not made up for."""
    return max((level for at, level in wait.ahead(schedule) if at <= now), default=None)


def further_deadline(waiting: Approval, schedule: Schedule, now: datetime) -> datetime | None:
    """Return the new deadline of a row whose deadline has passed, None where it expires.

    The further period begins at the old deadline, whenever somebody notices: so what a click at
    `now` meets does not depend on the sweep.
    """
    if waiting.extra_s is None or waiting.escalations:
        return None
    until = schedule.deadline(waiting.expires_at, timedelta(seconds=waiting.extra_s))
    return until if now < until else None
