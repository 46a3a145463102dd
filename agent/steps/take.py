"""People say that they have seen a request, or that they look into it; neither decides anything."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.escalation import Level
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.domain.roles import Role
from agent.ports import DeliveryKind
from agent.steps.escalate import meet_deadline
from agent.steps.outcomes import ping_update, slack_message
from agent.steps.permission import Order, Where, permit, proven, refuse
from storage import approvals, audit, conversations, outbox, pings
from storage.transaction import Tx, retried

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class _Case:
    """What a person says about a request that was locked, and when."""

    approval: Approval
    order: Order
    now: datetime


def acknowledge_ping(
    desk: Desk, approval_id: ApprovalId, level: Level, order: Order
) -> Approval | Refused:
    """Note who has seen that a request was brought up: once, by anybody with a role."""
    return _about(desk, approval_id, order, lambda tx, case: _acknowledge(tx, desk, case, level))


def take_over(desk: Desk, approval_id: ApprovalId, order: Order) -> Approval | Refused:
    """Note who looks into a request that waits; others may decide on it all the same.

    That takes a role that may decide: the tier's, or on call, who may do so alone.
    """
    return _about(desk, approval_id, order, lambda tx, case: _take(tx, desk, case))


def _about(
    desk: Desk,
    approval_id: ApprovalId,
    order: Order,
    say: Callable[[Tx, _Case], Approval | Refused],
) -> Approval | Refused:
    answer = retried(lambda: _locked(desk, approval_id, order, say))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def _locked(
    desk: Desk,
    approval_id: ApprovalId,
    order: Order,
    say: Callable[[Tx, _Case], Approval | Refused],
) -> Approval | Refused:
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id, lock=True)
        now = desk.clock.now()
        if approval is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such request.")
            return refuse(tx, order, "take_over", missing, now)
        # What its deadline leads to is told in the conversation.
        conversations.lock(tx, approval.conversation_id)
        return say(tx, _Case(meet_deadline(tx, desk, approval, now), order, now))


def _acknowledge(tx: Tx, desk: Desk, case: _Case, level: Level) -> Approval | Refused:
    approval, now = case.approval, case.now
    permitted = permit(tx, case.order, tuple(Role), now, reason=False)
    ping = pings.get(tx, approval.id, level)
    if isinstance(permitted, Entitled):
        if ping is None:
            words = "The desk has told nobody of it yet."
            permitted = Denial(RefusalCode.NOT_FOUND, words)
        elif ping.acknowledged_by is not None:
            words = f"{ping.acknowledged_by} has acknowledged it already."
            permitted = Denial(RefusalCode.ALREADY_DECIDED, words)
        else:
            permitted = _ended(approval) or permitted
    if isinstance(permitted, Denial):
        return _refuse(tx, desk, case, "acknowledge", permitted)
    pings.acknowledge(tx, approval.id, level, permitted.actor.name, now)
    outbox.add(tx, now, ping_update(desk, approval, f"seen:{level.key}"))
    data: Payload = {"level": level.key, **proven(permitted, case.order)}
    _note(tx, case, AuditType.PING_ACKNOWLEDGED, permitted, data)
    return approval


def _take(tx: Tx, desk: Desk, case: _Case) -> Approval | Refused:
    approval, order, now = case.approval, case.order, case.now
    permitted = permit(tx, order, (approval.tier.floor(), Role.ONCALL), now, reason=False)
    if isinstance(permitted, Entitled):
        permitted = _ended(approval) or _own(approval, permitted) or permitted
    if isinstance(permitted, Denial):
        return _refuse(tx, desk, case, "take_over", permitted)
    name = permitted.actor.name
    taken = approvals.shift_locked(tx, approval, None, taken_by=name, taken_at=now)
    mark = f"taken:{desk.ids.new('out')}"
    key = f"card_update:{approval.id}:{mark}"
    told = [slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, taken)]
    if approval.pinged:
        told.append(ping_update(desk, taken, mark))
    outbox.add(tx, now, *told)
    data: Payload = {"instead_of": approval.taken_by, **proven(permitted, order)}
    _note(tx, case, AuditType.APPROVAL_TAKEN, permitted, data)
    return taken


def _refuse(tx: Tx, desk: Desk, case: _Case, verdict: str, denial: Denial) -> Refused:
    approval = case.approval
    if approval.pinged:
        # What was clicked may be an old picture.
        outbox.add(tx, case.now, ping_update(desk, approval, "redraw"))
    where = Where(approval.id, approval.run_id)
    return refuse(tx, case.order, verdict, denial, case.now, where)


def _ended(approval: Approval) -> Denial | None:
    if approval.status is Status.PENDING:
        return None
    words = f"It does not wait any more: it is {approval.status}."
    return Denial(RefusalCode.ALREADY_DECIDED, words)


def _own(approval: Approval, permitted: Entitled) -> Denial | None:
    if approval.customer_id in permitted.actor.customer_ids():
        words = "This is your own request; somebody else looks into it."
        return Denial(RefusalCode.SELF_APPROVAL, words)
    if approval.taken_by == permitted.actor.name:
        return Denial(RefusalCode.ALREADY_DECIDED, "You look into it already.")
    return None


def _note(tx: Tx, case: _Case, tag: AuditType, by: Entitled, data: Payload) -> None:
    approval, order = case.approval, case.order
    fact = audit.Fact(tag, by.actor.id, order.channel, data, approval.id)
    audit.append(tx, approval.run_id, case.now, fact)
