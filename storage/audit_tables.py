"""The tables of the trail: its events, its signed heads, and what no head covers yet."""

from sqlalchemy import BigInteger, Column, Index, Integer, PrimaryKeyConstraint, Table, Text

from storage.columns import metadata

audit = Table(
    "audit",
    metadata,
    Column("chain", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("approval_id", Text),
    # The very text that is hashed: canonical JSON of the whole event.
    Column("body", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("chain", "seq"),
    Index("ix_audit_approval_id", "approval_id"),
)

audit_heads = Table(
    "audit_heads",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    # Canonical JSON of what is signed: number, time, the head of every chain, the head before.
    Column("body", Text, nullable=False),
    Column("signature", Text, nullable=False),
)

# Chains with events that no signed head covers yet. A trigger on `audit` writes it, so that the
# mark is committed with the event: nothing can be appended and go unnoticed.
audit_grown = Table(
    "audit_grown",
    metadata,
    Column("chain", Text, primary_key=True),
    # Its newest event.
    Column("seq", Integer, nullable=False),
)
