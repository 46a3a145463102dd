"""The gate: what runs, what waits and for whom, what is refused, and which answer wins."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.money import Money
from agent.domain.policy import Policy
from agent.domain.risk import (
    Finding,
    OrderFacts,
    Park,
    Reason,
    RefundFacts,
    RefundProposal,
    Refusal,
    Refuse,
    RunNow,
    assess,
    recheck,
)
from agent.domain.roles import Role, Tier
from tests.support.builders import order_facts, policy, refund_facts, refund_proposal, usd

SHIPPED = policy()
APPROVER, MANAGER = Role.REFUND_APPROVER, Role.REFUND_MANAGER


@dataclass(frozen=True)
class Case:
    """A proposal and what is known; each default is such that it runs."""

    proposal: RefundProposal = field(default_factory=refund_proposal)
    facts: RefundFacts = field(default_factory=refund_facts)
    policy: Policy = SHIPPED

    def asks(self, **changes: Any) -> "Case":
        """Return the case with another proposal."""
        return replace(self, proposal=replace(self.proposal, **changes))

    def where(self, **changes: Any) -> "Case":
        """Return the case with other facts."""
        return replace(self, facts=replace(self.facts, **changes))

    def order(self, **changes: Any) -> "Case":
        """Return the case with another order, where there is one."""
        found = self.facts.order
        return self if found is None else self.where(order=replace(found, **changes))

    def verdict(self) -> RunNow | Park | Refuse:
        """Return the gate's answer."""
        return assess(self.proposal, self.facts, self.policy)


def outcome(case: Case) -> Refusal | tuple[Reason, ...]:
    """Return the refusal's code, or every reason to wait: none where it runs."""
    match case.verdict():
        case Refuse(code=code):
            return code
        case Park(findings=findings):
            assert findings
            return tuple(finding.code for finding in findings)
        case RunNow():
            return ()


Spoil = Callable[[Case], Case]
EURO = Money(2000, "EUR")

# Everything that refuses, in the order in which it is looked at.
REFUSALS: list[tuple[Refusal, Spoil]] = [
    (Refusal.NOT_VERIFIED, lambda c: c.where(verified=False)),
    (Refusal.NOT_FOUND, lambda c: c.where(order=None)),
    (Refusal.WRONG_CURRENCY, lambda c: c.asks(amount=replace(c.proposal.amount, currency="EUR"))),
    (Refusal.INVALID_AMOUNT, lambda c: c.asks(amount=replace(c.proposal.amount, minor=0))),
    (Refusal.NOT_PAID, lambda c: c.order(captured=usd("0"))),
    (Refusal.DISPUTED, lambda c: c.order(disputed=True)),
    (Refusal.OVER_REMAINING, lambda c: c.where(reserved=usd("140.01"))),
    (Refusal.FINAL_SALE, lambda c: c.order(final_sale=usd("140.01"))),
    (Refusal.ALREADY_REJECTED, lambda c: c.where(decided_before="rejected")),
    (Refusal.ALREADY_EDITED, lambda c: c.where(decided_before="edited")),
    (Refusal.TOO_MANY_REJECTIONS, lambda c: c.where(rejections=3)),
    (Refusal.TOO_MANY_OPEN, lambda c: c.where(open_approvals=5)),
]
# Everything that makes a proposal wait, in the order in which the card lists it.
FINDINGS: list[tuple[Reason, Spoil]] = [
    (Reason.CUMULATIVE_OVER_LIMIT, lambda c: c.where(automatic_on_order=3001)),
    (Reason.LOW_CONFIDENCE, lambda c: c.asks(confidence=Decimal("0.8999"))),
    (Reason.AUTOMATIC_PAUSED, lambda c: c.where(paused="a review flagged apr_1")),
    (Reason.EARLIER_NO, lambda c: c.where(earlier_no="rejected")),
    (Reason.AMBIGUOUS, lambda c: c.asks(scope="unclear")),
]
# Of one request people made one thing: it was declined, or it was changed.
EITHER = (Refusal.ALREADY_REJECTED, Refusal.ALREADY_EDITED)
REFUSAL_PAIRS = [
    (one, other) for one, other in combinations(REFUSALS, 2) if (one[0], other[0]) != EITHER
]
STEPS_ONLY = {Refusal.UNKNOWN_TOOL, Refusal.INVALID_ARGUMENTS, Refusal.BREAKER_OPEN}
OF_EMAILS = {Refusal.NOT_AVAILABLE}


def test_a_small_clear_sure_refund_runs() -> None:
    assert Case().verdict() == RunNow()


