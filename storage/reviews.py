"""The review queue: automatic effects that people look at afterwards."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, update

from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.reviews import Review, ReviewState
from agent.domain.roles import Actor
from storage.tables import reviews
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Conflict, Row, Tx

_ASK = insert(reviews)
_GET = select(reviews).where(reviews.c.approval_id == bindparam("approval"))
_ANSWER = (
    update(reviews)
    .where(reviews.c.approval_id == bindparam("approval"), reviews.c.state == "open")
    .values(
        state=bindparam("new_state"),
        answered_at=bindparam("now"),
        actor_id=bindparam("who"),
        actor_name=bindparam("who_name"),
        reason=bindparam("why"),
    )
)
_PAGE = (
    select(reviews)
    .where(reviews.c.state == bindparam("wanted"), reviews.c.approval_id > bindparam("after"))
    .order_by(reviews.c.approval_id)
    .limit(bindparam("most"))
)
_COUNTS = select(reviews.c.state, func.count().label("n")).group_by(reviews.c.state)


def ask(tx: Tx, approval_id: ApprovalId, customer_id: CustomerId, why: str, at: datetime) -> None:
    """Put an effect into the queue; raises Conflict when it is there already."""
    tx.put(
        _ASK,
        {
            "approval_id": approval_id,
            "customer_id": customer_id,
            "why": why,
            "state": ReviewState.OPEN.value,
            "asked_at": to_micros(at),
        },
    )


def get(tx: Tx, approval_id: ApprovalId) -> Review | None:
    """Return the review of an effect, None when nobody was asked."""
    row = tx.one(_GET, approval=approval_id)
    return None if row is None else _read(row)


def answer(
    tx: Tx, review: Review, state: ReviewState, actor: Actor, reason: str, at: datetime
) -> Review:
    """Store a person's answer to an open review and return it; raises Conflict if it is not open.

    The caller holds the approval's row, so nobody else can have answered meanwhile.
    """
    changed = tx.change(
        _ANSWER,
        approval=review.approval_id,
        new_state=state.value,
        now=to_micros(at),
        who=actor.id,
        who_name=actor.name,
        why=reason,
    )
    if changed != 1:
        raise Conflict(f"review of {review.approval_id} was answered under its lock")
    return replace(review, state=state, answered_at=at, actor_name=actor.name, reason=reason)


def page(tx: Tx, state: ReviewState, after: str, limit: int) -> tuple[Review, ...]:
    """Return reviews of a state with approval id > `after`, oldest first."""
    rows = tx.all(_PAGE, wanted=state.value, after=after, most=limit)
    return tuple(_read(row) for row in rows)


def counts(tx: Tx) -> dict[ReviewState, int]:
    """Return how many reviews stand where."""
    found = {ReviewState(row["state"]): int(row["n"]) for row in tx.all(_COUNTS)}
    return {state: found.get(state, 0) for state in ReviewState}


def _read(row: Row) -> Review:
    return Review(
        approval_id=ApprovalId(row["approval_id"]),
        customer_id=CustomerId(row["customer_id"]),
        why=row["why"],
        state=ReviewState(row["state"]),
        asked_at=from_micros(row["asked_at"]),
        answered_at=time_or_none(row["answered_at"]),
        actor_name=row["actor_name"],
        reason=row["reason"],
    )
