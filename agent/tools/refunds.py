"""`issue_refund` proposes money back."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from typing_extensions import override

from agent.desk import Desk
from agent.domain.approvals import Approval, amount_of
from agent.domain.decision import Edits
from agent.domain.errors import InvalidInput
from agent.domain.ids import CustomerId
from agent.domain.money import Money, parse_money
from agent.domain.payload import Payload
from agent.domain.policy import Policy
from agent.domain.risk import Finding, Reason, RefundProposal, RunNow, Scope, assess, recheck
from agent.ports import Accepted, PaymentAnswer, ProviderStatus, RefundRequest
from agent.tools.base import Arguments, Caller, Tool, ToolClass
from agent.tools.effects import (
    Bound,
    Effect,
    EffectAnswer,
    Judged,
    Reading,
    Recorded,
    Terms,
    findings_of,
    order_of,
)
from agent.tools.faults import first_fault
from agent.tools.order_facts import Question, gather, read_order, snapshot, without_own_refund
from agent.tools.orders import OrderReference, own_order
from storage import attempts
from storage.transaction import Tx


def _whole_number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


NumberText = Annotated[str, BeforeValidator(_whole_number_as_text)]
Confidence = Annotated[
    NumberText | None,
    Field(
        pattern=r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$",
        description="how sure you are that this is right, 0 to 1",
    ),
]
ModelReason = Annotated[
    str, Field(min_length=1, max_length=1000, description="why, for the person who decides")
]


class IssueRefund(Arguments):
    """Arguments of `issue_refund`; `amount` is a decimal in the order's currency."""

    order_id: OrderReference
    amount: Annotated[NumberText, Field(max_length=40, description="plain decimal, e.g. 20.00")]
    currency: Annotated[str, Field(min_length=3, max_length=3, description="ISO 4217, e.g. USD")]
    scope: Annotated[
        Scope, Field(description="what the customer asked for; unclear if you had to guess")
    ]
    reason: ModelReason
    confidence: Confidence = None


