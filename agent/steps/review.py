"""Automatic effects are looked at afterwards: picked by the policy, judged by people (§12)."""

from datetime import datetime
from decimal import Decimal
from typing import Literal

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.domain.policy import Policy
from agent.domain.reviews import Review, ReviewState
from agent.domain.roles import Channel, Role
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from agent.steps.permission import Order, Where, permit, proven, refuse
from storage import approvals, audit, outbox, pauses, reviews
from storage.pauses import Pause
from storage.transaction import Tx, retried

_MAY_REVIEW = (Role.REFUND_APPROVER, Role.REFUND_MANAGER)


def sample(tx: Tx, desk: Desk, done: Approval, now: datetime) -> None:
    """Put an automatic effect that was carried out into the review queue, if it is picked."""
    if not done.automatic or done.status is not Status.EXECUTED:
        return
    why = picked(done, desk.policy, Decimal(str(desk.ids.jitter())))
    if why is None or reviews.get(tx, done.id) is not None:
        return
    reviews.ask(tx, done.id, done.customer_id, why, now)
    key = f"review:{done.id}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.REVIEW, key, {"why": why}, done))
    fact = audit.Fact(AuditType.REVIEW_ASKED, "policy", Channel.POLICY, {"why": why}, done.id)
    audit.append(tx, done.run_id, now, fact)


def picked(done: Approval, policy: Policy, chance: Decimal) -> Literal["share", "large"] | None:
    """Return why an automatic effect is looked at, None when it is not.

    `chance` is a random number of [0, 1).
    """
    limit = None if done.amount is None else policy.auto_limit(done.amount.currency)
    if done.amount is not None and limit is not None:
        line = limit.minor * Decimal(policy.review.all_above)
        if done.amount.minor > line:
            return "large"
    share = Decimal(policy.review.share.get(done.tool, "0"))
    return "share" if chance < share else None


def answer_review(
    desk: Desk, approval_id: ApprovalId, order: Order, *, right: bool
) -> Review | Refused:
    """Note what a person thinks of an automatic effect; a flag needs a reason and may pause."""
    answer = retried(lambda: _look(desk, approval_id, order, right=right))
    desk.wake(Lane.SLACK)
    return answer


def _look(desk: Desk, approval_id: ApprovalId, order: Order, *, right: bool) -> Review | Refused:
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id, lock=True)
        review = reviews.get(tx, approval_id)
        if approval is None or review is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is nothing to review.")
            return refuse(tx, order, "review", missing, desk.clock.now())
        return _answer(tx, desk, (approval, review), order, right=right)


def _answer(
    tx: Tx, desk: Desk, about: tuple[Approval, Review], order: Order, *, right: bool
) -> Review | Refused:
    (approval, review), now = about, desk.clock.now()
    permitted = permit(tx, order, _MAY_REVIEW, now, reason=not right)
    if isinstance(permitted, Entitled):
        permitted = _own(permitted, approval.customer_id) or permitted
    if isinstance(permitted, Entitled) and review.state is not ReviewState.OPEN:
        words = f"{review.actor_name} has answered already."
        permitted = Denial(RefusalCode.ALREADY_DECIDED, words)
    if isinstance(permitted, Denial):
        where = Where(approval.id, approval.run_id)
        return refuse(tx, order, "review", permitted, now, where)
    state = ReviewState.RIGHT if right else ReviewState.FLAGGED
    answered = reviews.answer(tx, review, state, permitted.actor, order.reason.strip(), now)
    data: Payload = {"state": state.value, **proven(permitted, order)}
    facts = [
        audit.Fact(AuditType.REVIEW_ANSWERED, permitted.actor.id, order.channel, data, approval.id)
    ]
    if not right and desk.policy.review.flag_pauses_customer:
        facts.append(_pause(tx, approval, order, now))
    key = f"review_update:{approval.id}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.REVIEW_UPDATE, key, {}, approval))
    audit.append(tx, approval.run_id, now, *facts)
    return answered


def resume_automatic(desk: Desk, customer_id: CustomerId, order: Order) -> bool | Refused:
    """Let things run without a person again for a customer; False when nothing was paused."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        permitted = permit(tx, order, (Role.REFUND_MANAGER,), now)
        if isinstance(permitted, Entitled):
            permitted = _own(permitted, customer_id) or permitted
        if isinstance(permitted, Denial):
            return refuse(tx, order, "resume_automatic", permitted, now)
        if not pauses.lift(tx, customer_id):
            return False
        data: Payload = {"customer_id": customer_id, **proven(permitted, order)}
        fact = audit.Fact(AuditType.AUTOMATIC_RESUMED, permitted.actor.id, order.channel, data)
        audit.append(tx, None, now, fact)
    return True


def _own(entitled: Entitled, customer_id: CustomerId) -> Denial | None:
    """Refuse a person's word about themselves as a customer."""
    if customer_id not in entitled.actor.customer_ids():
        return None
    return Denial(RefusalCode.SELF_APPROVAL, "This is about yourself; somebody else looks at it.")


def _pause(tx: Tx, approval: Approval, order: Order, now: datetime) -> audit.Fact:
    reason = f"a review flagged {approval.id}"
    pauses.pause(tx, Pause(approval.customer_id, now, reason, approval.id))
    data: Payload = {"customer_id": approval.customer_id, "reason": order.reason.strip()}
    return audit.Fact(AuditType.AUTOMATIC_PAUSED, "policy", Channel.POLICY, data, approval.id)
