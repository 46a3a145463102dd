"""What the document says of a policy: exact lines, true for each policy, and whole."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.fraud import FlagAction, FlagProposal, action_for, assess_flag
from agent.domain.policy import Policy, read_policy
from agent.domain.policy_sections import Table, policy_sections
from agent.domain.policy_text import policy_markdown
from agent.domain.policy_words import beyond, just_over, people, percent, reasons, refusals
from agent.domain.risk import Reason, Refusal, RunNow, assess
from agent.domain.roles import Role, Tier
from tests.support.builders import (
    flag_facts,
    order_facts,
    policy,
    policy_document,
    refund_facts,
    refund_proposal,
    usd,
)

SHIPPED = policy()


def rows(of: Policy, title: str) -> list[tuple[str, ...]]:
    """Return the rows of a section's tables."""
    (section,) = [one for one in policy_sections(of) if one.title == title]
    return [row for block in section.blocks if isinstance(block, Table) for row in block.rows]


def paragraphs(of: Policy, title: str) -> str:
    (section,) = [one for one in policy_sections(of) if one.title == title]
    return " ".join(block for block in section.blocks if isinstance(block, str))


def lines(of: Policy) -> dict[str, tuple[str, str]]:
    """Return by what counts what still runs, and what waits."""
    return {what: (runs, waits) for _, what, runs, waits in rows(of, "What runs without a person")}


def test_the_boundaries_are_exact() -> None:
    told = lines(SHIPPED)
    assert told["one refund in USD"] == ("exactly 50.00 USD", "50.01 USD")
    assert told["the agent's own confidence"] == ("exactly 0.90", "0.8999, or none stated")
    assert told["the score"] == ("exactly 0.80", "0.8001")
    assert told["one refund in any other currency"] == ("never", "always")
    many = "the number of automatic refunds to the customer in 30 days, with this"
    assert told[many] == ("5", "6")
    many = "the number of automatic e-mails to the customer in 24 hours, with this"
    assert told[many] == ("5", "6")


def test_what_waits_whatever_its_size_is_told_of_each_tool() -> None:
    same = "one just like it was declined, or expired, in the last 30 days"
    refund = "an earlier one on the order was declined, or expired, in the last 30 days"
    waits = {what: set[str]() for what in (same, refund)}
    for tool, what, *answers in rows(SHIPPED, "What runs without a person"):
        if what in waits:
            waits[what].add(tool)
            assert answers == ["never", "always"]
    assert waits == {
        same: {"E-mail (send_email)", "Fraud flag (flag_for_fraud)"},
        refund: {"Refund (issue_refund)"},
    }
    week = policy(refunds={"earlier_no_s": 7 * 24 * 3600})
    assert "one just like it was declined, or expired, in the last 7 days" in lines(week)
    assert "in the last 7 days" in reasons(week)[Reason.EARLIER_NO]
    for pause in (
        "the customer's automatic path is paused",
        "a fraud flag on the customer waits, for a decision or for its execution",
    ):
        assert lines(SHIPPED)[pause] == ("never", "always")
    assert "While a flag waits, for a decision or for its execution, nothing runs" in paragraphs(
        SHIPPED, "Fraud flags"
    )


def test_who_may_ask_again_is_told() -> None:
    assert paragraphs(SHIPPED, "Deadlines").endswith(
        "In both cases anybody with the role that a yes takes may ask again, except for a request "
        "of their own; people decide anew, and whoever asked again may be among them."
    )


def test_how_often_people_say_no_before_a_person_takes_over() -> None:
    four = policy(max_revisions=4)
    cap = "Declined requests of a kind on one order in a conversation, or in 24 hours"
    assert (cap, "4", "a person takes over; the next is refused") in rows(four, "Caps")
    assert refusals(four)[Refusal.TOO_MANY_REJECTIONS] == (
        "people have declined 4 such requests on the order, in the conversation or in 24 hours: "
        "a person takes over"
    )


def test_the_cap_on_emails_is_the_policys() -> None:
    two = policy(emails={"customer_max_emails": 2, "customer_window_s": 3600})
    cap = ("Automatic e-mails to one customer in 1 hour", "2", "the next waits for a person")
    assert cap in rows(two, "Caps")
    many = "the number of automatic e-mails to the customer in 1 hour, with this"
    assert lines(two)[many] == ("2", "3")
    assert "2 automatic e-mails in 1 hour" in reasons(two)[Reason.CUMULATIVE_OVER_LIMIT]


