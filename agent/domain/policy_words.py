"""The policy in words: reasons, refusals, roles, and what is just over a line."""

from decimal import Decimal

from agent.domain.deadlines import REJECTIONS_COUNT_FOR
from agent.domain.fraud import SCORE_MAX
from agent.domain.money import Money
from agent.domain.policy import Policy
from agent.domain.risk import Reason, Refusal, span_words
from agent.domain.roles import Role, Tier

# The steps in which a share is told when it lies just over or under a line.
_STEP = Decimal("0.0001")
# So long rejections count together, whatever the conversation.
REJECTIONS_SPAN = span_words(int(REJECTIONS_COUNT_FOR.total_seconds()))

ROLES: dict[Role, str] = {
    Role.REFUND_APPROVER: "refund approver",
    Role.REFUND_MANAGER: "refund manager",
    Role.ONCALL: "on-call",
    Role.SUPPORT: "support agent",
}
TOOLS: dict[str, str] = {
    "issue_refund": "Refund (issue_refund)",
    "send_email": "E-mail (send_email)",
    "flag_for_fraud": "Fraud flag (flag_for_fraud)",
}


def people(tier: Tier) -> str:
    """Return who decides, e.g. `one refund manager`, and whether they are looked up once more."""
    return f"{_people(tier)}, looked up after the click" if tier.fresh_role else _people(tier)


def _people(tier: Tier) -> str:
    role = ROLES[tier.role]
    if tier.approvals_needed == 1:
        return f"one {role}" if tier.role is not Role.ONCALL else "one person on call"
    if tier.role is tier.floor():
        return f"two {role}s"
    special = f"a {role}" if tier.role is not Role.ONCALL else "on call"
    return f"two {ROLES[tier.floor()]}s, at least one of them {special}"


def percent(share: str) -> str:
    """Return a share as a percentage, e.g. `10 %` for `0.10`."""
    return f"{(Decimal(share) * 100).normalize():f} %"


def just_over(amount: Money) -> Money:
    """Return the least amount that is more."""
    return Money(amount.minor + 1, amount.currency)


def beyond(line: Decimal, *, over: bool) -> Decimal:
    """Return a share that is told as just over the line, or just under it."""
    return line + _step(line) if over else line - _step(line)


def flag_line(policy: Policy) -> Decimal:
    """Return the fraud score up to which a flag only monitors."""
    most = policy.flag_score_max()
    return SCORE_MAX if most is None else min(most, SCORE_MAX)


def reasons(policy: Policy) -> dict[Reason, str]:
    """Return why a request waits for a person, in words, with the policy's numbers."""
    rules, mails = policy.refunds, policy.emails
    day, month = span_words(rules.cumulative_window_s), span_words(rules.customer_window_s)
    refunds = f"{rules.customer_max_refunds} automatic refunds in {month}"
    emails = (
        f"{mails.customer_max_emails} automatic e-mails in {span_words(mails.customer_window_s)}"
    )
    return {
        Reason.AMOUNT_OVER_LIMIT: "the refund is over the automatic limit of its currency",
        Reason.CUMULATIVE_OVER_LIMIT: (
            f"together with earlier automatic refunds on the order, or to the customer in {day}, "
            f"it would be over the limit; or the customer had {refunds}, or {emails}"
        ),
        Reason.LOW_CONFIDENCE: (
            f"the agent's confidence is under {rules.confidence_min}, or it stated none"
        ),
        Reason.IRREVERSIBLE_MESSAGE: (
            "the e-mail is the agent's own text, has several recipients, goes to an address that "
            "is not the customer's own, or to a domain that may only look like another"
        ),
        Reason.FRAUD_FLAG: f"the fraud score is over {flag_line(policy)}",
        Reason.EARLIER_NO: (
            "a refund on the order, or an e-mail or flag just like this one, was declined, or "
            f"nobody decided on it in time, in the last {span_words(rules.earlier_no_s)}"
        ),
        Reason.NO_LIMIT_FOR_CURRENCY: "the policy has no automatic limit for the currency",
        Reason.AMBIGUOUS: "it is not clear whether a full or a partial refund is meant",
        Reason.TOOL_REQUIRES_APPROVAL: "the policy lets nothing of this kind run by itself",
        Reason.BREAKER_OPEN: "too many automatic refunds ran in a short time",
        Reason.AUTOMATIC_PAUSED: (
            "nothing runs without a person for this customer at present: a person has to lift it, "
            "or a fraud flag still waits"
        ),
        Reason.HUMAN_EDIT: "a person has changed the request",
        Reason.ASKED_AGAIN: "a person has asked again for what lapsed",
    }


def refusals(policy: Policy) -> dict[Refusal, str]:
    """Return why a request is not possible at all, in words, with the policy's numbers."""
    return {
        Refusal.UNKNOWN_TOOL: "the agent asked for something that it cannot do",
        Refusal.INVALID_ARGUMENTS: "the request is incomplete or makes no sense",
        Refusal.NOT_VERIFIED: "nobody is signed in to the shop",
        Refusal.NOT_FOUND: "there is no such order, or it is somebody else's",
        Refusal.NOT_PAID: "the order has not been paid",
        Refusal.DISPUTED: "the payment is disputed with the bank, which decides it",
        Refusal.FINAL_SALE: "what is left of the order are final-sale items",
        Refusal.WRONG_CURRENCY: "the order was paid in another currency",
        Refusal.INVALID_AMOUNT: "the amount is zero or less",
        Refusal.OVER_REMAINING: "it is more than is left of the order to refund",
        Refusal.ALREADY_REJECTED: "people have declined exactly this in the conversation",
        Refusal.ALREADY_EDITED: "people have changed exactly this, and that is final",
        Refusal.TOO_MANY_REJECTIONS: (
            f"people have declined {policy.max_revisions} such requests on the order, in the "
            f"conversation or in {REJECTIONS_SPAN}: a person takes over"
        ),
        Refusal.TOO_MANY_OPEN: (
            f"{policy.max_open_approvals} requests of the customer wait for people already"
        ),
        Refusal.STOPPED: "somebody has stopped everything",
        Refusal.BREAKER_OPEN: "automatic refunds are paused for a moment",
        Refusal.NOT_AVAILABLE: "the desk cannot send e-mails at present",
    }


def _step(line: Decimal) -> Decimal:
    exponent = line.as_tuple().exponent
    return min(_STEP, Decimal(1).scaleb(exponent)) if isinstance(exponent, int) else _STEP
