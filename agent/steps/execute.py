"""The stored payload is carried out once, and the outcome written down honestly (design.md §8)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import EXECUTION_LEASE, FACTS_MAX_AGE, backoff, is_past
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.judgement import hash_shown
from agent.domain.payload import Payload
from agent.domain.risk import recheck
from agent.domain.roles import Channel, higher_tier
from agent.ports import (
    Accepted,
    Declined,
    DeliveryKind,
    NoClearAnswer,
    NotStarted,
    PaymentAnswer,
    ProviderStatus,
    RefundRequest,
)
from agent.steps import breaker as breaker_step
from agent.steps.facts import OrderReading, Question, gather, read_order, without_own_refund
from agent.steps.outcomes import Telling, show, slack_message
from agent.tools.refunds import read_refund_payload
from storage import approvals, attempts, audit, outbox
from storage.transaction import Tx

_RETRY_BASE = timedelta(seconds=2)
_LOOK_BASE = timedelta(seconds=5)


def execute_due(desk: Desk) -> bool:
    """Take up the approved row that is due first; False when none was, or none may run now."""
    try:
        with desk.store.transaction() as tx:
            waiting = approvals.take_due(tx, Status.APPROVED, desk.clock.now())
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return True
    return waiting is not None and execute(desk, waiting.id) is not None


def execute(desk: Desk, approval_id: ApprovalId) -> Approval | None:
    """Claim one approved row, pay, and settle it; None when it may not run now.

    The provider is called outside any transaction, and only after the claim is committed.
    """
    try:
        reading = _read(desk, approval_id)
        claim = _claim(desk, approval_id, reading)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return None
    if claim is None or not claim.is_mine:
        return None if claim is None else claim.approval
    return carry_out(desk, claim.approval, in_turn=False)


def carry_out(desk: Desk, claimed: Approval, *, in_turn: bool) -> Approval:
    """Send the stored request of a claimed row and settle the answer.

    `in_turn` says that the turn under way tells the model itself.
    """
    answer = desk.payments.refund(request_of(claimed))
    return settle(desk, claimed, answer, in_turn=in_turn)


def request_of(approval: Approval) -> RefundRequest:
    """Return the frozen request, read from the stored payload; raises Corrupt if it cannot be.

    The bytes must still be those that were bound, at the first try and at every later one.
    """
    if not hash_shown(approval, approval.payload_hash):
        raise Corrupt(approval.id, "the payload does not match its hash")
    try:
        order_id, amount = read_refund_payload(approval.payload_text)
    except InvalidInput as invalid:
        raise Corrupt(approval.id, str(invalid)) from invalid
    return RefundRequest(approval.idempotency_key, approval.id, order_id, amount)


def settle(desk: Desk, claimed: Approval, answer: PaymentAnswer, *, in_turn: bool) -> Approval:
    """Write the provider's answer down; a late definite answer settles an unknown row too."""
    with desk.store.transaction() as tx:
        if claimed.automatic:
            breaker_step.lock(tx, desk)
        current = approvals.lock(tx, claimed.id)
        now = desk.clock.now()
        ending = _ending(claimed, current, answer, now, desk.ids.jitter())
        attempts.end(tx, claimed, now, ending.outcome, ending.answer)
        moved = _move(tx, current, ending, now)
        if moved is None:
            return current
        if moved.automatic and moved.status in {Status.EXECUTED, Status.FAILED, Status.UNKNOWN}:
            executed = moved.status is Status.EXECUTED
            breaker_step.note_outcome(tx, desk, moved.id, executed=executed)
        show(tx, desk, moved, now, Telling(run=not in_turn))
        fact = audit.Fact(ending.tag, desk.replica, Channel.TIMER, ending.answer, moved.id)
        audit.append(tx, moved.run_id, now, fact)
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return moved


def report_corrupt(desk: Desk, corrupt: Corrupt) -> None:
    """Tell on-call and the trail about a stored row that must not run; its status stays."""
    approval_id = ApprovalId(corrupt.approval_id)
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        problem: Payload = {"problem": str(corrupt)}
        fact = audit.Fact(
            AuditType.APPROVAL_CORRUPT, desk.replica, Channel.TIMER, problem, approval_id
        )
        audit.append(tx, None, now, fact)
        text = f"A stored request does not validate and will not run: {corrupt}"
        key = f"corrupt:{approval_id}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, {"text": text}))
        approvals.set_aside(tx, approval_id)
    desk.wake(Lane.SLACK)


@dataclass(frozen=True, slots=True)
class _Ending:
    """What an answer makes of a row; `event` is None when the row stays as it is."""

    event: Event | None
    tag: AuditType
    outcome: str
    answer: Payload
    wake_at: datetime | None = None


