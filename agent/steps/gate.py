"""A proposed effect meets the code: run now, wait for people, or be refused."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Event, Status, amount_of, move
from agent.domain.audit import AuditType
from agent.domain.breaker import Held
from agent.domain.conversation import ToolCall
from agent.domain.deadlines import EXECUTION_LEASE
from agent.domain.errors import InvalidInput
from agent.domain.escalation import Wait, wakes_at
from agent.domain.ids import ApprovalId, ConversationId, CustomerId, RunId, idempotency_key
from agent.domain.money import Money
from agent.domain.payload import Payload, canonical, payload_hash, proposal_key
from agent.domain.risk import Finding, Park, Reason, Refusal, Refuse
from agent.domain.roles import Channel
from agent.domain.wording import is_for_customer
from agent.steps import ask
from agent.steps import breaker as breaker_step
from agent.steps.alerts import BREAKER_GONE, raise_alert
from agent.steps.escalate import meet_deadline
from agent.steps.execute import carry_out, claim_data
from agent.steps.outcomes import Telling, entered, show, show_chip_in
from agent.steps.results import refused_result, result_for_model
from agent.tools.base import Arguments, Caller
from agent.tools.effects import Bound, Effect, Judged, Reading, customer_of, order_of
from agent.tools.order_facts import Question
from agent.tools.registry import EFFECTS
from storage import approvals, attempts, audit, joins
from storage.breaker import BreakerMissing
from storage.joins import Listener
from storage.transaction import Tx, retried

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A call of a tool with an effect, as it came out of a turn, with who really asks."""

    run_id: RunId
    conversation_id: ConversationId
    customer_id: CustomerId | None
    call: ToolCall
    arguments: Arguments
    model: str


@dataclass(frozen=True, slots=True)
class _Case:
    """A proposal under way: what will be bound, by which effect, and what was read for it."""

    proposed: Proposed
    effect: Effect
    bound: Bound
    reading: Reading
    key: str

    @property
    def amount(self) -> Money | None:
        """Return the amount, None where it is not about money."""
        return amount_of(self.bound.payload)


def propose(desk: Desk, proposed: Proposed) -> Payload:
    """Put a proposal through the gate and return the tool's result for the model.

    A call that went through before (the turn was driven again after a crash) is not judged
    twice: its row is the answer.
    """
    with desk.store.transaction(write=False) as tx:
        before = approvals.by_call(tx, proposed.run_id, proposed.call.call_id)
    if before is not None:
        return result_for_model(before)
    effect = EFFECTS[proposed.call.name]
    caller = Caller(proposed.customer_id, proposed.conversation_id)
    try:
        bound = effect.bind(desk, caller, proposed.arguments)
    except InvalidInput as invalid:
        return refuse(desk, proposed, Refuse(Refusal.INVALID_ARGUMENTS, str(invalid)))
    case = _Case(proposed, effect, bound, effect.read(desk, bound.payload), _key(proposed, bound))
    try:
        outcome = retried(lambda: _judge(desk, case))
    except BreakerMissing as missing:
        return _without_breaker(desk, proposed, str(missing))
    for lane in (Lane.SLACK, Lane.EXECUTE):
        desk.wake(lane)
    if isinstance(outcome, Refuse):
        return refused_result(outcome)
    if outcome.status is Status.PENDING:
        _log_pending(outcome)
    if outcome.status is Status.EXECUTING:
        outcome = carry_out(desk, outcome, in_turn=True)
    return result_for_model(outcome)


def _log_pending(waiting: Approval) -> None:
    log.info(
        "[HITL_PENDING] approval_id=%s tool=%s order=%s amount=%s reasons=%s",
        waiting.id,
        waiting.tool,
        waiting.order_id,
        waiting.amount,
        ",".join(finding.code for finding in waiting.findings),
    )


def refuse(desk: Desk, proposed: Proposed, refusal: Refuse) -> Payload:
    """Write a refusal into the trail and return the tool's result."""
    with desk.store.transaction() as tx:
        _note_refusal(tx, proposed, refusal, desk.clock.now())
    return refused_result(refusal)


def _without_breaker(desk: Desk, proposed: Proposed, problem: str) -> Payload:
    """Refuse, and tell on-call: without the breaker nothing runs and nothing parks."""
    refusal = Refuse(Refusal.STOPPED, "Everything is paused at the moment.")
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        text = f"Nothing can be asked for: {problem}"
        raise_alert(tx, desk, now, BREAKER_GONE, AlertKind.BREAKER_MISSING, {"text": text})
        _note_refusal(tx, proposed, refusal, now)
    desk.wake(Lane.SLACK)
    return refused_result(refusal)


def _judge(desk: Desk, case: _Case) -> Approval | Refuse:
    """Decide in one transaction: switch and breaker locked, then what the effect draws on."""
    proposed = case.proposed
    with desk.store.transaction() as tx:
        switch = breaker_step.lock(tx, desk)
        case.effect.lock(tx, case.reading)
        now = desk.clock.now()
        twin = _waiting_twin(tx, desk, case.key, now)
        if twin is not None:
            _join(tx, desk, proposed, twin, now)
            return twin
        question = Question(
            customer_id=proposed.customer_id,
            conversation_id=proposed.conversation_id,
            proposal_key=case.key,
            besides=None,
            stopped=switch.stopped,
            tool=proposed.call.name,
            order_id=order_of(case.bound.payload),
        )
        judged = case.effect.judge(tx, desk, case.bound, case.reading, question, now)
        if isinstance(judged.verdict, Refuse):
            _note_refusal(tx, proposed, judged.verdict, now)
            return judged.verdict
        return _enter(tx, desk, case, judged, now)