class _StoredAmount(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    minor: Annotated[int, Field(gt=0)]
    currency: str


class _StoredPayload(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    order_id: str
    customer_id: str
    amount: _StoredAmount


def refund_payload(*, order_id: str, customer_id: CustomerId, amount: Money) -> Payload:
    """Return exactly what is hashed, shown and executed."""
    return {
        "order_id": order_id,
        "customer_id": customer_id,
        "amount": {"minor": amount.minor, "currency": amount.currency},
    }


def read_refund_payload(text: str) -> tuple[str, Money]:
    """Return order id and amount of a stored payload; raises InvalidInput naming the bad field."""
    try:
        stored = _StoredPayload.model_validate_json(text)
    except ValidationError as error:
        raise first_fault(error, "payload") from error
    return stored.order_id, Money(stored.amount.minor, stored.amount.currency)


def to_proposal(arguments: IssueRefund, order_id: str) -> RefundProposal:
    """Read the amount; raises InvalidInput for what the currency cannot hold."""
    return RefundProposal(
        order_id=order_id,
        amount=parse_money(arguments.amount, arguments.currency.upper()),
        scope=arguments.scope,
        confidence=None if arguments.confidence is None else Decimal(arguments.confidence),
    )


class RefundEffect(Effect):
    """Money back through the payment provider."""

    @property
    @override
    def can_look(self) -> bool:
        return True

    @override
    def bind(self, desk: Desk, caller: Caller, arguments: Arguments) -> Bound:
        asked = _arguments(arguments)
        order = own_order(desk, caller, asked.order_id)
        proposal = to_proposal(asked, asked.order_id if order is None else order.id)
        payload = refund_payload(
            order_id=proposal.order_id,
            customer_id=caller.customer_id or CustomerId(""),
            amount=proposal.amount,
        )
        return Bound(payload, asked.confidence, asked.reason, asked)

    @override
    def read(self, desk: Desk, payload: Payload) -> Reading:
        order = desk.shop.order(order_of(payload) or "")
        if order is None:
            return Reading(desk.clock.now(), order_found=False)
        found = read_order(desk, order)
        return Reading(found.facts.read_at, found)

    @override
    def lock(self, tx: Tx, reading: Reading) -> None:
        if reading.order is not None:
            attempts.lock_order(tx, reading.order.facts)

    @override
    def judge(
        self, tx: Tx, desk: Desk, bound: Bound, reading: Reading, question: Question, now: datetime
    ) -> Judged:
        facts = gather(tx, desk, reading.order, question, now)
        proposal = to_proposal(_arguments(bound.arguments), order_of(bound.payload) or "")
        return Judged(assess(proposal, facts, desk.policy), snapshot(facts))

    @override
    def recheck(
        self,
        tx: Tx,
        desk: Desk,
        payload: Payload,
        reading: Reading,
        question: Question,
        now: datetime,
    ) -> Judged:
        facts = gather(tx, desk, reading.order, question, now)
        return Judged(recheck(_amount(payload), facts) or RunNow(), snapshot(facts))

    @override
    def weigh(
        self, tx: Tx, desk: Desk, row: Approval, reading: Reading, question: Question, now: datetime
    ) -> tuple[Finding, ...]:
        unclear = any(found.code is Reason.AMBIGUOUS for found in row.findings)
        proposal = RefundProposal(
            order_id=order_of(row.payload) or "",
            amount=_amount(row.payload),
            scope="unclear" if unclear else "partial",
            confidence=None if row.confidence is None else Decimal(row.confidence),
        )
        facts = gather(tx, desk, reading.order, question, now)
        return findings_of(assess(proposal, facts, desk.policy))

    @override
    def terms(self, policy: Policy, payload: Payload) -> Terms:
        rules, amount = policy.refunds, _amount(payload)
        return Terms(
            policy.tier_for(amount),
            timedelta(seconds=rules.decide_within_s),
            rules.use_within_s,
            policy.tier_rule(amount).at_deadline,
        )

    @override
    def change(self, desk: Desk, payload: Payload, edits: Edits) -> Payload:
        before, after = _amount(payload), edits.amount or _amount(payload)
        if replace(edits, amount=None, order_id=None) != Edits():
            raise InvalidInput("edits", "of a refund only amount and order_id can be changed")
        if after.currency != before.currency:
            raise InvalidInput("amount", f"is not of the request's currency ({before})")
        if after.minor <= 0:
            raise InvalidInput("amount", "a refund must be more than zero")
        named = order_of(payload) or ""
        if edits.order_id is not None:
            order = desk.shop.order(edits.order_id)
            if order is None:
                raise InvalidInput("order_id", "there is no such order")
            named = order.id
        customer = CustomerId(str(payload["customer_id"]))
        changed = refund_payload(order_id=named, customer_id=customer, amount=after)
        if changed == payload:
            raise InvalidInput("amount", "is the same as before")
        return changed

    @override
    def describe_change(self, before: Payload, after: Payload) -> str:
        told = []
        if _amount(before) != _amount(after):
            told.append(f"the amount from {_amount(before)} to {_amount(after)}")
        if order_of(before) != order_of(after):
            told.append(f"the order from {order_of(before)} to {order_of(after)}")
        return " and ".join(told)

    @override
    def exceeds(self, before: Payload, after: Payload) -> bool:
        same = order_of(before) == order_of(after)
        return not same or _amount(after).exceeds(_amount(before))

    @override
    def check(self, approval: Approval) -> None:
        read_refund_payload(approval.payload_text)

    @override
    def run(self, desk: Desk, approval: Approval) -> EffectAnswer:
        return recorded(desk.payments.refund(_request(approval)))

    @override
    def look(self, desk: Desk, approval: Approval) -> EffectAnswer | None:
        found = desk.payments.find(_request(approval))
        return None if found is None else recorded(found)


def own_left_out(reading: Reading, approval: Approval) -> Reading:
    """Return the reading as if the approval's own refund were not in the provider's book."""
    amount = amount_of(approval.payload)
    if reading.order is None or amount is None:
        return reading
    without = without_own_refund(reading.order, approval.idempotency_key, amount)
    return replace(reading, order=without)


def _arguments(arguments: Arguments) -> IssueRefund:
    if not isinstance(arguments, IssueRefund):
        raise TypeError("issue_refund takes IssueRefund")
    return arguments


def _amount(payload: Payload) -> Money:
    amount = amount_of(payload)
    if amount is None:
        raise InvalidInput("amount", "is missing")
    return amount


def _request(approval: Approval) -> RefundRequest:
    order_id, amount = read_refund_payload(approval.payload_text)
    return RefundRequest(approval.idempotency_key, approval.id, order_id, amount)


def recorded(answer: PaymentAnswer) -> EffectAnswer:
    """Return the provider's answer as every effect gives it."""
    if not isinstance(answer, Accepted):
        return answer
    refund = answer.refund
    record: Payload = {
        "refund_id": refund.id,
        "provider_status": refund.status.value,
        "replayed": answer.replayed,
    }
    return Recorded(
        record,
        done=refund.status is not ProviderStatus.FAILED,
        settled=refund.status is not ProviderStatus.PENDING,
    )


ISSUE_REFUND = Tool(
    name="issue_refund",
    description=(
        "Propose to pay money back for one order of the customer. Small, clear refunds run at "
        "once; others wait for a person. Never say it is done before the result says so."
    ),
    arguments=IssueRefund,
    tool_class=ToolClass.MONEY,
    side_effect="mutating",
    requires_confirmation=True,
    impact="high",
    reversible="no",
    triggers="the payment provider pays the customer back",
)
