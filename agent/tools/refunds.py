"""`issue_refund` proposes money back; `refund_status` tells where earlier requests stand."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent.desk import Desk
from agent.domain.conversation import CHIP
from agent.domain.errors import InvalidInput
from agent.domain.ids import CustomerId
from agent.domain.money import Money, parse_money
from agent.domain.payload import Json, Payload
from agent.domain.risk import RefundProposal, Scope
from agent.tools.base import Arguments, Caller, Tool, ToolClass, failure, read_tool
from agent.tools.orders import OrderReference
from storage import approvals


def _whole_number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


NumberText = Annotated[str, BeforeValidator(_whole_number_as_text)]


class IssueRefund(Arguments):
    """Arguments of `issue_refund`; `amount` is a decimal in the order's currency."""

    order_id: OrderReference
    amount: Annotated[NumberText, Field(max_length=40, description="plain decimal, e.g. 20.00")]
    currency: Annotated[str, Field(min_length=3, max_length=3, description="ISO 4217, e.g. USD")]
    scope: Annotated[
        Scope, Field(description="what the customer asked for; unclear if you had to guess")
    ]
    reason: Annotated[
        str, Field(min_length=1, max_length=1000, description="why, for the person who decides")
    ]
    confidence: Annotated[
        NumberText | None,
        Field(
            pattern=r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$",
            description="how sure you are that this is right, 0 to 1",
        ),
    ] = None


class RefundStatus(Arguments):
    """Arguments of `refund_status`: none; it shows the customer's latest requests."""


class _StoredAmount(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    minor: Annotated[int, Field(gt=0)]
    currency: str


class _StoredPayload(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    order_id: str
    customer_id: str
    amount: _StoredAmount


def to_proposal(arguments: IssueRefund, order_id: str) -> RefundProposal:
    """Read the amount; raises InvalidInput for what the currency cannot hold."""
    return RefundProposal(
        order_id=order_id,
        amount=parse_money(arguments.amount, arguments.currency.upper()),
        scope=arguments.scope,
        confidence=None if arguments.confidence is None else Decimal(arguments.confidence),
    )


def refund_payload(*, order_id: str, customer_id: CustomerId, amount: Money) -> Payload:
    """Return exactly what is hashed, shown and executed."""
    return {
        "order_id": order_id,
        "customer_id": customer_id,
        "amount": {"minor": amount.minor, "currency": amount.currency},
    }


def read_refund_payload(text: str) -> tuple[str, Money]:
    """Return order id and amount of a stored payload; raises InvalidInput naming the bad field."""
    try:
        stored = _StoredPayload.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "payload"
        raise InvalidInput(where, first["msg"]) from error
    return stored.order_id, Money(stored.amount.minor, stored.amount.currency)


def _status(desk: Desk, caller: Caller, _arguments: Arguments) -> Payload:
    if caller.customer_id is None:
        return failure("not_verified", "Please sign in to the shop first.")
    with desk.store.transaction(write=False) as tx:
        found = approvals.latest_of_customer(tx, caller.customer_id, limit=10)
    requests: list[Json] = [
        {
            "approval_id": approval.id,
            "order_id": approval.order_id,
            "amount": None if approval.amount is None else str(approval.amount),
            "status": CHIP[approval.status],
            "asked_at": approval.created_at.isoformat(),
        }
        for approval in found
    ]
    return {"ok": True, "requests": requests}


ISSUE_REFUND = Tool(
    name="issue_refund",
    description=(
        "Propose to pay money back for one order of the customer. Small, clear refunds run at "
        "once; others wait for a person. Never say it is done before the result says so."
    ),
    arguments=IssueRefund,
    tool_class=ToolClass.MONEY,
    side_effect="mutating",
    requires_confirmation=True,
    impact="high",
    reversible="no",
    triggers="the payment provider pays the customer back",
)

REFUND_STATUS = read_tool(
    "refund_status",
    "Show where the customer's refund requests stand.",
    RefundStatus,
    _status,
)
