"""The table of what customers are told by mail.

Everything about types that storage/tables.py says holds here too.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)

from storage.columns import metadata

# One mail an outcome and recipient, whatever became of it.
customer_mails = Table(
    "customer_mails",
    metadata,
    # The row of the outbox that carries it, also what its Message-ID is made of.
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("approval_id", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    # The event that tells the same in the chat: read up to it, nothing is mailed.
    Column("seq", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    # What the server said, where it refused the mail.
    Column("problem", Text),
    UniqueConstraint("approval_id", "outcome", "recipient"),
    CheckConstraint("state IN ('waiting','sent','read','overtaken','failed')", name="state"),
    Index("ix_customer_mails_conversation_id", "conversation_id"),
)
