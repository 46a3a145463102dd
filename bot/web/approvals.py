"""The approvals API: the queue, one request, and the three words a person may say about it."""

import asyncio
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import Field, model_validator
from starlette.concurrency import run_in_threadpool

from agent.domain.approvals import ApprovalView, RejectCategory, Status, Verdict
from agent.domain.decision import Decision, Refused
from agent.domain.decision import Edits as DecisionEdits
from agent.domain.ids import ApprovalId
from agent.domain.money import MAX_MINOR, Money
from agent.domain.roles import Channel
from agent.steps.decide import decide
from bot.shapes import JsonObject, approval_json
from bot.web.bodies import Body, StrictRoute
from bot.web.context import Context, WebContext
from bot.web.params import ApprovalPath, Cursor, Limit
from bot.web.problems import not_found
from bot.web.refusals import refusal
from bot.web.staff import Known, Reader
from storage import approvals, decisions

_LONGEST_WAIT_S = 30
# An approved refund has no outcome yet; an unknown one may still get one.
_UNDER_WAY = frozenset({Status.APPROVED, Status.EXECUTING, Status.UNKNOWN})

Hash = Annotated[str, Field(min_length=1, max_length=128, description="The hash that was shown.")]
Words = Annotated[str, Field(max_length=3000)]
# More than an e-mail may have: the step says which of them is wrong, and why.
Addresses = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)]
Wait = Annotated[
    float,
    Query(ge=0, le=_LONGEST_WAIT_S, description="Most seconds to wait for the outcome."),
]

router = APIRouter(prefix="/approvals", tags=["approvals"], route_class=StrictRoute)


class Approve(Body):
    """Body of `approve`; with `break_glass` somebody on call decides alone, and says why."""

    payload_hash: Hash
    reason: Words = ""
    break_glass: bool = False


class Reject(Body):
    """Body of `reject`: `reason` is read by the customer, `note` by staff only."""

    payload_hash: Hash
    category: Annotated[RejectCategory | None, Field(strict=False)] = None
    reason: Words = ""
    note: Words = ""


class MoneyIn(Body):
    """An amount; an echoed `display` is ignored."""

    minor: Annotated[int, Field(ge=-MAX_MINOR, le=MAX_MINOR)]
    currency: Annotated[str, Field(min_length=3, max_length=3)]
    display: object = None

    def money(self) -> Money:
        """Return the amount; raises InvalidInput for a currency that there is not."""
        return Money(self.minor, self.currency)


class Edits(Body):
    """What a person may change: of a refund the first two, of an e-mail the others."""

    amount: MoneyIn | None = None
    order_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    to: Addresses | None = None
    cc: Addresses | None = None
    bcc: Addresses | None = None
    subject: Annotated[str, Field(max_length=1000)] | None = None
    body: Annotated[str, Field(max_length=32_768)] | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if all(value is None for _, value in self):
            raise ValueError(f"change at least one of {', '.join(type(self).model_fields)}")
        return self

    def wanted(self) -> DecisionEdits:
        """Return the edits as the step takes them; raises InvalidInput for no currency."""
        return DecisionEdits(
            amount=None if self.amount is None else self.amount.money(),
            order_id=self.order_id,
            to=_tuple(self.to),
            cc=_tuple(self.cc),
            bcc=_tuple(self.bcc),
            subject=self.subject,
            body=self.body,
        )


class Edit(Body):
    """Body of `edit`."""

    payload_hash: Hash
    edits: Edits
    reason: Words = ""


@router.get("")
def list_approvals(
    context: Context,
    _staff: Reader,
    status: Status = Status.PENDING,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JsonObject:
    """List approvals of a status, oldest first."""
    with context.desk.store.transaction(write=False) as tx:
        found = approvals.page(tx, status, cursor or "", limit + 1)
        views = [decisions.view(tx, approval) for approval in found[:limit]]
    more = len(found) > limit
    return {
        "items": [approval_json(view) for view in views],
        "next_cursor": views[-1].approval.id if more else None,
    }


@router.get("/{approval_id}")
def get_approval(context: Context, _staff: Reader, approval_id: ApprovalPath) -> JsonObject:
    """Show one approval with every field that is hashed."""
    return approval_json(read_view(context, approval_id))


@router.post("/{approval_id}/approve")
async def approve(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Approve, wait: Wait = 0
) -> JsonObject:
    """Approve; answers when the decision is durable, or with `wait` when the outcome is there."""
    decision = Decision(
        approval_id,
        staff.identity,
        Verdict.APPROVE,
        body.payload_hash,
        Channel.API,
        reason=body.reason,
        break_glass=body.break_glass,
    )
    return await _decide(context, decision, wait)


@router.post("/{approval_id}/reject")
async def reject(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Reject, wait: Wait = 0
) -> JsonObject:
    """Reject, with a category and a reason that the customer reads."""
    decision = Decision(
        approval_id,
        staff.identity,
        Verdict.REJECT,
        body.payload_hash,
        Channel.API,
        reason=body.reason,
        category=body.category,
        note=body.note,
    )
    return await _decide(context, decision, wait)


@router.post("/{approval_id}/edit")
async def edit(
    context: Context, staff: Known, approval_id: ApprovalPath, body: Edit, wait: Wait = 0
) -> JsonObject:
    """Change what is asked for; answers with the new approval, which supersedes the old one."""
    decision = Decision(
        approval_id,
        staff.identity,
        Verdict.EDIT,
        body.payload_hash,
        Channel.API,
        reason=body.reason,
        edits=body.edits.wanted(),
    )
    return await _decide(context, decision, wait)


async def _decide(context: WebContext, decision: Decision, wait: float) -> JsonObject:
    answer = await run_in_threadpool(decide, context.desk, decision)
    context.metrics.count_decision(decision, answer)
    context.hub.poke()
    if isinstance(answer, Refused):
        raise refusal(answer)
    return approval_json(await _settled(context, answer.approval.id, wait))


async def _settled(context: WebContext, approval_id: ApprovalId, wait: float) -> ApprovalView:
    """Return the row once its outcome is there, or as it is after `wait` seconds.

    Between two looks nothing is held: neither a transaction nor a thread.
    """
    now = asyncio.get_running_loop().time
    ends_at = now() + wait
    with context.hub.listen() as bell:
        while True:
            view = await run_in_threadpool(read_view, context, approval_id)
            left = ends_at - now()
            if view.approval.status not in _UNDER_WAY or left <= 0 or context.hub.closed:
                return view
            await bell.wait(min(left, context.hub.interval_s))


def read_view(context: WebContext, approval_id: ApprovalId) -> ApprovalView:
    """Return an approval with what surrounds it; raises Problem 404."""
    with context.desk.store.transaction(write=False) as tx:
        approval = approvals.get(tx, approval_id)
        if approval is None:
            raise not_found("approval")
        return decisions.view(tx, approval)


def _tuple(addresses: list[str] | None) -> tuple[str, ...] | None:
    return None if addresses is None else tuple(addresses)
