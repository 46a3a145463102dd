"""The auditor asks whether the trail is whole and whether the tables are what it tells of."""

from dataclasses import dataclass

from agent.desk import Desk
from agent.domain.head_checks import Coverage, check_heads
from agent.domain.replay import Replay, StoredRow, compare
from agent.domain.trail import (
    BoundPayload,
    Problem,
    TrailEvent,
    check_events,
    check_payloads,
    check_rows,
)
from agent.ports import HeadCopy
from storage import audit, audit_heads
from storage.audit import StoredFact
from storage.audit_rows import StoredApproval, stored_approvals


@dataclass(frozen=True, slots=True)
class Witness:
    """What proves the heads: the key they were signed with, and a copy outside the database.

    Without a key their signatures are not checked.
    """

    key: bytes | None = None
    copy: HeadCopy | None = None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How much was read, and every fault in it; no problems means the trail holds."""

    events: int
    chains: int
    approvals: int
    problems: tuple[Problem, ...]
    heads: int = 0


NO_WITNESS = Witness()


def verify(desk: Desk, witness: Witness = NO_WITNESS) -> VerifyReport:
    """Check chains, signed heads, stored payloads, and the tables against the trail's own story.

    Nothing is changed. A chain that was cut after the newest head is noticed as long as the mark
    that it has grown is there. Raises OSError when the copy cannot be read.
    """
    # Before the snapshot: each line of the copy is a head that was committed by then.
    copied = () if witness.copy is None else tuple(witness.copy.lines())
    with desk.store.transaction(write=False) as tx:
        audit.freeze(tx)
        heads = check_heads(audit_heads.every(tx), copied, witness.key)
        replay, coverage = Replay(), Coverage(heads, audit_heads.marks(tx))
        trail = check_events((to_event(fact) for fact in audit.walk(tx)), replay, coverage)
        rows = stored_approvals(tx)
    damaged = tuple(check_payloads((_bound(row) for row in rows), trail.bindings))
    return VerifyReport(
        trail.events,
        trail.chains,
        len(rows),
        (
            *heads.problems,
            *trail.problems,
            *coverage.problems(),
            *damaged,
            *check_rows(trail.bindings, {row.id for row in rows}),
            *replay.problems,
            *compare(
                replay.told,
                (_row(row) for row in rows),
                {str(one.approval_id) for one in damaged},
            ),
        ),
        heads.heads,
    )


def to_event(fact: StoredFact) -> TrailEvent:
    """Return a stored fact as the checks of the trail see it."""
    return TrailEvent(
        fact.chain, fact.seq, fact.at, fact.type, fact.approval_id, fact.body, fact.hash
    )


def _bound(row: StoredApproval) -> BoundPayload:
    sent = {one.number: one.request for one in row.sent}
    return BoundPayload(
        row.id, row.tool, row.payload_text, row.payload_hash, row.policy_version, sent
    )


def _row(row: StoredApproval) -> StoredRow:
    return StoredRow(
        approval_id=row.id,
        status=row.status,
        tool=row.tool,
        payload_hash=row.payload_hash,
        attempts=row.attempts,
        supersedes=row.supersedes,
        superseded_by=row.superseded_by,
        votes=frozenset((vote.actor_id, vote.verdict) for vote in row.votes),
    )
