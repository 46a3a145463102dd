"""What people do about a request beside deciding it: ask, revoke, settle, and ask again."""

from dataclasses import replace
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from agent.domain.approvals import Approval, EvidenceKind
from agent.domain.asking import Question
from agent.domain.asks import Ask as Asked
from agent.domain.asks import AskedOf
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.roles import Channel
from agent.steps.ask import ask
from agent.steps.ask_again import ask_again
from agent.steps.permission import Order
from agent.steps.revoke import revoke
from agent.steps.settlement import Settlement, settle_unknown
from bot.shapes import JsonObject, approval_json
from bot.web.approvals import Words, read_view
from bot.web.bodies import Body, StrictRoute
from bot.web.context import Context, WebContext
from bot.web.params import ApprovalPath
from bot.web.refusals import refusal
from bot.web.staff import Known, Staff

router = APIRouter(prefix="/approvals", tags=["approvals"], route_class=StrictRoute)


class Revoke(Body):
    """Body of `revoke`: the customer reads the reason."""

    reason: Words = ""


class Settle(Body):
    """Body of `settle`: `reference` names the record that was seen."""

    outcome: Literal["executed", "failed"]
    evidence: Annotated[EvidenceKind, Field(strict=False)]
    reference: Annotated[str, Field(max_length=300)]
    note: Words = ""


class Ask(Body):
    """Body of `ask`; the same `client_id` again asks nothing new."""

    of: Annotated[AskedOf, Field(strict=False)]
    question: Annotated[str, Field(max_length=3000)]
    client_id: Annotated[UUID, Field(strict=False)] | None = None


class AskAgain(Body):
    """Body of `ask_again`."""

    reason: Words = ""


@router.post("/{approval_id}/ask")
def ask_approval(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Ask
) -> JsonObject:
    """Ask about a request that waits: the customer in their chat, or the agent.

    The answer stands in `questions` when it has come; nothing else changes.
    """
    key = None if body.client_id is None else str(body.client_id)
    question = Question(body.of, body.question, key)
    answer = ask(context.desk, approval_id, question, _order(staff, ""))
    return _shown(context, approval_id, answer)


@router.post("/{approval_id}/revoke")
def revoke_approval(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Revoke
) -> JsonObject:
    """Take an approval back before it is carried out, with a reason that the customer reads."""
    answer = revoke(context.desk, approval_id, _order(staff, body.reason))
    return _shown(context, approval_id, answer)


@router.post("/{approval_id}/settle")
def settle_approval(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Settle
) -> JsonObject:
    """Say what became of an unknown outcome, with evidence; the provider's own record wins."""
    settlement = Settlement(body.outcome == "executed", body.evidence, body.reference)
    answer = settle_unknown(context.desk, approval_id, settlement, _order(staff, body.note))
    return _shown(context, approval_id, answer)


@router.post("/{approval_id}/ask_again")
def ask_again_approval(
    context: Context, staff: Known, approval_id: ApprovalPath, body: AskAgain
) -> JsonObject:
    """Put what went stale or expired before people once more; answers with the new approval."""
    answer = ask_again(context.desk, approval_id, _order(staff, body.reason))
    return _shown(context, approval_id, answer)


def _order(staff: Staff, reason: str) -> Order:
    return Order(staff.identity, Channel.API, reason)


def _shown(
    context: WebContext, approval_id: ApprovalId, answer: Approval | Asked | Refused
) -> JsonObject:
    context.hub.poke()
    if not isinstance(answer, Refused):
        named = answer.approval_id if isinstance(answer, Asked) else answer.id
        return approval_json(read_view(context, named))
    if answer.code is RefusalCode.NOT_FOUND:
        raise refusal(answer)
    view = read_view(context, approval_id)
    last = view.votes[-1] if view.votes else None
    raise refusal(replace(answer, approval=view.approval, earlier=last))
