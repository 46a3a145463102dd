"""The policy file: read strictly, versioned by its content, and what it says."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.breaker import BreakerLimits
from agent.domain.errors import InvalidInput
from agent.domain.money import MAX_MINOR, Money
from agent.domain.policy import read_policy
from agent.domain.roles import Role, Tier
from tests.support.builders import policy, policy_document, usd

Change = Callable[[dict[str, Any]], object]
APPROVER, MANAGER = Role.REFUND_APPROVER, Role.REFUND_MANAGER
SHIPPED = policy()


def one(role: str = "refund_approver", **more: object) -> dict[str, object]:
    return {"role": role, **more}


def in_refunds(**changes: object) -> Change:
    return lambda document: document["refunds"].update(changes)


def in_breaker(**changes: object) -> Change:
    return lambda document: document["breaker"].update(changes)


def in_dollars(*rules: dict[str, object]) -> Change:
    return in_refunds(tiers={"USD": list(rules)})


def test_the_shipped_policy_is_that_of_the_design() -> None:
    assert SHIPPED.auto_limit("USD") == usd("50.00")
    assert SHIPPED.confidence_min() == Decimal("0.90")
    assert SHIPPED.refunds.decide_within_s == 30 * 60
    assert SHIPPED.refunds.use_within_s == 15 * 60
    assert SHIPPED.refunds.earlier_no_s == 30 * 24 * 3600
    assert SHIPPED.refunds.cumulative_window_s == 24 * 3600
    assert SHIPPED.max_revisions == 3
    assert SHIPPED.breaker.when_open == "refuse"
    assert SHIPPED.breaker_limits() == BreakerLimits(
        5, timedelta(seconds=60), timedelta(seconds=30)
    )


@pytest.mark.parametrize("currency", ["EUR", "JPY", "usd", "QQQ"])
def test_a_currency_that_is_not_listed_has_no_automatic_limit(currency: str) -> None:
    assert SHIPPED.auto_limit(currency) is None


def test_a_limit_is_read_in_its_currency() -> None:
    limits = policy(refunds={"auto_limit": {"JPY": "5000", "KWD": "10.125"}})
    assert limits.auto_limit("JPY") == Money(5000, "JPY")
    assert limits.auto_limit("KWD") == Money(10125, "KWD")
    assert limits.auto_limit("USD") is None


@pytest.mark.parametrize(
    ("amount", "tier"),
    [
        pytest.param(usd("0.01"), Tier(APPROVER), id="a cent"),
        pytest.param(usd("500.00"), Tier(APPROVER), id="500.00"),
        pytest.param(usd("500.01"), Tier(MANAGER), id="500.01"),
        pytest.param(usd("2000.00"), Tier(MANAGER), id="2,000.00"),
        pytest.param(usd("2000.01"), Tier(MANAGER, 2, fresh_role=True), id="2,000.01"),
        pytest.param(Money(MAX_MINOR, "USD"), Tier(MANAGER, 2, fresh_role=True), id="the most"),
        pytest.param(Money(75_000, "JPY"), Tier(APPROVER), id="75,000 yen"),
        pytest.param(Money(75_001, "JPY"), Tier(MANAGER), id="75,001 yen"),
        pytest.param(
            Money(1, "CHF"), Tier(MANAGER, 2, fresh_role=True), id="francs, which have no tiers"
        ),
    ],
)
def test_who_may_decide_depends_on_the_amount(amount: Money, tier: Tier) -> None:
    assert SHIPPED.tier_for(amount) == tier


@given(less=st.integers(1, 400_000), more=st.integers(0, 400_000))
def test_a_larger_amount_never_asks_for_less(less: int, more: int) -> None:
    low, high = (SHIPPED.tier_for(Money(minor, "USD")) for minor in (less, less + more))
    assert (low.role is not MANAGER) or (high.role is MANAGER)
    assert low.approvals_needed <= high.approvals_needed


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(in_refunds(auto_limit={"USD": "50.01"}), id="a limit"),
        pytest.param(in_refunds(auto_limit={"USD": "50.0"}), id="its text"),
        pytest.param(in_refunds(confidence_min="0.91"), id="the confidence"),
        pytest.param(in_refunds(decide_within_s=1801), id="a deadline"),
        pytest.param(in_dollars(one()), id="the tiers"),
        pytest.param(in_breaker(max_refunds=6), id="the breaker"),
        pytest.param(lambda d: d.update(max_open_approvals=6), id="how many may wait"),
        pytest.param(lambda d: d["roles"]["oncall"].update(slack_users=["T1:U1"]), id="a role"),
        pytest.param(lambda d: d["shop_rules"].pop(), id="a rule of the shop"),
    ],
)
def test_every_change_makes_another_version(change: Change) -> None:
    document = policy_document()
    change(document)
    assert read_policy(document).version != SHIPPED.version


def test_the_version_is_the_contents_and_not_their_order() -> None:
    backwards = dict(reversed(list(policy_document().items())))
    assert read_policy(backwards).version == SHIPPED.version
    assert re.fullmatch(r"[0-9a-f]{12}", SHIPPED.version)


def test_a_policy_with_long_shop_rules_has_a_version() -> None:
    document = policy_document()
    document["shop_rules"][0]["text"] = "You can return most items. " * 2_000
    assert len(read_policy(document).version) == 12


@pytest.mark.parametrize(
    ("change", "where"),
    [
        pytest.param(lambda d: d.pop("refunds"), "refunds", id="a section is missing"),
        pytest.param(lambda d: d.update(refund={}), "refund", id="an unknown section"),
        pytest.param(in_refunds(autolimit={}), "refunds.autolimit", id="an unknown entry"),
        pytest.param(lambda d: d["refunds"].pop("use_within_s"), "refunds.use_within_s", id="gap"),
        pytest.param(in_refunds(auto_limit={"USD": 50.0}), "refunds.auto_limit.USD", id="a float"),
        pytest.param(in_refunds(auto_limit={"USD": 50}), "refunds.auto_limit.USD", id="a number"),
        pytest.param(
            in_refunds(auto_limit={"USD": "1e3"}), "refunds.auto_limit.USD", id="exponent"
        ),
        pytest.param(in_refunds(auto_limit={"USD": "-1"}), "refunds.auto_limit.USD", id="negative"),
        pytest.param(in_refunds(auto_limit={"USD": "NaN"}), "refunds.auto_limit.USD", id="NaN"),
        pytest.param(in_refunds(auto_limit={"USD": "5,00"}), "refunds.auto_limit.USD", id="comma"),
        pytest.param(
            in_refunds(auto_limit={"USD": "5\n"}), "refunds.auto_limit.USD", id="line end"
        ),
        pytest.param(
            in_refunds(auto_limit={"USD": "50.001"}), "refunds.auto_limit.USD", id="decimals"
        ),
        pytest.param(
            in_refunds(auto_limit={"JPY": "0.5"}), "refunds.auto_limit.JPY", id="half yen"
        ),
        pytest.param(
            in_refunds(auto_limit={"USD": "99999999999"}), "refunds.auto_limit.USD", id="too large"
        ),
        pytest.param(
            in_refunds(auto_limit={"UDS": "50"}), "refunds.auto_limit.UDS", id="no such currency"
        ),
        pytest.param(in_refunds(confidence_min="1.01"), "refunds.confidence_min", id="over one"),
        pytest.param(in_refunds(confidence_min="1.000001"), "refunds.confidence_min", id="trace"),
        pytest.param(in_refunds(confidence_min=0.9), "refunds.confidence_min", id="share as float"),
        pytest.param(in_refunds(confidence_min="NaN"), "refunds.confidence_min", id="share NaN"),
        pytest.param(in_refunds(decide_within_s=0), "refunds.decide_within_s", id="no time"),
        pytest.param(
            in_refunds(decide_within_s=-1), "refunds.decide_within_s", id="less than none"
        ),
        pytest.param(in_refunds(decide_within_s=2592001), "refunds.decide_within_s", id="too long"),
        pytest.param(in_refunds(decide_within_s="1800"), "refunds.decide_within_s", id="a text"),
        pytest.param(in_breaker(max_refunds=0), "breaker.max_refunds", id="a breaker always open"),
        pytest.param(in_breaker(max_refunds=True), "breaker.max_refunds", id="yes for a number"),
        pytest.param(in_breaker(when_open="ignore"), "breaker.when_open", id="an unknown choice"),
        pytest.param(
            lambda d: d.update(max_open_approvals=0), "max_open_approvals", id="none open"
        ),
        pytest.param(lambda d: d.update(max_revisions=0), "max_revisions", id="no revision"),
        pytest.param(
            in_dollars(one("refund_aprover")), "refunds.tiers.USD.0.role", id="an unknown role"
        ),
        pytest.param(
            in_dollars(one(approvals=3)), "refunds.tiers.USD.0.approvals", id="three people"
        ),
        pytest.param(in_dollars(one(approvals=0)), "refunds.tiers.USD.0.approvals", id="nobody"),
        pytest.param(
            in_dollars(one(upto="5")), "refunds.tiers.USD.0.upto", id="a misspelt ceiling"
        ),
        pytest.param(in_dollars(), "refunds.tiers.USD", id="no tier"),
        pytest.param(in_dollars(one(up_to="5")), "refunds.tiers.USD", id="the last has a ceiling"),
        pytest.param(in_dollars(one(), one()), "refunds.tiers.USD", id="two without a ceiling"),
        pytest.param(
            in_dollars(one(up_to="5"), one(up_to="5"), one()), "refunds.tiers.USD", id="same twice"
        ),
        pytest.param(
            in_dollars(one(up_to="5.00"), one(up_to="5"), one()),
            "refunds.tiers.USD",
            id="5 is 5.00",
        ),
        pytest.param(
            in_dollars(one(up_to="10"), one(up_to="5"), one()), "refunds.tiers.USD", id="backwards"
        ),
        pytest.param(
            in_dollars(one(up_to="5.001"), one()), "refunds.tiers.USD", id="ceiling's decimals"
        ),
        pytest.param(
            in_refunds(tiers={"UDS": [one()]}), "refunds.tiers.UDS", id="tiers of no currency"
        ),
        pytest.param(lambda d: d["roles"].update(boss={}), "roles.boss", id="a role nobody has"),
        pytest.param(lambda d: d["shop_rules"][0].pop("text"), "shop_rules.0.text", id="a rule"),
    ],
)
def test_a_wrong_entry_is_named(change: Change, where: str) -> None:
    document = policy_document()
    change(document)
    with pytest.raises(InvalidInput) as refused:
        read_policy(document)
    assert refused.value.field.startswith(where)
    assert refused.value.problem


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param((one(),), id="one tier for all"),
        pytest.param((one(up_to="0"), one("refund_manager")), id="nothing for the first"),
        pytest.param((one(up_to="5", approvals=2), one(approvals=2)), id="two people everywhere"),
    ],
)
def test_tiers_may_be(rules: tuple[dict[str, object], ...]) -> None:
    document = policy_document()
    in_dollars(*rules)(document)
    tier = read_policy(document).tier_for(usd("0.01"))
    assert tier.approvals_needed == rules[0].get("approvals", 1)


def test_an_empty_document_names_what_it_lacks() -> None:
    with pytest.raises(InvalidInput, match="Field required"):
        read_policy({})


def test_a_policy_does_not_change_after_it_was_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        SHIPPED.refunds.confidence_min = "0"  # type: ignore[misc]