@pytest.mark.parametrize(("code", "spoil"), REFUSALS, ids=[str(c) for c, _ in REFUSALS])
def test_a_proposal_is_refused_as(code: Refusal, spoil: Spoil) -> None:
    assert outcome(spoil(Case())) is code


@pytest.mark.parametrize(
    ("first", "second"), REFUSAL_PAIRS, ids=[f"{a[0]} before {b[0]}" for a, b in REFUSAL_PAIRS]
)
def test_of_two_refusals_the_earlier_check_answers(
    first: tuple[Refusal, Spoil], second: tuple[Refusal, Spoil]
) -> None:
    assert outcome(second[1](first[1](Case()))) is first[0]


@pytest.mark.parametrize(("code", "spoil"), FINDINGS, ids=[str(c) for c, _ in FINDINGS])
def test_a_proposal_waits_for_one_reason(code: Reason, spoil: Spoil) -> None:
    verdict = spoil(Case()).verdict()
    assert isinstance(verdict, Park)
    assert [finding.code for finding in verdict.findings] == [code]
    assert verdict.tier == Tier(APPROVER)


@given(spoilt=st.sets(st.integers(0, len(FINDINGS) - 1)), stopped=st.booleans())
def test_every_reason_to_wait_is_named(spoilt: set[int], stopped: bool) -> None:
    case = Case().where(stopped=stopped)
    for index in sorted(spoilt):
        case = FINDINGS[index][1](case)
    expected = tuple(FINDINGS[index][0] for index in sorted(spoilt))
    assert outcome(case) == (expected or (Refusal.STOPPED if stopped else ()))


@given(
    refusal=st.integers(0, len(REFUSALS) - 1),
    spoilt=st.sets(st.integers(0, len(FINDINGS) - 1)),
    stopped=st.booleans(),
)
def test_no_reason_to_wait_hides_a_refusal(refusal: int, spoilt: set[int], stopped: bool) -> None:
    case = Case().where(stopped=stopped)
    for index in sorted(spoilt):
        case = FINDINGS[index][1](case)
    code, spoil = REFUSALS[refusal]
    assert outcome(spoil(case)) is code


OVER, TOGETHER = (Reason.AMOUNT_OVER_LIMIT,), (Reason.CUMULATIVE_OVER_LIMIT,)
UNSURE = (Reason.LOW_CONFIDENCE,)


def asking(amount: str, **facts: Any) -> Case:
    return Case(refund_proposal(amount), refund_facts(**facts))


@pytest.mark.parametrize(
    ("case", "reasons"),
    [
        pytest.param(asking("50.00"), (), id="exactly the limit"),
        pytest.param(asking("50.01"), OVER, id="a cent over the limit"),
        pytest.param(asking("20.00", automatic_on_order=3000), (), id="the order reaches it"),
        pytest.param(asking("20.00", automatic_on_order=3001), TOGETHER, id="the order passes it"),
        pytest.param(asking("20.00", automatic_by_customer=3000), (), id="the customer reaches it"),
        pytest.param(
            asking("20.00", automatic_by_customer=3001), TOGETHER, id="customer passes it"
        ),
        pytest.param(
            asking("20.00", automatic_on_order=3000, automatic_by_customer=3000), (), id="not added"
        ),
        pytest.param(
            asking("20.00", automatic_on_order=3001, automatic_by_customer=3001),
            TOGETHER,
            id="one reason for both",
        ),
        pytest.param(
            asking("50.01", automatic_on_order=5000), OVER, id="alone over is reason enough"
        ),
        pytest.param(Case().asks(confidence=Decimal("0.90")), (), id="exactly sure enough"),
        pytest.param(Case().asks(confidence=Decimal("0.9")), (), id="the same in fewer digits"),
        pytest.param(Case().asks(confidence=Decimal("0.8999")), UNSURE, id="a trace less sure"),
        pytest.param(Case().asks(confidence=Decimal("0.899999")), UNSURE, id="a smaller trace"),
        pytest.param(Case().asks(confidence=Decimal(0)), UNSURE, id="not sure at all"),
        pytest.param(Case().asks(confidence=None), UNSURE, id="no word on it"),
        pytest.param(Case().asks(confidence=Decimal(1)), (), id="entirely sure"),
        pytest.param(Case().asks(scope="full"), (), id="a full refund"),
        pytest.param(Case().where(earlier_no="expired"), (Reason.EARLIER_NO,), id="nobody decided"),
        pytest.param(asking("20.00", open_approvals=4), (), id="four requests wait"),
        pytest.param(asking("20.00", rejections=2), (), id="declined twice"),
        pytest.param(asking("20.00", automatic_number=4), (), id="the fifth of the month"),
        pytest.param(asking("20.00", automatic_number=5), TOGETHER, id="the sixth of the month"),
        pytest.param(
            asking("20.00", automatic_on_order=3001, automatic_number=5),
            TOGETHER,
            id="one reason for sum and number",
        ),
        pytest.param(asking("50.01", automatic_number=5), OVER, id="over the limit and the sixth"),
    ],
)
def test_the_limits_are_exact(case: Case, reasons: tuple[Reason, ...]) -> None:
    assert outcome(case) == reasons


