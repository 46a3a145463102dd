"""What the model is told right after its call, for each status a row can have then."""

from agent.domain.approvals import Approval, Status
from agent.domain.payload import Payload
from agent.domain.risk import Refuse
from agent.domain.wording import is_for_customer


def result_for_model(approval: Approval) -> Payload:
    """Return the tool's result for a row as it stands; never "done" before it is done."""
    if not is_for_customer(approval):
        # Nothing that the model could tell the customer.
        return {"ok": True, "status": "noted"}
    money = approval.amount is not None
    known: Payload = {
        "approval_id": approval.id,
        "order_id": approval.order_id,
        "amount": None if approval.amount is None else str(approval.amount),
    }
    match approval.status:
        case Status.EXECUTED:
            return {"ok": True, "status": "executed", **known}
        case Status.FAILED:
            return {
                "ok": False,
                "error": "failed",
                "message": "The payment provider declined; no money moved."
                if money
                else "It was declined; nothing was done.",
                **known,
            }
        case Status.UNKNOWN | Status.EXECUTING | Status.APPROVED:
            return {
                "ok": False,
                "status": "checking",
                "error": "unknown",
                "message": "Not confirmed yet; the payment provider is being asked."
                if money
                else "Not confirmed yet; the team looks into it.",
                **known,
            }
        case _:
            return {"status": "pending_approval", **known}


def refused_result(refusal: Refuse) -> Payload:
    """Return the tool's result for a refusal."""
    return {"ok": False, "error": refusal.code.value, "message": refusal.message}
