"""Post-action review: what ran without a person, and for whom nothing does any more."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from agent.domain.decision import RefusalCode, Refused
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.reviews import Review, ReviewState
from agent.domain.roles import Channel
from agent.steps.permission import Order
from agent.steps.review import answer_review, resume_automatic
from bot.shapes import JsonObject, pause_json, review_json, rfc3339
from bot.web.bodies import Body, Nothing, StrictRoute
from bot.web.context import Context, WebContext
from bot.web.params import ApprovalPath, Cursor, Limit, is_id
from bot.web.problems import not_found
from bot.web.refusals import refusal
from bot.web.staff import Known, Reader, Staff
from storage import approvals, decisions, pauses, reviews
from storage.transaction import Tx

router = APIRouter(tags=["reviews"], route_class=StrictRoute)


class Why(Body):
    """Body of `flag` and `resume`."""

    reason: Annotated[str, Field(max_length=1000)] = ""


async def _customer(customer_id: str) -> CustomerId:
    if not is_id(customer_id):
        raise not_found("paused customer")
    return CustomerId(customer_id)


CustomerPath = Annotated[CustomerId, Depends(_customer)]


@router.get("/reviews")
def list_reviews(
    context: Context,
    _staff: Reader,
    state: ReviewState = ReviewState.OPEN,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JsonObject:
    """List automatic effects that people look at afterwards, oldest first."""
    with context.desk.store.transaction(write=False) as tx:
        found = reviews.page(tx, state, cursor or "", limit + 1)
        items = [_shown(tx, review) for review in found[:limit]]
    more = len(found) > limit
    return {"items": items, "next_cursor": found[limit - 1].approval_id if more else None}


@router.post("/reviews/{approval_id}/right")
def right(
    context: Context, staff: Known, approval_id: ApprovalPath, _body: Nothing | None = None
) -> JsonObject:
    """Say that an automatic effect looks right."""
    return _answered(context, staff, approval_id, "", right=True)


@router.post("/reviews/{approval_id}/flag")
def flag(context: Context, staff: Known, approval_id: ApprovalPath, body: Why) -> JsonObject:
    """Say what is wrong with an automatic effect; the policy may pause the customer."""
    return _answered(context, staff, approval_id, body.reason, right=False)


@router.get("/customers/paused")
def list_paused(context: Context, _staff: Reader) -> JsonObject:
    """List the customers for whom nothing runs without a person, longest paused first."""
    with context.desk.store.transaction(write=False) as tx:
        return {"items": [pause_json(pause) for pause in pauses.everyone(tx)]}


@router.post("/customers/{customer_id}/resume")
def resume(context: Context, staff: Known, customer_id: CustomerPath, body: Why) -> JsonObject:
    """Let things run without a person again for a customer, with a reason."""
    order = Order(staff.identity, Channel.API, body.reason)
    answer = resume_automatic(context.desk, customer_id, order)
    if isinstance(answer, Refused):
        raise refusal(answer)
    if not answer:
        raise not_found("paused customer")
    return {"customer_id": customer_id, "paused": False}


def _answered(
    context: WebContext, staff: Staff, approval_id: ApprovalId, reason: str, *, right: bool
) -> JsonObject:
    order = Order(staff.identity, Channel.API, reason)
    answer = answer_review(context.desk, approval_id, order, right=right)
    with context.desk.store.transaction(write=False) as tx:
        if not isinstance(answer, Refused):
            return _shown(tx, answer)
        first = reviews.get(tx, approval_id)
    problem = refusal(answer)
    if answer.code is RefusalCode.ALREADY_DECIDED and first is not None:
        problem.extra["decided"] = {
            "actor": first.actor_name,
            "verdict": first.state.value,
            "channel": None,
            "at": None if first.answered_at is None else rfc3339(first.answered_at),
        }
    raise problem


def _shown(tx: Tx, review: Review) -> JsonObject:
    try:
        effect = approvals.get(tx, review.approval_id)
    except Corrupt:
        # A damaged row hides no other; whoever touches it reports it.
        effect = None
    return review_json(review, None if effect is None else decisions.view(tx, effect))
