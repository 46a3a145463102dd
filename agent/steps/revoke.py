"""A request is taken back by people, before anything of it was claimed."""

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.steps.escalate import meet_deadline
from agent.steps.outcomes import Telling, show
from agent.steps.permission import Order, Where, permit, proven, refuse
from storage import approvals, audit, breaker, conversations
from storage.transaction import Tx, retried


def revoke(desk: Desk, approval_id: ApprovalId, order: Order) -> Approval | Refused:
    """Cancel a request that waits or is approved and not claimed; the reason is for the customer.

    Of one that waits it is a withdrawal in the customer's stead.
    """
    answer = retried(lambda: _take_back(desk, approval_id, order))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def _take_back(desk: Desk, approval_id: ApprovalId, order: Order) -> Approval | Refused:
    with desk.store.transaction() as tx:
        breaker.hold_switch(tx)
        approval = approvals.get(tx, approval_id, lock=True)
        if approval is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such request.")
            return refuse(tx, order, "revoke", missing, desk.clock.now())
        conversations.lock(tx, approval.conversation_id)
        return _revoke(tx, desk, approval, order)


def _revoke(tx: Tx, desk: Desk, approval: Approval, order: Order) -> Approval | Refused:
    now = desk.clock.now()
    approval = meet_deadline(tx, desk, approval, now)
    waits = approval.status is Status.PENDING
    # As a no or an edit: it ends what several may have approved.
    permitted = permit(tx, order, (approval.tier.role,), now)
    if isinstance(permitted, Entitled) and approval.status not in {
        Status.PENDING,
        Status.APPROVED,
    }:
        words = f"Too late: the request is {approval.status}."
        permitted = Denial(RefusalCode.ALREADY_DECIDED, words)
    if isinstance(permitted, Denial):
        return refuse(tx, order, "revoke", permitted, now, Where(approval.id, approval.run_id))
    reason = order.reason.strip()
    result: Payload = {"revoked_by": permitted.actor.name, "reason": reason}
    event = Event.WITHDRAW if waits else Event.REVOKE
    cancelled = approvals.shift_locked(
        tx, approval, event, ended_at=now, wake_at=None, result=result
    )
    show(tx, desk, cancelled, now, Telling(reason=reason))
    data: Payload = {"status": cancelled.status.value, **proven(permitted, order)}
    tag = AuditType.APPROVAL_WITHDRAWN if waits else AuditType.APPROVAL_REVOKED
    fact = audit.Fact(tag, permitted.actor.id, order.channel, data, approval.id)
    audit.append(tx, approval.run_id, now, fact)
    return cancelled
