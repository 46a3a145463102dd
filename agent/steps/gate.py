"""A proposed refund meets the code: run now, wait for people, or be refused."""

import logging
from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Status, move
from agent.domain.audit import AuditType
from agent.domain.breaker import Held
from agent.domain.conversation import ToolCall
from agent.domain.deadlines import EXECUTION_LEASE, is_past
from agent.domain.errors import InvalidInput
from agent.domain.ids import ApprovalId, ConversationId, CustomerId, RunId, idempotency_key
from agent.domain.payload import Payload, canonical, payload_hash, proposal_key
from agent.domain.risk import (
    Finding,
    Park,
    Reason,
    RefundFacts,
    RefundProposal,
    Refusal,
    Refuse,
    RunNow,
    assess,
)
from agent.domain.roles import Channel
from agent.ports import DeliveryKind
from agent.steps import breaker as breaker_step
from agent.steps.execute import carry_out
from agent.steps.expire import expire
from agent.steps.facts import OrderReading, Question, gather, read_order, snapshot
from agent.steps.outcomes import Telling, show, slack_message
from agent.steps.results import refused_result, result_for_model
from agent.tools.base import Caller
from agent.tools.orders import own_order
from agent.tools.refunds import ISSUE_REFUND, IssueRefund, refund_payload, to_proposal
from storage import approvals, attempts, audit, outbox
from storage.breaker import BreakerMissing
from storage.transaction import Tx

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A call of `issue_refund` as it came out of a turn, with who really asks."""

    run_id: RunId
    conversation_id: ConversationId
    customer_id: CustomerId | None
    call: ToolCall
    arguments: IssueRefund
    model: str


@dataclass(frozen=True, slots=True)
class _Bound:
    """A proposal with everything that a row is made of."""

    proposed: Proposed
    proposal: RefundProposal
    customer_id: CustomerId
    payload: Payload
    key: str


def propose(desk: Desk, proposed: Proposed) -> Payload:
    """Put a refund through the gate and return the tool's result for the model.

    A call that went through before (the turn was driven again after a crash) is not judged
    twice: its row is the answer.
    """
    with desk.store.transaction(write=False) as tx:
        before = approvals.by_call(tx, proposed.run_id, proposed.call.call_id)
    if before is not None:
        return result_for_model(before)
    caller = Caller(proposed.customer_id, proposed.conversation_id)
    order = own_order(desk, caller, proposed.arguments.order_id)
    named = proposed.arguments.order_id if order is None else order.id
    try:
        proposal = to_proposal(proposed.arguments, named)
    except InvalidInput as invalid:
        return refuse(desk, proposed, Refuse(Refusal.INVALID_ARGUMENTS, str(invalid)))
    reading = None if order is None else read_order(desk, order)
    try:
        outcome = _judge(desk, proposed, proposal, reading)
    except BreakerMissing as missing:
        return _without_breaker(desk, proposed, str(missing))
    for lane in (Lane.SLACK, Lane.EXECUTE):
        desk.wake(lane)
    if isinstance(outcome, Refuse):
        return refused_result(outcome)
    if outcome.status is Status.PENDING:
        log.info(
            "[HITL_PENDING] approval_id=%s tool=%s order=%s amount=%s reasons=%s",
            outcome.id,
            outcome.tool,
            outcome.order_id,
            outcome.amount,
            ",".join(finding.code for finding in outcome.findings),
        )
    if outcome.status is Status.EXECUTING:
        outcome = carry_out(desk, outcome, in_turn=True)
    return result_for_model(outcome)


def refuse(desk: Desk, proposed: Proposed, refusal: Refuse) -> Payload:
    """Write a refusal into the trail and return the tool's result."""
    with desk.store.transaction() as tx:
        _note_refusal(tx, proposed, refusal, desk.clock.now())
    return refused_result(refusal)


def _without_breaker(desk: Desk, proposed: Proposed, problem: str) -> Payload:
    """Refuse, and tell on-call: without the breaker nothing runs and nothing parks."""
    refusal = Refuse(Refusal.STOPPED, "Refunds are paused at the moment.")
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        text = f"No refund can be asked for: {problem}"
        key = f"breaker_missing:{proposed.run_id}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, {"text": text}))
        _note_refusal(tx, proposed, refusal, now)
    desk.wake(Lane.SLACK)
    return refused_result(refusal)


def _judge(
    desk: Desk, proposed: Proposed, proposal: RefundProposal, reading: OrderReading | None
) -> Approval | Refuse:
    """Decide in one transaction: switch and breaker locked, then the order's money."""
    bound = _bind(proposed, proposal)
    with desk.store.transaction() as tx:
        switch = breaker_step.lock(tx, desk)
        if reading is not None:
            attempts.lock_order(tx, reading.facts)
        now = desk.clock.now()
        twin = _waiting_twin(tx, desk, bound.key, now)
        if twin is not None:
            _note_joined(tx, proposed, twin, now)
            return twin
        question = Question(
            customer_id=proposed.customer_id,
            conversation_id=proposed.conversation_id,
            proposal_key=bound.key,
            besides=None,
            stopped=switch.stopped,
        )
        facts = gather(tx, desk, reading, question, now)
        verdict = assess(proposal, facts, desk.policy)
        if isinstance(verdict, Refuse):
            _note_refusal(tx, proposed, verdict, now)
            return verdict
        return _enter(tx, desk, bound, facts, verdict, now)


def _bind(proposed: Proposed, proposal: RefundProposal) -> _Bound:
    """Return the proposal with its payload; a visitor's has no customer and is refused later."""
    owner = proposed.customer_id or CustomerId("")
    payload = refund_payload(order_id=proposal.order_id, customer_id=owner, amount=proposal.amount)
    key = proposal_key(customer_id=owner, tool=ISSUE_REFUND.name, payload=payload)
    return _Bound(proposed, proposal, owner, payload, key)


