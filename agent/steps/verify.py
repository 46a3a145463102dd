"""The auditor asks whether the trail is whole and the stored payloads are the ones it binds."""

from dataclasses import dataclass

from agent.desk import Desk
from agent.domain.trail import (
    BoundPayload,
    Problem,
    TrailEvent,
    check_events,
    check_payloads,
    check_rows,
)
from storage import approvals, audit
from storage.approvals import StoredPayload
from storage.audit import StoredFact


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How much was read, and every fault in it; no problems means the trail holds."""

    events: int
    chains: int
    approvals: int
    problems: tuple[Problem, ...]


def verify(desk: Desk) -> VerifyReport:
    """Check every chain of the trail and every approval against it; nothing is changed.

    A tail cut off a chain shows only where an approval's own event went with it: the chain alone
    does not tell how long it was.
    """
    with desk.store.transaction(write=False) as tx:
        # While this reads, others append. An approval and its event are committed together, so
        # each approval read before the walk has its event in it, and each event of the walk has
        # its approval among those read after it.
        before = approvals.stored_payloads(tx)
        trail = check_events(_event(fact) for fact in audit.walk(tx))
        after = {stored.id for stored in approvals.stored_payloads(tx)}
    return VerifyReport(
        trail.events,
        trail.chains,
        len(before),
        (
            *trail.problems,
            *check_payloads((_bound(stored) for stored in before), trail.bindings),
            *check_rows(trail.bindings, after),
        ),
    )


def _event(fact: StoredFact) -> TrailEvent:
    return TrailEvent(
        fact.chain, fact.seq, fact.at, fact.type, fact.approval_id, fact.body, fact.hash
    )


def _bound(stored: StoredPayload) -> BoundPayload:
    return BoundPayload(
        stored.id, stored.tool, stored.payload_text, stored.payload_hash, stored.policy_version
    )
