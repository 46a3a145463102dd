"""What a fraud score sets off: noted up to the line, a hold that people decide above it."""

from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.fraud import (
    SCORE_MAX,
    TRIGGERS,
    FlagAction,
    action_for,
    assess_flag,
    flag_tier,
    recheck_flag,
)
from agent.domain.policy import Policy
from agent.domain.risk import Finding, Park, Reason, Refusal, Refuse, RunNow
from agent.domain.roles import Role, Tier
from tests.support.builders import flag_facts, flag_proposal, policy

SHIPPED = policy()
HOLD, MONITOR = FlagAction.HOLD, FlagAction.MONITOR
ALWAYS = Finding(
    Reason.TOOL_REQUIRES_APPROVAL, "The policy lets no fraud flag pass without a person"
)


def line_at(most: str | None) -> Policy:
    """Return the policy with another highest score that is only noted."""
    return policy(fraud_flags={"auto_score_max": most})


def over(score: str, line: str) -> Finding:
    return Finding(Reason.FRAUD_FLAG, f"The fraud score {score} is over {line}")


def found(score: str, rules: Policy = SHIPPED, **facts: Any) -> tuple[Finding, ...]:
    """Return why a flag of the score waits; nothing where it is noted at once."""
    verdict = assess_flag(flag_proposal(score), flag_facts(**facts), rules)
    if isinstance(verdict, Park):
        assert verdict.findings
        return verdict.findings
    assert verdict == RunNow()
    return ()


@pytest.mark.parametrize(
    ("score", "most", "action", "findings"),
    [
        pytest.param("0", "0.80", MONITOR, (), id="no suspicion"),
        pytest.param("0.79", "0.80", MONITOR, (), id="below the line"),
        pytest.param("0.8", "0.80", MONITOR, (), id="the line in fewer digits"),
        pytest.param("0.80", "0.80", MONITOR, (), id="exactly the line"),
        pytest.param("0.8001", "0.80", HOLD, (over("0.8001", "0.80"),), id="a trace over"),
        pytest.param("0.800001", "0.80", HOLD, (over("0.800001", "0.80"),), id="a smaller trace"),
        pytest.param("1", "0.80", HOLD, (over("1", "0.80"),), id="certain"),
        pytest.param("0.50", "0.50", MONITOR, (), id="exactly a lower line"),
        pytest.param("0.5001", "0.50", HOLD, (over("0.5001", "0.50"),), id="over a lower line"),
        pytest.param("0", "0", MONITOR, (), id="a line at nothing"),
        pytest.param("0.0001", "0", HOLD, (over("0.0001", "0"),), id="over a line at nothing"),
        pytest.param("0.80", "0.95", MONITOR, (), id="a higher line changes nothing below"),
        pytest.param(
            "0.8001", "0.95", HOLD, (over("0.8001", "0.80"),), id="a higher line is capped"
        ),
        pytest.param("0.95", "1", HOLD, (over("0.95", "0.80"),), id="the highest line is capped"),
        pytest.param("0.30", None, MONITOR, (ALWAYS,), id="no line: a low score waits"),
        pytest.param("0.80", None, MONITOR, (ALWAYS,), id="no line, exactly 0.80"),
        pytest.param(
            "0.8001", None, HOLD, (ALWAYS, over("0.8001", "0.80")), id="no line, a trace over"
        ),
    ],
)
def test_a_score_does(
    score: str, most: str | None, action: FlagAction, findings: tuple[Finding, ...]
) -> None:
    rules = line_at(most)
    assert action_for(Decimal(score), rules) is action
    assert found(score, rules) == findings
    if findings:
        assert found(score, rules, stopped=True) == findings


@given(
    score=st.decimals(0, 1, places=6) | st.sampled_from([SCORE_MAX, Decimal("0.800001")]),
    most=st.none() | st.integers(0, 100),
)
def test_no_hold_and_no_high_score_passes_without_a_person(
    score: Decimal, most: int | None
) -> None:
    rules = line_at(None if most is None else f"{Decimal(most) / 100:.2f}")
    verdict = assess_flag(flag_proposal(str(score)), flag_facts(), rules)
    line = SCORE_MAX if most is None else min(Decimal(most) / 100, SCORE_MAX)
    assert (action_for(score, rules) is HOLD) is (score > line)
    assert isinstance(verdict, RunNow) is (most is not None and score <= line)
    if verdict == RunNow():
        assert score <= SCORE_MAX
        assert action_for(score, rules) is MONITOR


# Everything that refuses, in the order in which it is looked at.
REFUSALS: list[tuple[Refusal, str, dict[str, Any]]] = [
    (
        Refusal.NOT_VERIFIED,
        "Nobody is signed in whom a flag could be about.",
        {"verified": False},
    ),
    (
        Refusal.NOT_FOUND,
        "No such order was found for this customer.",
        {"order_found": False},
    ),
    (
        Refusal.ALREADY_REJECTED,
        "The team has already declined exactly this request.",
        {"decided_before": "rejected"},
    ),
    (
        Refusal.TOO_MANY_OPEN,
        "Too many requests are still waiting for the team.",
        {"open_approvals": 5},
    ),
    (Refusal.STOPPED, "Everything is stopped at the moment.", {"stopped": True}),
]
NAMES = [str(code) for code, _, _ in REFUSALS]


@pytest.mark.parametrize(("code", "message", "facts"), REFUSALS, ids=NAMES)
def test_a_flag_is_refused(code: Refusal, message: str, facts: dict[str, Any]) -> None:
    assert assess_flag(flag_proposal(), flag_facts(**facts), SHIPPED) == Refuse(code, message)


@pytest.mark.parametrize(
    ("first", "second"),
    list(combinations(REFUSALS, 2)),
    ids=[f"{a[0]} before {b[0]}" for a, b in combinations(REFUSALS, 2)],
)
def test_of_two_refusals_the_earlier_check_answers(
    first: tuple[Refusal, str, dict[str, Any]], second: tuple[Refusal, str, dict[str, Any]]
) -> None:
    verdict = assess_flag(flag_proposal(), flag_facts(**first[2], **second[2]), SHIPPED)
    assert verdict == Refuse(first[0], first[1])


@pytest.mark.parametrize(("code", "message", "facts"), REFUSALS, ids=NAMES)
def test_the_last_look_before_it_is_entered(
    code: Refusal, message: str, facts: dict[str, Any]
) -> None:
    again = code in {Refusal.NOT_VERIFIED, Refusal.NOT_FOUND}
    assert recheck_flag(flag_facts(**facts)) == (Refuse(code, message) if again else None)


def test_who_decides_a_flag_is_in_the_policy() -> None:
    pair = policy(fraud_flags={"role": "refund_approver", "approvals": 2})
    assert flag_tier(SHIPPED) == Tier(Role.REFUND_MANAGER, 1)
    for rules, tier in (
        (SHIPPED, Tier(Role.REFUND_MANAGER)),
        (pair, Tier(Role.REFUND_APPROVER, 2)),
    ):
        verdict = assess_flag(flag_proposal("0.9"), flag_facts(), rules)
        assert isinstance(verdict, Park)
        assert verdict.tier == tier


def test_every_action_says_what_it_sets_off() -> None:
    assert set(TRIGGERS) == set(FlagAction)
    assert all(TRIGGERS.values())
    assert Decimal("0.80") == SCORE_MAX
