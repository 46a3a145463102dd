"""Approvals in depth: originals of edits, reviews, fraud flags, pauses, rosters, signed heads."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables and columns; an edited request keeps what the model had proposed."""
    op.create_table(
        "audit_heads",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit_heads")),
    )
    op.create_table(
        "automatic_pauses",
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("customer_id", name=op.f("pk_automatic_pauses")),
    )
    op.create_table(
        "fraud_flags",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("order_id", sa.Text(), nullable=True),
        sa.Column("score", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("signals", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fraud_flags")),
        sa.UniqueConstraint("key", name=op.f("uq_fraud_flags_key")),
    )
    op.create_index(
        "ix_fraud_flags_customer_id_action", "fraud_flags", ["customer_id", "action"], unique=False
    )
    op.create_table(
        "mail_sink",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("envelope", sa.Text(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_sink")),
    )
    op.create_index(op.f("ix_mail_sink_message_id"), "mail_sink", ["message_id"], unique=False)
    op.create_table(
        "rosters",
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("role", "source", name=op.f("pk_rosters")),
    )
    op.create_table(
        "webhook_events",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("received_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_events")),
    )
    op.create_table(
        "reviews",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("actor_id", sa.Text(), nullable=True),
        sa.Column("actor_name", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('open','right','flagged')", name=op.f("ck_reviews_state")),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_reviews_approval_id_approvals")
        ),
        sa.PrimaryKeyConstraint("approval_id", name=op.f("pk_reviews")),
    )
    op.create_index(
        "ix_reviews_state_approval_id", "reviews", ["state", "approval_id"], unique=False
    )
    op.create_table(
        "joins",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_joins_approval_id_approvals")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_joins_conversation_id_conversations"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_joins_run_id_runs")),
        sa.PrimaryKeyConstraint("approval_id", "run_id", "call_id", name=op.f("pk_joins")),
    )
    op.add_column("actors", sa.Column("merged_into", sa.Text(), nullable=True))
    op.create_index("ix_actors_merged_into", "actors", ["merged_into"], unique=False)
    op.add_column("approvals", sa.Column("original", sa.Text(), nullable=True))
    op.add_column("approvals", sa.Column("looked_at", sa.BigInteger(), nullable=True))
    _keep_originals()
    op.drop_column("approvals", "original_minor")
    op.add_column("breaker", sa.Column("stopped_by", sa.Text(), nullable=True))
    op.add_column("breaker", sa.Column("stopped_at", sa.BigInteger(), nullable=True))
    op.add_column("breaker", sa.Column("stop_reason", sa.Text(), nullable=True))
    op.add_column(
        "decisions", sa.Column("break_glass", sa.Integer(), nullable=False, server_default="0")
    )
    # One person may say more than one thing: reject after approving, or break the glass.
    with op.batch_alter_table("decisions") as decisions:
        decisions.drop_constraint("uq_decisions_approval_id_actor_id", type_="unique")
        decisions.create_unique_constraint(
            "uq_decisions_approval_id_actor_id_verdict_break_glass",
            ["approval_id", "actor_id", "verdict", "break_glass"],
        )
    op.create_index(
        "ix_decisions_broken_glass",
        "decisions",
        ["approval_id"],
        sqlite_where=sa.text("break_glass = 1"),
        postgresql_where=sa.text("break_glass = 1"),
    )
    op.add_column(
        "slack_messages", sa.Column("kind", sa.Text(), nullable=False, server_default="card")
    )


def downgrade() -> None:
    """Take them away again; what the model proposed is kept as far as an amount can say it."""
    op.drop_index("ix_decisions_broken_glass", table_name="decisions")
    op.drop_column("slack_messages", "kind")
    with op.batch_alter_table("decisions") as decisions:
        decisions.drop_constraint(
            "uq_decisions_approval_id_actor_id_verdict_break_glass", type_="unique"
        )
        decisions.create_unique_constraint(
            "uq_decisions_approval_id_actor_id", ["approval_id", "actor_id"]
        )
    op.drop_column("decisions", "break_glass")
    op.drop_column("breaker", "stop_reason")
    op.drop_column("breaker", "stopped_at")
    op.drop_column("breaker", "stopped_by")
    op.add_column("approvals", sa.Column("original_minor", sa.BigInteger(), nullable=True))
    _keep_original_amounts()
    op.drop_column("approvals", "looked_at")
    op.drop_column("approvals", "original")
    op.drop_index("ix_actors_merged_into", table_name="actors")
    op.drop_column("actors", "merged_into")
    op.drop_index("ix_reviews_state_approval_id", table_name="reviews")
    op.drop_table("reviews")
    op.drop_table("webhook_events")
    op.drop_table("rosters")
    op.drop_index(op.f("ix_mail_sink_message_id"), table_name="mail_sink")
    op.drop_table("mail_sink")
    op.drop_index("ix_fraud_flags_customer_id_action", table_name="fraud_flags")
    op.drop_table("fraud_flags")
    op.drop_table("automatic_pauses")
    op.drop_table("audit_heads")
    op.drop_table("joins")


def _keep_originals() -> None:
    """Write the model's own payload of each edited request, which differed in its amount only."""
    connection = op.get_bind()
    edited = connection.execute(
        sa.text(
            "SELECT id, payload, original_minor FROM approvals "
            "WHERE supersedes IS NOT NULL AND original_minor IS NOT NULL"
        )
    )
    for approval_id, text, minor in edited.fetchall():
        payload = json.loads(text)
        payload["amount"]["minor"] = minor
        # The form of RFC 8785 for what these payloads hold: sorted ASCII keys, no spaces.
        original = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        connection.execute(
            sa.text("UPDATE approvals SET original = :original WHERE id = :id"),
            {"original": original, "id": approval_id},
        )


def _keep_original_amounts() -> None:
    connection = op.get_bind()
    connection.execute(sa.text("UPDATE approvals SET original_minor = amount_minor"))
    edited = connection.execute(
        sa.text("SELECT id, original FROM approvals WHERE original IS NOT NULL")
    )
    for approval_id, text in edited.fetchall():
        amount = json.loads(text).get("amount") or {}
        connection.execute(
            sa.text("UPDATE approvals SET original_minor = :minor WHERE id = :id"),
            {"minor": amount.get("minor"), "id": approval_id},
        )