def _ending(
    claimed: Approval, current: Approval, answer: PaymentAnswer, now: datetime, jitter: float
) -> _Ending:
    executing = current.status is Status.EXECUTING and current.attempts == claimed.attempts
    open_still = executing or current.status in {Status.UNKNOWN, Status.EXECUTING}
    match answer:
        case Accepted(refund=refund, replayed=replayed):
            done = refund.status is not ProviderStatus.FAILED
            data: Payload = {
                "refund_id": refund.id,
                "provider_status": refund.status.value,
                "replayed": replayed,
            }
            event = _definite(current, done=done) if open_still else None
            return _Ending(event, AuditType.EXECUTION_ENDED, "accepted", data)
        case Declined(code=code, message=message):
            event = _definite(current, done=False) if open_still else None
            declined: Payload = {"code": code, "message": message}
            return _Ending(event, AuditType.EXECUTION_ENDED, "declined", declined)
        case NotStarted(problem=problem):
            first = executing and current.attempts == 1
            wait = backoff(claimed.attempts, base=_RETRY_BASE, jitter=jitter)
            return _Ending(
                Event.NOT_STARTED if first else (Event.SILENCE if executing else None),
                AuditType.EXECUTION_RETURNED if first else AuditType.EXECUTION_UNKNOWN,
                "not_started",
                {"problem": problem},
                now + wait,
            )
        case NoClearAnswer(problem=problem):
            wait = backoff(claimed.attempts, base=_LOOK_BASE, jitter=jitter)
            return _Ending(
                Event.SILENCE if executing else None,
                AuditType.EXECUTION_UNKNOWN,
                "unclear",
                {"problem": problem},
                now + wait,
            )
        case _:
            assert_never(answer)


def _definite(current: Approval, *, done: bool) -> Event:
    if current.status is Status.EXECUTING:
        return Event.PROVIDER_YES if done else Event.PROVIDER_NO
    return Event.FOUND_DONE if done else Event.FOUND_FAILED


def _move(tx: Tx, current: Approval, ending: _Ending, now: datetime) -> Approval | None:
    if ending.event is None:
        return None
    over = ending.wake_at is None
    return approvals.shift_locked(
        tx,
        current,
        ending.event,
        ended_at=now if over else None,
        result=ending.answer if over else current.result,
        lease_owner=None,
        lease_until=None,
        wake_at=ending.wake_at,
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """A row after the claim; `is_mine` says that this process may now pay."""

    approval: Approval
    is_mine: bool


def _read(desk: Desk, approval_id: ApprovalId) -> OrderReading | None:
    with desk.store.transaction() as tx:
        approval = approvals.lock(tx, approval_id)
    request = request_of(approval)
    order = desk.shop.order(request.order_id)
    if order is None:
        return None
    return without_own_refund(read_order(desk, order), request.key, request.amount)


def _claim(desk: Desk, approval_id: ApprovalId, reading: OrderReading | None) -> _Claim | None:
    with desk.store.transaction() as tx:
        stopped = breaker_step.lock(tx, desk).stopped
        if reading is not None:
            attempts.lock_order(tx, reading.facts)
        approval = approvals.lock(tx, approval_id)
        now = desk.clock.now()
        if approval.status is not Status.APPROVED:
            return _Claim(approval, is_mine=False)
        old = reading is not None and now - reading.facts.read_at > FACTS_MAX_AGE
        if stopped or old:
            return None
        problem = _stale(tx, desk, approval, reading, now)
        if problem is not None:
            return _Claim(_make_stale(tx, desk, approval, problem, now), is_mine=False)
        return _Claim(_begin(tx, desk, approval, now), is_mine=True)


def _begin(tx: Tx, desk: Desk, approval: Approval, now: datetime) -> Approval:
    claimed = approvals.shift_locked(
        tx,
        approval,
        Event.CLAIM,
        attempts=approval.attempts + 1,
        lease_owner=desk.replica,
        lease_until=now + EXECUTION_LEASE,
        first_sent_at=approval.first_sent_at or now,
        wake_at=now + EXECUTION_LEASE,
    )
    attempts.start(tx, claimed, now)
    data: Payload = {"attempt": claimed.attempts, "key": claimed.idempotency_key}
    fact = audit.Fact(AuditType.EXECUTION_CLAIMED, desk.replica, Channel.TIMER, data, claimed.id)
    audit.append(tx, claimed.run_id, now, fact)
    return claimed


def _stale(
    tx: Tx, desk: Desk, approval: Approval, reading: OrderReading | None, now: datetime
) -> str | None:
    """Return why the approved payload may not run any more, None when it may."""
    if approval.use_by is not None and is_past(approval.use_by, now):
        return "It was approved too long ago."
    amount = request_of(approval).amount
    question = Question(
        customer_id=approval.customer_id,
        conversation_id=approval.conversation_id,
        proposal_key="",
        besides=approval.id,
        stopped=False,
    )
    refusal = recheck(amount, gather(tx, desk, reading, question, now))
    if refusal is not None:
        return refusal.message
    demanded = desk.policy.tier_for(amount)
    if not approval.automatic and higher_tier(approval.tier, demanded) != approval.tier:
        return f"The policy now asks for {demanded.approvals_needed} x {demanded.role}."
    return None


def _make_stale(tx: Tx, desk: Desk, approval: Approval, problem: str, now: datetime) -> Approval:
    stale = approvals.shift_locked(
        tx,
        approval,
        Event.RECHECK_FAILS,
        ended_at=now,
        wake_at=None,
        result={"problem": problem},
    )
    show(tx, desk, stale, now, Telling(reason=problem))
    fact = audit.Fact(
        AuditType.APPROVAL_STALE, desk.replica, Channel.TIMER, {"problem": problem}, stale.id
    )
    audit.append(tx, stale.run_id, now, fact)
    return stale
