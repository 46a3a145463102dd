"""Questions of approvers about requests that wait, and what came back."""

from datetime import datetime

from sqlalchemy import and_, bindparam, func, insert, select, union, update

from agent.domain.approvals import Approval
from agent.domain.asks import Ask, AskedOf
from agent.domain.errors import Corrupt
from agent.domain.ids import ActorId, ApprovalId, ConversationId, RunId
from storage import approvals
from storage.tables import approvals as approval_rows
from storage.tables import asks, joins
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Row, Tx

_ADD = insert(asks)
_BY_KEY = select(asks).where(asks.c.key == bindparam("mark"))
_GET = select(asks).where(asks.c.id == bindparam("ask"))
_ANSWER = (
    update(asks)
    .where(asks.c.id == bindparam("ask"), asks.c.answered_at.is_(None))
    .values(answered_at=bindparam("now"), answer=bindparam("words"), late=bindparam("is_late"))
)
_OF_APPROVAL = select(asks).where(asks.c.approval_id == bindparam("approval")).order_by(asks.c.id)
_first = (
    select(approval_rows.c.id, approval_rows.c.supersedes)
    .where(approval_rows.c.id == bindparam("approval"))
    .cte("chain", recursive=True)
)
_chain = _first.union_all(
    select(approval_rows.c.id, approval_rows.c.supersedes).join(
        _first, approval_rows.c.id == _first.c.supersedes
    )
)
_OF_CHAIN = select(asks).join(_chain, _chain.c.id == asks.c.approval_id).order_by(asks.c.id)
# Two looks, each along an index of its own: one with an OR would go through every question.
_UNANSWERED = and_(asks.c.answered_at.is_(None), asks.c.asked_of == AskedOf.CUSTOMER.value)
_UNANSWERED_IN = union(
    select(asks).where(_UNANSWERED, asks.c.conversation_id == bindparam("conversation")),
    select(asks)
    .join(joins, joins.c.approval_id == asks.c.approval_id)
    .where(_UNANSWERED, joins.c.conversation_id == bindparam("conversation")),
)
_COUNTS = select(
    func.count().label("asked"),
    func.count(asks.c.answer).label("answered"),
)


def add(tx: Tx, ask: Ask, key: str | None) -> None:
    """Store a new question; raises Conflict when one stands under the same key."""
    tx.put(
        _ADD,
        {
            "id": ask.id,
            "approval_id": ask.approval_id,
            "conversation_id": ask.conversation_id,
            "run_id": ask.run_id,
            "asked_of": ask.asked_of.value,
            "actor_id": ask.actor_id,
            "actor_name": ask.actor_name,
            "question": ask.question,
            "asked_at": to_micros(ask.asked_at),
            "late": 0,
            "key": key,
        },
    )


def get(tx: Tx, ask_id: str) -> Ask:
    """Return a question; raises LookupError when there is none of that id."""
    row = tx.one(_GET, ask=ask_id)
    if row is None:
        raise LookupError(ask_id)
    return _read(row)


def by_key(tx: Tx, key: str) -> Ask | None:
    """Return the question that was asked under a key."""
    row = tx.one(_BY_KEY, mark=key)
    return None if row is None else _read(row)


def answer(tx: Tx, ask: Ask, words: str | None, at: datetime, *, late: bool) -> bool:
    """Store what came back, None where nothing could be had; False when an answer is there."""
    return tx.change(_ANSWER, ask=ask.id, words=words, now=to_micros(at), is_late=int(late)) == 1


def of(tx: Tx, approval: Approval) -> tuple[Ask, ...]:
    """Return the questions about a request and about those it took the place of, oldest first."""
    query = _OF_APPROVAL if approval.supersedes is None else _OF_CHAIN
    return tuple(_read(row) for row in tx.all(query, approval=approval.id))


def unanswered_in(tx: Tx, conversation_id: ConversationId) -> tuple[Ask, ...]:
    """Return the questions to the customer without an answer about what is in a conversation.

    Oldest first.
    """
    rows = tx.all(_UNANSWERED_IN, conversation=conversation_id)
    return tuple(sorted(map(_read, rows), key=lambda one: one.id))


def newest_of(tx: Tx, approval_id: ApprovalId) -> Approval:
    """Return a request as it stands now: the row itself, or the last that took its place.

    Raises Corrupt for a row that does not validate.
    """
    found = approvals.get(tx, approval_id)
    while found is not None and found.superseded_by is not None:
        found = approvals.get(tx, found.superseded_by)
    if found is None:
        raise Corrupt(approval_id, "the row is gone")
    return found


def counts(tx: Tx) -> tuple[int, int]:
    """Return how many questions were asked, and how many of them were answered."""
    row = tx.one(_COUNTS)
    return (0, 0) if row is None else (int(row["asked"]), int(row["answered"]))


def _read(row: Row) -> Ask:
    return Ask(
        id=row["id"],
        approval_id=ApprovalId(row["approval_id"]),
        conversation_id=ConversationId(row["conversation_id"]),
        run_id=RunId(row["run_id"]),
        asked_of=AskedOf(row["asked_of"]),
        actor_id=ActorId(row["actor_id"]),
        actor_name=row["actor_name"],
        question=row["question"],
        asked_at=from_micros(row["asked_at"]),
        answered_at=time_or_none(row["answered_at"]),
        answer=row["answer"],
        late=bool(row["late"]),
    )
