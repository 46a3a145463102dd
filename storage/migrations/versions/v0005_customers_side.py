"""The customer's side: who answers and when people were called, languages, ratings, mails."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("attended_by", sa.Text()),
    ("attended_name", sa.Text()),
    ("language", sa.Text()),
    ("rating_comment", sa.Text()),
    ("rated_at", sa.BigInteger()),
)

# What an earlier version would not know how to read.
_UNKNOWN_BEFORE = (
    "DELETE FROM outbox WHERE kind IN ('customer_mail','mail_line')",
    "DELETE FROM outbox WHERE kind IN ('hand_off_update','hand_off_line')",
    "DELETE FROM outbox WHERE about LIKE 'alert:unattended:%'",
    "DELETE FROM slack_messages WHERE kind = 'hand_off'",
    "DELETE FROM alerts WHERE kind = 'unattended'",
    "DELETE FROM events WHERE type = 'rating'",
    "DELETE FROM role_members WHERE role = 'support_agent'",
    "DELETE FROM rosters WHERE role = 'support_agent'",
)


def upgrade() -> None:
    """Add the columns of conversations, and the table of mails to customers."""
    for name, kind in _COLUMNS:
        op.add_column("conversations", sa.Column(name, kind, nullable=True))
    # In words of its own: on SQLite a constraint comes with its column or with a new table.
    op.execute(
        "ALTER TABLE conversations ADD COLUMN rating INTEGER CONSTRAINT ck_conversations_rating "
        "CHECK (rating IS NULL OR rating BETWEEN 1 AND 5)"
    )
    op.create_index(
        "ix_conversations_rating",
        "conversations",
        ["rating"],
        unique=False,
        sqlite_where=sa.text("rating IS NOT NULL"),
        postgresql_where=sa.text("rating IS NOT NULL"),
    )
    op.create_table(
        "customer_mails",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting','sent','read','overtaken','failed')",
            name=op.f("ck_customer_mails_state"),
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_customer_mails_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customer_mails")),
        sa.UniqueConstraint(
            "approval_id",
            "outcome",
            "recipient",
            name=op.f("uq_customer_mails_approval_id_outcome_recipient"),
        ),
    )
    op.create_index(
        "ix_customer_mails_conversation_id", "customer_mails", ["conversation_id"], unique=False
    )
    _create_hand_offs()


def _create_hand_offs() -> None:
    op.create_table(
        "hand_offs",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("attended_by", sa.Text(), nullable=True),
        sa.Column("attended_name", sa.Text(), nullable=True),
        sa.Column("joined_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_by", sa.Text(), nullable=True),
        sa.Column("reminded_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_hand_offs_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("conversation_id", "number", name=op.f("pk_hand_offs")),
    )
    op.create_index(
        "ix_hand_offs_open",
        "hand_offs",
        ["opened_at"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def downgrade() -> None:
    """Take them away again, with what only this version can read."""
    for statement in _UNKNOWN_BEFORE:
        op.execute(statement)
    op.drop_index("ix_hand_offs_open", table_name="hand_offs")
    op.drop_table("hand_offs")
    op.drop_index("ix_customer_mails_conversation_id", table_name="customer_mails")
    op.drop_table("customer_mails")
    op.drop_index("ix_conversations_rating", table_name="conversations")
    op.drop_column("conversations", "rating")
    for name, _ in reversed(_COLUMNS):
        op.drop_column("conversations", name)