@pytest.mark.parametrize("sure", ["0.90", "0.95", "1"])
def test_confidence_never_lowers_the_gate(sure: str) -> None:
    assert outcome(asking("50.01").asks(confidence=Decimal(sure))) == OVER


@pytest.mark.parametrize(
    ("case", "code"),
    [
        pytest.param(asking("20.00", open_approvals=5), Refusal.TOO_MANY_OPEN, id="five wait"),
        pytest.param(asking("20.00", open_approvals=6), Refusal.TOO_MANY_OPEN, id="six wait"),
        pytest.param(
            asking("20.00", rejections=3), Refusal.TOO_MANY_REJECTIONS, id="declined three times"
        ),
        pytest.param(
            asking("20.00", rejections=4), Refusal.TOO_MANY_REJECTIONS, id="and once more"
        ),
        pytest.param(asking("-0.01"), Refusal.INVALID_AMOUNT, id="a negative amount"),
        pytest.param(asking("0.00"), Refusal.INVALID_AMOUNT, id="nothing"),
        pytest.param(asking("20.00", stopped=True), Refusal.STOPPED, id="everything stopped"),
        pytest.param(Case().order(captured=usd("-1")), Refusal.NOT_PAID, id="less than nothing"),
    ],
)
def test_the_refusals_are_exact(case: Case, code: Refusal) -> None:
    assert outcome(case) is code


LEFT = (Reason.AMOUNT_OVER_LIMIT,)


@pytest.mark.parametrize(
    ("amount", "order", "reserved", "expected"),
    [
        pytest.param("160.00", order_facts(), None, LEFT, id="all that was paid"),
        pytest.param("160.01", order_facts(), None, Refusal.OVER_REMAINING, id="a cent more"),
        pytest.param("9999999999.99", order_facts(), None, Refusal.OVER_REMAINING, id="the most"),
        pytest.param("100.00", order_facts(refunded="60"), None, LEFT, id="the rest"),
        pytest.param(
            "100.01", order_facts(refunded="60"), None, Refusal.OVER_REMAINING, id="over the rest"
        ),
        pytest.param("100.00", order_facts(), usd("60"), LEFT, id="all that is not reserved"),
        pytest.param(
            "100.01", order_facts(), usd("60"), Refusal.OVER_REMAINING, id="over the unreserved"
        ),
        pytest.param("40.00", order_facts(refunded="60"), usd("60"), (), id="the rest of both"),
        pytest.param(
            "40.01", order_facts(refunded="60"), usd("60"), Refusal.OVER_REMAINING, id="and a cent"
        ),
        pytest.param(
            "0.01", order_facts(refunded="160"), None, Refusal.OVER_REMAINING, id="nothing is left"
        ),
        pytest.param(
            "80.01", order_facts(captured="80"), None, Refusal.OVER_REMAINING, id="paid in part"
        ),
        pytest.param("120.00", order_facts(final_sale="40"), None, LEFT, id="all but final sale"),
        pytest.param(
            "120.01", order_facts(final_sale="40"), None, Refusal.FINAL_SALE, id="into final sale"
        ),
        pytest.param(
            "160.00", order_facts(final_sale="40"), None, Refusal.FINAL_SALE, id="with final sale"
        ),
        pytest.param(
            "160.01", order_facts(final_sale="40"), None, Refusal.OVER_REMAINING, id="beyond both"
        ),
        pytest.param(
            "20.00", order_facts(final_sale="160"), None, Refusal.FINAL_SALE, id="all final sale"
        ),
        pytest.param(
            "160.01",
            order_facts(final_sale="160"),
            None,
            Refusal.FINAL_SALE,
            id="beyond an order that is all final sale",
        ),
        pytest.param(
            "0.01",
            order_facts(refunded="120", final_sale="40"),
            None,
            Refusal.FINAL_SALE,
            id="only final sale is left",
        ),
        pytest.param(
            "0.01",
            order_facts(refunded="130", final_sale="40"),
            None,
            Refusal.FINAL_SALE,
            id="less than the final sale is left",
        ),
        pytest.param(
            "20.00",
            order_facts("0", captured="10"),
            None,
            Refusal.OVER_REMAINING,
            id="the shop shows a total of nothing",
        ),
        pytest.param(
            "20.00",
            order_facts("0", captured="160", refunded="160"),
            None,
            Refusal.OVER_REMAINING,
            id="all came back and the total is nothing",
        ),
    ],
)
def test_no_more_goes_back_than_is_left(
    amount: str, order: OrderFacts, reserved: Money | None, expected: object
) -> None:
    facts = refund_facts(order=order, reserved=reserved)
    assert outcome(Case(refund_proposal(amount), facts)) == expected
    refused = recheck(usd(amount), facts)
    assert (refused.code if refused else LEFT) == (expected or LEFT)


