"""A past proposal beside another policy's verdict: what only unusual pasts show."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.audit import AuditType
from agent.domain.errors import Corrupt
from agent.domain.money import Money
from agent.domain.policy_history import Moment
from agent.domain.policy_trial import (
    Change,
    Compared,
    Judgement,
    PastProposal,
    SwitchEvent,
    Tally,
    follow,
    judge_again,
    past_of,
)
from agent.domain.risk import Finding, Park, Reason, Refusal, Refuse, RunNow
from agent.domain.roles import Role, Tier
from tests.support.builders import (
    approval,
    email_approval,
    email_payload,
    flag_approval,
    policy,
    usd,
)
from tests.support.doubles import START

SHIPPED = policy()
OPEN = Moment(stopped=True, breaker_open=True)
ODD = "ana@xn--80ak6aa92e.com"


def findings(*codes: Reason) -> tuple[Finding, ...]:
    return tuple(Finding(code, "so it was") for code in codes)


def small(**changes: Any) -> PastProposal:
    return past_of(approval(amount=usd("5.00"), **changes), Moment())


def test_what_ran_shows_that_nothing_held_it_back() -> None:
    ran = past_of(approval(amount=usd("5.00"), automatic=True, findings=()), OPEN)
    assert (ran.moment.stopped, ran.moment.breaker_open) == (False, False)
    assert judge_again(ran, SHIPPED) == RunNow()


def test_what_met_the_breaker_shows_that_it_was_open() -> None:
    held = small(findings=findings(Reason.BREAKER_OPEN))
    assert judge_again(held, SHIPPED) == Refuse(Refusal.BREAKER_OPEN, "The breaker was open then")
    parked = judge_again(held, policy(breaker={"when_open": "park"}))
    assert isinstance(parked, Park)
    assert [finding.code for finding in parked.findings] == [Reason.BREAKER_OPEN]
    assert parked.tier == held.recorded.tier  # type: ignore[union-attr]


def test_what_waited_for_other_reasons_meets_the_switches_of_its_moment() -> None:
    waited = past_of(approval(amount=usd("5.00")), OPEN)
    assert judge_again(waited, SHIPPED) == Refuse(
        Refusal.STOPPED, "Refunds are paused at the moment."
    )


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ((Reason.AMBIGUOUS,), [Reason.AMBIGUOUS]),
        ((Reason.AUTOMATIC_PAUSED,), [Reason.AUTOMATIC_PAUSED]),
        ((Reason.AMOUNT_OVER_LIMIT,), None),
    ],
)
def test_what_only_the_record_tells_is_taken_from_it(
    codes: tuple[Reason, ...], told: list[Reason] | None
) -> None:
    now = judge_again(small(findings=findings(*codes)), SHIPPED)
    assert (None if isinstance(now, RunNow) else reasons(now)) == told


@pytest.mark.parametrize(
    ("payload", "noted"),
    [
        pytest.param({}, 0, id="a template to the own address"),
        pytest.param({"to": ["b@c.de"]}, 1, id="to another address"),
        pytest.param({"to": [ODD]}, 1, id="an own address that looks odd"),
        pytest.param({"to": [ODD]}, 2, id="another address that looks odd"),
        pytest.param({"template": None}, 1, id="own text"),
        pytest.param({"template": None, "to": ["b@c.de"]}, 2, id="own text to another address"),
        pytest.param({"cc": ["b@c.de"]}, 1, id="two people"),
        pytest.param({"template": None, "cc": [ODD]}, 3, id="all at once"),
        pytest.param({"to": [], "cc": ["b@c.de"]}, 1, id="a copy alone"),
    ],
)
def test_an_email_has_the_findings_that_it_had(payload: dict[str, Any], noted: int) -> None:
    codes = [Reason.IRREVERSIBLE_MESSAGE] * noted
    stored = email_approval(
        payload=email_payload(**payload), findings=findings(*codes), automatic=not noted
    )
    assert reasons(judge_again(past_of(stored, Moment()), SHIPPED)) == codes


@pytest.mark.parametrize(
    ("noted", "score", "verdict"),
    [
        ((), "0.30", RunNow()),
        ((), "0.80", RunNow()),
        ((Reason.FRAUD_FLAG,), "0.8001", [Reason.FRAUD_FLAG]),
        ((Reason.AUTOMATIC_PAUSED,), "0.30", [Reason.AUTOMATIC_PAUSED]),
        ((Reason.EARLIER_NO,), "0.30", [Reason.EARLIER_NO]),
    ],
)
def test_a_flag_is_judged_by_its_score_and_what_was_noted(
    noted: tuple[Reason, ...], score: str, verdict: RunNow | list[Reason]
) -> None:
    stored = flag_approval(
        payload={"score": score}, findings=findings(*noted), automatic=verdict == RunNow()
    )
    now = judge_again(past_of(stored, Moment()), SHIPPED)
    assert (now if isinstance(now, RunNow) else reasons(now)) == verdict
    strict = policy(fraud_flags={"auto_score_max": "0.29"})
    assert Reason.FRAUD_FLAG in reasons(judge_again(past_of(stored, Moment()), strict))


def test_an_earlier_no_is_the_orders_for_money_and_the_records_else() -> None:
    noted = findings(Reason.EARLIER_NO)
    mail = email_approval(payload=email_payload(), findings=noted)
    assert reasons(judge_again(past_of(mail, Moment()), SHIPPED)) == [Reason.EARLIER_NO]
    clean = email_approval(payload=email_payload(), findings=(), automatic=True)
    # The moment's is of a refund on the order, which says nothing of an e-mail.
    after = Moment(earlier_no="rejected")
    assert judge_again(past_of(clean, after), SHIPPED) == RunNow()
    # Of money it is counted anew in the window of the policy that is tried.
    assert judge_again(small(findings=noted), SHIPPED) == RunNow()
    refund = past_of(approval(amount=usd("5.00"), findings=()), after)
    assert reasons(judge_again(refund, SHIPPED)) == [Reason.EARLIER_NO]


def test_a_template_that_the_tried_policy_lacks_is_refused() -> None:
    past = past_of(email_approval(findings=(), automatic=True), Moment())
    assert judge_again(past, SHIPPED) == RunNow()
    assert judge_again(past, policy(emails={"templates": {}})) == Refuse(
        Refusal.INVALID_ARGUMENTS, "There is no template delay_apology"
    )


def test_a_row_that_is_no_proposal_is_corrupt() -> None:
    for stored in (
        approval(tool="send_money"),
        approval(payload={"order_id": "ORD-1001"}),
        approval(confidence="much"),
        email_approval(payload=email_payload() | {"template": 5}),
        approval(tool="flag_for_fraud", payload={"score": "high"}),
        approval(tool="flag_for_fraud", payload={"score": 1}),
    ):
        with pytest.raises(Corrupt, match=stored.id):
            judge_again(past_of(stored, Moment()), SHIPPED)


ONE, TWO = Tier(Role.REFUND_APPROVER), Tier(Role.REFUND_MANAGER, 2)
WAITED = Park(findings(Reason.LOW_CONFIDENCE), ONE)


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        (RunNow(), RunNow(), Change.NONE),
        (RunNow(), WAITED, Change.WAITS),
        (RunNow(), Refuse(Refusal.STOPPED, ""), Change.REFUSED),
        (WAITED, RunNow(), Change.RUNS),
        (WAITED, replace(WAITED, findings=findings(Reason.AMBIGUOUS)), Change.OTHER_REASONS),
        (WAITED, Park(WAITED.findings, ONE), Change.NONE),
        (WAITED, replace(WAITED, tier=TWO), Change.OTHER_PEOPLE),
        (Refuse(Refusal.TOO_MANY_OPEN, ""), WAITED, Change.WAITS),
        (Refuse(Refusal.TOO_MANY_OPEN, ""), RunNow(), Change.RUNS),
        (Refuse(Refusal.STOPPED, "a"), Refuse(Refusal.STOPPED, "b"), Change.NONE),
        (
            Refuse(Refusal.TOO_MANY_OPEN, ""),
            Refuse(Refusal.BREAKER_OPEN, ""),
            Change.OTHER_REASONS,
        ),
    ],
)
def test_what_changed(before: Judgement, now: Judgement, change: Change) -> None:
    compared = Compared(replace(small(), recorded=before), now)
    assert compared.change is change
    assert compared.is_difference is (change not in {Change.NONE, Change.OTHER_REASONS})


def test_a_trial_is_summed_by_change_and_currency() -> None:
    def past(*amount: str) -> PastProposal:
        money = [Money(int(minor), currency) for minor, currency in [a.split() for a in amount]]
        return past_of(approval(amount=money[0]) if money else email_approval(), Moment())

    tally = Tally()
    assert (tally.judged, tally.sums(Change.RUNS)) == (0, ())
    for before, now in (
        (past("500 USD"), RunNow()),
        (past("250 USD"), RunNow()),
        (past("900 EUR"), RunNow()),
        (past("70 USD"), Refuse(Refusal.STOPPED, "")),
        (past(), RunNow()),
    ):
        tally.add(Compared(before, now))
    assert tally.judged == 5
    assert tally.counts == {Change.RUNS: 4, Change.REFUSED: 1}
    assert tally.sums(Change.RUNS) == (Money(900, "EUR"), usd("7.50"))
    assert tally.sums(Change.REFUSED) == (usd("0.70"),)
    assert tally.sums(Change.WAITS) == ()
    assert tally.unreadable == 0


def test_the_switches_are_followed_through_the_trail() -> None:
    def at(second: int, tag: AuditType, retry: int | None = None) -> SwitchEvent:
        until = None if retry is None else START + timedelta(seconds=retry)
        return SwitchEvent(tag, START + timedelta(seconds=second), until)

    switches = follow(
        [
            at(10, AuditType.BREAKER_OPENED, 40),
            at(50, AuditType.BREAKER_TRIAL),
            at(55, AuditType.BREAKER_CLOSED),
            at(60, AuditType.STOP_THROWN),
            at(70, AuditType.STOP_LIFTED),
            at(80, AuditType.BREAKER_TRIAL),
            at(300, AuditType.BREAKER_OPENED),
            at(310, AuditType.BREAKER_RESET),
        ]
    )
    seen = {s: switches.at(START + timedelta(seconds=s)) for s in range(400)}
    assert [s for s, (stopped, _) in seen.items() if stopped] == list(range(60, 70))
    held = [*range(10, 40), *range(50, 55), *range(80, 170)]
    assert [s for s, (_, breaker) in seen.items() if breaker] == held
    assert follow([]).at(START) == (False, False)


def reasons(judgement: Judgement) -> list[Reason]:
    return [one.code for one in judgement.findings] if isinstance(judgement, Park) else []
