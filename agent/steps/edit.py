"""An edit is a new row that supersedes the old one (design.md §9)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.approvals import Approval, Event, Verdict
from agent.domain.audit import AuditType
from agent.domain.decision import Decision, Edited, RefusalCode
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, idempotency_key
from agent.domain.judgement import Counts, Denial
from agent.domain.money import Money
from agent.domain.payload import canonical, payload_hash, proposal_key
from agent.domain.risk import Finding, Reason, RefundFacts, recheck
from agent.domain.roles import Channel, closure, higher_tier, quorum_reached
from agent.steps.facts import OrderReading, Question, gather, read_order, snapshot
from agent.steps.outcomes import Telling, show
from storage import approvals, attempts, audit, decisions
from storage.decisions import Ballot
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class EditReading:
    """What shop and provider say of the order, read before the transaction."""

    order: OrderReading | None


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit under way."""

    approval: Approval
    decision: Decision
    counts: Counts
    ballot: Ballot


def read_for(desk: Desk, decision: Decision) -> EditReading | None:
    """Read the order an edit is about, outside any transaction; None for other verdicts."""
    if decision.verdict is not Verdict.EDIT:
        return None
    try:
        with desk.store.transaction(write=False) as tx:
            approval = approvals.get(tx, decision.approval_id)
    except Corrupt:
        # The transaction of the decision meets the damaged row again and says so.
        return EditReading(None)
    named = None if approval is None else approval.order_id
    order = None if named is None else desk.shop.order(named)
    return EditReading(None if order is None else read_order(desk, order))


def lock(tx: Tx, reading: EditReading | None) -> None:
    """Lock the order's money before the approval, as every step does."""
    if reading is not None and reading.order is not None:
        attempts.lock_order(tx, reading.order.facts)


def edit(tx: Tx, desk: Desk, change: Edit, reading: EditReading | None) -> Edited | Denial:
    """Replace a locked pending row by one with the edited amount, gated like any proposal.

    The new row keeps the deadline and is decided by people. The editor's submit is a vote only if
    the amount is not above the model's own proposal and the editor raised nothing in the chain.
    """
    amount = change.decision.amount
    problem = _problem(change.approval, amount)
    if problem is not None or amount is None:
        return Denial(RefusalCode.INVALID, problem or "amount: is missing.")
    now = desk.clock.now()
    facts = _facts(tx, desk, change.approval, reading, now)
    refusal = recheck(amount, facts)
    if refusal is not None:
        return Denial(RefusalCode.INVALID, f"amount: {refusal.message}")
    new = replace(_draft(desk, change, amount, now), snapshot=snapshot(facts))
    if approvals.pending_twin(tx, new.proposal_key) is not None:
        return Denial(RefusalCode.INVALID, "amount: an identical request is waiting already.")
    return _supersede(tx, desk, change, new)


def approve_now(tx: Tx, approval: Approval, now: datetime) -> Approval:
    """Move a locked pending row to approved, usable for the time its policy gave."""
    return approvals.shift_locked(
        tx,
        approval,
        Event.APPROVE,
        decided_at=now,
        use_by=now + timedelta(seconds=approval.use_within_s),
        wake_at=now,
    )


def _problem(old: Approval, amount: Money | None) -> str | None:
    if amount is None or old.amount is None or amount.currency != old.amount.currency:
        return f"amount: is not of the request's currency ({old.amount})."
    if amount.minor <= 0:
        return "amount: a refund must be more than zero."
    if amount == old.amount:
        return "amount: is the same as before."
    return None


def _facts(
    tx: Tx, desk: Desk, old: Approval, reading: EditReading | None, now: datetime
) -> RefundFacts:
    question = Question(
        customer_id=old.customer_id,
        conversation_id=old.conversation_id,
        proposal_key="",
        besides=old.id,
        stopped=False,
    )
    return gather(tx, desk, None if reading is None else reading.order, question, now)