def _key(proposed: Proposed, bound: Bound) -> str:
    """Return the key under which identical proposals meet; a visitor's is refused later."""
    return proposal_key(
        customer_id=proposed.customer_id or "", tool=proposed.call.name, payload=bound.payload
    )


def _enter(tx: Tx, desk: Desk, case: _Case, judged: Judged, now: datetime) -> Approval | Refuse:
    approval_id = ApprovalId(desk.ids.new("apr"))
    row = _row(desk, case, judged, approval_id, now)
    if not row.automatic:
        return _park(tx, desk, row, now)
    # Only money counts in the breaker (design.md §11).
    if row.amount is not None and isinstance(
        breaker_step.admit_refund(tx, desk, approval_id), Held
    ):
        if desk.policy.breaker.when_open == "refuse":
            refusal = Refuse(
                Refusal.BREAKER_OPEN, "Automatic refunds are paused for a moment. Try again soon."
            )
            _note_refusal(tx, case.proposed, refusal, now)
            return refusal
        paused = Finding(Reason.BREAKER_OPEN, "Too many automatic refunds ran in a short time")
        parked = Judged(Park((paused,), row.tier), judged.snapshot)
        return _park(tx, desk, _row(desk, case, parked, approval_id, now), now)
    return _run_now(tx, desk, row, now)


def _park(tx: Tx, desk: Desk, row: Approval, now: datetime) -> Approval:
    approvals.add(tx, row)
    show(tx, desk, row, now, Telling(run=False))
    audit.append(tx, row.run_id, now, entered(row, AuditType.PROPOSAL_PARKED))
    return row


def _run_now(tx: Tx, desk: Desk, row: Approval, now: datetime) -> Approval:
    approvals.add(tx, row)
    attempts.start(tx, row, now)
    claimed = audit.Fact(
        AuditType.EXECUTION_CLAIMED,
        desk.replica,
        Channel.POLICY,
        claim_data(row),
        row.id,
    )
    audit.append(tx, row.run_id, now, entered(row, AuditType.PROPOSAL_ALLOWED), claimed)
    return row


def _row(
    desk: Desk, case: _Case, judged: Judged, approval_id: ApprovalId, now: datetime
) -> Approval:
    """Build the row: pending with findings, or executing when nothing speaks against it."""
    proposed, bound, version = case.proposed, case.bound, desk.policy.version
    verdict = judged.verdict
    findings = verdict.findings if isinstance(verdict, Park) else ()
    automatic = not findings
    status = move(move(None, Event.ALLOW), Event.CLAIM) if automatic else move(None, Event.PARK)
    terms = case.effect.terms(desk.policy, bound.payload)
    lease_until = now + EXECUTION_LEASE if automatic else None
    schedule = desk.policy.escalation.schedule()
    expires_at = schedule.deadline(now, terms.decide_within)
    return Approval(
        id=approval_id,
        run_id=proposed.run_id,
        conversation_id=proposed.conversation_id,
        call_id=proposed.call.call_id,
        customer_id=customer_of(bound.payload) or CustomerId(""),
        tool=proposed.call.name,
        payload_text=canonical(bound.payload),
        payload=bound.payload,
        payload_hash=payload_hash(
            tool=proposed.call.name,
            payload=bound.payload,
            approval_id=approval_id,
            policy_version=version,
        ),
        proposal_key=case.key,
        policy_version=version,
        model=proposed.model,
        confidence=bound.confidence,
        model_reason=bound.reason,
        status=status,
        automatic=automatic,
        findings=findings,
        tier=terms.tier,
        order_id=order_of(bound.payload),
        amount=case.amount,
        original=None,
        snapshot=judged.snapshot,
        idempotency_key=idempotency_key(approval_id),
        created_at=now,
        expires_at=expires_at,
        use_within_s=terms.use_within_s,
        use_by=now + timedelta(seconds=terms.use_within_s) if automatic else None,
        decided_at=now if automatic else None,
        ended_at=None,
        requested_by=f"customer:{proposed.customer_id or 'visitor'}",
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
        looked_at=None,
        alerted=False,
        wake_at=lease_until or wakes_at(Wait(now, expires_at), schedule),
        extra_s=terms.extra_s,
    )


def _waiting_twin(tx: Tx, desk: Desk, key: str, now: datetime) -> Approval | None:
    """Return the identical proposal that still waits; one past its deadline ends here."""
    twin = approvals.pending_twin(tx, key)
    if twin is not None:
        twin = meet_deadline(tx, desk, twin, now)
    return twin if twin is not None and twin.status is Status.PENDING else None


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


def _join(tx: Tx, desk: Desk, proposed: Proposed, twin: Approval, now: datetime) -> None:
    """Let the call wait for the row that is there; another conversation hears the outcome, too."""
    if proposed.conversation_id != twin.conversation_id:
        listener = Listener(proposed.run_id, proposed.call.call_id, proposed.conversation_id)
        joins.add(tx, twin.id, listener)
        if is_for_customer(twin):
            show_chip_in(tx, desk, twin, listener, now)
            ask.repeat_in(tx, desk, twin, listener, now)
    fact = audit.Fact(
        AuditType.PROPOSAL_JOINED,
        proposed.model,
        Channel.POLICY,
        {"call_id": proposed.call.call_id},
        twin.id,
    )
    audit.append(tx, proposed.run_id, now, fact)
