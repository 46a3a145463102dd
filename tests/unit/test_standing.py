"""What is known of the one who asks weighs the same, whatever they ask for."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.fraud import assess_flag
from agent.domain.messages import assess_email
from agent.domain.policy import Policy
from agent.domain.risk import (
    Finding,
    Park,
    Reason,
    Refusal,
    Refuse,
    RunNow,
    assess,
    doubts,
    history,
)
from tests.support.builders import (
    email_facts,
    email_proposal,
    flag_facts,
    flag_proposal,
    policy,
    refund_facts,
    refund_proposal,
)

SHIPPED = policy()
Judge = Callable[..., RunNow | Park | Refuse]


def refund(sure: Decimal | None = Decimal(1), rules: Policy = SHIPPED, **known: Any) -> object:
    return assess(refund_proposal("20.00", confidence=sure), refund_facts(**known), rules)


def email(sure: Decimal | None = Decimal(1), rules: Policy = SHIPPED, **known: Any) -> object:
    return assess_email(email_proposal(confidence=sure), email_facts(**known), rules)


def flag(sure: Decimal | None = Decimal(1), rules: Policy = SHIPPED, **known: Any) -> object:
    return assess_flag(flag_proposal(confidence=sure), flag_facts(**known), rules)


EACH = pytest.mark.parametrize("judged", [refund, email, flag])

DECLINED = Refuse(Refusal.ALREADY_REJECTED, "The team has already declined exactly this request.")
CHANGED = Refuse(
    Refusal.ALREADY_EDITED, "The team has changed exactly this request; that is final."
)
TIRED = Refuse(
    Refusal.TOO_MANY_REJECTIONS,
    "The team has declined this before; a person takes over from here.",
)
CROWDED = Refuse(Refusal.TOO_MANY_OPEN, "Too many requests are still waiting for the team.")
PAUSED = Finding(
    Reason.AUTOMATIC_PAUSED,
    "Nothing runs without a person for this customer: a review flagged apr_1",
)
SILENT = Finding(Reason.LOW_CONFIDENCE, "The agent stated no confidence")


def unsure(stated: str) -> Finding:
    return Finding(Reason.LOW_CONFIDENCE, f"The agent's confidence {stated} is under 0.90")


@EACH
@pytest.mark.parametrize(
    ("known", "refusal"),
    [
        pytest.param({"decided_before": "rejected"}, DECLINED, id="declined before"),
        pytest.param({"decided_before": "edited"}, CHANGED, id="changed before"),
        pytest.param({"rejections": 3}, TIRED, id="declined three times"),
        pytest.param({"rejections": 4}, TIRED, id="declined four times"),
        pytest.param(
            {"decided_before": "rejected", "rejections": 3}, DECLINED, id="the third was just this"
        ),
        pytest.param(
            {"decided_before": "edited", "rejections": 3}, CHANGED, id="changed, others declined"
        ),
        pytest.param(
            {"rejections": 3, "open_approvals": 5}, TIRED, id="declined three times, five wait"
        ),
        pytest.param({"rejections": 2, "open_approvals": 5}, CROWDED, id="declined twice, five"),
        pytest.param({"open_approvals": 5}, CROWDED, id="five wait"),
        pytest.param({"open_approvals": 6}, CROWDED, id="six wait"),
        pytest.param(
            {"decided_before": "rejected", "open_approvals": 5}, DECLINED, id="declined, five wait"
        ),
        pytest.param(
            {"decided_before": "edited", "open_approvals": 5}, CHANGED, id="changed, five wait"
        ),
    ],
)
def test_what_is_refused(judged: Judge, known: dict[str, Any], refusal: Refuse) -> None:
    assert judged(**known) == refusal
    # Neither doubt nor a pause nor an earlier no nor a stop hides it.
    assert judged(None, **known, paused="a hold", earlier_no="expired", stopped=True) == refusal


@EACH
def test_one_more_may_wait_below_the_most(judged: Judge) -> None:
    assert judged(open_approvals=4) == RunNow()
    few = policy(max_open_approvals=1)
    assert judged(rules=few) == RunNow()
    assert judged(rules=few, open_approvals=1) == CROWDED


@EACH
def test_the_last_no_that_the_policy_allows_ends_it(judged: Judge) -> None:
    assert judged(rejections=2) == RunNow()
    for most in (1, 2, 7):
        rules = policy(max_revisions=most)
        assert judged(rules=rules, rejections=most - 1) == RunNow()
        assert judged(rules=rules, rejections=most) == TIRED
        assert judged(rules=rules, rejections=most + 1) == TIRED


@EACH
@pytest.mark.parametrize(
    ("sure", "known", "findings"),
    [
        pytest.param("0.90", {}, (), id="exactly sure enough"),
        pytest.param("0.8999", {}, (unsure("0.8999"),), id="a trace less"),
        pytest.param(None, {}, (SILENT,), id="no word on it"),
        pytest.param("1", {"paused": "a review flagged apr_1"}, (PAUSED,), id="paused"),
        pytest.param(
            "0.8999",
            {"paused": "a review flagged apr_1"},
            (unsure("0.8999"), PAUSED),
            id="unsure and paused",
        ),
        pytest.param(
            None, {"paused": "a review flagged apr_1"}, (SILENT, PAUSED), id="silent and paused"
        ),
    ],
)
def test_what_makes_people_look(
    judged: Judge, sure: str | None, known: dict[str, Any], findings: tuple[Finding, ...]
) -> None:
    for stopped in (False, True):
        verdict = judged(None if sure is None else Decimal(sure), **known, stopped=stopped)
        if findings:
            assert isinstance(verdict, Park)
            assert verdict.findings == findings
        elif stopped:
            assert isinstance(verdict, Refuse)
            assert verdict.code is Refusal.STOPPED
        else:
            assert verdict == RunNow()


@pytest.mark.parametrize(
    ("judged", "what"),
    [
        (refund, "A refund on this order"),
        (email, "The same e-mail"),
        (flag, "The same flag"),
    ],
)
@pytest.mark.parametrize(
    ("no", "went"), [("rejected", "was declined"), ("expired", "was not decided in time")]
)
def test_an_earlier_no_makes_people_look(judged: Judge, what: str, no: str, went: str) -> None:
    found = Finding(Reason.EARLIER_NO, f"{what} {went} in the last 30 days")
    verdict = judged(earlier_no=no)
    assert isinstance(verdict, Park)
    assert verdict.findings == (found,)
    verdict = judged(None, earlier_no=no, paused="a review flagged apr_1", stopped=True)
    assert isinstance(verdict, Park)
    assert verdict.findings == (SILENT, PAUSED, found)
    week = judged(rules=policy(refunds={"earlier_no_s": 7 * 24 * 3600}), earlier_no=no)
    assert isinstance(week, Park)
    assert week.findings[0].text.endswith(f"{went} in the last 7 days")


@EACH
def test_a_pause_without_words_is_a_pause(judged: Judge) -> None:
    assert isinstance(judged(paused=""), Park)


@EACH
def test_nobody_unknown_is_served(judged: Judge) -> None:
    verdict = judged(verified=False, decided_before="rejected", open_approvals=9, stopped=True)
    assert isinstance(verdict, Refuse)
    assert verdict.code is Refusal.NOT_VERIFIED


@given(
    waiting=st.integers(0, 12),
    most=st.integers(1, 10),
    noes=st.integers(0, 12),
    enough=st.integers(1, 10),
    before=st.sampled_from([None, "rejected", "edited"]),
)
def test_history_speaks_only_of_what_people_made_of_it(
    waiting: int, most: int, noes: int, enough: int, before: str | None
) -> None:
    rules = policy(max_open_approvals=most, max_revisions=enough)
    known = flag_facts(open_approvals=waiting, rejections=noes, decided_before=before)
    goes_on = before is None and noes < enough and waiting < most
    assert (history(known, rules) is None) is goes_on


@given(sure=st.decimals(0, 1, places=6), least=st.integers(0, 10_000))
def test_doubt_begins_under_the_least_confidence(sure: Decimal, least: int) -> None:
    share = f"{Decimal(least) / 10_000:.4f}"
    rules = policy(refunds={"confidence_min": share})
    assert (doubts(sure, flag_facts(), rules, "It") == []) is (sure >= Decimal(share))
