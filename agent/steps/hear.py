"""The provider speaks first: an event makes the desk look the refund up again."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import NoClearAnswer
from agent.steps.execute import effect_of, report_corrupt, settle
from storage import approvals, audit, webhooks
from storage.transaction import Conflict

# A definite answer can still change something about these.
_OPEN_TO_NEWS = frozenset({Status.EXECUTING, Status.UNKNOWN, Status.EXECUTED})


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """An event of the provider, its signature checked; `approval_id` is None for a stranger's.

    What it says of the refund is not trusted: events come twice, late and in any order.
    """

    id: str
    type: str
    approval_id: ApprovalId | None


def hear(desk: Desk, event: ProviderEvent) -> bool:
    """Ask the provider about the refund of an event and settle it; False for a repeat.

    The event is stored last: after a crash the provider sends it again, and nothing is missed.
    """
    approval: Approval | None = None
    try:
        with desk.store.transaction(write=False) as tx:
            if webhooks.is_known(tx, event.id):
                return False
            named = event.approval_id
            approval = None if named is None else approvals.get(tx, named)
        if approval is not None and approval.status in _OPEN_TO_NEWS:
            _look(desk, approval)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
    return _keep(desk, event, approval, desk.clock.now())


def _look(desk: Desk, approval: Approval) -> None:
    found = effect_of(approval).look(desk, approval)
    if isinstance(found, NoClearAnswer):
        _ask_soon(desk, approval)
    elif found is not None:
        settle(desk, approval, found, in_turn=False)


def _ask_soon(desk: Desk, approval: Approval) -> None:
    """Let the sweep ask about what is done: the provider had news and could not tell it."""
    with desk.store.transaction() as tx:
        current = approvals.lock(tx, approval.id)
        if current.status is Status.EXECUTED:
            approvals.shift_locked(tx, current, None, wake_at=desk.clock.now())


def _keep(desk: Desk, event: ProviderEvent, approval: Approval | None, now: datetime) -> bool:
    data: Payload = {"event_id": event.id[:200], "type": event.type[:100]}
    try:
        with desk.store.transaction() as tx:
            about = None if approval is None else approval.id
            webhooks.add(tx, event.id, event.type, about, now)
            fact = audit.Fact(AuditType.PROVIDER_HEARD, "provider", Channel.API, data, about)
            audit.append(tx, None if approval is None else approval.run_id, now, fact)
    except Conflict:
        # The same event came twice at once, and the other one was first.
        return False
    return True