@given(cents=st.integers(1, 9_999_999), least=st.integers(1, 10**6))
def test_what_still_runs_runs_and_what_waits_waits(cents: int, least: int) -> None:
    share = f"{Decimal(least).scaleb(-6):f}"
    limit = usd(f"{cents // 100}.{cents % 100:02}")
    one = policy(refunds={"auto_limit": {"USD": limit.plain()}, "confidence_min": share})
    told = lines(one)
    assert told["one refund in USD"] == (f"exactly {limit}", str(just_over(limit)))
    exact, under = Decimal(share), beyond(Decimal(share), over=False)
    assert told["the agent's own confidence"] == (f"exactly {exact}", f"{under}, or none stated")
    facts = refund_facts(order=order_facts("1000000.00"))
    for amount, confidence, runs in (
        (limit, exact, True),
        (just_over(limit), exact, False),
        (limit, under, False),
    ):
        verdict = assess(refund_proposal(amount, confidence=confidence), facts, one)
        assert isinstance(verdict, RunNow) is runs


@given(score=st.integers(0, 10**6))
def test_the_score_that_still_passes_passes(score: int) -> None:
    one = policy(fraud_flags={"auto_score_max": f"{Decimal(score).scaleb(-6):f}"})
    runs, waits = lines(one)["the score"]
    for told, passes in ((runs.removeprefix("exactly "), True), (waits, False)):
        flag = FlagProposal(Decimal(told), Decimal(1))
        assert isinstance(assess_flag(flag, flag_facts(), one), RunNow) is passes
        assert (action_for(flag.score, one) is FlagAction.MONITOR) is passes


def test_a_limit_of_nothing_lets_nothing_run() -> None:
    told = lines(policy(refunds={"auto_limit": {"USD": "0", "JPY": "5000"}}))
    assert told["one refund in USD"] == ("never", "0.01 USD")
    assert told["one refund in JPY"] == ("exactly 5,000 JPY", "5,001 JPY")


def test_a_policy_that_lets_nothing_run_says_so() -> None:
    none = policy(
        refunds={"auto_limit": {}, "confidence_min": "0", "tiers": {}},
        emails={"templates_run": False, "templates": {}},
        fraud_flags={"auto_score_max": None},
    )
    told = lines(none)
    assert told["one refund in any currency"] == ("never", "always")
    assert told["the agent's own confidence"] == ("exactly 0", "none stated")
    assert told["an unchanged template to the customer's own address"] == ("never", "always")
    assert told["any score"] == ("never", "always")
    assert "There are none" in paragraphs(none, "E-mail templates")
    two = "two refund approvers, at least one of them a refund manager, looked up after the click"
    assert rows(none, "Who decides on what waits")[0] == (
        "Refund (issue_refund)",
        "any currency",
        two,
        "the refund managers have 30 minutes more, then it expires",
    )


def test_each_tier_says_from_where_to_where() -> None:
    told = [row[1:] for row in rows(SHIPPED, "Who decides on what waits")]
    two = "two refund approvers, at least one of them a refund manager, looked up after the click"
    more = "the refund managers have 30 minutes more, then it expires"
    assert told[:3] == [
        ("up to 500.00 USD", "one refund approver", "it expires"),
        ("over 500.00 USD up to 2,000.00 USD", "one refund manager", "it expires"),
        ("over 2,000.00 USD", two, more),
    ]
    assert told[-3:] == [
        ("any other currency", two, more),
        ("", "one refund approver", "it expires"),
        ("", "one refund manager", "it expires"),
    ]
    one = policy(refunds={"tiers": {"USD": [{"role": "oncall"}]}})
    assert rows(one, "Who decides on what waits")[0][1:] == (
        "any amount in USD",
        "one person on call",
        "it expires",
    )
    mails = policy(emails={"at_deadline": "escalate"}, escalation={"senior": "oncall"})
    assert rows(mails, "Who decides on what waits")[-2][3] == (
        "on-call have 4 hours more, then it expires"
    )


def test_who_hears_that_something_waits_is_told() -> None:
    about = "Reminders and escalation"
    assert [row[:2] for row in rows(SHIPPED, about)] == [
        ("50 % of its time", "the group that decides"),
        ("80 % of its time", "on-call"),
        ("its deadline, where it has more time", "the refund managers"),
    ]
    told = paragraphs(SHIPPED, about)
    assert "While more than 10 requests wait, one message in 10 minutes tells" in told
    assert "Time to decide runs day and night. Every day at 08:00 (UTC)" in told
    work = {"days": ["mon", "fri"], "opens": "09:00", "closes": "17:30"}
    office = policy(
        escalation={"business_hours": work, "timezone": "Europe/Berlin", "daily_digest_at": None}
    )
    assert paragraphs(office, about).endswith(
        "Only business hours count as time to decide: Monday, Friday from 09:00 to 17:30 "
        "(Europe/Berlin). There is no digest of the day."
    )


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (Tier(Role.REFUND_APPROVER), "one refund approver"),
        (Tier(Role.REFUND_APPROVER, 2), "two refund approvers"),
        (Tier(Role.ONCALL, 2), "two refund approvers, at least one of them on call"),
    ],
)
def test_people_are_counted_in_words(tier: Tier, words: str) -> None:
    assert people(tier) == words


