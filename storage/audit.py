"""The audit trail: appended in the transaction of the fact, never changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, bindparam, insert, select, text, tuple_

from agent.domain.audit import DESK_CHAIN, GENESIS, AuditType, event_hash
from agent.domain.ids import ApprovalId, RunId
from agent.domain.payload import Payload, canonical
from storage.audit_tables import audit
from storage.tables import runs, settings
from storage.times import to_micros
from storage.transaction import Row, Tx

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
_PAGE = 1000
_SNAPSHOT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
_NEXT = (
    select(audit)
    .where(
        tuple_(audit.c.chain, audit.c.seq) > tuple_(bindparam("chain"), bindparam("seq")),
        and_(audit.c.at >= bindparam("since"), audit.c.at < bindparam("until")),
    )
    .order_by(audit.c.chain, audit.c.seq)
    .limit(_PAGE)
)
_NEXT_OF_CHAIN = (
    select(audit)
    .where(
        and_(audit.c.chain == bindparam("chain"), audit.c.seq > bindparam("seq")),
        and_(audit.c.at >= bindparam("since"), audit.c.at < bindparam("until")),
    )
    .order_by(audit.c.seq)
    .limit(_PAGE)
)
_BACKWARDS = (
    select(audit.c.seq, audit.c.at, audit.c.type)
    .where(audit.c.chain == DESK_CHAIN, audit.c.seq < bindparam("before"))
    .order_by(audit.c.seq.desc())
    .limit(_PAGE)
)
_EVER, _BEFORE_ALL, _AFTER_ALL = 2**63 - 1, -(2**31), 2**31 - 1
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
    hold(tx, run_id)
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


def hold(tx: Tx, run_id: RunId | None) -> None:
    """Let nobody else append to a chain until this transaction ends."""
    if run_id is None:
        tx.one(_LOCK_DESK)
    else:
        tx.one(_LOCK_RUN, chain=run_id)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the trail: `since` <= time < `until`, of one run or of every chain."""

    since: datetime | None = None
    until: datetime | None = None
    run_id: RunId | None = None

    def bounds(self) -> tuple[int, int]:
        """Return both ends in microseconds UTC."""
        return (
            -_EVER if self.since is None else to_micros(self.since),
            _EVER if self.until is None else to_micros(self.until),
        )


EVERYTHING = Span()


def count_between(tx: Tx, tag: AuditType, since: datetime, until: datetime) -> int:
    """Return how many facts of a kind the desk's own chain has: `since` <= time < `until`.

    The chain is read from its end back to `since`, not from its beginning.
    """
    first, last = to_micros(since), to_micros(until)
    number, before = 0, _AFTER_ALL
    while rows := tx.all(_BACKWARDS, before=before):
        number += sum(first <= row["at"] < last and row["type"] == tag for row in rows)
        before = rows[-1]["seq"]
        if rows[-1]["at"] < first:
            break
    return number


def page(tx: Tx, span: Span, after: StoredFact | None) -> tuple[StoredFact, ...]:
    """Return the next events behind `after`, chain by chain, in order; none at the end."""
    place = ("", _BEFORE_ALL) if after is None else (after.chain, after.seq)
    since, until = span.bounds()
    if span.run_id is None:
        rows = tx.all(_NEXT, chain=place[0], seq=place[1], since=since, until=until)
    else:
        rows = tx.all(_NEXT_OF_CHAIN, chain=span.run_id, seq=place[1], since=since, until=until)
    return tuple(_stored(row) for row in rows)


def walk(tx: Tx, span: Span = EVERYTHING) -> Iterator[StoredFact]:
    """Return every event, chain by chain, in order; the trail is never in memory as a whole."""
    last: StoredFact | None = None
    while facts := page(tx, span, last):
        yield from facts
        last = facts[-1]


def freeze(tx: Tx) -> None:
    """Let all that this transaction reads be of one moment; nothing may be read before."""
    if tx.dialect == "postgresql":
        tx.change(_SNAPSHOT)


def bodies_of(tx: Tx, approval_id: ApprovalId) -> tuple[str, ...]:
    """Return the stored text of every event about an approval, oldest first."""
    return tuple(row["body"] for row in tx.all(_OF_APPROVAL, approval_id=approval_id))


def _stored(row: Row) -> StoredFact:
    return StoredFact(
        row["chain"],
        row["seq"],
        row["at"],
        row["type"],
        row["approval_id"],
        row["body"],
        row["hash"],
    )
