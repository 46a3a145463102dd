"""Which automatic effects people look at afterwards."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.money import Money
from agent.steps.review import picked
from tests.support.builders import approval, email_approval, flag_approval, policy, usd

SHIPPED = policy()
NEVER = Decimal("0.999999")


@pytest.mark.parametrize(
    ("amount", "chance", "why"),
    [
        pytest.param("25.00", NEVER, None, id="exactly half the limit"),
        pytest.param("25.01", NEVER, "large", id="a cent over half the limit"),
        pytest.param("50.00", NEVER, "large", id="the limit"),
        pytest.param("25.01", Decimal(0), "large", id="large, and picked by chance"),
        pytest.param("0.01", NEVER, None, id="a cent"),
        pytest.param("0.01", Decimal(0), "share", id="the least chance"),
        pytest.param("25.00", Decimal("0.0999"), "share", id="a trace under the share"),
        pytest.param("25.00", Decimal("0.1"), None, id="exactly the share"),
    ],
)
def test_a_refund_is_picked(amount: str, chance: Decimal, why: str | None) -> None:
    assert picked(approval(amount=usd(amount)), SHIPPED, chance) == why


@pytest.mark.parametrize("make", [email_approval, flag_approval], ids=["e-mail", "flag"])
@pytest.mark.parametrize(
    ("chance", "why"),
    [("0", "share"), ("0.049999", "share"), ("0.05", None), ("0.999999", None)],
)
def test_what_is_not_money_is_picked_by_chance_alone(
    make: Any, chance: str, why: str | None
) -> None:
    assert picked(make(), SHIPPED, Decimal(chance)) == why


def test_a_tool_without_a_share_is_not_picked() -> None:
    bare = policy(review={"share": {}})
    assert picked(email_approval(), bare, Decimal(0)) is None
    assert picked(approval(amount=usd("25.00")), bare, Decimal(0)) is None
    assert picked(approval(amount=usd("25.01")), bare, Decimal(0)) == "large"


def test_a_currency_without_a_limit_has_no_large_refunds() -> None:
    euros = approval(amount=Money(10**9, "EUR"))
    assert picked(euros, SHIPPED, NEVER) is None
    assert picked(euros, SHIPPED, Decimal(0)) == "share"


@pytest.mark.parametrize(("share", "why"), [("0", None), ("1", "share")])
@pytest.mark.parametrize("chance", ["0", "0.5", "0.999999"])
def test_none_and_all_are_none_and_all(share: str, why: str | None, chance: str) -> None:
    rules = policy(review={"share": {"send_email": share}})
    assert picked(email_approval(), rules, Decimal(chance)) == why


@given(
    minor=st.integers(1, 6_000),
    above=st.integers(0, 100),
    share=st.integers(0, 100),
    chance=st.decimals(0, "0.9999", places=4),
)
def test_a_refund_is_looked_at_as_often_as_the_policy_says(
    minor: int, above: int, share: int, chance: Decimal
) -> None:
    rules = policy(
        review={
            "all_above": f"{Decimal(above) / 100:.2f}",
            "share": {"issue_refund": f"{Decimal(share) / 100:.2f}"},
        }
    )
    why = picked(approval(amount=Money(minor, "USD")), rules, chance)
    if minor * 100 > 5_000 * above:
        assert why == "large"
    else:
        assert why == ("share" if chance * 100 < share else None)
