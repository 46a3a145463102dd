"""How requests that wait are brought up again, in words and rows for the shop's people."""

from collections.abc import Iterator

from agent.domain.policy import AtDeadline, EscalationRules, Policy
from agent.domain.policy_words import percent
from agent.domain.risk import span_words
from agent.domain.roles import Role

GROUPS: dict[Role, str] = {
    Role.REFUND_APPROVER: "the refund approvers",
    Role.REFUND_MANAGER: "the refund managers",
    Role.ONCALL: "on-call",
    Role.SUPPORT: "the support agents",
}
_DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
_UNDER_THE_CARD = "in the thread of its card, and in the channel"


def level_rows(policy: Policy) -> Iterator[tuple[str, ...]]:
    """Yield when who hears of a request that still waits, and where."""
    rules = policy.escalation
    senior = GROUPS[rules.senior]
    yield f"{percent(rules.remind_at)} of its time", "the group that decides", _UNDER_THE_CARD
    yield f"{percent(rules.oncall_at)} of its time", "on-call", "in the on-call channel"
    yield "its deadline, where it has more time", senior, _UNDER_THE_CARD


def at_deadline(policy: Policy, rule: AtDeadline, seconds: int) -> str:
    """Return what becomes at its deadline of a request that nobody has decided."""
    if rule == "deny":
        return "it expires"
    return f"{GROUPS[policy.escalation.senior]} have {span_words(seconds)} more, then it expires"


def escalation_words(policy: Policy) -> tuple[str, ...]:
    """Return the rest of the section, in paragraphs."""
    rules = policy.escalation
    once = (
        "Each of these is told once a request, whatever becomes of an edit. They name the user "
        "group. Anybody with a role can acknowledge, and whoever may decide can say that they "
        "look into it; others may still decide."
    )
    many = (
        f"While more than {rules.digest_over} requests wait, one message in "
        f"{span_words(rules.digest_every_s)} tells of the whole queue instead. What is told to "
        f"{GROUPS[rules.senior]} at a deadline is always told by itself."
    )
    return once, many, _hours(rules), _daily(rules)


def _hours(rules: EscalationRules) -> str:
    work = rules.business_hours
    if work is None:
        return "Time to decide runs day and night."
    days = ", ".join(_DAYS[day] for day in work.days)
    return (
        f"Only business hours count as time to decide: {days} from {work.opens} to "
        f"{work.closes} ({rules.timezone})."
    )


def _daily(rules: EscalationRules) -> str:
    if rules.daily_digest_at is None:
        return "There is no digest of the day."
    return (
        f"Every day at {rules.daily_digest_at} ({rules.timezone}) the approvals channel reads what "
        "was decided in the day before, how fast and by whom, what was not decided in time, and "
        "why people edited."
    )
