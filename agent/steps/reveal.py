"""A person sees what a channel's card masks, if they may decide; the trail keeps that they did."""

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial, Entitled, own_request
from agent.domain.payload import Payload
from agent.domain.roles import Role
from agent.steps.permission import Order, Where, permit, proven, refuse
from storage import approvals, audit
from storage.transaction import retried

_VERDICT = "reveal"


def reveal(desk: Desk, approval_id: ApprovalId, order: Order, what: str) -> Refused | None:
    """Let somebody who may decide a request see what is masked of it; None when they may.

    `what` names for the trail which part that is, such as `request` or `conversation 3`. It does
    not matter whether the request still waits.
    """
    return retried(lambda: _reveal(desk, approval_id, order, what))


def _reveal(desk: Desk, approval_id: ApprovalId, order: Order, what: str) -> Refused | None:
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id)
        now = desk.clock.now()
        if approval is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such request.")
            return refuse(tx, order, _VERDICT, missing, now)
        roles = (approval.tier.floor(), Role.ONCALL)
        permitted = permit(tx, order, roles, now, reason=False)
        if isinstance(permitted, Entitled):
            permitted = own_request(approval, permitted.actor) or permitted
        if isinstance(permitted, Denial):
            return refuse(tx, order, _VERDICT, permitted, now, Where(approval.id, approval.run_id))
        data: Payload = {"what": what, **proven(permitted, order)}
        fact = audit.Fact(
            AuditType.CARD_REVEALED, permitted.actor.id, order.channel, data, approval.id
        )
        audit.append(tx, approval.run_id, now, fact)
    return None
