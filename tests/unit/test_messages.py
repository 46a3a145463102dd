"""Which e-mails leave alone: an unchanged template, to the customer's own address alone."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.messages import (
    EmailFacts,
    EmailProposal,
    assess_email,
    email_tier,
    recheck_email,
)
from agent.domain.policy import Policy
from agent.domain.risk import Finding, Park, Reason, Refusal, Refuse, RunNow
from agent.domain.roles import Role, Tier
from tests.support.builders import ADDRESS, email_facts, email_proposal, policy

SHIPPED = policy()
FRIEND = "ben@example.net"
ODD = "ana@xn--exmple-cua.com"


@dataclass(frozen=True)
class Case:
    """An e-mail and what is known; each default is such that it leaves at once."""

    proposal: EmailProposal = field(default_factory=email_proposal)
    facts: EmailFacts = field(default_factory=email_facts)
    policy: Policy = SHIPPED

    def asks(self, **changes: Any) -> "Case":
        """Return the case with another e-mail."""
        return replace(self, proposal=replace(self.proposal, **changes))

    def where(self, **changes: Any) -> "Case":
        """Return the case with other facts."""
        return replace(self, facts=replace(self.facts, **changes))

    def under(self, **emails: Any) -> "Case":
        """Return the case under other rules for e-mails."""
        return replace(self, policy=policy(emails=emails))

    def verdict(self) -> RunNow | Park | Refuse:
        """Return the gate's answer."""
        return assess_email(self.proposal, self.facts, self.policy)


def outcome(case: Case) -> Refusal | tuple[Finding, ...]:
    """Return the refusal's code, or every finding: none where it leaves."""
    match case.verdict():
        case Refuse(code=code):
            return code
        case Park(findings=findings):
            assert findings
            return findings
        case RunNow():
            return ()


Spoil = Callable[[Case], Case]

# Everything that refuses, in the order in which it is looked at.
REFUSALS: list[tuple[Refusal, str, Spoil]] = [
    (
        Refusal.NOT_VERIFIED,
        "Please sign in to the shop first.",
        lambda c: c.where(verified=False),
    ),
    (
        Refusal.NOT_FOUND,
        "No such order was found for this customer.",
        lambda c: c.where(order_found=False),
    ),
    (
        Refusal.NOT_AVAILABLE,
        "E-mails cannot be sent at the moment.",
        lambda c: c.where(available=False),
    ),
    (
        Refusal.ALREADY_REJECTED,
        "The team has already declined exactly this request.",
        lambda c: c.where(decided_before="rejected"),
    ),
    (
        Refusal.TOO_MANY_OPEN,
        "Too many requests are still waiting for the team.",
        lambda c: c.where(open_approvals=5),
    ),
    (
        Refusal.STOPPED,
        "E-mails are paused at the moment.",
        lambda c: c.where(stopped=True),
    ),
]
OWN_TEXT = Finding(
    Reason.IRREVERSIBLE_MESSAGE, "The text is the agent's own, not one of the policy's templates"
)
ELSEWHERE = Finding(
    Reason.IRREVERSIBLE_MESSAGE, f"The address is not the customer's own ({ADDRESS})"
)
NEVER_ALONE = Finding(
    Reason.TOOL_REQUIRES_APPROVAL, "The policy lets no e-mail leave without a person"
)
PAUSED = Finding(Reason.AUTOMATIC_PAUSED, "Nothing runs without a person for this customer: a hold")


def people(number: int) -> Finding:
    return Finding(
        Reason.IRREVERSIBLE_MESSAGE, f"It goes to {number} people, and cannot be taken back"
    )


def punycode(address: str) -> Finding:
    text = f"The domain of {address} is written in punycode: it may look like another"
    return Finding(Reason.IRREVERSIBLE_MESSAGE, text)


def test_an_unchanged_template_to_the_own_address_leaves_at_once() -> None:
    assert Case().verdict() == RunNow()


@pytest.mark.parametrize(
    ("code", "message", "spoil"), REFUSALS, ids=[str(code) for code, _, _ in REFUSALS]
)
def test_an_email_is_refused(code: Refusal, message: str, spoil: Spoil) -> None:
    assert spoil(Case()).verdict() == Refuse(code, message)


@pytest.mark.parametrize(
    ("first", "second"),
    list(combinations(REFUSALS, 2)),
    ids=[f"{a[0]} before {b[0]}" for a, b in combinations(REFUSALS, 2)],
)
def test_of_two_refusals_the_earlier_check_answers(
    first: tuple[Refusal, str, Spoil], second: tuple[Refusal, str, Spoil]
) -> None:
    assert outcome(second[2](first[2](Case()))) is first[0]


def test_an_email_to_somebody_the_shop_does_not_know_is_refused_like_a_foreign_order() -> None:
    foreign = Case().where(order_found=False).verdict()
    assert Case().where(own_address=None).verdict() == foreign


