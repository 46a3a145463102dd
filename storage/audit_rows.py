"""What the tables hold of every approval, unvalidated, for whoever compares it with the trail."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from agent.domain.ids import ApprovalId
from storage.tables import approvals, attempts, decisions
from storage.transaction import Row, Tx

_APPROVALS = select(
    approvals.c.id,
    approvals.c.tool,
    approvals.c.payload,
    approvals.c.payload_hash,
    approvals.c.policy_version,
    approvals.c.status,
    approvals.c.attempts,
    approvals.c.use_by,
    approvals.c.supersedes,
    approvals.c.superseded_by,
).order_by(approvals.c.id)
_VOTES = select(
    decisions.c.approval_id, decisions.c.actor_id, decisions.c.verdict, decisions.c.shown_hash
).order_by(decisions.c.id)
_ATTEMPTS = select(
    attempts.c.approval_id, attempts.c.number, attempts.c.key, attempts.c.request
).order_by(attempts.c.approval_id, attempts.c.number)


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A row of decisions."""

    actor_id: str
    verdict: str
    shown_hash: str


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """A row of attempts: what was sent, under which key."""

    number: int
    key: str
    request: str


@dataclass(frozen=True, slots=True)
class StoredApproval:
    """A row of approvals with its votes and attempts; `use_by` is in microseconds UTC."""

    id: ApprovalId
    tool: str
    payload_text: str
    payload_hash: str
    policy_version: str
    status: str
    attempts: int
    use_by: int | None
    supersedes: str | None
    superseded_by: str | None
    votes: tuple[StoredVote, ...]
    sent: tuple[StoredAttempt, ...]


def stored_approvals(tx: Tx) -> tuple[StoredApproval, ...]:
    """Return every row, oldest first."""
    votes, sent = _grouped(tx.all(_VOTES)), _grouped(tx.all(_ATTEMPTS))
    return tuple(
        StoredApproval(
            id=ApprovalId(row["id"]),
            tool=row["tool"],
            payload_text=row["payload"],
            payload_hash=row["payload_hash"],
            policy_version=row["policy_version"],
            status=row["status"],
            attempts=row["attempts"],
            use_by=row["use_by"],
            supersedes=row["supersedes"],
            superseded_by=row["superseded_by"],
            votes=tuple(
                StoredVote(str(one["actor_id"]), one["verdict"], one["shown_hash"])
                for one in votes[row["id"]]
            ),
            sent=tuple(
                StoredAttempt(one["number"], one["key"], one["request"]) for one in sent[row["id"]]
            ),
        )
        for row in tx.all(_APPROVALS)
    )


def _grouped(rows: Sequence[Row]) -> defaultdict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["approval_id"]].append(row)
    return found
