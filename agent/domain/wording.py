"""What customers read about their requests, in words that are true for each outcome."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class _Effect:
    """How an effect is spoken of: what is on its way, what came of it, what did not."""

    way: str
    done: str
    undone: str


_REFUND = _Effect("the payment is on its way", "has been paid", "nothing was paid")
_EMAIL = _Effect("it is on its way", "has been sent", "nothing was sent")
_OTHER = _Effect("it is being carried out", "has been carried out", "nothing was done")
# What the customer never hears of: neither chip nor message.
CONFIDENTIAL = frozenset({"flag_for_fraud"})


def is_for_customer(approval: Approval) -> bool:
    """Tell whether the customer hears of the request at all."""
    return approval.tool not in CONFIDENTIAL


def chip_text(approval: Approval, reason: str = "", *, stopped: bool = False) -> str:
    """Return the line on the customer's chip for the approval as it stands.

    `reason` is the reviewer's customer-safe sentence of a rejection; `stopped` tells that nothing
    executes at present.
    """
    what, effect = request_words(approval), _effect(approval)
    match approval.status:
        case Status.PENDING:
            return f"{what}: {REVIEW}"
        case Status.APPROVED if stopped:
            return f"{what}: approved, but everything is paused at the moment"
        case Status.APPROVED | Status.EXECUTING:
            return f"{what}: approved, {effect.way}"
        case Status.EXECUTED:
            return f"{what}: {f'accepted, {effect.way}' if _is_on_its_way(approval) else 'done'}"
        case Status.UNKNOWN:
            return f"{what}: approved, we are checking whether it went through"
        case Status.FAILED | Status.STALE:
            return f"{what}: could not be completed"
        case Status.REJECTED:
            return f"{what}: declined. {reason}".rstrip()
        case Status.EXPIRED:
            return f"{what}: nobody decided in time"
        case Status.SUPERSEDED:
            return f"{what}: replaced by a changed request"
        case Status.CANCELLED:
            return f"{what}: {_cancelled(approval)}{f'. {reason}' if reason else ''}"
        case _:
            assert_never(approval.status)


def outcome_text(approval: Approval, reason: str = "") -> str:
    """Return the message that tells the customer an outcome when the model has no words."""
    what, effect = lower(request_words(approval)), _effect(approval)
    match approval.status:
        case Status.EXECUTED:
            done = f"was accepted; {effect.way}" if _is_on_its_way(approval) else effect.done
            return f"Good news: the {what} {done}.{_edited(approval)}"
        case Status.REJECTED:
            offer = "If you like, I can pass you to a person."
            return f"{declined_text(approval, reason)} {offer}"
        case Status.EXPIRED:
            return f"No one decided on the {what} in time, so {effect.undone}. {_again(approval)}"
        case Status.FAILED if came_back(approval):
            return (
                f"The {what} did not arrive: your bank did not take it, so the money has not "
                "reached you. I can pass you to a person who looks into it."
            )
        case Status.FAILED:
            return (
                f"The {what} could not be completed and {effect.undone}. "
                "I can pass you to a person who looks into it."
            )
        case Status.STALE:
            return (
                f"The {what} was not carried out because something changed in the meantime; "
                f"{effect.undone}. {_again(approval)}"
            )
        case Status.UNKNOWN:
            return f"The {what} is approved; we are still checking whether it went through."
        case Status.CANCELLED:
            because = f" {reason}" if reason else ""
            return f"The {what} was {_cancelled(approval)}; {effect.undone}.{because}"
        case Status.SUPERSEDED:
            return f"The {what} was replaced by a changed request."
        case Status.PENDING | Status.APPROVED | Status.EXECUTING:
            return f"The {what} {REVIEW}."
        case _:
            assert_never(approval.status)


def declined_text(approval: Approval, reason: str = "") -> str:
    """Return the sentence that a request was declined, with the reviewer's reason."""
    because = f" {reason}" if reason else ""
    return f"Our team has declined the {lower(request_words(approval))}.{because}"


def _again(approval: Approval) -> str:
    """Return what can be done next; what people had changed is not asked for a second time."""
    if approval.is_edited:
        return "I can pass you to a person."
    return "You can ask again, or I can pass you to a person."


def _is_on_its_way(approval: Approval) -> bool:
    """Tell whether the provider has accepted it and not finished."""
    return (approval.result or {}).get("provider_status") == "pending"


def known_words(approval: Approval) -> str:
    """Return for staff what became of an effect whose outcome was unknown."""
    what = request_words(approval)
    if approval.status is Status.EXECUTED:
        return f"{what} went through."
    return f"{what} did not go through: {_effect(approval).undone}."


def request_words(approval: Approval) -> str:
    """Return what was asked for, e.g. `Refund of 160.00 USD on order ORD-1001`."""
    order = "" if approval.order_id is None else f" about order {approval.order_id}"
    match approval.tool:
        case "issue_refund" if approval.amount is not None:
            return f"Refund of {approval.amount} on order {approval.order_id}"
        case "send_email":
            return f"E-mail{order}"
        case _:
            return f"Request{order}"


def came_back(approval: Approval) -> bool:
    """Tell whether the provider had made the refund and lost it again later."""
    return (approval.result or {}).get("provider_status") == "failed"


def _effect(approval: Approval) -> _Effect:
    return {"issue_refund": _REFUND, "send_email": _EMAIL}.get(approval.tool, _OTHER)


def _cancelled(approval: Approval) -> str:
    return "withdrawn" if approval.decided_at is None else "called off by our team"


def lower(words: str) -> str:
    """Return a phrase for the middle of a sentence."""
    return words[:1].lower() + words[1:]


def outcome_for_model(approval: Approval, reason: str = "") -> Payload:
    """Return the system message that tells the run how its request ended."""
    told: Payload = {
        "event": "approval_outcome",
        "approval_id": approval.id,
        "tool": approval.tool,
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
        case Status.STALE:
            told |= {"error": "stale", "reason": str((approval.result or {}).get("problem", ""))}
        case Status.CANCELLED:
            told |= {"error": "cancelled", "reason": reason or _cancelled(approval)}
        case Status.FAILED if came_back(approval):
            told |= {"error": "came_back", "reason": "the bank did not take it"}
        case Status.FAILED | Status.UNKNOWN:
            told |= {"error": approval.status.value, "reason": ""}
        case _:
            pass
    if approval.is_edited:
        told["edited"] = {
            "from": _open(approval.proposed),
            "to": _open(approval.payload),
            "final": True,
        }
    return told


def edit_for_model(approval: Approval, editor_reason: str) -> Payload:
    """Return the system message that tells the run of a person's edit, while it still waits."""
    return {
        "event": "human_edit",
        "approval_id": approval.id,
        "tool": approval.tool,
        "from": _open(approval.proposed),
        "to": _open(approval.payload),
        "final": True,
        "reason": editor_reason,
    }


def _open(payload: Payload) -> Payload:
    """Return a payload without what its own recipients do not see."""
    return {name: value for name, value in payload.items() if name != "bcc"}


def _edited(approval: Approval) -> str:
    original, amount = approval.original_amount, approval.amount
    if not approval.is_edited or original is None or amount is None or original == amount:
        return ""
    return f" Our team changed the amount from {original} to {amount}."
