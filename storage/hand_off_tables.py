"""The table of the conversations that were passed to people.

Everything about types that storage/tables.py says holds here too.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from storage.columns import metadata

# Each time that people were called into a conversation, from the call until it is given back.
hand_offs = Table(
    "hand_offs",
    metadata,
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("run_id", Text, nullable=False),
    # Who needs a person, why, and what led to it.
    Column("body", Text, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    # Who answers; whoever did last stays here after the end.
    Column("attended_by", Text),
    Column("attended_name", Text),
    Column("joined_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("ended_by", Text),
    # When people on call were told that nobody had come.
    Column("reminded_at", BigInteger),
    PrimaryKeyConstraint("conversation_id", "number"),
    Index(
        "ix_hand_offs_open",
        "opened_at",
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)
