"""The gate's judgement: run now, wait for people, or refuse. Pure; a table of cases is its test."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from agent.domain.money import Money
from agent.domain.policy import Policy
from agent.domain.roles import Tier

Scope = Literal["full", "partial", "unclear"]


class Reason(StrEnum):
    """Why a proposal waits for people (design.md §5)."""

    AMOUNT_OVER_LIMIT = "amount_over_limit"
    CUMULATIVE_OVER_LIMIT = "cumulative_over_limit"
    LOW_CONFIDENCE = "low_confidence"
    IRREVERSIBLE_MESSAGE = "irreversible_message"
    FRAUD_FLAG = "fraud_flag"
    EARLIER_NO = "earlier_no"
    NO_LIMIT_FOR_CURRENCY = "no_limit_for_currency"
    AMBIGUOUS = "ambiguous"
    TOOL_REQUIRES_APPROVAL = "tool_requires_approval"
    BREAKER_OPEN = "breaker_open"
    AUTOMATIC_PAUSED = "automatic_paused"
    HUMAN_EDIT = "human_edit"
    ASKED_AGAIN = "asked_again"


class Refusal(StrEnum):
    """Why a proposal cannot even wait."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_VERIFIED = "not_verified"
    NOT_FOUND = "not_found"
    NOT_PAID = "not_paid"
    DISPUTED = "disputed"
    FINAL_SALE = "final_sale"
    WRONG_CURRENCY = "wrong_currency"
    INVALID_AMOUNT = "invalid_amount"
    OVER_REMAINING = "over_remaining"
    ALREADY_REJECTED = "already_rejected"
    ALREADY_EDITED = "already_edited"
    TOO_MANY_REJECTIONS = "too_many_rejections"
    TOO_MANY_OPEN = "too_many_open"
    STOPPED = "stopped"
    BREAKER_OPEN = "breaker_open"
    NOT_AVAILABLE = "not_available"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason with the words that stand on the card."""

    code: Reason
    text: str


@dataclass(frozen=True, slots=True)
class RunNow:
    """Nothing speaks against it: a person allowed this in advance by setting the limits."""


@dataclass(frozen=True, slots=True)
class Park:
    """People decide; `findings` holds at least one reason."""

    findings: tuple[Finding, ...]
    tier: Tier


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not possible at all; `message` is safe for the customer's ears."""

    code: Refusal
    message: str


@dataclass(frozen=True, slots=True)
class RefundProposal:
    """A validated call of `issue_refund`, with what the model said of itself."""

    order_id: str
    amount: Money
    scope: Scope
    confidence: Decimal | None


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """An order as shop and provider show it at `read_at`; reservations apart."""

    order_id: str
    customer_id: str
    total: Money
    captured: Money
    refunded: Money
    final_sale: Money
    disputed: bool
    read_at: datetime

    @property
    def currency(self) -> str:
        """Return the currency in which the order was paid."""
        return self.total.currency


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of the one who asks, whatever the tool.

    `decided_before` tells what people made of an identical proposal in this conversation,
    `rejections` how often they said no by this tool on this order, `earlier_no` how the newest
    such request (of a refund: on this order; else: an identical one) went without a yes;
    `paused` says why nothing runs without a person for this customer, None when it does.
    """

    verified: bool
    decided_before: Literal["rejected", "edited"] | None
    rejections: int
    earlier_no: Literal["rejected", "expired"] | None
    open_approvals: int
    stopped: bool
    paused: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundFacts(Standing):
    """All that the judgement needs to know; read under the order's lock.

    `order` is None when there is no such order or it is somebody else's: the answer is the same.
    `reserved` is money of executing, unknown and executed approvals that the provider does not
    show yet. The automatic sums, and the number of automatic refunds to the customer in the
    policy's window, count executed, executing and unknown refunds.
    """

    order: OrderFacts | None
    reserved: Money | None
    automatic_on_order: int
    automatic_by_customer: int
    automatic_number: int

    def remaining(self) -> Money | None:
        """Return captured minus refunds minus reservations; None without an order."""
        return None if self.order is None else self.remaining_of(self.order)

    def remaining_of(self, order: OrderFacts) -> Money:
        """Return captured minus refunds minus reservations of the order these facts are about."""
        free = order.captured.minus(order.refunded)
        return free if self.reserved is None else free.minus(self.reserved)


def assess(proposal: RefundProposal, facts: RefundFacts, policy: Policy) -> RunNow | Park | Refuse:
    """Judge a refund; the breaker is asked afterwards, and only about a RunNow."""
    order = _order(proposal.amount, facts)
    if isinstance(order, Refuse):
        return order
    refusal = _amount(proposal.amount, order, facts) or history(facts, policy)
    if refusal is not None:
        return refusal
    findings = tuple(_findings(proposal, facts, policy))
    if findings:
        return Park(findings, policy.tier_for(proposal.amount))
    if facts.stopped:
        return Refuse(Refusal.STOPPED, "Refunds are paused at the moment.")
    return RunNow()


def history(standing: Standing, policy: Policy) -> Refuse | None:
    """Refuse what people have declined already, and more than they can look at."""
    if standing.decided_before == "rejected":
        return Refuse(
            Refusal.ALREADY_REJECTED, "The team has already declined exactly this request."
        )
    if standing.decided_before == "edited":
        return Refuse(
            Refusal.ALREADY_EDITED, "The team has changed exactly this request; that is final."
        )
    if standing.rejections >= policy.max_revisions:
        return Refuse(
            Refusal.TOO_MANY_REJECTIONS,
            "The team has declined this before; a person takes over from here.",
        )
    if standing.open_approvals >= policy.max_open_approvals:
        return Refuse(Refusal.TOO_MANY_OPEN, "Too many requests are still waiting for the team.")
    return None


def doubts(
    confidence: Decimal | None, standing: Standing, policy: Policy, what: str
) -> list[Finding]:
    """Return why a person should look at it, whatever the tool: doubt, a pause, an earlier no.

    `what` names the earlier request, as the beginning of a sentence.
    """
    found: list[Finding] = []
    least = policy.confidence_min()
    if confidence is None:
        found.append(Finding(Reason.LOW_CONFIDENCE, "The agent stated no confidence"))
    elif confidence < least:
        text = f"The agent's confidence {confidence} is under {least}"
        found.append(Finding(Reason.LOW_CONFIDENCE, text))
    if standing.paused is not None:
        text = f"Nothing runs without a person for this customer: {standing.paused}"
        found.append(Finding(Reason.AUTOMATIC_PAUSED, text))
    if standing.earlier_no is not None:
        went = "was declined" if standing.earlier_no == "rejected" else "was not decided in time"
        text = f"{what} {went} in the last {span_words(policy.refunds.earlier_no_s)}"
        found.append(Finding(Reason.EARLIER_NO, text))
    return found


def span_words(seconds: int) -> str:
    """Return a time in the largest unit that holds it exactly, e.g. `30 days` or `90 seconds`."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        # A day is what people count limits by; they say 24 hours.
        if seconds % size == 0 and seconds > size:
            return f"{seconds // size} {unit}s"
        if seconds == size:
            return "24 hours" if unit == "day" else f"1 {unit}"
    return f"{seconds} seconds"