@pytest.mark.parametrize(
    ("case", "findings"),
    [
        pytest.param(Case().asks(template=None), (OWN_TEXT,), id="the agent's own text"),
        pytest.param(Case().asks(to=(FRIEND,)), (ELSEWHERE,), id="to somebody else"),
        pytest.param(Case().asks(to=(ADDRESS, FRIEND)), (people(2),), id="to two"),
        pytest.param(Case().asks(to=(FRIEND, ADDRESS)), (people(2),), id="to two, the own last"),
        pytest.param(Case().asks(cc=(FRIEND,)), (people(2),), id="a copy"),
        pytest.param(Case().asks(bcc=(FRIEND,)), (people(2),), id="a blind copy"),
        pytest.param(Case().asks(to=(), bcc=(ADDRESS,)), (ELSEWHERE,), id="hidden from itself"),
        pytest.param(Case().asks(to=(), cc=(FRIEND,)), (ELSEWHERE,), id="a copy alone"),
        pytest.param(Case().asks(to=()), (people(0),), id="to nobody"),
        pytest.param(
            Case().asks(to=(ADDRESS,) * 2), (people(2),), id="twice to the same is not once"
        ),
        pytest.param(
            Case().asks(to=("ana@example.com.evil.example",)), (ELSEWHERE,), id="a longer domain"
        ),
        pytest.param(Case().asks(to=("Ana@example.com",)), (ELSEWHERE,), id="another spelling"),
        pytest.param(Case().asks(to=(ODD,)), (ELSEWHERE, punycode(ODD)), id="punycode"),
        pytest.param(
            Case().asks(to=("ana@XN--EXMPLE-CUA.COM",)),
            (ELSEWHERE, punycode("ana@XN--EXMPLE-CUA.COM")),
            id="punycode in capitals",
        ),
        pytest.param(
            Case().asks(cc=(FRIEND,), bcc=(ODD,)), (people(3), punycode(ODD)), id="odd blind copy"
        ),
        pytest.param(
            Case().asks(to=(ODD,)).where(own_address=ODD), (punycode(ODD),), id="their own is odd"
        ),
        pytest.param(Case().under(templates_run=False), (NEVER_ALONE,), id="no e-mail alone"),
        pytest.param(
            Case()
            .under(templates_run=False)
            .asks(template=None, to=(FRIEND, ODD))
            .where(paused="a hold"),
            (NEVER_ALONE, OWN_TEXT, people(2), punycode(ODD), PAUSED),
            id="all of it",
        ),
    ],
)
def test_people_look_at_an_email(case: Case, findings: tuple[Finding, ...]) -> None:
    assert outcome(case) == findings
    # What waits runs nowhere, so it waits while everything is stopped too.
    assert outcome(case.where(stopped=True)) == findings


def test_who_decides_an_email_is_in_the_policy() -> None:
    waiting = Case().asks(template=None)
    assert email_tier(SHIPPED) == Tier(Role.REFUND_APPROVER, 1)
    strict = waiting.under(role="refund_manager", approvals=2)
    for case, tier in (
        (waiting, Tier(Role.REFUND_APPROVER, 1)),
        (strict, Tier(Role.REFUND_MANAGER, 2)),
    ):
        verdict = case.verdict()
        assert isinstance(verdict, Park)
        assert verdict.tier == email_tier(case.policy) == tier


@pytest.mark.parametrize(
    ("code", "spoil"), [(code, spoil) for code, _, spoil in REFUSALS], ids=[r[0] for r in REFUSALS]
)
def test_the_last_look_before_it_leaves(code: Refusal, spoil: Spoil) -> None:
    refused = recheck_email(spoil(Case()).facts)
    again = {Refusal.NOT_VERIFIED, Refusal.NOT_FOUND, Refusal.NOT_AVAILABLE}
    assert (None if refused is None else refused.code) == (code if code in again else None)


def test_nothing_new_lets_an_approved_email_leave() -> None:
    assert recheck_email(email_facts(paused="a hold", stopped=True, open_approvals=9)) is None


ADDRESSES = st.lists(st.sampled_from([ADDRESS, FRIEND, ODD]), max_size=2).map(tuple)


@given(
    template=st.sampled_from([None, "delay_apology"]),
    to=ADDRESSES,
    cc=ADDRESSES,
    bcc=ADDRESSES,
    templates_run=st.booleans(),
)
def test_only_one_kind_of_email_leaves_without_a_person(
    template: str | None,
    to: tuple[str, ...],
    cc: tuple[str, ...],
    bcc: tuple[str, ...],
    templates_run: bool,
) -> None:
    case = Case().asks(template=template, to=to, cc=cc, bcc=bcc).under(templates_run=templates_run)
    harmless = template is not None and (to, cc, bcc) == ((ADDRESS,), (), ()) and templates_run
    assert (case.verdict() == RunNow()) is harmless
    assert case.proposal.recipients() == to + cc + bcc


@pytest.mark.parametrize(("left", "waits"), [(4, False), (5, True), (6, True)])
def test_a_customer_gets_so_many_e_mails_without_a_person(left: int, waits: bool) -> None:
    found = outcome(Case().where(automatic_number=left))
    told = Finding(
        Reason.CUMULATIVE_OVER_LIMIT,
        f"{left} e-mails left without a person in 24 hours; the policy allows 5",
    )
    assert found == ((told,) if waits else ())


def test_a_template_does_not_follow_to_another_address() -> None:
    facts = email_facts()
    assert recheck_email(facts, (ADDRESS,)) is None
    assert recheck_email(facts, None) is None
    moved = recheck_email(facts, ("old@example.com",))
    assert isinstance(moved, Refuse)
    assert moved.message == "The customer's e-mail address has changed."
