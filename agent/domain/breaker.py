"""The refund circuit breaker: counts admissions of automatic refunds, not failures.

Window, cooldown and the single trial follow design.md §11. Pure: the row and the count are read
under a lock by the caller, who stores the row that comes back in the same transaction.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from agent.domain.deadlines import EXECUTION_LEASE
from agent.domain.ids import ApprovalId

# A step back of the clock up to this is taken for jitter between replicas.
_CLOCK_SLACK = timedelta(seconds=1)


class BreakerState(StrEnum):
    """Closed lets through, open refuses, half-open has one trial under way."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """`max_refunds` admissions in `window`, then `cooldown`."""

    max_refunds: int
    window: timedelta
    cooldown: timedelta


@dataclass(frozen=True, slots=True)
class Breaker:
    """The stored row. `retry_at` is set while open; the trial's fields while half-open."""

    state: BreakerState
    generation: int
    retry_at: datetime | None
    trial_id: ApprovalId | None
    trial_until: datetime | None
    last_seen: datetime | None
    stopped: bool


@dataclass(frozen=True, slots=True)
class Admitted:
    """The refund may run; `trial` tells whether it is the one trial of a half-open breaker."""

    breaker: Breaker
    trial: bool


@dataclass(frozen=True, slots=True)
class Held:
    """The refund may not run now; `opened` tells whether this very call opened the breaker."""

    breaker: Breaker
    opened: bool
    retry_at: datetime | None


def observe(breaker: Breaker, limits: BreakerLimits, now: datetime) -> tuple[Breaker, bool]:
    """Take note of the time; returns the row as of now and whether the clock stepped back.

    A step back of over a second re-anchors: old admissions belong to an old generation, and an
    open breaker waits a whole cooldown again. A lost trial lease re-opens for a cooldown.
    """
    seen = breaker.last_seen
    if seen is not None and now < seen - _CLOCK_SLACK:
        anchored = replace(breaker, generation=breaker.generation + 1, last_seen=now)
        if breaker.state is not BreakerState.CLOSED:
            anchored = _open(anchored, now, limits)
        return anchored, True
    current = now if seen is None or now > seen else seen
    noted = replace(breaker, last_seen=current)
    lost = noted.trial_until is not None and current >= noted.trial_until
    if noted.state is BreakerState.HALF_OPEN and lost:
        noted = _open(noted, current, limits)
    return noted, False


def admit(
    breaker: Breaker,
    admitted_in_window: int,
    limits: BreakerLimits,
    approval_id: ApprovalId,
    now: datetime,
) -> Admitted | Held:
    """Ask to let one automatic refund through.

    `breaker` comes from `observe`; `admitted_in_window` counts admissions of its generation in
    (now - window, now], trials left out.
    """
    match breaker.state:
        case BreakerState.CLOSED:
            if admitted_in_window < limits.max_refunds:
                return Admitted(breaker, trial=False)
            opened = _open(breaker, now, limits)
            return Held(opened, opened=True, retry_at=opened.retry_at)
        case BreakerState.OPEN:
            if breaker.retry_at is not None and now < breaker.retry_at:
                return Held(breaker, opened=False, retry_at=breaker.retry_at)
            trial = replace(
                breaker,
                state=BreakerState.HALF_OPEN,
                retry_at=None,
                trial_id=approval_id,
                trial_until=now + EXECUTION_LEASE,
            )
            return Admitted(trial, trial=True)
        case BreakerState.HALF_OPEN:
            return Held(breaker, opened=False, retry_at=breaker.trial_until)
        case _:
            assert_never(breaker.state)


def trial_ended(
    breaker: Breaker,
    approval_id: ApprovalId,
    limits: BreakerLimits,
    now: datetime,
    *,
    executed: bool,
) -> Breaker | None:
    """Return the row after the trial's outcome, or None if `approval_id` is not the trial.

    Success closes and starts a new generation; failure or an unknown outcome re-opens for a
    cooldown from now. A result that comes after the trial was given up changes nothing.
    """
    if breaker.state is not BreakerState.HALF_OPEN or breaker.trial_id != approval_id:
        return None
    return _close(breaker) if executed else _open(breaker, now, limits)


def reset(breaker: Breaker) -> Breaker:
    """Close by a person's word; what was admitted before no longer counts."""
    return _close(breaker)


def shown_state(breaker: Breaker, now: datetime) -> BreakerState:
    """Return the state to show: an open breaker whose cooldown is over awaits its trial."""
    ready = breaker.retry_at is not None and now >= breaker.retry_at
    if breaker.state is BreakerState.OPEN and ready:
        return BreakerState.HALF_OPEN
    return breaker.state


def _open(breaker: Breaker, now: datetime, limits: BreakerLimits) -> Breaker:
    return replace(
        breaker,
        state=BreakerState.OPEN,
        retry_at=now + limits.cooldown,
        trial_id=None,
        trial_until=None,
    )


def _close(breaker: Breaker) -> Breaker:
    return replace(
        breaker,
        state=BreakerState.CLOSED,
        generation=breaker.generation + 1,
        retry_at=None,
        trial_id=None,
        trial_until=None,
    )