@given(
    total=st.just(0) | st.integers(0, 30_000),
    captured=st.integers(0, 30_000),
    refunded=st.integers(0, 30_000),
    reserved=st.integers(0, 30_000),
    final_sale=st.integers(0, 30_000),
    amount=st.integers(1, 30_000),
)
def test_whatever_is_let_through_is_there_to_be_refunded(
    total: int, captured: int, refunded: int, reserved: int, final_sale: int, amount: int
) -> None:
    final = min(final_sale, total)
    order = replace(
        order_facts(),
        total=Money(total, "USD"),
        captured=Money(captured, "USD"),
        refunded=Money(refunded, "USD"),
        final_sale=Money(final, "USD"),
    )
    facts = refund_facts(order=order, reserved=Money(reserved, "USD"))
    asked = Money(amount, "USD")
    fits = captured > 0 and amount <= captured - refunded - reserved - final
    verdict = Case(refund_proposal(asked), facts).verdict()
    assert isinstance(verdict, Refuse) is not fits
    assert (recheck(asked, facts) is None) is fits


@pytest.mark.parametrize(
    ("amount", "currency", "reasons", "tier"),
    [
        pytest.param("500.00", "USD", OVER, Tier(APPROVER), id="an approver up to 500.00"),
        pytest.param("500.01", "USD", OVER, Tier(MANAGER), id="a manager from 500.01"),
        pytest.param("2000.00", "USD", OVER, Tier(MANAGER), id="up to 2,000.00"),
        pytest.param(
            "2000.01", "USD", OVER, Tier(MANAGER, 2, fresh_role=True), id="two people above"
        ),
        pytest.param(
            "20.00", "EUR", (Reason.NO_LIMIT_FOR_CURRENCY,), Tier(APPROVER), id="no limit in euro"
        ),
        pytest.param(
            "0.01",
            "CHF",
            (Reason.NO_LIMIT_FOR_CURRENCY,),
            Tier(MANAGER, 2, fresh_role=True),
            id="neither limit nor tiers in francs",
        ),
    ],
)
def test_people_decide_by_amount_and_currency(
    amount: str, currency: str, reasons: tuple[Reason, ...], tier: Tier
) -> None:
    order = order_facts("5000", currency=currency)
    asked = Money(round(Decimal(amount) * 100), currency)
    verdict = Case(refund_proposal(asked), refund_facts(order=order)).verdict()
    assert isinstance(verdict, Park)
    assert tuple(finding.code for finding in verdict.findings) == reasons
    assert verdict.tier == tier


def test_the_policy_sets_limit_confidence_and_how_many_may_wait() -> None:
    strict = policy(
        refunds={"auto_limit": {"USD": "10"}, "confidence_min": "1"}, max_open_approvals=1
    )
    assert outcome(replace(asking("10.00"), policy=strict)) == UNSURE
    assert outcome(replace(asking("10.01"), policy=strict)) == OVER + UNSURE
    assert (
        outcome(replace(asking("1.00", open_approvals=1), policy=strict)) is Refusal.TOO_MANY_OPEN
    )


def test_the_card_says_why_in_numbers() -> None:
    case = asking("50.01", earlier_no="expired").asks(confidence=Decimal("0.8999"), scope="unclear")
    verdict = case.verdict()
    assert isinstance(verdict, Park)
    assert verdict.findings == (
        Finding(Reason.AMOUNT_OVER_LIMIT, "50.01 USD is over the automatic limit of 50.00 USD"),
        Finding(Reason.LOW_CONFIDENCE, "The agent's confidence 0.8999 is under 0.90"),
        Finding(
            Reason.EARLIER_NO,
            "A refund on this order was not decided in time in the last 30 days",
        ),
        Finding(Reason.AMBIGUOUS, "It is not clear whether a full or a partial refund is meant"),
    )