def test_shares_are_written_as_people_write_them() -> None:
    assert [percent(share) for share in ("0.10", "1", "0", "0.005")] == [
        *("10 %", "100 %", "0 %", "0.5 %"),
    ]


def test_deadlines_caps_and_breaker_have_the_policys_numbers() -> None:
    assert [row[1:] for row in rows(SHIPPED, "Deadlines")] == [
        ("30 minutes", "15 minutes"),
        ("4 hours", "15 minutes"),
        ("24 hours", "15 minutes"),
    ]
    assert [row[1] for row in rows(SHIPPED, "Caps")] == ["5", "3", "5", "5"]
    told = rows(SHIPPED, "The breaker")
    assert [row[1] for row in told][:4] == [
        "5 in 1 minute, all customers",
        "opens the breaker and is not carried out",
        "is refused",
        "30 seconds",
    ]
    assert rows(policy(breaker={"when_open": "park"}), "The breaker")[2][1] == "waits for people"


def test_flags_and_reviews_say_what_follows() -> None:
    told = rows(SHIPPED, "Fraud flags")
    assert [row[:2] for row in told] == [
        ("monitor", "the score is 0.80 or less"),
        ("hold", "the score is over 0.80"),
    ]
    assert "The policy file says" not in paragraphs(SHIPPED, "Fraud flags")
    daring = policy(fraud_flags={"auto_score_max": "0.95"})
    assert "The policy file says 0.95; over 0.80 a flag waits" in paragraphs(daring, "Fraud flags")
    back = "Looking back at what ran without a person"
    assert [row[1:] for row in rows(SHIPPED, back)] == [
        ("over 25.00 USD", "every one"),
        ("all others", "10 % of them, by chance"),
        ("any", "5 % of them, by chance"),
        ("any", "5 % of them, by chance"),
    ]
    mild = policy(review={"flag_pauses_customer": False, "all_above": "0.333333"})
    assert rows(mild, back)[0][1] == "over 16.66 USD"
    assert "stays open" in paragraphs(mild, back)
    assert "until a refund manager lifts it" in paragraphs(SHIPPED, back)


def test_roles_say_where_they_come_from() -> None:
    named = policy(
        roles={
            "refund_manager": {"slack_user_group": "managers", "slack_users": ["T1:U1", "T1:U2"]},
            "oncall": {},
        }
    )
    told = {row[0]: row[2] for row in rows(named, "Roles")}
    assert told == {
        "refund approver": "the Slack user group @refund-approvers",
        "refund manager": "the Slack user group @managers, Slack user T1:U1, Slack user T1:U2",
        "on-call": "nobody by the policy",
        "support agent": "the Slack user group @support-agents",
    }
    document = policy_document()
    del document["roles"]["oncall"]
    assert rows(read_policy(document), "Roles")[2][2] == "nobody by the policy"


def test_every_reason_and_refusal_is_told_once() -> None:
    assert list(reasons(SHIPPED)) == list(Reason)
    assert list(refusals(SHIPPED)) == list(Refusal)
    assert [row[0] for row in rows(SHIPPED, "Why a request waits")] == [r.value for r in Reason]
    codes = [row[0] for row in rows(SHIPPED, "Why a request is refused")]
    assert codes == [refusal.value for refusal in Refusal]


# --- as Markdown ----------------------------------------------------------------------------------


def test_the_document_names_its_version_and_what_the_environment_changed() -> None:
    told = policy_markdown(SHIPPED)
    assert f"Version `{SHIPPED.version}`" in told
    assert "environment" not in told
    changed = policy_markdown(SHIPPED, ["A sets `x`", "B sets <y>"])
    assert "The environment changes the file:\n\n- A sets \\`x\\`\n- B sets \\<y\\>\n" in changed


def test_templates_stand_there_letter_by_letter() -> None:
    body = "Hello {name},\n\n````\n| *not* a table |\n"
    told = policy_markdown(
        policy(emails={"templates": {"a_b": {"subject": "<b> {order_id}", "body": body}}})
    )
    assert f"### a_b\n\nSubject: \\<b\\> {{order_id}}\n\n`````text\n{body}`````\n" in told


def test_what_people_write_breaks_no_table() -> None:
    document = policy_document()
    document["shop_rules"] = [
        {"title": "A | B", "keywords": [], "text": "*one*\ntwo [x](y) `z` \\"},
        {"title": "", "keywords": [], "text": "t"},
    ]
    told = policy_markdown(read_policy(document))
    assert "\n| A \\| B | \\*one\\* two \\[x\\](y) \\`z\\` \\\\ |\n| - | t |\n" in told


def test_every_table_has_as_many_cells_in_each_row() -> None:
    told = policy_markdown(SHIPPED)
    tables = re.findall(r"(?:^\|.*\|\n)+", told, flags=re.MULTILINE)
    assert len(tables) == 12
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
    assert told.endswith(" |\n")
    assert "\n\n\n" not in told