def recheck(amount: Money, facts: RefundFacts) -> Refuse | None:
    """Judge an approved refund again at the claim, in case the world has changed."""
    order = _order(amount, facts)
    return order if isinstance(order, Refuse) else _limits_of_order(amount, order, facts)


def _order(amount: Money, facts: RefundFacts) -> OrderFacts | Refuse:
    if not facts.verified:
        return Refuse(Refusal.NOT_VERIFIED, "Please sign in to the shop first.")
    order = facts.order
    if order is None:
        return Refuse(Refusal.NOT_FOUND, "No such order was found for this customer.")
    if amount.currency != order.currency:
        return Refuse(
            Refusal.WRONG_CURRENCY, f"Order {order.order_id} was paid in {order.currency}."
        )
    return order


def _amount(amount: Money, order: OrderFacts, facts: RefundFacts) -> Refuse | None:
    if amount.minor <= 0:
        return Refuse(Refusal.INVALID_AMOUNT, "A refund must be more than zero.")
    return _limits_of_order(amount, order, facts)


def _limits_of_order(amount: Money, order: OrderFacts, facts: RefundFacts) -> Refuse | None:
    if order.captured.minor <= 0:
        return Refuse(Refusal.NOT_PAID, f"Order {order.order_id} has not been paid.")
    if order.disputed:
        return Refuse(
            Refusal.DISPUTED,
            f"The payment of order {order.order_id} is disputed with the bank, which decides it.",
        )
    remaining = facts.remaining_of(order)
    all_final = order.final_sale == order.total and order.final_sale.minor > 0
    if amount.exceeds(remaining) and not all_final:
        return Refuse(
            Refusal.OVER_REMAINING, f"Only {remaining} of order {order.order_id} is left to refund."
        )
    if amount.exceeds(remaining.minus(order.final_sale)):
        return Refuse(Refusal.FINAL_SALE, "Final-sale items cannot be refunded.")
    return None


def _findings(proposal: RefundProposal, facts: RefundFacts, policy: Policy) -> list[Finding]:
    found: list[Finding] = []
    limit = policy.auto_limit(proposal.amount.currency)
    if limit is None:
        found.append(
            Finding(
                Reason.NO_LIMIT_FOR_CURRENCY,
                f"No automatic limit is set for {proposal.amount.currency}",
            )
        )
    else:
        found += _over_limit(proposal, facts, limit, policy)
    found += doubts(proposal.confidence, facts, policy, "A refund on this order")
    if proposal.scope == "unclear":
        found.append(
            Finding(Reason.AMBIGUOUS, "It is not clear whether a full or a partial refund is meant")
        )
    return found


def _over_limit(
    proposal: RefundProposal, facts: RefundFacts, limit: Money, policy: Policy
) -> list[Finding]:
    amount = proposal.amount
    if amount.exceeds(limit):
        return [
            Finding(Reason.AMOUNT_OVER_LIMIT, f"{amount} is over the automatic limit of {limit}")
        ]
    day = span_words(policy.refunds.cumulative_window_s)
    for earlier, where in (
        (facts.automatic_on_order, "on this order"),
        (facts.automatic_by_customer, f"to this customer in {day}"),
    ):
        together = Money(earlier + amount.minor, amount.currency)
        if together.exceeds(limit):
            text = f"Automatic refunds {where} would reach {together}, over the limit of {limit}"
            return [Finding(Reason.CUMULATIVE_OVER_LIMIT, text)]
    most = policy.refunds.customer_max_refunds
    if facts.automatic_number >= most:
        span = span_words(policy.refunds.customer_window_s)
        text = f"This customer had {facts.automatic_number} automatic refunds in {span}"
        return [Finding(Reason.CUMULATIVE_OVER_LIMIT, f"{text}; the policy allows {most}")]
    return []
