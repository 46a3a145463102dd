"""What a card, a thread line and a list say for each status: an emoji and always a word with it."""

from dataclasses import dataclass

from agent.domain.approvals import Approval, ApprovalView, RejectCategory, Status, Vote
from agent.domain.roles import Tier
from bot.slack.blocks import utc


@dataclass(frozen=True, slots=True)
class Look:
    """How a status looks: Slack's emoji name, the same emoji as a character, title and verdict."""

    emoji: str
    sign: str
    title: str
    verdict: str


LOOKS: dict[Status, Look] = {
    Status.PENDING: Look("hourglass_flowing_sand", "⏳", "needs approval", "Waiting"),
    Status.APPROVED: Look("white_check_mark", "✅", "approved", "Approved"),
    Status.EXECUTING: Look("white_check_mark", "✅", "approved", "Approved"),
    Status.EXECUTED: Look("white_check_mark", "✅", "paid", "Approved and paid"),
    Status.FAILED: Look("x", "❌", "failed", "Approved, but failed"),
    Status.UNKNOWN: Look("mag", "🔎", "being checked", "Approved, outcome not known yet"),
    Status.STALE: Look("warning", "⚠️", "not paid", "Approved, but not paid"),
    Status.REJECTED: Look("no_entry_sign", "🚫", "rejected", "Rejected"),
    Status.EXPIRED: Look("hourglass", "⌛", "expired", "Expired"),
    Status.SUPERSEDED: Look("pencil2", "✏️", "replaced", "Replaced by an edit"),
    Status.CANCELLED: Look("leftwards_arrow_with_hook", "↩️", "withdrawn", "Withdrawn"),
}

CATEGORY_WORDS: dict[RejectCategory, str] = {
    RejectCategory.NOT_ELIGIBLE: "Not eligible under the shop's rules",
    RejectCategory.WRONG_AMOUNT: "The amount is wrong",
    RejectCategory.NEEDS_INFORMATION: "More information is needed first",
    RejectCategory.SUSPECTED_ABUSE: "Suspected abuse",
    RejectCategory.OTHER: "Something else",
}

_AFTER: dict[Status, str] = {
    Status.APPROVED: "The payment is on its way.",
    Status.EXECUTING: "The payment is on its way.",
    Status.UNKNOWN: "The payment provider gave no clear answer; it is being asked again.",
    Status.FAILED: "No money moved.",
    Status.STALE: "The order changed in the meantime; no money moved.",
    Status.EXPIRED: "Nobody decided in time; nothing was paid.",
    Status.CANCELLED: "Nothing was paid.",
    Status.REJECTED: "Nothing was paid.",
}


def subject(approval: Approval) -> str:
    """Return what the approval is about in one word."""
    return "Refund" if approval.amount is not None else "Request"


def title(approval: Approval) -> str:
    """Return the headline: fixed words and a validated amount, at most 150 characters."""
    look = LOOKS[approval.status]
    sign = "" if approval.status is Status.PENDING else f"{look.sign} "
    what = approval.tool if approval.amount is None else str(approval.amount)
    return f"{sign}{subject(approval)} {look.title} · {what}"[:150]


def outcome(approval: Approval) -> str:
    """Return the sentence after the verdict: what became of the money."""
    result = approval.result or {}
    match approval.status:
        case Status.EXECUTED:
            return f"The provider's id is {result.get('refund_id', 'unknown')}."
        case Status.FAILED if result.get("message"):
            return f"The provider said: {result['message']} ({result.get('code', 'no code')})."
        case Status.STALE if result.get("problem"):
            return f"{result['problem']} No money moved."
        case status:
            return _AFTER.get(status, "")


def category_words(category: str) -> str:
    """Return a rejection's category in words; one of an older release as it was stored."""
    known = {found.value: text for found, text in CATEGORY_WORDS.items()}
    return known.get(category, category)


def deciding_votes(view: ApprovalView) -> tuple[Vote, ...]:
    """Return the votes that led to the status, or that were cast before the deadline."""
    verdict = {Status.REJECTED: "reject", Status.SUPERSEDED: "edit"}.get(
        view.approval.status, "approve"
    )
    return tuple(vote for vote in view.votes if vote.verdict == verdict)


def ended_words(view: ApprovalView) -> str:
    """Return who decided what and when, for somebody who comes too late."""
    approval = view.approval
    if approval.status in {Status.PENDING, Status.EXPIRED}:
        return f"Expired at {utc(approval.expires_at)}. {_AFTER[Status.EXPIRED]}"
    signed = ", ".join(f"{vote.actor_name} at {utc(vote.at)}" for vote in deciding_votes(view))
    by = f" by {signed}" if signed else ""
    new = "" if approval.superseded_by is None else f" The new request is {approval.superseded_by}."
    return f"{LOOKS[approval.status].verdict}{by}. {outcome(approval)}{new}".strip()


def tier_words(tier: Tier) -> str:
    """Return who may decide, for the middle of a sentence."""
    role = tier.role.replace("_", " ")
    if tier.approvals_needed == 1:
        return f"one {role}"
    return f"{tier.approvals_needed} people, at least one {role}"


def progress_words(view: ApprovalView) -> str:
    """Return how far the quorum has come, e.g. `1 of 2`."""
    approving = {vote.actor_id for vote in view.votes if vote.verdict == "approve"}
    return f"{len(approving)} of {view.approval.tier.approvals_needed}"