@pytest.mark.parametrize(
    ("case", "text"),
    [
        pytest.param(
            asking("20.00", automatic_on_order=3001),
            "Automatic refunds on this order would reach 50.01 USD, over the limit of 50.00 USD",
            id="on the order",
        ),
        pytest.param(
            asking("20.00", automatic_by_customer=3001),
            "Automatic refunds to this customer in 24 hours would reach 50.01 USD, "
            "over the limit of 50.00 USD",
            id="to the customer",
        ),
        pytest.param(
            Case().where(earlier_no="rejected"),
            "A refund on this order was declined in the last 30 days",
            id="declined before",
        ),
        pytest.param(
            asking("20.00", automatic_number=5),
            "This customer had 5 automatic refunds in 30 days; the policy allows 5",
            id="too many",
        ),
        pytest.param(
            Case().where(paused="a review flagged apr_1"),
            "Nothing runs without a person for this customer: a review flagged apr_1",
            id="paused",
        ),
        pytest.param(Case().asks(confidence=None), "The agent stated no confidence", id="unsaid"),
    ],
)
def test_a_reason_reads(case: Case, text: str) -> None:
    verdict = case.verdict()
    assert isinstance(verdict, Park)
    assert [finding.text for finding in verdict.findings] == [text]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        pytest.param(Case().asks(amount=EURO), "Order ORD-1001 was paid in USD.", id="currency"),
        pytest.param(
            asking("160.01"),
            "Only 160.00 USD of order ORD-1001 is left to refund.",
            id="what is left",
        ),
        pytest.param(
            Case().order(captured=usd("0")), "Order ORD-1001 has not been paid.", id="not paid"
        ),
        pytest.param(
            Case().where(decided_before="rejected"),
            "The team has already declined exactly this request.",
            id="declined",
        ),
        pytest.param(
            Case().where(decided_before="edited"),
            "The team has changed exactly this request; that is final.",
            id="changed",
        ),
        pytest.param(
            Case().where(rejections=3),
            "The team has declined this before; a person takes over from here.",
            id="declined again and again",
        ),
    ],
)
def test_a_refusal_tells_the_customer(case: Case, message: str) -> None:
    verdict = case.verdict()
    assert isinstance(verdict, Refuse)
    assert verdict.message == message


def test_somebody_elses_order_is_refused_in_the_words_for_none() -> None:
    """Facts about a foreign order hold no order at all, so the answers cannot differ."""
    none = Case().where(order=None).verdict()
    assert none == Refuse(Refusal.NOT_FOUND, "No such order was found for this customer.")
    assert recheck(usd("20.00"), refund_facts(order=None)) == none


RECHECKED = {
    Refusal.NOT_VERIFIED,
    Refusal.NOT_FOUND,
    Refusal.NOT_PAID,
    Refusal.DISPUTED,
    Refusal.OVER_REMAINING,
    Refusal.FINAL_SALE,
}


@pytest.mark.parametrize(("code", "spoil"), REFUSALS, ids=[str(c) for c, _ in REFUSALS])
def test_the_claim_looks_again_at_what_may_have_changed(code: Refusal, spoil: Spoil) -> None:
    facts = spoil(Case()).facts
    refused = recheck(usd("20.00"), facts)
    assert (None if refused is None else refused.code) == (code if code in RECHECKED else None)


def test_the_claim_refuses_an_order_whose_currency_changed() -> None:
    facts = refund_facts(order=order_facts(currency="EUR"))
    refused = recheck(usd("20.00"), facts)
    assert refused is not None
    assert refused.code is Refusal.WRONG_CURRENCY


def test_remaining_is_captured_less_refunds_and_reservations() -> None:
    order = order_facts(captured="150", refunded="20")
    assert refund_facts(order=order).remaining() == usd("130")
    assert refund_facts(order=order, reserved=usd("30")).remaining() == usd("100")
    assert refund_facts(order=None, reserved=usd("30")).remaining() is None


def test_every_refusal_and_reason_of_the_gate_is_met_here() -> None:
    met = {code for code, _ in REFUSALS} | {Refusal.STOPPED}
    assert met == set(Refusal) - STEPS_ONLY - OF_EMAILS
    singles = {Reason.AMOUNT_OVER_LIMIT, Reason.NO_LIMIT_FOR_CURRENCY}
    from_steps = {Reason.BREAKER_OPEN, Reason.HUMAN_EDIT, Reason.ASKED_AGAIN}
    of_others = {Reason.IRREVERSIBLE_MESSAGE, Reason.FRAUD_FLAG, Reason.TOOL_REQUIRES_APPROVAL}
    assert {code for code, _ in FINDINGS} == set(Reason) - singles - from_steps - of_others
