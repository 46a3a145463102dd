"""How requests ended and how long they waited, over a day or a week; pure arithmetic."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from agent.domain.approvals import Status


class Outcome(StrEnum):
    """How a request ended that people were asked about; a time-out is never a denial."""

    DONE = "done"
    FAILED = "failed"
    STALE = "stale"
    REVOKED = "revoked"
    REJECTED = "rejected"
    EDITED = "edited"
    EXPIRED = "expired"
    # Nobody decided in time because nobody could have seen it.
    UNSEEN = "unseen"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that people were asked about and that has ended.

    `unseen` tells that its card was never in Slack while they could decide.
    """

    status: Status
    created_at: datetime
    decided_at: datetime | None
    ended_at: datetime
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """What one person has done how often; an edit that was the person's vote too is both."""

    name: str
    verdict: str
    number: int


@dataclass(frozen=True, slots=True)
class Ran:
    """How many effects ran without a person, and how many more did not come to their end."""

    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Waits:
    """How long people took: of `number` requests, half were answered within `median`."""

    number: int
    median: timedelta
    p90: timedelta


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers since a moment.

    `outcomes` has every outcome, `ran` is what the policy let run without a person, and `waits` is
    None where people have answered nothing.
    """

    since: datetime
    outcomes: Mapping[Outcome, int]
    waits: Waits | None
    ran: Ran

    @property
    def asked(self) -> int:
        """Return how many requests ended that people were asked about."""
        return sum(self.outcomes.values())


def tally(ended: Iterable[Ended], ran: Ran, since: datetime) -> Tally:
    """Count what ended since a moment; `ran` is what ran without a person in the same time."""
    own = [one for one in ended if one.ended_at >= since]
    counted = Counter(outcome_of(one) for one in own)
    return Tally(since, {outcome: counted[outcome] for outcome in Outcome}, waits_of(own), ran)


def outcome_of(ended: Ended) -> Outcome:
    """Return how a request ended; raises ValueError for one that has not."""
    match ended.status:
        case Status.EXECUTED:
            return Outcome.DONE
        case Status.FAILED:
            return Outcome.FAILED
        case Status.STALE:
            return Outcome.STALE
        case Status.REJECTED:
            return Outcome.REJECTED
        case Status.SUPERSEDED:
            return Outcome.EDITED
        case Status.EXPIRED:
            return Outcome.UNSEEN if ended.unseen else Outcome.EXPIRED
        case Status.CANCELLED:
            return Outcome.WITHDRAWN if ended.decided_at is None else Outcome.REVOKED
        case Status.PENDING | Status.APPROVED | Status.EXECUTING | Status.UNKNOWN:
            raise ValueError(f"{ended.status} is no end")
        case _:
            assert_never(ended.status)


def waits_of(ended: Iterable[Ended]) -> Waits | None:
    """Return how long requests waited for a person's answer, None where none was answered.

    A request that was made by an edit and approved by it in the same moment waited for nobody: the
    wait was that of the request it replaced.
    """
    waits = sorted(
        one.decided_at - one.created_at
        for one in ended
        if one.decided_at is not None and one.decided_at > one.created_at
    )
    if not waits:
        return None
    return Waits(len(waits), _percentile(waits, 50), _percentile(waits, 90))


def _percentile(ordered: list[timedelta], percent: int) -> timedelta:
    """Return the smallest wait that so many of a hundred do not exceed."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[rank - 1]
