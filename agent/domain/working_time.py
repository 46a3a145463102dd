"""Time as the people who decide have it: all of it, or only their business hours. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from fractions import Fraction
from itertools import takewhile

_DAY = timedelta(days=1)
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class BusinessHours:
    """When people work: from `opens` to `closes` in `zone` on each of `days`, 0 being Monday."""

    zone: tzinfo
    days: frozenset[int]
    opens: time
    closes: time

    def stretches(self, since: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield, in UTC and without end, what is worked from `since` on."""
        day = since.astimezone(self.zone).date()
        while True:
            if day.weekday() in self.days:
                # The clock on the wall counts: on a day that loses an hour, it is worked less.
                begins, ends = (
                    datetime.combine(day, at, self.zone).astimezone(UTC)
                    for at in (self.opens, self.closes)
                )
                if since < ends:
                    yield max(begins, since), ends
            day += _DAY


def worked(hours: BusinessHours | None, since: datetime, until: datetime) -> timedelta:
    """Return how much working time lies between two moments; without hours, all of it."""
    if hours is None:
        return max(until - since, timedelta())
    before = takewhile(lambda one: one[0] < until, hours.stretches(since))
    return sum((min(ends, until) - begins for begins, ends in before), timedelta())


def later(hours: BusinessHours | None, since: datetime, span: timedelta) -> datetime:
    """Return the first moment at which `span` of working time has passed since `since`."""
    if hours is None or not span:
        return since + span
    stretches = hours.stretches(since)
    begins, ends = next(stretches)
    while span > ends - begins:
        span -= ends - begins
        begins, ends = next(stretches)
    return begins + span


def share_of(
    hours: BusinessHours | None, since: datetime, until: datetime, share: Fraction
) -> datetime:
    """Return the first moment at which a share of the working time up to `until` has passed."""
    micros = math.ceil(worked(hours, since, until) // _TICK * share)
    return later(hours, since, micros * _TICK)


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the policy says of it: at which share of its time whom, and what time counts."""

    remind_at: Fraction
    oncall_at: Fraction
    hours: BusinessHours | None

    def deadline(self, since: datetime, within: timedelta) -> datetime:
        """Return until when people decide who are given `within` from `since` on."""
        return later(self.hours, since, within)
