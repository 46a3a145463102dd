"""Slack in depth: places and their pace, alerts that are kept, pings, questions, Home tabs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables and columns; a message may now be about an alert and no approval."""
    op.create_table(
        "slack_places",
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("free_at", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("since", sa.BigInteger(), nullable=True),
        sa.Column("closed_until", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("place", name=op.f("pk_slack_places")),
    )
    # Slack as a whole; whoever claims a message locks this row.
    op.execute("INSERT INTO slack_places (place, free_at, failures) VALUES ('*', 0, 0)")
    op.create_table(
        "alerts",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_alerts")),
    )
    op.create_index(
        "ix_alerts_open",
        "alerts",
        ["kind"],
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "pings",
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged_by", sa.Text(), nullable=True),
        sa.Column("acknowledged_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_pings_approval_id_approvals")
        ),
        sa.PrimaryKeyConstraint("approval_id", "level", name=op.f("pk_pings")),
    )
    op.create_table(
        "asks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("asked_of", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("late", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.CheckConstraint("asked_of IN ('customer','agent')", name=op.f("ck_asks_asked_of")),
        sa.ForeignKeyConstraint(
            ["approval_id"], ["approvals.id"], name=op.f("fk_asks_approval_id_approvals")
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_asks_conversation_id_conversations"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_asks_run_id_runs")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_asks")),
        sa.UniqueConstraint("key", name=op.f("uq_asks_key")),
    )
    op.create_index(op.f("ix_joins_conversation_id"), "joins", ["conversation_id"], unique=False)
    op.create_index(op.f("ix_asks_approval_id"), "asks", ["approval_id"], unique=False)
    op.create_index(
        "ix_asks_open",
        "asks",
        ["conversation_id"],
        sqlite_where=sa.text("answered_at IS NULL"),
        postgresql_where=sa.text("answered_at IS NULL"),
    )
    op.create_table(
        "slack_seen",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_slack_seen")),
    )
    op.create_index(op.f("ix_slack_seen_at"), "slack_seen", ["at"], unique=False)
    op.create_table(
        "homes",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_homes")),
    )
    op.add_column("approvals", sa.Column("shown_at", sa.BigInteger(), nullable=True))
    op.add_column(
        "approvals", sa.Column("fresh_role", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column(
        "approvals", sa.Column("pinged", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column(
        "approvals", sa.Column("escalations", sa.Integer(), nullable=False, server_default="0")
    )
    op.add_column("approvals", sa.Column("taken_by", sa.Text(), nullable=True))
    op.add_column("approvals", sa.Column("taken_at", sa.BigInteger(), nullable=True))
    op.add_column("approvals", sa.Column("waits_since", sa.BigInteger(), nullable=True))
    op.add_column("approvals", sa.Column("extra_s", sa.Integer(), nullable=True))
    # Whatever waits or lapsed had a card, as far as anybody can know.
    op.execute("UPDATE approvals SET shown_at = created_at WHERE status IN ('pending', 'expired')")
    op.add_column("rosters", sa.Column("group_id", sa.Text(), nullable=True))
    op.add_column("actors", sa.Column("utc_offset_s", sa.Integer(), nullable=True))
    op.create_index(
        "ix_approvals_pending",
        "approvals",
        ["status", "expires_at"],
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index(
        "ix_approvals_ended",
        "approvals",
        ["ended_at", "automatic", "status"],
        sqlite_where=sa.text("ended_at IS NOT NULL"),
        postgresql_where=sa.text("ended_at IS NOT NULL"),
    )
    op.create_index("ix_decisions_at", "decisions", ["at", "actor_id"])
    with op.batch_alter_table("outbox") as outbox:
        outbox.add_column(sa.Column("place", sa.Text(), nullable=False, server_default=""))
        outbox.add_column(sa.Column("about", sa.Text(), nullable=True))
        outbox.drop_constraint(op.f("ck_outbox_lane"), type_="check")
        outbox.create_check_constraint(
            op.f("ck_outbox_lane"), "lane IN ('slack','turn','click','mail')"
        )
    # What waits to be drawn is about what it was about all along.
    op.execute(
        "UPDATE outbox SET about = 'card:' || approval_id, "
        "place = CASE kind WHEN 'card_update' THEN 'update' ELSE 'approvals' END "
        "WHERE lane = 'slack' AND kind IN ('card','card_update','thread')"
    )
    op.execute(
        "UPDATE outbox SET about = 'review:' || approval_id, "
        "place = CASE kind WHEN 'review_update' THEN 'update' ELSE 'review' END "
        "WHERE lane = 'slack' AND kind IN ('review','review_update')"
    )
    op.execute(
        "UPDATE outbox SET place = CASE kind WHEN 'hand_off' THEN 'approvals' ELSE 'oncall' END "
        "WHERE lane = 'slack' AND place = '' AND kind <> 'ephemeral'"
    )
    op.create_index(
        "ix_outbox_about",
        "outbox",
        ["about"],
        sqlite_where=sa.text("about IS NOT NULL"),
        postgresql_where=sa.text("about IS NOT NULL"),
    )
    op.create_index(
        "ix_outbox_leased",
        "outbox",
        ["lane"],
        sqlite_where=sa.text("lease_owner IS NOT NULL"),
        postgresql_where=sa.text("lease_owner IS NOT NULL"),
    )
    with op.batch_alter_table("slack_messages") as messages:
        messages.alter_column("approval_id", existing_type=sa.Text(), nullable=True)
        messages.add_column(sa.Column("subject", sa.Text(), nullable=True))
        messages.create_index(op.f("ix_slack_messages_subject"), ["subject"], unique=False)
        messages.create_check_constraint(
            op.f("ck_slack_messages_about"), "approval_id IS NOT NULL OR subject IS NOT NULL"
        )


def downgrade() -> None:
    """Take them away again; what was on its way in the new lanes is dropped."""
    op.execute("DELETE FROM slack_messages WHERE approval_id IS NULL")
    with op.batch_alter_table("slack_messages") as messages:
        messages.drop_constraint(op.f("ck_slack_messages_about"), type_="check")
        messages.drop_index(op.f("ix_slack_messages_subject"))
        messages.drop_column("subject")
        messages.alter_column("approval_id", existing_type=sa.Text(), nullable=False)
    op.execute("DELETE FROM outbox WHERE lane NOT IN ('slack','turn')")
    op.drop_index("ix_outbox_leased", table_name="outbox")
    op.drop_index("ix_outbox_about", table_name="outbox")
    with op.batch_alter_table("outbox") as outbox:
        outbox.drop_constraint(op.f("ck_outbox_lane"), type_="check")
        outbox.create_check_constraint(op.f("ck_outbox_lane"), "lane IN ('slack','turn')")
        outbox.drop_column("about")
        outbox.drop_column("place")
    op.drop_index("ix_decisions_at", table_name="decisions")
    op.drop_index("ix_approvals_ended", table_name="approvals")
    op.drop_index("ix_approvals_pending", table_name="approvals")
    op.drop_column("actors", "utc_offset_s")
    op.drop_column("rosters", "group_id")
    for column in (
        *("extra_s", "waits_since", "taken_at", "taken_by"),
        *("escalations", "pinged", "shown_at", "fresh_role"),
    ):
        op.drop_column("approvals", column)
    op.drop_table("homes")
    op.drop_index(op.f("ix_slack_seen_at"), table_name="slack_seen")
    op.drop_table("slack_seen")
    op.drop_index("ix_asks_open", table_name="asks")
    op.drop_index(op.f("ix_asks_approval_id"), table_name="asks")
    op.drop_table("asks")
    op.drop_index(op.f("ix_joins_conversation_id"), table_name="joins")
    op.drop_table("pings")
    op.drop_index("ix_alerts_open", table_name="alerts")
    op.drop_table("alerts")
    op.drop_table("slack_places")
