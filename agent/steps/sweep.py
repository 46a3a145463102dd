"""What time and crashes left behind is tidied: deadlines, lost leases, unknown outcomes."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import (
    EXECUTION_LEASE,
    REPLICA_SILENT,
    UNKNOWN_ALERT_AFTER,
    is_another_look,
    may_resend,
    next_look,
)
from agent.domain.errors import Corrupt
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.domain.wording import request_words
from agent.ports import NoClearAnswer
from agent.steps import breaker as breaker_step
from agent.steps.alerts import raise_alert, unknown_subject
from agent.steps.escalate import wake
from agent.steps.execute import carry_out, claim_data, effect_of, report_corrupt, settle
from agent.steps.finish import finish
from agent.steps.outcomes import Telling, show
from agent.steps.remind_attend import remind_attend
from agent.steps.repeat import forget_answers
from agent.tools.effects import EffectAnswer, Recorded
from storage import approvals, attempts, audit, breaker, clicks, deliveries, heartbeats, runs
from storage.transaction import Tx

log = logging.getLogger(__name__)

_FOLLOW_UP = timedelta(hours=1)
_KEEP_ADMISSIONS = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Swept:
    """How many rows were looked at: that wait, lost their lease, or are unknown or unfinished."""

    waiting: int
    lost: int
    looked_up: int


def sweep(desk: Desk) -> Swept:
    """Do all that is due; each row in its own transaction, so one bad row holds up no other."""
    release_dead(desk)
    forget_answers(desk)
    return Swept(
        waiting=_each(desk, _wake_next) + _each(desk, remind_attend),
        lost=_each(desk, _lose_next),
        looked_up=_each(desk, _look_up_next) + _each(desk, _follow_up_next),
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
            deliveries.release(tx, owner, now)
            clicks.release(tx, owner, now)
    for lane in (Lane.TURN, Lane.SLACK, Lane.CLICK):
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


def _wake_next(desk: Desk) -> bool:
    """Do what is due about a request that waits: bring it up again, or meet its deadline."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        approval = approvals.take_due(tx, Status.PENDING, now)
        if approval is None:
            return False
        wake(tx, desk, approval, now)
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
        if lost.automatic and lost.amount is not None:
            breaker_step.note_outcome(tx, desk, lost.id, executed=False)
        # After a try that was unclear it was unknown before.
        again = not attempts.is_unsent(tx, approval)
        show(tx, desk, lost, now, Telling(run=False, quiet=again))
        data: Payload = {
            "status": lost.status.value,
            "attempt": lost.attempts,
            "problem": "lease lost",
            "lease_owner": approval.lease_owner,
        }
        fact = audit.Fact(AuditType.EXECUTION_UNKNOWN, desk.replica, Channel.TIMER, data, lost.id)
        audit.append(tx, lost.run_id, now, fact)
        return True


def _look_up_next(desk: Desk) -> bool:
    """Ask the outside about an unknown row; re-send the same bytes only when provably absent."""
    with desk.store.transaction() as tx:
        approval = approvals.take_due(tx, Status.UNKNOWN, desk.clock.now())
    if approval is None:
        return False
    look_up(desk, approval)
    return True


def look_up(desk: Desk, approval: Approval) -> Approval:
    """Ask the outside what became of a row, settle it by the answer, and return it as it is then.

    Inside the safe window what is provably absent is sent again, with the same key and bytes.
    """
    found = effect_of(approval).look(desk, approval)
    if found is not None and not isinstance(found, NoClearAnswer):
        settled = settle(desk, approval, found, in_turn=False)
        if settled.status is not Status.UNKNOWN:
            return settled
        # Something happened to the payment, but nobody can say what: look again later.
    current, resent = _look_again_later(desk, approval, absent=found is None)
    return carry_out(desk, current, in_turn=False) if resent else current


def _follow_up_next(desk: Desk) -> bool:
    """Ask again about a refund that the provider had accepted but not finished."""
    with desk.store.transaction() as tx:
        approval = approvals.take_due(tx, Status.EXECUTED, desk.clock.now())
    if approval is None:
        return False
    found = effect_of(approval).look(desk, approval)
    if isinstance(found, Recorded) and found.done and found.settled:
        _keep(desk, approval, found.record, None)
    elif found is None or isinstance(found, NoClearAnswer) or _is_pending(found):
        _keep(desk, approval, None, desk.clock.now() + _FOLLOW_UP)
    else:
        settle(desk, approval, found, in_turn=False)
        # What contradicts the row was told to on-call, and is not asked for again.
        _keep(desk, approval, None, None)
    return True


def _is_pending(found: EffectAnswer) -> bool:
    return isinstance(found, Recorded) and found.done


def _keep(desk: Desk, approval: Approval, record: Payload | None, wake_at: datetime | None) -> None:
    """Leave the row done, and note what is new about it and when to ask again."""
    with desk.store.transaction() as tx:
        current = approvals.lock(tx, approval.id)
        if current.status is Status.EXECUTED:
            if record is None:
                approvals.shift_locked(tx, current, None, wake_at=wake_at)
            else:
                finish(tx, desk, current, record, desk.clock.now())


def _look_again_later(desk: Desk, approval: Approval, *, absent: bool) -> tuple[Approval, bool]:
    """Re-claim what is provably absent inside the safe window; else note when to look again."""
    with desk.store.transaction() as tx:
        stopped = breaker_step.lock(tx, desk).stopped
        current = approvals.lock(tx, approval.id)
        now = desk.clock.now()
        if current.status is not Status.UNKNOWN:
            # A late answer settled it while the outside was asked.
            return current, False
        current = _alarm(tx, desk, current, now)
        # Sent again since the book was read: what was read then proves nothing now.
        absent = absent and current.attempts == approval.attempts
        if absent and is_another_look(current.looked_at, now):
            current = approvals.shift_locked(
                tx, current, None, clean_looks=current.clean_looks + 1, looked_at=now
            )
        if absent and not stopped and may_resend(current.first_sent_at, now):
            return _resend(tx, desk, current, now), True
        wait = next_look(current.first_sent_at, now, jitter=desk.ids.jitter())
        return approvals.shift_locked(tx, current, None, wake_at=now + wait), False


def _resend(tx: Tx, desk: Desk, current: Approval, now: datetime) -> Approval:
    resent = approvals.shift_locked(
        tx,
        current,
        Event.RESEND,
        attempts=current.attempts + 1,
        # What was looked up before this try says nothing of what it leads to.
        clean_looks=0,
        looked_at=now,
        lease_owner=desk.replica,
        lease_until=now + EXECUTION_LEASE,
        wake_at=now + EXECUTION_LEASE,
    )
    attempts.start(tx, resent, now)
    data = claim_data(resent)
    fact = audit.Fact(AuditType.EXECUTION_CLAIMED, desk.replica, Channel.TIMER, data, resent.id)
    audit.append(tx, resent.run_id, now, fact)
    return resent


def _alarm(tx: Tx, desk: Desk, current: Approval, now: datetime) -> Approval:
    """Tell on-call once about an effect that has been unknown for too long."""
    first = current.first_sent_at
    if current.alerted or first is None or now - first < UNKNOWN_ALERT_AFTER:
        return current
    text = (
        f"{request_words(current)} is still unknown after 5 minutes: nobody can say yet whether "
        "it went through. It is not sent under another key"
    )
    text += "." if current.amount is None else ", and keeps the order's money reserved."
    subject = unknown_subject(current.id)
    raise_alert(tx, desk, now, subject, AlertKind.UNKNOWN_OUTCOME, {"text": text}, current)
    return approvals.shift_locked(tx, current, None, alerted=True)
