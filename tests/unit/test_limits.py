"""Nothing runs without a person beyond a limit of the policy, wherever the limit lies."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from agent.domain.money import Money
from agent.domain.risk import Park, Reason, RunNow, assess
from tests.support.builders import policy, refund_facts, refund_proposal

SHIPPED = policy()
NEAR = st.integers(4_990, 5_010)


@given(
    minor=st.integers(1, 16_000) | NEAR,
    on_order=st.integers(0, 6_000),
    by_customer=st.integers(0, 6_000),
    number=st.integers(0, 7),
)
def test_what_runs_keeps_every_limit(
    minor: int, on_order: int, by_customer: int, number: int
) -> None:
    facts = refund_facts(
        automatic_on_order=on_order, automatic_by_customer=by_customer, automatic_number=number
    )
    verdict = assess(refund_proposal(Money(minor, "USD")), facts, SHIPPED)
    fits = minor + max(on_order, by_customer) <= 5_000 and number < 5
    assert isinstance(verdict, RunNow if fits else Park)


@given(minor=st.integers(1, 16_000), limit=st.integers(1, 16_000))
def test_exactly_the_limit_runs_and_a_cent_more_waits(minor: int, limit: int) -> None:
    own = policy(refunds={"auto_limit": {"USD": Money(limit, "USD").plain()}})
    verdict = assess(refund_proposal(Money(minor, "USD")), refund_facts(), own)
    assert isinstance(verdict, RunNow if minor <= limit else Park)


@given(most=st.integers(1, 8), number=st.integers(0, 9))
def test_a_customer_gets_as_many_automatic_refunds_as_the_policy_says(
    most: int, number: int
) -> None:
    capped = policy(refunds={"customer_max_refunds": most})
    verdict = assess(refund_proposal("1.00"), refund_facts(automatic_number=number), capped)
    assert isinstance(verdict, RunNow if number < most else Park)
    if isinstance(verdict, Park):
        assert [finding.code for finding in verdict.findings] == [Reason.CUMULATIVE_OVER_LIMIT]
        assert verdict.findings[0].text.endswith(f"; the policy allows {most}")


@given(sure=st.decimals(0, 1, places=6) | st.sampled_from([Decimal("0.9"), Decimal("0.899999")]))
def test_a_refund_runs_from_the_least_confidence_on(sure: Decimal) -> None:
    verdict = assess(refund_proposal("20.00", confidence=sure), refund_facts(), SHIPPED)
    assert isinstance(verdict, RunNow if sure >= Decimal("0.90") else Park)
