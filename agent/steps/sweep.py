"""What time and crashes left behind is tidied: deadlines, lost leases, unknown outcomes."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import (
    EXECUTION_LEASE,
    REPLICA_SILENT,
    UNKNOWN_ALERT_AFTER,
    backoff,
    may_resend,
)
from agent.domain.errors import Corrupt
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import DeliveryKind, NoClearAnswer
from agent.steps import breaker as breaker_step
from agent.steps.execute import carry_out, report_corrupt, request_of, settle
from agent.steps.expire import expire
from agent.steps.outcomes import Telling, show, slack_message
from storage import approvals, attempts, audit, breaker, heartbeats, outbox, runs
from storage.transaction import Tx

log = logging.getLogger(__name__)

_LOOK_BASE = timedelta(seconds=5)
_KEEP_ADMISSIONS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Swept:
    """How much was tidied."""

    expired: int
    lost: int
    looked_up: int


def sweep(desk: Desk) -> Swept:
    """Do all that is due; each row in its own transaction, so one bad row holds up no other."""
    release_dead(desk)
    return Swept(
        expired=_each(desk, _expire_next),
        lost=_each(desk, _lose_next),
        looked_up=_each(desk, _look_up_next),
    )


def release_dead(desk: Desk) -> None:
    """Take the leases of replicas that gave no sign of life; an old admission is forgotten."""
    now = desk.clock.now()
    with desk.store.transaction() as tx:
        breaker.forget_admissions(tx, now - _KEEP_ADMISSIONS)
        dead = [
            owner
            for owner in heartbeats.dead_owners(tx, now - REPLICA_SILENT, now)
            if owner != desk.replica
        ]
    for owner in dead:
        # Approvals and conversations in transactions of their own: elsewhere a conversation is
        # locked after the approval, and two orders of locking would wait for each other.
        with desk.store.transaction() as tx:
            approvals.release_leases(tx, owner, now)
        with desk.store.transaction() as tx:
            runs.release_owner(tx, owner)
        with desk.store.transaction() as tx:
            outbox.release(tx, owner, now)
    for lane in (Lane.TURN, Lane.SLACK):
        desk.wake(lane)


def _each(desk: Desk, work_on_next: Callable[[Desk], bool]) -> int:
    done = 0
    while _worked(desk, work_on_next):
        done += 1
    if done:
        for lane in (Lane.SLACK, Lane.TURN):
            desk.wake(lane)
    return done


def _worked(desk: Desk, work_on_next: Callable[[Desk], bool]) -> bool:
    """Work on one row; one that does not validate is taken off the list and reported."""
    try:
        return work_on_next(desk)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return True


def _expire_next(desk: Desk) -> bool:
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        approval = approvals.take_due(tx, Status.PENDING, now)
        if approval is None:
            return False
        expire(tx, desk, approval, now)
        return True


def _lose_next(desk: Desk) -> bool:
    """Make an execution whose lease ran out unknown, so that the provider is asked next."""
    with desk.store.transaction() as tx:
        breaker_step.lock(tx, desk)
        now = desk.clock.now()
        approval = approvals.take_due(tx, Status.EXECUTING, now)
        if approval is None:
            return False
        lost = approvals.shift_locked(
            tx, approval, Event.SILENCE, lease_owner=None, lease_until=None, wake_at=now
        )
        attempts.end(tx, approval, now, "lost", {"problem": "lease lost"})
        if lost.automatic:
            breaker_step.note_outcome(tx, desk, lost.id, executed=False)
        show(tx, desk, lost, now, Telling(run=False))
        data: Payload = {"problem": "lease lost", "lease_owner": approval.lease_owner}
        fact = audit.Fact(AuditType.EXECUTION_UNKNOWN, desk.replica, Channel.TIMER, data, lost.id)
        audit.append(tx, lost.run_id, now, fact)
        return True


def _look_up_next(desk: Desk) -> bool:
    """Ask the provider about an unknown row; re-send the same bytes only when provably absent."""
    with desk.store.transaction() as tx:
        approval = approvals.take_due(tx, Status.UNKNOWN, desk.clock.now())
    if approval is None:
        return False
    found = desk.payments.find(request_of(approval))
    if found is not None and not isinstance(found, NoClearAnswer):
        settle(desk, approval, found, in_turn=False)
        return True
    resent = _look_again_later(desk, approval, absent=found is None)
    if resent is not None:
        carry_out(desk, resent, in_turn=False)
    return True


def _look_again_later(desk: Desk, approval: Approval, *, absent: bool) -> Approval | None:
    """Re-claim a provably absent refund inside the safe window; else note when to look again."""
    with desk.store.transaction() as tx:
        stopped = breaker_step.lock(tx, desk).stopped
        current = approvals.lock(tx, approval.id)
        now = desk.clock.now()
        if current.status is not Status.UNKNOWN:
            # A late answer settled it while the provider was asked.
            return None
        current = _alarm(tx, desk, current, now)
        # Sent again since the book was read: what was read then proves nothing now.
        absent = absent and current.attempts == approval.attempts
        if absent and not stopped and may_resend(current.first_sent_at, now):
            resent = approvals.shift_locked(
                tx,
                current,
                Event.RESEND,
                attempts=current.attempts + 1,
                lease_owner=desk.replica,
                lease_until=now + EXECUTION_LEASE,
                wake_at=now + EXECUTION_LEASE,
            )
            attempts.start(tx, resent, now)
            data: Payload = {"attempt": resent.attempts, "key": resent.idempotency_key}
            fact = audit.Fact(
                AuditType.EXECUTION_CLAIMED, desk.replica, Channel.TIMER, data, resent.id
            )
            audit.append(tx, resent.run_id, now, fact)
            return resent
        looks = current.clean_looks + (1 if absent else 0)
        wait = backoff(looks + current.attempts, base=_LOOK_BASE, jitter=desk.ids.jitter())
        approvals.shift_locked(
            tx,
            current,
            None,
            clean_looks=looks,
            wake_at=now + wait,
        )
        return None


def _alarm(tx: Tx, desk: Desk, current: Approval, now: datetime) -> Approval:
    """Tell on-call once about a refund that has been unknown for too long."""
    first = current.first_sent_at
    if current.alerted or first is None or now - first < UNKNOWN_ALERT_AFTER:
        return current
    text = (
        f"Refund {current.id} on order {current.order_id} is still unknown after "
        "5 minutes; the provider gives no clear answer."
    )
    key = f"unknown:{current.id}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, {"text": text}, current))
    return approvals.shift_locked(tx, current, None, alerted=True)