def _draft(desk: Desk, change: Edit, amount: Money, now: datetime) -> Approval:
    old, editor = change.approval, change.counts.actor
    new_id = ApprovalId(desk.ids.new("apr"))
    payload = old.payload | {"amount": {"minor": amount.minor, "currency": amount.currency}}
    raised = old.amount is not None and amount.exceeds(old.amount)
    words = f"{editor.name} changed the amount from {old.amount} to {amount}"
    version = desk.policy.version
    return replace(
        old,
        id=new_id,
        payload=payload,
        payload_text=canonical(payload),
        payload_hash=payload_hash(
            tool=old.tool, payload=payload, approval_id=new_id, policy_version=version
        ),
        proposal_key=proposal_key(customer_id=old.customer_id, tool=old.tool, payload=payload),
        policy_version=version,
        findings=(Finding(Reason.HUMAN_EDIT, words), *old.findings),
        tier=higher_tier(old.tier, desk.policy.tier_for(amount)),
        amount=amount,
        idempotency_key=idempotency_key(new_id),
        created_at=now,
        supersedes=old.id,
        revision=old.revision + 1,
        edited_by=(*old.edited_by, editor.id),
        raised_by=(*old.raised_by, editor.id) if raised else old.raised_by,
        wake_at=old.expires_at,
    )


def _supersede(tx: Tx, desk: Desk, change: Edit, new: Approval) -> Edited:
    now, editor = new.created_at, change.counts.actor.id
    old = approvals.shift_locked(
        tx,
        change.approval,
        Event.EDIT,
        superseded_by=new.id,
        decided_at=now,
        ended_at=now,
        wake_at=None,
    )
    decisions.add(tx, change.ballot)
    approvals.add(tx, new)
    show(tx, desk, old, now, Telling(run=False))
    show(tx, desk, new, now, Telling(run=False))
    edited = audit.Fact(
        AuditType.APPROVAL_EDITED,
        editor,
        change.decision.channel,
        {
            "original": old.payload,
            "edited": new.payload,
            "payload_hash": new.payload_hash,
            "evidence": change.counts.evidence,
            "reason": change.decision.reason.strip(),
            "new_approval_id": new.id,
        },
        old.id,
    )
    audit.append(tx, old.run_id, now, edited, _bound(new))
    return Edited(_vote_of_editor(tx, desk, change, new), old)


def _vote_of_editor(tx: Tx, desk: Desk, change: Edit, new: Approval) -> Approval:
    """Count the submit as the editor's vote where §9 allows it; return the row as it is then."""
    editor, now = change.counts.actor.id, new.created_at
    if editor in new.raised_by or _above_proposal(new):
        return new
    vote = replace(
        change.ballot.vote,
        id=desk.ids.new("dec"),
        approval_id=new.id,
        verdict=Verdict.APPROVE.value,
    )
    role = new.tier.floor()
    if role not in closure(change.counts.roles):
        return new
    decisions.add(tx, replace(change.ballot, vote=vote, shown_hash=new.payload_hash))
    cast = audit.Fact(
        AuditType.VOTE_CAST,
        editor,
        change.decision.channel,
        {"verdict": "approve", "shown_hash": new.payload_hash, "by": "edit"},
        new.id,
    )
    facts = [cast]
    if quorum_reached(new.tier, decisions.approving(tx, new.id)):
        new = approve_now(tx, new, now)
        show(tx, desk, new, now, Telling(run=False))
        facts.append(
            audit.Fact(
                AuditType.APPROVAL_APPROVED,
                editor,
                change.decision.channel,
                {"payload_hash": new.payload_hash, "status": new.status.value},
                new.id,
            )
        )
    audit.append(tx, new.run_id, now, *facts)
    return new


def _above_proposal(new: Approval) -> bool:
    original, amount = new.original_amount, new.amount
    return original is None or amount is None or amount.exceeds(original)


def _bound(new: Approval) -> audit.Fact:
    return audit.Fact(
        AuditType.PROPOSAL_PARKED,
        "gate",
        Channel.POLICY,
        {
            "tool": new.tool,
            "payload": new.payload,
            "payload_hash": new.payload_hash,
            "policy_version": new.policy_version,
            "reasons": [finding.code.value for finding in new.findings],
            "supersedes": new.supersedes,
        },
        new.id,
    )
