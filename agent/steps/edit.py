"""An edit is a new row that supersedes the old one (design.md §9)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.approvals import Approval, Event, Snapshot, Verdict, amount_of
from agent.domain.audit import AuditType
from agent.domain.decision import Decision, Edited, RefusalCode
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.escalation import Wait, wakes_at
from agent.domain.ids import ApprovalId, idempotency_key
from agent.domain.judgement import Counts, Denial
from agent.domain.payload import Payload, canonical, payload_hash, proposal_key
from agent.domain.risk import Finding, Reason, Refuse
from agent.domain.roles import Actor, Tier, closure, higher_tier, quorum_reached
from agent.domain.wording import edit_for_model
from agent.steps.outcomes import Telling, entered, note_for_run, show
from agent.tools.effects import Reading, order_of, question_about
from agent.tools.registry import EFFECTS
from storage import approvals, attempts, audit, decisions, joins, outbox
from storage.decisions import Ballot
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class Wanted:
    """The edited payload with what was read for it, or why it cannot be."""

    payload: Payload | None = None
    reading: Reading | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Gated:
    """An edited payload that may take the place of the old one, and who would decide it."""

    payload: Payload
    reading: Reading
    key: str
    snapshot: Snapshot | None
    tier: Tier


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit under way."""

    approval: Approval
    decision: Decision
    counts: Counts
    ballot: Ballot


def read_for(desk: Desk, decision: Decision) -> Wanted | None:
    """Work out and read what an edit asks for, outside any transaction; None without an edit."""
    if decision.verdict is not Verdict.EDIT:
        return None
    try:
        with desk.store.transaction(write=False) as tx:
            approval = approvals.get(tx, decision.approval_id)
        if approval is None:
            return Wanted(problem="approval: there is none")
        effect = EFFECTS.get(approval.tool)
        if effect is None:
            return Wanted(problem=f"approval: there is no tool {approval.tool!r}")
        payload = effect.change(desk, approval.payload, decision.edits)
        return Wanted(payload, effect.read(desk, payload))
    except InvalidInput as invalid:
        return Wanted(problem=str(invalid))
    except Corrupt as corrupt:
        # The transaction of the decision meets the damaged row again and says so.
        return Wanted(problem=str(corrupt))


def lock(tx: Tx, wanted: Wanted | None) -> None:
    """Lock what the edited request draws on before the approval, as every step does."""
    if wanted is not None and wanted.reading is not None and wanted.reading.order is not None:
        attempts.lock_order(tx, wanted.reading.order.facts)


def edit(tx: Tx, desk: Desk, change: Edit, wanted: Wanted | None) -> Edited | Denial:
    """Replace a locked pending row by one with the edited payload, gated like any proposal.

    The new row keeps the deadline and is decided by people. The editor's submit is a vote only if
    the change gives away no more than the model's own proposal, to nobody else, and the editor
    raised nothing in the chain.
    """
    # The moment of the vote is that of the new row: so the submit is known among later votes.
    now, old = change.ballot.vote.at, change.approval
    gated = gate_again(tx, desk, old, wanted, now)
    if not isinstance(gated, Gated):
        return gated
    new = _draft(desk, change, gated, now)
    found = EFFECTS[old.tool].weigh(tx, desk, new, gated.reading, question_about(old), now)
    new = replace(new, findings=(*new.findings, *found))
    return _supersede(tx, desk, change, new)


def gate_again(
    tx: Tx, desk: Desk, old: Approval, wanted: Wanted | None, now: datetime
) -> Gated | Denial:
    """Gate an edited payload like any proposal."""
    if wanted is None or wanted.payload is None or wanted.reading is None:
        return Denial(RefusalCode.INVALID, "edits: missing" if wanted is None else wanted.problem)
    effect, payload = EFFECTS[old.tool], wanted.payload
    judged = effect.recheck(tx, desk, payload, wanted.reading, question_about(old), now)
    if isinstance(judged.verdict, Refuse):
        same = order_of(payload) == old.order_id
        where = "edits" if old.amount is None else ("amount" if same else "order_id")
        return Denial(RefusalCode.INVALID, f"{where}: {judged.verdict.message}")
    key = proposal_key(customer_id=old.customer_id, tool=old.tool, payload=payload)
    # Not held: whoever holds it may want this conversation. The unique key is the second line.
    if approvals.waiting_twin(tx, key) is not None:
        return Denial(RefusalCode.INVALID, "edits: an identical request is waiting already.")
    tier = higher_tier(old.tier, effect.terms(desk.policy, payload).tier)
    return Gated(payload, wanted.reading, key, judged.snapshot, tier)


