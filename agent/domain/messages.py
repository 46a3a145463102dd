"""Whether an e-mail leaves at once, waits for people, or is refused. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from agent.domain.policy import Policy
from agent.domain.risk import (
    Finding,
    Park,
    Reason,
    Refusal,
    Refuse,
    RunNow,
    Standing,
    doubts,
    history,
    span_words,
)
from agent.domain.roles import Tier

_NOT_FOUND = "No such order was found for this customer."


@dataclass(frozen=True, slots=True)
class EmailProposal:
    """A validated call of `send_email`, with the text as it would leave.

    `template` names the policy's template whose text this is unchanged, None for free text.
    """

    template: str | None
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    confidence: Decimal | None

    def recipients(self) -> tuple[str, ...]:
        """Return everybody who would receive it."""
        return (*self.to, *self.cc, *self.bcc)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailFacts(Standing):
    """What an e-mail is judged by.

    `own_address` is the customer's in the shop's book, None when the shop does not know them;
    `order_found` is false when an order is named that is not theirs; `automatic_number` counts
    the e-mails that left for the customer without a person in the policy's window.
    """

    own_address: str | None
    order_found: bool
    available: bool
    automatic_number: int


def assess_email(
    proposal: EmailProposal, facts: EmailFacts, policy: Policy
) -> RunNow | Park | Refuse:
    """Judge an e-mail; only an unchanged template to the customer's own address leaves alone."""
    refusal = recheck_email(facts) or history(facts, policy)
    if refusal is not None:
        return refusal
    findings = (
        *_findings(proposal, facts, policy),
        *doubts(proposal.confidence, facts, policy, "The same e-mail"),
    )
    if findings:
        return Park(findings, email_tier(policy))
    if facts.stopped:
        return Refuse(Refusal.STOPPED, "E-mails are paused at the moment.")
    return RunNow()


def recheck_email(facts: EmailFacts, own_to: tuple[str, ...] | None = None) -> Refuse | None:
    """Judge an approved e-mail again at the claim, in case the world has changed.

    `own_to` are the recipients of an e-mail that the policy allowed alone: it is for the customer's
    own address, and that may be another one by now. None for one that people have approved.
    """
    if not facts.verified:
        return Refuse(Refusal.NOT_VERIFIED, "Please sign in to the shop first.")
    if not facts.order_found or facts.own_address is None:
        return Refuse(Refusal.NOT_FOUND, _NOT_FOUND)
    if not facts.available:
        return Refuse(Refusal.NOT_AVAILABLE, "E-mails cannot be sent at the moment.")
    return _moved(facts, own_to)


def _moved(facts: EmailFacts, own_to: tuple[str, ...] | None) -> Refuse | None:
    if own_to is None or own_to == (facts.own_address,):
        return None
    return Refuse(Refusal.NOT_FOUND, "The customer's e-mail address has changed.")


def email_tier(policy: Policy) -> Tier:
    """Return who may decide an e-mail."""
    return Tier(policy.emails.role, policy.emails.approvals)


def _findings(proposal: EmailProposal, facts: EmailFacts, policy: Policy) -> list[Finding]:
    found: list[Finding] = []
    most = policy.emails.customer_max_emails
    if facts.automatic_number >= most:
        span = span_words(policy.emails.customer_window_s)
        text = f"{facts.automatic_number} e-mails left without a person in {span}"
        found.append(Finding(Reason.CUMULATIVE_OVER_LIMIT, f"{text}; the policy allows {most}"))
    if not policy.emails.templates_run:
        text = "The policy lets no e-mail leave without a person"
        found.append(Finding(Reason.TOOL_REQUIRES_APPROVAL, text))
    if proposal.template is None:
        text = "The text is the agent's own, not one of the policy's templates"
        found.append(Finding(Reason.IRREVERSIBLE_MESSAGE, text))
    number = len(proposal.recipients())
    if number != 1:
        text = f"It goes to {number} people, and cannot be taken back"
        found.append(Finding(Reason.IRREVERSIBLE_MESSAGE, text))
    elif proposal.to != (facts.own_address,):
        text = f"The address is not the customer's own ({facts.own_address})"
        found.append(Finding(Reason.IRREVERSIBLE_MESSAGE, text))
    if odd := [address for address in proposal.recipients() if "xn--" in address.lower()]:
        text = f"The domain of {odd[0]} is written in punycode: it may look like another"
        found.append(Finding(Reason.IRREVERSIBLE_MESSAGE, text))
    return found
