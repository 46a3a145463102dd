"""Votes on approvals, and the view of an approval with all that people need around it."""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, text

from agent.domain.approvals import Approval, ApprovalView, Vote
from agent.domain.ids import ActorId, ApprovalId
from agent.domain.roles import Channel, Role
from storage import asks, breaker, conversations
from storage.outside_tables import customers
from storage.tables import actors, approvals, decisions
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_WORDS_ON_CARD = 3
_INSERT = insert(decisions)
_OF_APPROVAL = (
    select(decisions, actors.c.merged_into)
    .outerjoin(actors, actors.c.id == decisions.c.actor_id)
    .where(decisions.c.approval_id == bindparam("approval"))
    .order_by(decisions.c.id)
)
_APPROVING = (
    select(decisions.c.actor_id, decisions.c.roles, actors.c.merged_into)
    .join(actors, actors.c.id == decisions.c.actor_id)
    .where(
        decisions.c.approval_id == bindparam("approval"),
        decisions.c.verdict == "approve",
    )
    .order_by(decisions.c.id)
)
_BROKEN_GLASS = (
    select(func.count().label("n")).select_from(decisions).where(text("break_glass = 1"))
)
_ASKED_AT = select(approvals.c.created_at).where(
    approvals.c.run_id == bindparam("run"),
    approvals.c.call_id == bindparam("call"),
    approvals.c.supersedes.is_(None),
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
    """Store a vote; raises Conflict when this actor has said just this before."""
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
            "break_glass": int(vote.break_glass),
        },
    )


def of(tx: Tx, approval_id: ApprovalId) -> tuple[Vote, ...]:
    """Return the votes on an approval, oldest first; of merged accounts as of the one person."""
    return tuple(read_vote(row) for row in tx.all(_OF_APPROVAL, approval=approval_id))


def approving(tx: Tx, approval_id: ApprovalId) -> tuple[tuple[ActorId, frozenset[Role]], ...]:
    """Return who approved, with the roles that each held at the click.

    Two accounts that turned out to be one person are that person.
    """
    return tuple(
        (
            ActorId(row["merged_into"] or row["actor_id"]),
            frozenset(Role(r) for r in json.loads(row["roles"])),
        )
        for row in tx.all(_APPROVING, approval=approval_id)
    )


def count_broken_glass(tx: Tx) -> int:
    """Return how often somebody on call decided alone above the tier."""
    row = tx.one(_BROKEN_GLASS)
    return 0 if row is None else int(row["n"])


def view(tx: Tx, approval: Approval) -> ApprovalView:
    """Return the approval with its votes, the questions, the customer and their last words."""
    customer = tx.one(_CUSTOMER, customer=approval.customer_id)
    return ApprovalView(
        approval=approval,
        votes=of(tx, approval.id),
        customer_name="" if customer is None else customer["name"],
        customer_email="" if customer is None else customer["email"],
        customer_words=conversations.customer_words(
            tx, approval.conversation_id, _WORDS_ON_CARD, _asked_at(tx, approval)
        ),
        stopped=breaker.is_stopped(tx),
        asks=asks.of(tx, approval),
    )


def _asked_at(tx: Tx, approval: Approval) -> datetime:
    """Return when the model asked, also of a request that people have edited or asked again."""
    row = tx.one(_ASKED_AT, run=approval.run_id, call=approval.call_id)
    return approval.created_at if row is None else from_micros(row["created_at"])


def read_vote(row: Row) -> Vote:
    """Return the vote of a row that also says into whom its voter was merged."""
    return Vote(
        id=row["id"],
        approval_id=ApprovalId(row["approval_id"]),
        actor_id=row["merged_into"] or row["actor_id"],
        actor_name=row["actor_name"],
        verdict=row["verdict"],
        channel=Channel(row["channel"]),
        at=from_micros(row["at"]),
        reason=row["reason"],
        category=row["category"],
        note=row["note"],
        break_glass=bool(row["break_glass"]),
        roles=frozenset(Role(role) for role in json.loads(row["roles"])),
    )
