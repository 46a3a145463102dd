"""What lapsed is put before people once more: the same payload, judged and bound anew."""

from dataclasses import replace
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Snapshot, Status, move
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.escalation import Wait, wakes_at
from agent.domain.ids import ApprovalId, idempotency_key
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload, payload_hash
from agent.domain.risk import Finding, Reason, Refuse
from agent.domain.roles import higher_tier
from agent.ports import DeliveryKind
from agent.steps.execute import effect_of
from agent.steps.outcomes import Telling, entered, note_for_run, show, slack_message
from agent.steps.permission import Order, Where, permit, proven, refuse
from agent.tools.effects import Effect, Reading, question_about
from storage import approvals, audit, joins, outbox
from storage.transaction import Tx, retried

_AGAIN = frozenset({Status.STALE, Status.EXPIRED})


def ask_again(desk: Desk, approval_id: ApprovalId, order: Order) -> Approval | Refused:
    """Return a new pending row for what went stale or that nobody decided in time.

    Its payload is the old one, its hash, key, facts, tier and deadline are new, and people decide
    it whatever its amount. A request that is not possible any more is refused with the reason.
    """
    with desk.store.transaction(write=False) as tx:
        seen = approvals.get(tx, approval_id)
    if seen is None:
        with desk.store.transaction() as tx:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such request.")
            return refuse(tx, order, "ask_again", missing, desk.clock.now())
    effect = effect_of(seen)
    reading = effect.read(desk, seen.payload)
    answer = retried(lambda: _ask(desk, seen.id, order, (effect, reading)))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def _ask(
    desk: Desk, approval_id: ApprovalId, order: Order, how: tuple[Effect, Reading]
) -> Approval | Refused:
    effect, reading = how
    with desk.store.transaction() as tx:
        effect.lock(tx, reading)
        old = approvals.lock(tx, approval_id)
        now = desk.clock.now()
        new = _judge(tx, desk, old, order, how, now)
        if isinstance(new, Denial):
            return refuse(tx, order, "ask_again", new, now, Where(old.id, old.run_id))
        row, permitted = new
        _put(tx, desk, old, row, (permitted, order), now)
        return row


def _judge(
    tx: Tx,
    desk: Desk,
    old: Approval,
    order: Order,
    how: tuple[Effect, Reading],
    now: datetime,
) -> tuple[Approval, Entitled] | Denial:
    permitted = permit(tx, order, (old.tier.floor(),), now, reason=False)
    if isinstance(permitted, Denial):
        return permitted
    if old.customer_id in permitted.actor.customer_ids():
        words = "This is your own request; somebody else asks again."
        return Denial(RefusalCode.SELF_APPROVAL, words)
    if old.superseded_by is not None:
        words = f"It was asked again already: {old.superseded_by}."
        return Denial(RefusalCode.SUPERSEDED, words)
    if old.status not in _AGAIN:
        words = f"Only what is stale or expired is asked again; this is {old.status}."
        return Denial(RefusalCode.INVALID, words)
    waiting = approvals.waiting_twin(tx, old.proposal_key)
    if waiting is not None:
        words = f"An identical request is waiting already: {waiting}."
        return Denial(RefusalCode.INVALID, words)
    since = approvals.twin_since(tx, old.proposal_key, old.id)
    if since is not None:
        words = f"An identical request has been decided since: {since[0]} is {since[1]}."
        return Denial(RefusalCode.INVALID, words)
    effect, reading = how
    question = question_about(old)
    judged = effect.recheck(tx, desk, old.payload, reading, question, now)
    if isinstance(judged.verdict, Refuse):
        return Denial(RefusalCode.INVALID, f"Not possible any more: {judged.verdict.message}")
    row = _row(desk, old, effect, judged.snapshot, permitted, now)
    # What the model had left unclear is unclear still.
    found = effect.weigh(tx, desk, replace(row, findings=old.findings), reading, question, now)
    return replace(row, findings=(*row.findings, *found)), permitted


def _row(
    desk: Desk,
    old: Approval,
    effect: Effect,
    snapshot: Snapshot | None,
    by: Entitled,
    now: datetime,
) -> Approval:
    new_id, version = ApprovalId(desk.ids.new("apr")), desk.policy.version
    terms = effect.terms(desk.policy, old.payload)
    schedule = desk.policy.escalation.schedule()
    expires_at = schedule.deadline(now, terms.decide_within)
    went = "expired" if old.status is Status.EXPIRED else "went stale"
    words = f"{by.actor.name} asked again after it {went}"
    # What people had changed stays said; everything else is found anew.
    edits = tuple(f for f in old.findings if f.code is Reason.HUMAN_EDIT)
    return replace(
        old,
        id=new_id,
        payload_hash=payload_hash(
            tool=old.tool, payload=old.payload, approval_id=new_id, policy_version=version
        ),
        policy_version=version,
        status=move(None, Event.PARK),
        automatic=False,
        findings=(Finding(Reason.ASKED_AGAIN, words), *edits),
        tier=higher_tier(old.tier, terms.tier),
        snapshot=snapshot,
        idempotency_key=idempotency_key(new_id),
        created_at=now,
        expires_at=expires_at,
        use_within_s=terms.use_within_s,
        use_by=None,
        decided_at=None,
        ended_at=None,
        supersedes=old.id,
        revision=old.revision + 1,
        attempts=0,
        result=None,
        lease_owner=None,
        lease_until=None,
        first_sent_at=None,
        clean_looks=0,
        looked_at=None,
        alerted=False,
        wake_at=wakes_at(Wait(now, expires_at), schedule),
        shown_at=None,
        pinged=0,
        escalations=0,
        taken_by=None,
        taken_at=None,
        waits_since=None,
        extra_s=terms.extra_s,
    )


def _put(
    tx: Tx,
    desk: Desk,
    old: Approval,
    new: Approval,
    by: tuple[Entitled, Order],
    now: datetime,
) -> None:
    permitted, order = by
    approvals.shift_locked(tx, old, None, superseded_by=new.id)
    approvals.add(tx, new)
    joins.carry(tx, old.id, new.id)
    show(tx, desk, new, now, Telling(run=False))
    update = slack_message(desk, DeliveryKind.CARD_UPDATE, f"card_update:{old.id}:again", {}, old)
    told: Payload = {"event": "asked_again", "approval_id": new.id, "instead_of": old.id}
    outbox.add(tx, now, update, note_for_run(desk, new, f"again:{new.id}", told))
    data: Payload = {
        "status": old.status.value,
        "new_approval_id": new.id,
        **proven(permitted, order),
    }
    fact = audit.Fact(
        AuditType.APPROVAL_ASKED_AGAIN, permitted.actor.id, order.channel, data, old.id
    )
    audit.append(tx, old.run_id, now, fact, entered(new, AuditType.PROPOSAL_PARKED))
