"""The first schema: shop, conversations, approvals, outbox, breaker and the audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SQLITE_GUARD = """
CREATE TRIGGER audit_no_{verb} BEFORE {verb} ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END
"""


def upgrade() -> None:
    """Make every table, the breaker's single row and the guards of the trail."""
    op.create_table(
        "actors",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_actors")),
    )
    op.create_table(
        "audit",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_approval_id", "audit", ["approval_id"], unique=False)
    op.create_table(
        "breaker",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.BigInteger(), nullable=True),
        sa.Column("trial_id", sa.Text(), nullable=True),
        sa.Column("trial_until", sa.BigInteger(), nullable=True),
        sa.Column("last_seen", sa.BigInteger(), nullable=True),
        sa.Column("stopped", sa.Integer(), nullable=False),
        sa.CheckConstraint("state IN ('closed','open','half_open')", name=op.f("ck_breaker_state")),
        sa.CheckConstraint("id = 1", name=op.f("ck_breaker_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_breaker")),
    )
    op.create_table(
        "breaker_admissions",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("approval_id", name=op.f("pk_breaker_admissions")),
    )
    op.create_index(
        "ix_breaker_admissions_generation_at",
        "breaker_admissions",
        ["generation", "at"],
        unique=False,
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=True),
        sa.Column("anonymous_hash", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("last_position", sa.Integer(), nullable=False),
        sa.Column("read_seq", sa.Integer(), nullable=False),
        sa.Column("handed_off", sa.Integer(), nullable=False),
        sa.Column("stop_requested", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversations")),
        sa.UniqueConstraint("anonymous_hash", name=op.f("uq_conversations_anonymous_hash")),
    )
    op.create_index(
        op.f("ix_conversations_customer_id"), "conversations", ["customer_id"], unique=False
    )
    op.create_table(
        "customers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customers")),
        sa.UniqueConstraint("email", name=op.f("uq_customers_email")),
    )
    op.create_table(
        "heartbeats",
        sa.Column("replica", sa.Text(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("replica", "job", name=op.f("pk_heartbeats")),
    )
    op.create_table(
        "ledger_payments",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("captured_minor", sa.BigInteger(), nullable=False),
        sa.Column("disputed", sa.Integer(), nullable=False),
        sa.CheckConstraint("captured_minor >= 0", name=op.f("ck_ledger_payments_captured")),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_ledger_payments")),
    )
    op.create_table(
        "order_money",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("captured_minor", sa.BigInteger(), nullable=False),
        sa.Column("refunded_minor", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_order_money")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("ambiguous", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.CheckConstraint("lane IN ('slack','turn')", name=op.f("ck_outbox_lane")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("key", name=op.f("uq_outbox_key")),
    )
    op.create_index("ix_outbox_conversation_id", "outbox", ["conversation_id"], unique=False)
    op.create_index("ix_outbox_lane_next_at", "outbox", ["lane", "next_at"], unique=False)
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )
    op.create_table(
        "events",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("client_id", sa.Text(), nullable=True),
        sa.Column("outcome_key", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_events_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("conversation_id", "seq", name=op.f("pk_events")),
        sa.UniqueConstraint(
            "conversation_id", "client_id", name=op.f("uq_events_conversation_id_client_id")
        ),
        sa.UniqueConstraint("id", name=op.f("uq_events_id")),
        sa.UniqueConstraint("outcome_key", name=op.f("uq_events_outcome_key")),
    )
    op.create_table(
        "identities",
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["actor_id"], ["actors.id"], name=op.f("fk_identities_actor_id_actors")
        ),
        sa.PrimaryKeyConstraint("provider", "subject", name=op.f("pk_identities")),
    )
    op.create_index(op.f("ix_identities_actor_id"), "identities", ["actor_id"], unique=False)
    op.create_table(
        "ledger_refunds",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount_minor > 0", name=op.f("ck_ledger_refunds_amount")),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["ledger_payments.order_id"],
            name=op.f("fk_ledger_refunds_order_id_ledger_payments"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_refunds")),
        sa.UniqueConstraint("key", name=op.f("uq_ledger_refunds_key")),
    )
    op.create_index(
        op.f("ix_ledger_refunds_order_id"), "ledger_refunds", ["order_id"], unique=False
    )
    op.create_table(
        "messages",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("calls", sa.Text(), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_messages_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("conversation_id", "position", name=op.f("pk_messages")),
    )
    op.create_index("ix_messages_run_id", "messages", ["run_id", "position"], unique=False)
    op.create_table(
        "orders",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("total_minor", sa.BigInteger(), nullable=False),
        sa.Column("paid", sa.Integer(), nullable=False),
        sa.Column("cancelled", sa.Integer(), nullable=False),
        sa.Column("fulfillment", sa.Text(), nullable=False),
        sa.Column("placed_at", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.CheckConstraint("total_minor >= 0", name=op.f("ck_orders_total")),
        sa.ForeignKeyConstraint(
            ["customer_id"], ["customers.id"], name=op.f("fk_orders_customer_id_customers")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
        sa.UniqueConstraint("reference", name=op.f("uq_orders_reference")),
    )
    op.create_index(
        "ix_orders_customer_id_placed_at", "orders", ["customer_id", "placed_at"], unique=False
    )
    op.create_table(
        "role_members",
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("verified_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["actor_id"], ["actors.id"], name=op.f("fk_role_members_actor_id_actors")
        ),
        sa.PrimaryKeyConstraint("actor_id", "role", "source", name=op.f("pk_role_members")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("tools_version", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('queued','running','parked','done','failed','escalated')",
            name=op.f("ck_runs_state"),
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_runs_conversation_id_conversations"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index("ix_runs_conversation_id", "runs", ["conversation_id"], unique=False)
    op.create_index("ix_runs_state_id", "runs", ["state", "id"], unique=False)
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("customer_id", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("payload_hash", sa.Text(), nullable=False),
        sa.Column("proposal_key", sa.Text(), nullable=False),
        sa.Column("policy_version", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Text(), nullable=True),
        sa.Column("model_reason", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("automatic", sa.Integer(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("tier_role", sa.Text(), nullable=False),
        sa.Column("approvals_needed", sa.Integer(), nullable=False),
        sa.Column("order_id", sa.Text(), nullable=True),
        sa.Column("amount_minor", sa.BigInteger(), nullable=True),
        sa.Column("original_minor", sa.BigInteger(), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("use_within_s", sa.Integer(), nullable=False),
        sa.Column("use_by", sa.BigInteger(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("supersedes", sa.Text(), nullable=True),
        sa.Column("superseded_by", sa.Text(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("edited_by", sa.Text(), nullable=False),
        sa.Column("raised_by", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("first_sent_at", sa.BigInteger(), nullable=True),
        sa.Column("clean_looks", sa.Integer(), nullable=False),
        sa.Column("alerted", sa.Integer(), nullable=False),
        sa.Column("wake_at", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending','approved','executing','executed','failed','unknown','stale',"
            "'rejected','expired','superseded','cancelled')",
            name=op.f("ck_approvals_status"),
        ),
        sa.CheckConstraint(
            "amount_minor IS NULL OR amount_minor > 0", name=op.f("ck_approvals_amount")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_approvals_conversation_id_conversations"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_approvals_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_approvals_idempotency_key")),
    )
    op.create_index("ix_approvals_conversation_id", "approvals", ["conversation_id"], unique=False)
    op.create_index(
        "ix_approvals_customer_id", "approvals", ["customer_id", "created_at"], unique=False
    )
    op.create_index("ix_approvals_order_id", "approvals", ["order_id"], unique=False)
    op.create_index("ix_approvals_status_id", "approvals", ["status", "id"], unique=False)
    op.create_index(
        "ix_approvals_wake",
        "approvals",
        ["status", "wake_at"],
        unique=False,
        sqlite_where=sa.text("wake_at IS NOT NULL"),
        postgresql_where=sa.text("wake_at IS NOT NULL"),
    )
    op.create_index(
        "uq_approvals_call",
        "approvals",
        ["run_id", "call_id"],
        unique=True,
        sqlite_where=sa.text("supersedes IS NULL"),
        postgresql_where=sa.text("supersedes IS NULL"),
    )
    op.create_index(
        "uq_approvals_pending_proposal",
        "approvals",
        ["proposal_key"],
        unique=True,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_table(
        "order_lines",
        sa.Column("order_id", sa.Text(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sku", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False),
        sa.Column("price_minor", sa.BigInteger(), nullable=False),
        sa.Column("final_sale", sa.Integer(), nullable=False),
        sa.CheckConstraint("quantity > 0", name=op.f("ck_order_lines_quantity")),
        sa.ForeignKeyConstraint(
            ["order_id"],
            ["orders.id"],
            name=op.f("fk_order_lines_order_id_orders"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("order_id", "line", name=op.f("pk_order_lines")),
    )
    op.create_table(
        "attempts",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_attempts_approval_id_approvals")
        ),
        sa.PrimaryKeyConstraint("approval_id", "number", name=op.f("pk_attempts")),
    )
    op.create_table(
        "decisions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=True),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("shown_hash", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_decisions_approval_id_approvals")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
        sa.UniqueConstraint(
            "approval_id", "actor_id", name=op.f("uq_decisions_approval_id_actor_id")
        ),
    )
    op.create_table(
        "slack_messages",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("outbox_id", sa.Text(), nullable=False),
        sa.Column("posted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_slack_messages_approval_id_approvals")
        ),
        sa.PrimaryKeyConstraint("channel", "ts", name=op.f("pk_slack_messages")),
    )
    op.create_index(
        op.f("ix_slack_messages_approval_id"), "slack_messages", ["approval_id"], unique=False
    )
    op.execute("INSERT INTO breaker (id, state, generation, stopped) VALUES (1, 'closed', 0, 0)")
    op.execute("INSERT INTO settings (name, value) VALUES ('audit_chain', '')")
    _guard_audit()


def downgrade() -> None:
    """Drop everything."""
    _unguard_audit()
    op.drop_index(op.f("ix_slack_messages_approval_id"), table_name="slack_messages")
    op.drop_table("slack_messages")
    op.drop_table("decisions")
    op.drop_table("attempts")
    op.drop_table("order_lines")
    op.drop_index(
        "uq_approvals_pending_proposal",
        table_name="approvals",
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.drop_index(
        "uq_approvals_call",
        table_name="approvals",
        sqlite_where=sa.text("supersedes IS NULL"),
        postgresql_where=sa.text("supersedes IS NULL"),
    )
    op.drop_index(
        "ix_approvals_wake",
        table_name="approvals",
        sqlite_where=sa.text("wake_at IS NOT NULL"),
        postgresql_where=sa.text("wake_at IS NOT NULL"),
    )
    op.drop_index("ix_approvals_status_id", table_name="approvals")
    op.drop_index("ix_approvals_order_id", table_name="approvals")
    op.drop_index("ix_approvals_customer_id", table_name="approvals")
    op.drop_index("ix_approvals_conversation_id", table_name="approvals")
    op.drop_table("approvals")
    op.drop_index("ix_runs_state_id", table_name="runs")
    op.drop_index("ix_runs_conversation_id", table_name="runs")
    op.drop_table("runs")
    op.drop_table("role_members")
    op.drop_index("ix_orders_customer_id_placed_at", table_name="orders")
    op.drop_table("orders")
    op.drop_index("ix_messages_run_id", table_name="messages")
    op.drop_table("messages")
    op.drop_index(op.f("ix_ledger_refunds_order_id"), table_name="ledger_refunds")
    op.drop_table("ledger_refunds")
    op.drop_index(op.f("ix_identities_actor_id"), table_name="identities")
    op.drop_table("identities")
    op.drop_table("events")
    op.drop_table("settings")
    op.drop_index("ix_outbox_lane_next_at", table_name="outbox")
    op.drop_index("ix_outbox_conversation_id", table_name="outbox")
    op.drop_table("outbox")
    op.drop_table("order_money")
    op.drop_table("ledger_payments")
    op.drop_table("heartbeats")
    op.drop_table("customers")
    op.drop_index(op.f("ix_conversations_customer_id"), table_name="conversations")
    op.drop_table("conversations")
    op.drop_index("ix_breaker_admissions_generation_at", table_name="breaker_admissions")
    op.drop_table("breaker_admissions")
    op.drop_table("breaker")
    op.drop_index("ix_audit_approval_id", table_name="audit")
    op.drop_table("audit")
    op.drop_table("actors")


def _guard_audit() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(_SQLITE_GUARD.format(verb=verb))
        return
    op.execute(
        "CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_append_only()"
    )
    op.execute(
        "CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()"
    )


def _unguard_audit() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(f"DROP TRIGGER audit_no_{verb}")
        return
    op.execute("DROP FUNCTION audit_append_only() CASCADE")
