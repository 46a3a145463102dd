"""A pending approval whose deadline has passed ends, whoever touches it first."""

from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import Approval, Event
from agent.domain.audit import AuditType
from agent.domain.deadlines import is_past
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps.outcomes import Telling, show
from storage import approvals, audit
from storage.transaction import Tx


def expire(tx: Tx, desk: Desk, approval: Approval, now: datetime) -> Approval:
    """End a locked pending row as `expired`: nobody decided in time, which is not a denial.

    Where no card of it was there in time nobody in Slack could have decided: that is `unseen`.
    """
    shown_at = approval.shown_at
    seen = shown_at is not None and not is_past(approval.expires_at, shown_at)
    unseen: Payload = {} if seen else {"unseen": True}
    expired = approvals.shift_locked(
        tx, approval, Event.DEADLINE, ended_at=now, wake_at=None, result=unseen or None
    )
    show(tx, desk, expired, now, Telling())
    fact = audit.Fact(
        AuditType.APPROVAL_EXPIRED,
        "timer",
        Channel.TIMER,
        {"status": expired.status.value, "expires_at": approval.expires_at.isoformat(), **unseen},
        approval.id,
    )
    audit.append(tx, approval.run_id, now, fact)
    return expired
