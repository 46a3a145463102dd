"""What shop, provider and database know about an order and who asks, for gate and claim."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypedDict

from agent.desk import Desk
from agent.domain.approvals import Snapshot, Status
from agent.domain.deadlines import REJECTIONS_COUNT_FOR
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.money import Money
from agent.domain.risk import OrderFacts, RefundFacts
from agent.ports import ProviderStatus, ShopOrder
from storage import approvals, pauses
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class OrderReading:
    """An order as the outside shows it, with the keys of the refunds in the provider's book."""

    facts: OrderFacts
    provider_keys: frozenset[str]


def read_order(desk: Desk, order: ShopOrder) -> OrderReading:
    """Ask the provider about an order's payment; to be called outside any transaction."""
    read_at = desk.clock.now()
    currency = order.total.currency
    payment = desk.payments.view(order.id, currency)
    counted = [r for r in payment.refunds if r.status is not ProviderStatus.FAILED]
    captured = payment.captured if order.paid and not order.cancelled else Money(0, currency)
    facts = OrderFacts(
        order_id=order.id,
        customer_id=order.customer_id,
        total=order.total,
        captured=captured,
        refunded=Money(sum(r.amount.minor for r in counted), currency),
        final_sale=order.final_sale_total(),
        disputed=payment.disputed,
        read_at=read_at,
    )
    return OrderReading(facts, frozenset(r.key for r in payment.refunds))


@dataclass(frozen=True, slots=True)
class Question:
    """Whose proposal is judged; `besides` is the approval that must not count against itself.

    `automatic` tells, of a row that is judged again, that no person has approved it.
    """

    customer_id: CustomerId | None
    conversation_id: ConversationId
    proposal_key: str
    besides: ApprovalId | None
    stopped: bool
    tool: str
    order_id: str | None
    automatic: bool = False


class StandingFields(TypedDict):
    """What every judgement needs to know, as keyword arguments."""

    verified: bool
    decided_before: Literal["rejected", "edited"] | None
    rejections: int
    earlier_no: Literal["rejected", "expired"] | None
    open_approvals: int
    stopped: bool
    paused: str | None


def standing(tx: Tx, desk: Desk, question: Question, now: datetime) -> StandingFields:
    """Return what the desk knows of the one who asks; nothing of a visitor."""
    customer = question.customer_id
    if customer is None:
        return StandingFields(
            verified=False,
            decided_before=None,
            rejections=0,
            earlier_no=None,
            open_approvals=0,
            stopped=question.stopped,
            paused=None,
        )
    return StandingFields(
        verified=True,
        decided_before=_decided_before(tx, question),
        rejections=approvals.rejections(
            tx,
            customer,
            (question.tool, question.order_id),
            question.conversation_id,
            now - REJECTIONS_COUNT_FOR,
        ),
        earlier_no=_no_of(approvals.earlier_twin(tx, question.proposal_key, now - _no_for(desk))),
        open_approvals=approvals.count_pending_of_customer(tx, customer),
        stopped=question.stopped,
        paused=pause_of(tx, customer),
    )


def pause_of(tx: Tx, customer_id: CustomerId) -> str | None:
    """Return why nothing runs without a person for the customer; None when it does.

    A fraud flag that waits for people counts: what it may hold must not run meanwhile.
    """
    reason = pauses.reason(tx, customer_id)
    if reason is None and approvals.is_flag_open(tx, customer_id):
        return "a fraud flag waits for a decision"
    return reason


def _no_for(desk: Desk) -> timedelta:
    return timedelta(seconds=desk.policy.refunds.earlier_no_s)


def gather(
    tx: Tx, desk: Desk, reading: OrderReading | None, question: Question, now: datetime
) -> RefundFacts:
    """Return everything the judgement of a refund needs; the order's row is locked."""
    customer, known = question.customer_id, standing(tx, desk, question, now)
    if customer is None or reading is None:
        return RefundFacts(
            **known,
            order=None,
            reserved=None,
            automatic_on_order=0,
            automatic_by_customer=0,
            automatic_number=0,
        )
    rules = desk.policy.refunds
    order = reading.facts
    held = approvals.reservations(tx, order.order_id, question.besides)
    reserved = sum(minor for key, minor in held.items() if key not in reading.provider_keys)
    day = now - timedelta(seconds=rules.cumulative_window_s)
    month = now - timedelta(seconds=rules.customer_window_s)
    # Of money an earlier no on the order is enough, whatever its amount was.
    known["earlier_no"] = _no_of(approvals.earlier_no(tx, order.order_id, now - _no_for(desk)))
    return RefundFacts(
        **known,
        order=order if order.customer_id == customer else None,
        reserved=Money(reserved, order.currency),
        automatic_on_order=approvals.automatic_on_order(tx, order.order_id),
        automatic_by_customer=approvals.automatic_by_customer(tx, customer, order.currency, day),
        automatic_number=approvals.automatic_number(tx, customer, "issue_refund", month),
    )


def _decided_before(tx: Tx, question: Question) -> Literal["rejected", "edited"] | None:
    match approvals.decided_twin(tx, question.conversation_id, question.proposal_key):
        case Status.REJECTED:
            return "rejected"
        case Status.SUPERSEDED:
            return "edited"
        case _:
            return None


def snapshot(facts: RefundFacts) -> Snapshot | None:
    """Return the order's money as it stands, for the card."""
    order, remaining = facts.order, facts.remaining()
    return (
        None
        if order is None or remaining is None
        else Snapshot(order.total, order.captured, order.captured.minus(remaining), remaining)
    )


def without_own_refund(reading: OrderReading, key: str, amount: Money) -> OrderReading:
    """Return the reading as if the refund under `key` did not exist."""
    if key not in reading.provider_keys:
        return reading
    facts = replace(reading.facts, refunded=reading.facts.refunded.minus(amount))
    return OrderReading(facts, reading.provider_keys)


def _no_of(status: Status | None) -> Literal["rejected", "expired"] | None:
    match status:
        case Status.REJECTED:
            return "rejected"
        case Status.EXPIRED:
            return "expired"
        case _:
            return None
