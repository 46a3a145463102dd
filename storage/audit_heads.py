"""Signed heads of the trail, and the chains that none of them covers yet."""

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import and_, bindparam, delete, insert, select

from agent.domain.heads import Head, Tip
from storage.audit_tables import audit, audit_grown, audit_heads
from storage.transaction import Row, Tx

_PAGE = 100
# A chain that somebody is appending to is left for the next head: nobody waits for anybody.
_GROWN = (
    select(audit.c.chain, audit.c.seq, audit.c.hash)
    .select_from(audit_grown)
    .join(
        audit,
        and_(audit.c.chain == audit_grown.c.chain, audit.c.seq == audit_grown.c.seq),
    )
    .order_by(audit_grown.c.chain)
    .limit(bindparam("most"))
    .with_for_update(of=audit_grown, skip_locked=True)
)
_COVERED = delete(audit_grown).where(audit_grown.c.chain == bindparam("which"))
_MARKS = select(audit_grown)
_NEWEST = select(audit_heads).order_by(audit_heads.c.number.desc()).limit(1)
_AFTER = (
    select(audit_heads)
    .where(audit_heads.c.number > bindparam("after"))
    .order_by(audit_heads.c.number)
    .limit(bindparam("most"))
)
_ADD = insert(audit_heads)


def take_grown(tx: Tx, most: int) -> tuple[Tip, ...]:
    """Lock up to `most` chains that no head covers and return the newest event of each."""
    return tuple(Tip(row["chain"], row["seq"], row["hash"]) for row in tx.all(_GROWN, most=most))


def add(tx: Tx, head: Head, covered: Sequence[Tip]) -> None:
    """Store a head over chains that were taken; raises Conflict when its number is taken."""
    tx.put(
        _ADD,
        {
            "number": head.number,
            "at": head.at,
            "body": head.body,
            "signature": head.signature,
        },
    )
    for tip in covered:
        tx.change(_COVERED, which=tip.chain)


def newest(tx: Tx) -> Head | None:
    """Return the head that was signed last."""
    row = tx.one(_NEWEST)
    return None if row is None else _head(row)


def after(tx: Tx, number: int) -> tuple[Head, ...]:
    """Return the next heads behind a number, in order; not all of them at once."""
    return tuple(_head(row) for row in tx.all(_AFTER, after=number, most=_PAGE))


def every(tx: Tx) -> Iterator[Head]:
    """Return every head, in order."""
    number = -1
    while page := after(tx, number):
        yield from page
        number = page[-1].number


def marks(tx: Tx) -> Mapping[str, int]:
    """Return the newest seq of each chain with events that no head covers."""
    return {row["chain"]: row["seq"] for row in tx.all(_MARKS)}


def _head(row: Row) -> Head:
    return Head(row["number"], row["at"], row["body"], row["signature"])
