"""Votes on approvals, and the view of an approval with all that people need around it."""

import json
from dataclasses import dataclass

from sqlalchemy import bindparam, insert, select

from agent.domain.approvals import Approval, ApprovalView, Vote
from agent.domain.ids import ActorId, ApprovalId
from agent.domain.roles import Channel, Role
from storage import conversations
from storage.tables import customers, decisions
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_WORDS_ON_CARD = 3
_INSERT = insert(decisions)
_OF_APPROVAL = (
    select(decisions)
    .where(decisions.c.approval_id == bindparam("approval"))
    .order_by(decisions.c.id)
)
_CUSTOMER = select(customers.c.name, customers.c.email).where(
    customers.c.id == bindparam("customer")
)


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote to store, with what proved the voter's right to it."""

    vote: Vote
    shown_hash: str
    evidence: str
    roles: frozenset[Role]


def add(tx: Tx, ballot: Ballot) -> None:
    """Store a vote; raises Conflict when this actor has voted on the approval before."""
    vote = ballot.vote
    tx.put(
        _INSERT,
        {
            "id": vote.id,
            "approval_id": vote.approval_id,
            "actor_id": vote.actor_id,
            "actor_name": vote.actor_name,
            "verdict": vote.verdict,
            "channel": vote.channel.value,
            "at": to_micros(vote.at),
            "shown_hash": ballot.shown_hash,
            "evidence": ballot.evidence,
            "roles": json.dumps(sorted(ballot.roles)),
            "reason": vote.reason,
            "category": vote.category,
            "note": vote.note,
        },
    )


def of(tx: Tx, approval_id: ApprovalId) -> tuple[Vote, ...]:
    """Return the votes on an approval, oldest first."""
    return tuple(_read(row) for row in tx.all(_OF_APPROVAL, approval=approval_id))


def approving(tx: Tx, approval_id: ApprovalId) -> tuple[tuple[ActorId, frozenset[Role]], ...]:
    """Return who approved, with the roles that each held at the click."""
    return tuple(
        (ActorId(row["actor_id"]), frozenset(Role(r) for r in json.loads(row["roles"])))
        for row in tx.all(_OF_APPROVAL, approval=approval_id)
        if row["verdict"] == "approve" and row["actor_id"] is not None
    )


def view(tx: Tx, approval: Approval) -> ApprovalView:
    """Return the approval with its votes, the customer and their last words."""
    customer = tx.one(_CUSTOMER, customer=approval.customer_id)
    return ApprovalView(
        approval=approval,
        votes=of(tx, approval.id),
        customer_name="" if customer is None else customer["name"],
        customer_email="" if customer is None else customer["email"],
        customer_words=conversations.customer_words(tx, approval.conversation_id, _WORDS_ON_CARD),
    )


def _read(row: Row) -> Vote:
    return Vote(
        id=row["id"],
        approval_id=ApprovalId(row["approval_id"]),
        actor_id=row["actor_id"],
        actor_name=row["actor_name"],
        verdict=row["verdict"],
        channel=Channel(row["channel"]),
        at=from_micros(row["at"]),
        reason=row["reason"],
        category=row["category"],
        note=row["note"],
    )