def _enter(
    tx: Tx,
    desk: Desk,
    bound: _Bound,
    facts: RefundFacts,
    verdict: RunNow | Park,
    now: datetime,
) -> Approval | Refuse:
    approval_id = ApprovalId(desk.ids.new("apr"))
    if isinstance(verdict, RunNow):
        admission = breaker_step.admit_refund(tx, desk, approval_id)
        if not isinstance(admission, Held):
            return _run_now(tx, desk, _row(desk, bound, facts, approval_id, now, ()), now)
        if desk.policy.breaker.when_open == "refuse":
            refusal = Refuse(
                Refusal.BREAKER_OPEN, "Automatic refunds are paused for a moment. Try again soon."
            )
            _note_refusal(tx, bound.proposed, refusal, now)
            return refusal
        paused = Finding(Reason.BREAKER_OPEN, "Too many automatic refunds ran in a short time")
        verdict = Park((paused,), desk.policy.tier_for(bound.proposal.amount))
    row = _row(desk, bound, facts, approval_id, now, verdict.findings)
    approvals.add(tx, row)
    show(tx, desk, row, now, Telling(run=False))
    audit.append(tx, row.run_id, now, _entered(row, AuditType.PROPOSAL_PARKED))
    return row


def _run_now(tx: Tx, desk: Desk, row: Approval, now: datetime) -> Approval:
    approvals.add(tx, row)
    attempts.start(tx, row, now)
    claimed = audit.Fact(
        AuditType.EXECUTION_CLAIMED,
        desk.replica,
        Channel.POLICY,
        {"attempt": row.attempts, "key": row.idempotency_key},
        row.id,
    )
    audit.append(tx, row.run_id, now, _entered(row, AuditType.PROPOSAL_ALLOWED), claimed)
    return row


def _row(
    desk: Desk,
    bound: _Bound,
    facts: RefundFacts,
    approval_id: ApprovalId,
    now: datetime,
    findings: tuple[Finding, ...],
) -> Approval:
    """Build the row: pending with findings, or executing when nothing speaks against it."""
    proposed, policy = bound.proposed, desk.policy
    automatic = not findings
    status = move(move(None, Event.ALLOW), Event.CLAIM) if automatic else move(None, Event.PARK)
    lease_until = now + EXECUTION_LEASE if automatic else None
    expires_at = now + policy.decide_within()
    return Approval(
        id=approval_id,
        run_id=proposed.run_id,
        conversation_id=proposed.conversation_id,
        call_id=proposed.call.call_id,
        customer_id=bound.customer_id,
        tool=ISSUE_REFUND.name,
        payload_text=canonical(bound.payload),
        payload=bound.payload,
        payload_hash=payload_hash(
            tool=ISSUE_REFUND.name,
            payload=bound.payload,
            approval_id=approval_id,
            policy_version=policy.version,
        ),
        proposal_key=bound.key,
        policy_version=policy.version,
        model=proposed.model,
        confidence=proposed.arguments.confidence,
        model_reason=proposed.arguments.reason,
        status=status,
        automatic=automatic,
        findings=findings,
        tier=policy.tier_for(bound.proposal.amount),
        order_id=bound.proposal.order_id,
        amount=bound.proposal.amount,
        original_amount=bound.proposal.amount,
        snapshot=snapshot(facts),
        idempotency_key=idempotency_key(approval_id),
        created_at=now,
        expires_at=expires_at,
        use_within_s=policy.refunds.use_within_s,
        use_by=now + policy.use_within() if automatic else None,
        decided_at=now if automatic else None,
        ended_at=None,
        requested_by=f"customer:{bound.customer_id}",
        supersedes=None,
        superseded_by=None,
        revision=1,
        edited_by=(),
        raised_by=(),
        attempts=1 if automatic else 0,
        result=None,
        lease_owner=desk.replica if automatic else None,
        lease_until=lease_until,
        first_sent_at=now if automatic else None,
        clean_looks=0,
        alerted=False,
        wake_at=lease_until or expires_at,
    )


def _waiting_twin(tx: Tx, desk: Desk, key: str, now: datetime) -> Approval | None:
    """Return the identical proposal that still waits; one past its deadline ends here."""
    twin = approvals.pending_twin(tx, key)
    if twin is None or not is_past(twin.expires_at, now):
        return twin
    expire(tx, desk, twin, now)
    return None


def _note_refusal(tx: Tx, proposed: Proposed, refusal: Refuse, now: datetime) -> None:
    fact = audit.Fact(
        AuditType.PROPOSAL_REFUSED,
        proposed.model,
        Channel.POLICY,
        {
            "code": refusal.code.value,
            "call_id": proposed.call.call_id,
            "tool": proposed.call.name,
            "arguments": proposed.call.arguments[:2000],
        },
    )
    audit.append(tx, proposed.run_id, now, fact)


def _note_joined(tx: Tx, proposed: Proposed, twin: Approval, now: datetime) -> None:
    fact = audit.Fact(
        AuditType.PROPOSAL_JOINED,
        proposed.model,
        Channel.POLICY,
        {"call_id": proposed.call.call_id},
        twin.id,
    )
    audit.append(tx, proposed.run_id, now, fact)


def _entered(row: Approval, tag: AuditType) -> audit.Fact:
    return audit.Fact(
        tag,
        row.model,
        Channel.POLICY,
        {
            "tool": row.tool,
            "payload": row.payload,
            "payload_hash": row.payload_hash,
            "policy_version": row.policy_version,
            "reasons": [finding.code.value for finding in row.findings],
            "confidence": row.confidence,
            "model_reason": row.model_reason,
        },
        row.id,
    )
