"""The audit trail: appended in the transaction of the fact, never changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, insert, select

from agent.domain.audit import DESK_CHAIN, GENESIS, AuditType, event_hash
from agent.domain.ids import ApprovalId, RunId
from agent.domain.payload import Payload, canonical
from storage.tables import audit, runs, settings
from storage.times import to_micros
from storage.transaction import Tx

# The trail has no row to lock before its first event, so each chain borrows one.
_LOCK_RUN = select(runs.c.id).where(runs.c.id == bindparam("chain")).with_for_update(key_share=True)
_LOCK_DESK = (
    select(settings.c.name).where(settings.c.name == "audit_chain").with_for_update(key_share=True)
)
_HEAD = (
    select(audit.c.seq, audit.c.hash)
    .where(audit.c.chain == bindparam("chain"))
    .order_by(audit.c.seq.desc())
    .limit(1)
)
_APPEND = insert(audit)
_WALK = select(audit).order_by(audit.c.chain, audit.c.seq)
_OF_APPROVAL = (
    select(audit.c.body)
    .where(audit.c.approval_id == bindparam("approval_id"))
    .order_by(audit.c.at, audit.c.chain, audit.c.seq)
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that happened: `actor` did it through `channel`; `data` holds the particulars."""

    type: AuditType
    actor: str
    channel: str
    data: Payload
    approval_id: ApprovalId | None = None


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A row of the trail as it lies in the database."""

    chain: str
    seq: int
    at: int
    type: str
    approval_id: str | None
    body: str
    hash: str


def append(tx: Tx, run_id: RunId | None, at: datetime, *facts: Fact) -> None:
    """Add facts to the chain of the run, or of the desk where there is none."""
    chain: str = DESK_CHAIN if run_id is None else run_id
    if run_id is None:
        tx.one(_LOCK_DESK)
    else:
        tx.one(_LOCK_RUN, chain=chain)
    head = tx.one(_HEAD, chain=chain)
    seq, link = (0, GENESIS) if head is None else (head["seq"], head["hash"])
    micros = to_micros(at)
    rows = []
    for fact in facts:
        seq += 1
        body = canonical(
            {
                "chain": chain,
                "seq": seq,
                "at": micros,
                "type": fact.type.value,
                "actor": fact.actor,
                "channel": fact.channel,
                "approval_id": fact.approval_id,
                "data": fact.data,
            }
        )
        link = event_hash(link, body)
        rows.append(
            {
                "chain": chain,
                "seq": seq,
                "at": micros,
                "type": fact.type.value,
                "approval_id": fact.approval_id,
                "body": body,
                "hash": link,
            }
        )
    tx.put(_APPEND, *rows)


def walk(tx: Tx) -> Iterator[StoredFact]:
    """Return every event, chain by chain, in order."""
    for row in tx.all(_WALK):
        yield StoredFact(
            row["chain"],
            row["seq"],
            row["at"],
            row["type"],
            row["approval_id"],
            row["body"],
            row["hash"],
        )


def bodies_of(tx: Tx, approval_id: ApprovalId) -> tuple[str, ...]:
    """Return the stored text of every event about an approval, oldest first."""
    return tuple(row["body"] for row in tx.all(_OF_APPROVAL, approval_id=approval_id))
