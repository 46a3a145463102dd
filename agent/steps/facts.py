"""Reading what shop, provider and database know about an order, for the gate and the claim."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from agent.desk import Desk
from agent.domain.approvals import Snapshot, Status
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.money import Money
from agent.domain.risk import OrderFacts, RefundFacts
from agent.ports import ProviderStatus, ShopOrder
from storage import approvals
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
    """Whose proposal is judged; `besides` is the approval that must not count against itself."""

    customer_id: CustomerId | None
    conversation_id: ConversationId
    proposal_key: str
    besides: ApprovalId | None
    stopped: bool


def gather(
    tx: Tx, desk: Desk, reading: OrderReading | None, question: Question, now: datetime
) -> RefundFacts:
    """Return everything the judgement needs; the order's row is locked by the caller."""
    customer = question.customer_id
    if customer is None or reading is None:
        return RefundFacts(
            verified=customer is not None,
            order=None,
            reserved=None,
            automatic_on_order=0,
            automatic_by_customer=0,
            earlier_no=None,
            rejected_in_conversation=False,
            open_approvals=0,
            stopped=question.stopped,
        )
    rules = desk.policy.refunds
    order = reading.facts
    held = approvals.reservations(tx, order.order_id, question.besides)
    reserved = sum(minor for key, minor in held.items() if key not in reading.provider_keys)
    day = now - timedelta(seconds=rules.cumulative_window_s)
    return RefundFacts(
        verified=True,
        order=order if order.customer_id == customer else None,
        reserved=Money(reserved, order.currency),
        automatic_on_order=approvals.automatic_on_order(tx, order.order_id),
        automatic_by_customer=approvals.automatic_by_customer(tx, customer, order.currency, day),
        earlier_no=_earlier_no(tx, order.order_id, now - timedelta(seconds=rules.earlier_no_s)),
        rejected_in_conversation=approvals.is_rejected_twin(
            tx, question.conversation_id, question.proposal_key
        ),
        open_approvals=approvals.count_pending_of_customer(tx, customer),
        stopped=question.stopped,
    )


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


def _earlier_no(tx: Tx, order_id: str, since: datetime) -> Literal["rejected", "expired"] | None:
    match approvals.earlier_no(tx, order_id, since):
        case Status.REJECTED:
            return "rejected"
        case Status.EXPIRED:
            return "expired"
        case _:
            return None
