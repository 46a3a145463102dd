"""What stays unknown is settled by a manager who has seen what became of it (design.md §4)."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, EvidenceKind, Status, is_evidence_of
from agent.domain.audit import AuditType
from agent.domain.deadlines import LOOKS_TO_SETTLE, may_settle
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.domain.roles import Role
from agent.domain.wording import request_words
from agent.steps import breaker as breaker_step
from agent.steps import review
from agent.steps.alerts import end_alert, unknown_subject
from agent.steps.execute import effect_of
from agent.steps.outcomes import Telling, show
from agent.steps.permission import Order, Where, permit, proven, refuse
from agent.steps.sweep import look_up
from storage import approvals, attempts, audit
from storage.transaction import Tx

_MIN_REFERENCE = 3


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a person says became of it: `done` or not, with typed evidence.

    `reference` names the record that was seen, such as the provider's id of the refund.
    """

    done: bool
    kind: EvidenceKind
    reference: str


def settle_unknown(
    desk: Desk, approval_id: ApprovalId, settlement: Settlement, order: Order
) -> Approval | Refused:
    """Settle an unknown outcome by a person's word; the outside's own record always wins.

    So the outside is asked once more before the word counts.
    """
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id)
        allowed = _judge(tx, desk, approval, settlement, order)
        if isinstance(allowed, Denial) or approval is None:
            denial = allowed if isinstance(allowed, Denial) else _missing()
            return _refuse(tx, desk, approval, order, denial)
    if look_up(desk, approval).status is not Status.UNKNOWN:
        return _found_meanwhile(desk, approval, order)
    with desk.store.transaction() as tx:
        breaker_step.lock(tx, desk)
        current = approvals.lock(tx, approval_id)
        permitted = _judge(tx, desk, current, settlement, order)
        if isinstance(permitted, Denial):
            return _refuse(tx, desk, current, order, permitted)
        settled = _settle(tx, desk, current, settlement, (permitted, order))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return settled


def _found_meanwhile(desk: Desk, approval: Approval, order: Order) -> Approval | Refused:
    """Return the row as the outside's record settled it; a colleague's word was first, then."""
    with desk.store.transaction() as tx:
        current = approvals.lock(tx, approval.id)
        name = (current.result or {}).get("settled_by")
        if name is None:
            return current
        denial = Denial(RefusalCode.ALREADY_DECIDED, f"{name} has settled it already.")
        return _refuse(tx, desk, current, order, denial)


def _missing() -> Denial:
    return Denial(RefusalCode.NOT_FOUND, "There is no such request.")


def _judge(
    tx: Tx, desk: Desk, approval: Approval | None, settlement: Settlement, order: Order
) -> Entitled | Denial:
    now = desk.clock.now()
    # The evidence is the reason; a note beside it may be empty.
    permitted = permit(tx, order, (Role.REFUND_MANAGER,), now, reason=False)
    if isinstance(permitted, Denial):
        return permitted
    if approval is None:
        return _missing()
    if approval.customer_id in permitted.actor.customer_ids():
        words = "This is your own request; somebody else settles it."
        return Denial(RefusalCode.SELF_APPROVAL, words)
    if approval.status is not Status.UNKNOWN:
        words = f"Nothing is unknown about it: the request is {approval.status}."
        return Denial(RefusalCode.ALREADY_DECIDED, words)
    if len(settlement.reference.strip()) < _MIN_REFERENCE:
        return Denial(RefusalCode.INVALID, "reference: name the record that you have seen.")
    if not is_evidence_of(settlement.kind, approval.tool):
        kind = settlement.kind.value.replace("_", " ")
        return Denial(RefusalCode.INVALID, f"evidence: there is no {kind} of {approval.tool}.")
    return _too_early(approval, now) or permitted


def _too_early(approval: Approval, now: datetime) -> Denial | None:
    """Refuse while the desk can still find out by itself; mail servers cannot be asked at all."""
    if not effect_of(approval).can_look:
        return None
    if may_settle(approval.first_sent_at, approval.clean_looks, now):
        return None
    return Denial(
        RefusalCode.TOO_EARLY,
        f"The desk still asks by itself: it can be settled 23 hours after the first try, and "
        f"after {LOOKS_TO_SETTLE} looks in vain ({approval.clean_looks} so far).",
    )


def _refuse(tx: Tx, desk: Desk, approval: Approval | None, order: Order, denial: Denial) -> Refused:
    where = None if approval is None else Where(approval.id, approval.run_id)
    return refuse(tx, order, "settle", denial, desk.clock.now(), where)


def _settle(
    tx: Tx,
    desk: Desk,
    current: Approval,
    settlement: Settlement,
    by: tuple[Entitled, Order],
) -> Approval:
    now, (permitted, order) = desk.clock.now(), by
    evidence: Payload = {
        "settled_by": permitted.actor.name,
        "evidence": settlement.kind.value,
        "reference": settlement.reference.strip(),
        "note": order.reason.strip(),
    }
    event = Event.SETTLED_DONE if settlement.done else Event.SETTLED_FAILED
    settled = approvals.shift_locked(
        tx, current, event, ended_at=now, wake_at=None, result=evidence
    )
    attempts.end(tx, current, now, "settled", evidence)
    if settled.automatic and settled.amount is not None:
        breaker_step.note_outcome(tx, desk, settled.id, executed=settlement.done)
    what = "went through" if settlement.done else "did not go through"
    words = (
        f"{permitted.actor.name} settled {request_words(settled)}: it {what} "
        f"({settlement.kind.value.replace('_', ' ')}, {settlement.reference.strip()})."
    )
    show(tx, desk, settled, now, Telling())
    review.sample(tx, desk, settled, now)
    end_alert(tx, desk, now, unknown_subject(settled.id), words)
    # Beside what proves the role, which is called evidence too.
    data: Payload = {
        "status": settled.status.value,
        "settlement": evidence,
        **proven(permitted, order),
    }
    fact = audit.Fact(
        AuditType.EXECUTION_SETTLED, permitted.actor.id, order.channel, data, settled.id
    )
    audit.append(tx, settled.run_id, now, fact)
    return settled
