"""What customers read about their requests, in words that are true for each outcome."""

from typing import assert_never

from agent.domain.approvals import Approval, Status
from agent.domain.payload import Payload

REVIEW = "needs a quick review by our team"
MODEL_DOWN = (
    "Sorry, I can't answer right now. Nothing is lost: please write again in a moment, "
    "or ask for a person."
)
TOO_MANY_STEPS = "Sorry, I could not finish this. I have asked a colleague to take over."
STOPPED = "Stopped."
HANDED_OFF = "A person from our team will take over here."


def chip_text(approval: Approval, reason: str = "") -> str:
    """Return the line on the customer's chip for the approval as it stands.

    `reason` is the reviewer's customer-safe sentence of a rejection.
    """
    what = request_words(approval)
    match approval.status:
        case Status.PENDING:
            return f"{what}: {REVIEW}"
        case Status.APPROVED | Status.EXECUTING:
            return f"{what}: approved, the payment is on its way"
        case Status.EXECUTED:
            return f"{what}: done"
        case Status.UNKNOWN:
            return f"{what}: approved, we are checking with the payment provider"
        case Status.FAILED | Status.STALE:
            return f"{what}: could not be completed"
        case Status.REJECTED:
            return f"{what}: declined. {reason}".rstrip()
        case Status.EXPIRED:
            return f"{what}: nobody decided in time"
        case Status.SUPERSEDED:
            return f"{what}: replaced by a changed request"
        case Status.CANCELLED:
            return f"{what}: withdrawn"
        case _:
            assert_never(approval.status)


def outcome_text(approval: Approval, reason: str = "") -> str:
    """Return the message that tells the customer an outcome when the model has no words."""
    what = request_words(approval)
    match approval.status:
        case Status.EXECUTED:
            return f"Good news: the {lower(what)} has been paid.{_edited(approval)}"
        case Status.REJECTED:
            because = f" {reason}" if reason else ""
            return (
                f"Our team has declined the {lower(what)}.{because} "
                "If you like, I can pass you to a person."
            )
        case Status.EXPIRED:
            return (
                f"No one decided on the {lower(what)} in time, so nothing was paid. "
                "You can ask again, or I can pass you to a person."
            )
        case Status.FAILED:
            return (
                f"The {lower(what)} could not be completed and no money moved. "
                "I can pass you to a person who looks into it."
            )
        case Status.STALE:
            return (
                f"The {lower(what)} was not paid because the order changed in the meantime. "
                "You can ask again, or I can pass you to a person."
            )
        case Status.UNKNOWN:
            return (
                f"The {lower(what)} is approved; we are still checking with the payment provider."
            )
        case Status.CANCELLED:
            return f"The {lower(what)} was withdrawn; nothing was paid."
        case Status.PENDING | Status.APPROVED | Status.EXECUTING | Status.SUPERSEDED:
            return f"The {lower(what)} {REVIEW}."
        case _:
            assert_never(approval.status)


def request_words(approval: Approval) -> str:
    """Return what was asked for, e.g. `Refund of 160.00 USD on order ORD-1001`."""
    if approval.amount is None or approval.order_id is None:
        return "Request"
    return f"Refund of {approval.amount} on order {approval.order_id}"


def lower(words: str) -> str:
    """Return a phrase for the middle of a sentence."""
    return words[:1].lower() + words[1:]


def outcome_for_model(approval: Approval, reason: str = "") -> Payload:
    """Return the system message that tells the run how its request ended."""
    told: Payload = {
        "event": "approval_outcome",
        "approval_id": approval.id,
        "order_id": approval.order_id,
        "amount": None if approval.amount is None else str(approval.amount),
        "outcome": approval.status.value,
        "ok": approval.status is Status.EXECUTED,
    }
    match approval.status:
        case Status.REJECTED:
            told |= {"error": "denied_by_human", "reason": reason}
        case Status.EXPIRED:
            told |= {"error": "expired", "reason": "no one decided in time"}
        case Status.FAILED | Status.STALE | Status.UNKNOWN | Status.CANCELLED:
            told |= {"error": approval.status.value, "reason": ""}
        case _:
            pass
    if approval.supersedes is not None and approval.original_amount is not None:
        told["edited"] = {
            "from": str(approval.original_amount),
            "to": None if approval.amount is None else str(approval.amount),
            "final": True,
        }
    return told


def _edited(approval: Approval) -> str:
    original, amount = approval.original_amount, approval.amount
    if approval.supersedes is None or original is None or amount is None or original == amount:
        return ""
    return f" Our team changed the amount from {original} to {amount}."
