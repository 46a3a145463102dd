"""`refund_status` tells where requests stand; `withdraw_request` takes back what still waits."""

from typing import Annotated

from pydantic import Field

from agent.desk import Desk
from agent.domain.conversation import CHIP
from agent.domain.payload import Json, Payload
from agent.domain.wording import is_for_customer
from agent.tools.base import Arguments, Caller, Tool, ToolClass, failure, read_tool
from storage import approvals


class RefundStatus(Arguments):
    """Arguments of `refund_status`: none; it shows the customer's latest requests."""


class WithdrawRequest(Arguments):
    """Arguments of `withdraw_request`; without an id the only waiting request is meant."""

    approval_id: Annotated[
        str | None, Field(max_length=64, description="which request, e.g. apr_01J…")
    ] = None


def _status(desk: Desk, caller: Caller, _arguments: Arguments) -> Payload:
    if caller.customer_id is None:
        return failure("not_verified", "Please sign in to the shop first.")
    with desk.store.transaction(write=False) as tx:
        found = approvals.latest_of_customer(tx, caller.customer_id, limit=10)
    requests: list[Json] = [
        {
            "approval_id": approval.id,
            "tool": approval.tool,
            "order_id": approval.order_id,
            "amount": None if approval.amount is None else str(approval.amount),
            "status": CHIP[approval.status],
            "asked_at": approval.created_at.isoformat(),
        }
        for approval in found
        if is_for_customer(approval)
    ]
    return {"ok": True, "requests": requests}


REFUND_STATUS = read_tool(
    "refund_status",
    "Show where the customer's requests stand.",
    RefundStatus,
    _status,
)

WITHDRAW_REQUEST = Tool(
    name="withdraw_request",
    description=(
        "Take back a request of the customer that still waits for the team, when they say that "
        "they do not want it any more."
    ),
    arguments=WithdrawRequest,
    tool_class=ToolClass.CONVERSATION,
    side_effect="mutating",
    requires_confirmation=False,
    impact="low",
    reversible="yes",
    triggers="the waiting request ends and nothing of it runs",
)