def is_vote(old: Approval, payload: Payload, editor: Actor) -> bool:
    """Tell whether saving an edit may count as the editor's own approval (design.md §9).

    Not where it gives away more than the agent's own proposal, or to somebody else, or where the
    editor has raised anything in the chain.
    """
    effect = EFFECTS[old.tool]
    raises = effect.exceeds(old.payload, payload) or effect.exceeds(old.proposed, payload)
    return not raises and not editor.did(old.raised_by)


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


def _draft(desk: Desk, change: Edit, gated: Gated, now: datetime) -> Approval:
    old, editor, payload = change.approval, change.counts.actor, gated.payload
    effect = EFFECTS[old.tool]
    new_id, version = ApprovalId(desk.ids.new("apr")), desk.policy.version
    words = f"{editor.name} changed {effect.describe_change(old.payload, payload)}"
    raised = effect.exceeds(old.payload, payload)
    terms = effect.terms(desk.policy, payload)
    # What was worth more time before is worth it still, as with its tier.
    extra_s = terms.extra_s if old.extra_s is None else old.extra_s
    return replace(
        old,
        id=new_id,
        payload=payload,
        payload_text=canonical(payload),
        payload_hash=payload_hash(
            tool=old.tool, payload=payload, approval_id=new_id, policy_version=version
        ),
        proposal_key=gated.key,
        policy_version=version,
        findings=(Finding(Reason.HUMAN_EDIT, words),),
        tier=gated.tier,
        order_id=order_of(payload),
        amount=amount_of(payload),
        original=old.proposed,
        snapshot=gated.snapshot,
        idempotency_key=idempotency_key(new_id),
        created_at=now,
        supersedes=old.id,
        revision=old.revision + 1,
        edited_by=(*old.edited_by, editor.id),
        raised_by=(*old.raised_by, editor.id) if raised else old.raised_by,
        # Neither the deadline nor the levels that were reached begin anew.
        waits_since=old.waits_since or old.created_at,
        wake_at=wakes_at(Wait.of(old), desk.policy.escalation.schedule()),
        extra_s=extra_s,
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
    joins.carry(tx, old.id, new.id)
    show(tx, desk, old, now, Telling(run=False))
    show(tx, desk, new, now, Telling(run=False))
    reason = change.decision.reason.strip()
    note = note_for_run(desk, new, f"edit:{new.id}", edit_for_model(new, reason))
    outbox.add(tx, now, note)
    edited = audit.Fact(
        AuditType.APPROVAL_EDITED,
        editor,
        change.decision.channel,
        {
            "status": old.status.value,
            "verdict": Verdict.EDIT.value,
            "shown_hash": change.decision.shown_hash,
            "proposed": new.proposed,
            "original": old.payload,
            "edited": new.payload,
            "payload_hash": new.payload_hash,
            "evidence": change.counts.evidence,
            "identity": str(change.decision.identity),
            "reason": reason,
            "new_approval_id": new.id,
            **change.decision.act,
        },
        old.id,
    )
    audit.append(tx, old.run_id, now, edited, entered(new, AuditType.PROPOSAL_PARKED))
    return Edited(_vote_of_editor(tx, desk, change, new), old)


def _vote_of_editor(tx: Tx, desk: Desk, change: Edit, new: Approval) -> Approval:
    """Count the submit as the editor's vote where §9 allows it; return the row as it is then."""
    editor, now = change.counts.actor.id, new.created_at
    if not is_vote(change.approval, new.payload, change.counts.actor):
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
        {
            "verdict": Verdict.APPROVE.value,
            "shown_hash": new.payload_hash,
            "by": "edit",
            "evidence": change.counts.evidence,
            "identity": str(change.decision.identity),
        },
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
