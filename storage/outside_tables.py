"""The tables of what stands for the outside here: shop, payment provider, mailbox, fraud flags.

Everything about types that storage/tables.py says holds here too.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from storage.columns import flag, metadata

customers = Table(
    "customers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("email"),
)

orders = Table(
    "orders",
    metadata,
    Column("id", Text, primary_key=True),
    # The id without '#', upper case: what a person types.
    Column("reference", Text, nullable=False, unique=True),
    Column("customer_id", Text, ForeignKey("customers.id"), nullable=False),
    Column("currency", Text, nullable=False),
    Column("total_minor", BigInteger, nullable=False),
    flag("paid"),
    flag("cancelled"),
    Column("fulfillment", Text, nullable=False),
    Column("placed_at", BigInteger, nullable=False),
    Column("source", Text, nullable=False),
    CheckConstraint("total_minor >= 0", name="total"),
    Index("ix_orders_customer_id_placed_at", "customer_id", "placed_at"),
)

order_lines = Table(
    "order_lines",
    metadata,
    Column("order_id", Text, ForeignKey("orders.id", ondelete="CASCADE"), nullable=False),
    Column("line", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("sku", Text, nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("price_minor", BigInteger, nullable=False),
    flag("final_sale"),
    PrimaryKeyConstraint("order_id", "line"),
    CheckConstraint("quantity > 0", name="quantity"),
)

# --- the embedded payment provider's own book ----------------------------------------------------

ledger_payments = Table(
    "ledger_payments",
    metadata,
    Column("order_id", Text, primary_key=True),
    Column("currency", Text, nullable=False),
    Column("captured_minor", BigInteger, nullable=False),
    flag("disputed"),
    CheckConstraint("captured_minor >= 0", name="captured"),
)

ledger_refunds = Table(
    "ledger_refunds",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("order_id", Text, ForeignKey("ledger_payments.order_id"), nullable=False, index=True),
    Column("amount_minor", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("amount_minor > 0", name="amount"),
)

# --- what the embedded providers of mail and fraud signals keep ---------------------------------

mail_sink = Table(
    "mail_sink",
    metadata,
    Column("id", Text, primary_key=True),
    Column("message_id", Text, nullable=False, index=True),
    Column("envelope", Text, nullable=False),
    Column("raw", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

fraud_flags = Table(
    "fraud_flags",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("customer_id", Text, nullable=False),
    Column("order_id", Text),
    Column("score", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("signals", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_fraud_flags_customer_id_action", "customer_id", "action"),
)
