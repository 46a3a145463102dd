"""Whether a fraud flag is noted at once, waits for people, or is refused. Pure."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

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
)
from agent.domain.roles import Tier

# design.md §5: a score over this waits, whatever the policy says; exactly this does not.
SCORE_MAX = Decimal("0.80")


class FlagAction(StrEnum):
    """What a flag does to a customer."""

    MONITOR = "monitor"
    HOLD = "hold"


# What each action triggers downstream, as the card names it.
TRIGGERS: dict[FlagAction, str] = {
    FlagAction.MONITOR: "nothing but an entry in the shop's list of signals",
    FlagAction.HOLD: "nothing runs for this customer without a person until the hold is lifted",
}


@dataclass(frozen=True, slots=True)
class FlagProposal:
    """A validated call of `flag_for_fraud`; `score` lies between 0 and 1."""

    score: Decimal
    confidence: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagFacts(Standing):
    """What a flag is judged by; `order_found` is false when the order is not the customer's."""

    order_found: bool


def action_for(score: Decimal, policy: Policy) -> FlagAction:
    """Return what a flag of this score does: over the policy's line it holds the customer."""
    return FlagAction.HOLD if score > _line(policy) else FlagAction.MONITOR


def assess_flag(proposal: FlagProposal, facts: FlagFacts, policy: Policy) -> RunNow | Park | Refuse:
    """Judge a flag; a low score is noted at once as a signal to watch."""
    refusal = recheck_flag(facts) or history(facts, policy)
    if refusal is not None:
        return refusal
    findings = (
        *_findings(proposal, policy),
        *doubts(proposal.confidence, facts, policy, "The same flag"),
    )
    if findings:
        return Park(findings, flag_tier(policy))
    if facts.stopped:
        return Refuse(Refusal.STOPPED, "Everything is stopped at the moment.")
    return RunNow()


def recheck_flag(facts: FlagFacts) -> Refuse | None:
    """Judge an approved flag again at the claim, in case the world has changed."""
    if not facts.verified:
        return Refuse(Refusal.NOT_VERIFIED, "Nobody is signed in whom a flag could be about.")
    if not facts.order_found:
        return Refuse(Refusal.NOT_FOUND, "No such order was found for this customer.")
    return None


def flag_tier(policy: Policy) -> Tier:
    """Return who may decide a flag."""
    return Tier(policy.fraud_flags.role, policy.fraud_flags.approvals)


def _line(policy: Policy) -> Decimal:
    most = policy.flag_score_max()
    return SCORE_MAX if most is None else min(most, SCORE_MAX)


def _findings(proposal: FlagProposal, policy: Policy) -> list[Finding]:
    found: list[Finding] = []
    if policy.flag_score_max() is None:
        text = "The policy lets no fraud flag pass without a person"
        found.append(Finding(Reason.TOOL_REQUIRES_APPROVAL, text))
    if proposal.score > _line(policy):
        text = f"The fraud score {proposal.score} is over {_line(policy)}"
        found.append(Finding(Reason.FRAUD_FLAG, text))
    return found
