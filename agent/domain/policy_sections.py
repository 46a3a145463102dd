"""What the policy says, section by section, in words and tables for the shop's people."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from agent.domain.fraud import SCORE_MAX, TRIGGERS, FlagAction
from agent.domain.money import Money, parse_money
from agent.domain.policy import NO_TIERS, Policy, RoleSource, TierRule
from agent.domain.policy_escalation import at_deadline, escalation_words, level_rows
from agent.domain.policy_words import (
    REJECTIONS_SPAN,
    ROLES,
    TOOLS,
    beyond,
    flag_line,
    just_over,
    people,
    percent,
    reasons,
    refusals,
)
from agent.domain.risk import span_words
from agent.domain.roles import Role, Tier

ALWAYS = "always"
NEVER = "never"
_MAY: dict[Role, str] = {
    Role.REFUND_APPROVER: "decide on requests of their tier; review what ran by itself",
    Role.REFUND_MANAGER: (
        "all that an approver may; decide on larger requests; stop everything and lift the stop; "
        "reset the breaker; settle unknown outcomes; lift a customer's pause"
    ),
    Role.ONCALL: (
        "stop everything; decide alone above the tier in an emergency, with a reason that "
        "everybody on call reads"
    ),
    Role.SUPPORT: "answer customers who need a person, as everybody else here may; decide nothing",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain text under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text exactly as it is sent, under its name and what leads to it."""

    name: str
    lead: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with paragraphs, tables and texts below it."""

    title: str
    blocks: tuple[str | Table | Verbatim, ...]


def policy_sections(policy: Policy) -> tuple[Section, ...]:
    """Return the whole policy, section by section."""
    return (
        _without_a_person(policy),
        _who_decides(policy),
        _deadlines(policy),
        _escalation(policy),
        _caps(policy),
        _breaker(policy),
        _templates(policy),
        _flags(policy),
        _review(policy),
        _roles(policy),
        _reasons(policy),
        _refusals(policy),
        _shop_rules(policy),
    )


def _without_a_person(policy: Policy) -> Section:
    return Section(
        "What runs without a person",
        (
            (
                "One line that a request does not pass is enough to make it wait for a person; "
                "what passes them all runs at once. Looking things up and drafting never wait, and "
                "reach the customer's own orders only."
            ),
            Table(
                ("Request", "What counts", "Still runs", "Waits"),
                (
                    *_refund_lines(policy),
                    *_email_lines(policy),
                    *_flag_lines(policy),
                    *_common_lines(policy),
                ),
            ),
        ),
    )


def _refund_lines(policy: Policy) -> Iterator[tuple[str, ...]]:
    tool, rules = TOOLS["issue_refund"], policy.refunds
    day, month = span_words(rules.cumulative_window_s), span_words(rules.customer_window_s)
    for limit in _limits(policy):
        currency = limit.currency
        runs, waits = f"exactly {limit}" if limit.minor else NEVER, str(just_over(limit))
        yield tool, f"one refund in {currency}", runs, waits
        yield tool, f"all automatic refunds on the order, in {currency}, with this", runs, waits
        what = f"all automatic refunds to the customer in {day}, in {currency}, with this"
        yield tool, what, runs, waits
    yield tool, f"one refund in {_other(rules.auto_limit)}", NEVER, ALWAYS
    most = rules.customer_max_refunds
    what = f"the number of automatic refunds to the customer in {month}, with this"
    yield tool, what, f"{most}", f"{most + 1}"
    yield tool, "full or partial is not clear", NEVER, ALWAYS
    lately = span_words(rules.earlier_no_s)
    what = f"an earlier one on the order was declined, or expired, in the last {lately}"
    yield tool, what, NEVER, ALWAYS


def _email_lines(policy: Policy) -> Iterator[tuple[str, ...]]:
    tool, run = TOOLS["send_email"], policy.emails.templates_run
    what = "an unchanged template to the customer's own address"
    yield tool, what, ALWAYS if run else NEVER, NEVER if run else ALWAYS
    rules = policy.emails
    most, day = rules.customer_max_emails, span_words(rules.customer_window_s)
    what = f"the number of automatic e-mails to the customer in {day}, with this"
    yield tool, what, f"{most}", f"{most + 1}"
    for what in (
        "the agent's own text",
        "several recipients, or another address",
        "a domain in punycode, which may only look like another",
    ):
        yield tool, what, NEVER, ALWAYS
    yield tool, _same_before(policy), NEVER, ALWAYS


def _flag_lines(policy: Policy) -> Iterator[tuple[str, ...]]:
    tool, line = TOOLS["flag_for_fraud"], flag_line(policy)
    if policy.flag_score_max() is None:
        yield tool, "any score", NEVER, ALWAYS
        return
    yield tool, "the score", f"exactly {line}", f"{beyond(line, over=True)}"
    yield tool, _same_before(policy), NEVER, ALWAYS


def _same_before(policy: Policy) -> str:
    lately = span_words(policy.refunds.earlier_no_s)
    return f"one just like it was declined, or expired, in the last {lately}"


def _common_lines(policy: Policy) -> Iterator[tuple[str, ...]]:
    least = policy.confidence_min()
    under = f"{beyond(least, over=False)}, or none stated" if least else "none stated"
    yield "All three", "the agent's own confidence", f"exactly {least}", under
    yield "All three", "the customer's automatic path is paused", NEVER, ALWAYS
    what = "a fraud flag on the customer waits, for a decision or for its execution"
    yield "All three", what, NEVER, ALWAYS


def _who_decides(policy: Policy) -> Section:
    tiers = policy.refunds.tiers
    rows = [row for c, rules in tiers.items() for row in _tier_rows(policy, c, rules)]
    rest = NO_TIERS
    return Section(
        "Who decides on what waits",
        (
            Table(
                ("Request", "Amount", "Who decides", "At the deadline"),
                (
                    *rows,
                    (
                        TOOLS["issue_refund"],
                        _other(policy.refunds.tiers),
                        people(rest.tier()),
                        at_deadline(policy, rest.at_deadline, policy.refunds.decide_within_s),
                    ),
                    *(
                        (
                            TOOLS[tool],
                            "",
                            people(Tier(rules.role, rules.approvals)),
                            at_deadline(policy, rules.at_deadline, rules.decide_within_s),
                        )
                        for tool, rules in (
                            ("send_email", policy.emails),
                            ("flag_for_fraud", policy.fraud_flags),
                        )
                    ),
                ),
            ),
            (
                "Nobody decides on their own request, or on one that they edited themselves; only "
                "to lower what the agent proposed is at once the editor's vote for it. Two votes "
                "are two different people. One no ends a request, and takes the role in the table. "
                "The role is looked up at the click, from Slack as it was at most a minute ago, or "
                "where the table says so as it is after the click: who cannot be verified does not "
                "decide."
            ),
        ),
    )


def _tier_rows(
    policy: Policy, currency: str, rules: Iterable[TierRule]
) -> Iterator[tuple[str, ...]]:
    over: Money | None = None
    for rule in rules:
        above = "" if over is None else f"over {over}"
        if rule.up_to is None:
            amount = above or f"any amount in {currency}"
        else:
            ceiling = parse_money(rule.up_to, currency)
            amount = f"{above} up to {ceiling}".strip()
            over = ceiling
        then = at_deadline(policy, rule.at_deadline, policy.refunds.decide_within_s)
        yield TOOLS["issue_refund"], amount, people(rule.tier()), then


def _deadlines(policy: Policy) -> Section:
    return Section(
        "Deadlines",
        (
            Table(
                ("Request", "Decided within", "Carried out after a yes within"),
                tuple(
                    (TOOLS[tool], span_words(rules.decide_within_s), span_words(rules.use_within_s))
                    for tool, rules in (
                        ("issue_refund", policy.refunds),
                        ("send_email", policy.emails),
                        ("flag_for_fraud", policy.fraud_flags),
                    )
                ),
            ),
            (
                "What nobody has decided by then expires, unless it has more time; that is told as "
                "such and never as a no. An edit does not move the deadline. A yes that was not "
                "carried out in time goes stale. In both cases anybody with the role that a yes "
                "takes may ask again, except for a request of their own; people decide anew, and "
                "whoever asked again may be among them."
            ),
        ),
    )


def _escalation(policy: Policy) -> Section:
    return Section(
        "Reminders and escalation",
        (
            Table(("At", "Who hears that it waits", "Where"), tuple(level_rows(policy))),
            *escalation_words(policy),
        ),
    )


def _caps(policy: Policy) -> Section:
    rows = (
        (
            "Requests of one customer that wait at the same time",
            f"{policy.max_open_approvals}",
            "the next is refused",
        ),
        (
            f"Declined requests of a kind on one order in a conversation, or in {REJECTIONS_SPAN}",
            f"{policy.max_revisions}",
            "a person takes over; the next is refused",
        ),
        (
            f"Automatic refunds to one customer in {span_words(policy.refunds.customer_window_s)}",
            f"{policy.refunds.customer_max_refunds}",
            "the next waits for a person",
        ),
        (
            f"Automatic e-mails to one customer in {span_words(policy.emails.customer_window_s)}",
            f"{policy.emails.customer_max_emails}",
            "the next waits for a person",
        ),
    )
    return Section("Caps", (Table(("What", "At most", "Then"), rows),))


def _breaker(policy: Policy) -> Section:
    rules = policy.breaker
    most = f"{rules.max_refunds} in {span_words(rules.window_s)}, all customers"
    held = "is refused" if rules.when_open == "refuse" else "waits for people"
    rows = (
        ("Automatic refunds", most),
        ("One more in that time", "opens the breaker and is not carried out"),
        ("While it is open, an automatic refund", held),
        ("It stays open for", span_words(rules.cooldown_s)),
        ("Then", "one refund is tried: a success closes the breaker, anything else opens it again"),
    )
    return Section(
        "The breaker",
        (
            Table(("What", "How"), rows),
            "Refunds that people approved do not count and are not held up.",
        ),
    )


def _templates(policy: Policy) -> Section:
    found = policy.emails.templates
    lead = (
        "The desk fills in {name}, the customer's name, and {order_id}, the order's."
        if found
        else "There are none: every e-mail is the agent's own text."
    )
    texts = (Verbatim(name, f"Subject: {t.subject}", t.body) for name, t in sorted(found.items()))
    return Section("E-mail templates", (lead, *texts))


def _flags(policy: Policy) -> Section:
    line = flag_line(policy)
    when = {
        FlagAction.MONITOR: f"the score is {line} or less",
        FlagAction.HOLD: f"the score is over {line}",
    }
    told = policy.fraud_flags.auto_score_max
    capped = (
        ()
        if told is None or Decimal(told) <= SCORE_MAX
        else (f"The policy file says {told}; over {SCORE_MAX} a flag waits whatever it says.",)
    )
    rows = tuple((action.value, when[action], TRIGGERS[action]) for action in FlagAction)
    words = (
        "While a flag waits, for a decision or for its execution, nothing runs for the customer "
        "without a person. The customer is never told of a flag."
    )
    return Section("Fraud flags", (Table(("Action", "When", "Triggers"), rows), *capped, words))


def _review(policy: Policy) -> Section:
    rules = policy.review
    share = Decimal(rules.all_above)
    rows = [
        (TOOLS["issue_refund"], f"over {_part(limit, share)}", "every one")
        for limit in _limits(policy)
    ]
    rows += [
        (TOOLS[tool], "all others" if tool == "issue_refund" else "any", chance)
        for tool in TOOLS
        for chance in (f"{percent(rules.share.get(tool, '0'))} of them, by chance",)
    ]
    then = (
        "A flag pauses the automatic path of the customer until a refund manager lifts it."
        if rules.flag_pauses_customer
        else "A flag is noted and counted; the customer's automatic path stays open."
    )
    return Section(
        "Looking back at what ran without a person",
        (
            Table(("What ran by itself", "Which", "Put into the review queue"), tuple(rows)),
            f"People say: looks right, or flag it with a reason. {then}",
        ),
    )


def _roles(policy: Policy) -> Section:
    rows = tuple((ROLES[role], _MAY[role], _source(policy.roles.get(role))) for role in Role)
    return Section(
        "Roles",
        (
            Table(("Role", "May", "Who has it"), rows),
            (
                "Besides, `agent actor grant` gives a role to a person for good. Everybody with a "
                "role may read."
            ),
        ),
    )


def _source(source: RoleSource | None) -> str:
    group = None if source is None else source.slack_user_group
    named = [] if source is None else source.slack_users
    told = [] if group is None else [f"the Slack user group @{group}"]
    told += [f"Slack user {user}" for user in named]
    return ", ".join(told) or "nobody by the policy"


def _reasons(policy: Policy) -> Section:
    rows = tuple((reason.value, words) for reason, words in reasons(policy).items())
    return Section("Why a request waits", (Table(("Reason", "In words"), rows),))


def _refusals(policy: Policy) -> Section:
    rows = tuple((refusal.value, words) for refusal, words in refusals(policy).items())
    return Section("Why a request is refused", (Table(("Code", "In words"), rows),))


def _shop_rules(policy: Policy) -> Section:
    rows = tuple((topic.title, topic.text) for topic in policy.shop_rules)
    return Section("What customers are told of the shop's rules", (Table(("About", "Text"), rows),))


def _limits(policy: Policy) -> list[Money]:
    return [parse_money(text, c) for c, text in policy.refunds.auto_limit.items()]


def _part(limit: Money, share: Decimal) -> Money:
    """Return the largest amount that is no more than a share of the limit."""
    return Money(int((limit.minor * share).to_integral_value(ROUND_FLOOR)), limit.currency)


def _other(named: Mapping[str, object]) -> str:
    return "any other currency" if named else "any currency"
