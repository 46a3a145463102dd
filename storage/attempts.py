"""Tries to carry out an approval, and the desk's own record of an order's money."""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, text, update

from agent.domain.approvals import Approval
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload, canonical
from agent.domain.risk import OrderFacts
from storage.tables import attempts, order_money
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Tx

_INSERT = insert(attempts)
_END = (
    update(attempts)
    .where(
        attempts.c.approval_id == bindparam("approval"),
        attempts.c.number == bindparam("try_number"),
        attempts.c.ended_at.is_(None),
    )
    .values(ended_at=bindparam("now"), outcome=bindparam("how"), answer=bindparam("said"))
)
_OF_APPROVAL = (
    select(attempts)
    .where(attempts.c.approval_id == bindparam("approval"))
    .order_by(attempts.c.number)
)
_SENT_BEFORE = (
    select(attempts.c.number)
    .where(
        attempts.c.approval_id == bindparam("approval"),
        attempts.c.number < bindparam("try_number"),
        func.coalesce(attempts.c.outcome, "") != "not_started",
    )
    .limit(1)
)
_FIRST_SIGHT = text(
    "INSERT INTO order_money (order_id, currency, captured_minor, refunded_minor, read_at) "
    "VALUES (:order_id, :currency, :captured, :refunded, :read_at) "
    "ON CONFLICT (order_id) DO NOTHING"
)
_LOCK_ORDER = (
    select(order_money.c.read_at)
    .where(order_money.c.order_id == bindparam("order"))
    .with_for_update(key_share=True)
)
_NOTE_ORDER = (
    update(order_money)
    .where(order_money.c.order_id == bindparam("order"), order_money.c.read_at < bindparam("seen"))
    .values(
        captured_minor=bindparam("captured"),
        refunded_minor=bindparam("refunded"),
        read_at=bindparam("seen"),
    )
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try; the last three are None until an answer came, or it was given up for lost."""

    number: int
    key: str
    started_at: datetime
    ended_at: datetime | None
    outcome: str | None
    answer: Payload | None


def start(tx: Tx, approval: Approval, at: datetime) -> None:
    """Record the approval's current attempt with its frozen request, before anything is sent."""
    tx.put(
        _INSERT,
        {
            "approval_id": approval.id,
            "number": approval.attempts,
            "key": approval.idempotency_key,
            "request": approval.payload_text,
            "started_at": to_micros(at),
        },
    )


def is_unsent(tx: Tx, approval: Approval) -> bool:
    """Tell whether each try before the current one provably never began."""
    row = tx.one(_SENT_BEFORE, approval=approval.id, try_number=approval.attempts)
    return row is None


def end(tx: Tx, approval: Approval, at: datetime, outcome: str, answer: Payload) -> None:
    """Record how the approval's current attempt ended; a second ending changes nothing."""
    tx.change(
        _END,
        approval=approval.id,
        try_number=approval.attempts,
        now=to_micros(at),
        how=outcome,
        said=canonical(answer),
    )


def of(tx: Tx, approval_id: ApprovalId) -> tuple[Attempt, ...]:
    """Return the tries of an approval, the first one first."""
    return tuple(
        Attempt(
            row["number"],
            row["key"],
            from_micros(row["started_at"]),
            time_or_none(row["ended_at"]),
            row["outcome"],
            None if row["answer"] is None else json.loads(row["answer"]),
        )
        for row in tx.all(_OF_APPROVAL, approval=approval_id)
    )


def lock_order(tx: Tx, order: OrderFacts) -> None:
    """Lock the desk's row of the order, made on first sight, and note what was just read."""
    seen = to_micros(order.read_at)
    captured, refunded = order.captured.minor, order.refunded.minor
    tx.change(
        _FIRST_SIGHT,
        order_id=order.order_id,
        currency=order.currency,
        captured=captured,
        refunded=refunded,
        read_at=seen,
    )
    tx.one(_LOCK_ORDER, order=order.order_id)
    tx.change(_NOTE_ORDER, order=order.order_id, seen=seen, captured=captured, refunded=refunded)
