"""Chains of the trail that have grown since they were last signed; signed heads cannot change."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_SQLITE_GROWS = """
CREATE TRIGGER audit_grows AFTER INSERT ON audit
BEGIN
    INSERT INTO audit_grown (chain, seq) VALUES (NEW.chain, NEW.seq)
    ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq;
END
"""
_SQLITE_GUARD = """
CREATE TRIGGER audit_heads_no_{verb} BEFORE {verb} ON audit_heads
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END
"""
_POSTGRES_GROWS = """
CREATE FUNCTION audit_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_grown (chain, seq) VALUES (NEW.chain, NEW.seq)
    ON CONFLICT (chain) DO UPDATE SET seq = excluded.seq;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    """Mark every chain that is there, and from now on each one that grows."""
    op.create_table(
        "audit_grown",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("chain", name=op.f("pk_audit_grown")),
    )
    op.execute(
        "INSERT INTO audit_grown (chain, seq) SELECT chain, max(seq) FROM audit GROUP BY chain"
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_SQLITE_GROWS)
        for verb in ("UPDATE", "DELETE"):
            op.execute(_SQLITE_GUARD.format(verb=verb))
        return
    op.execute(_POSTGRES_GROWS)
    op.execute(
        "CREATE TRIGGER audit_grows AFTER INSERT ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_grows()"
    )
    op.execute(
        "CREATE TRIGGER audit_heads_append_only BEFORE UPDATE OR DELETE ON audit_heads "
        "FOR EACH ROW EXECUTE FUNCTION audit_append_only()"
    )
    op.execute(
        "CREATE TRIGGER audit_heads_no_truncate BEFORE TRUNCATE ON audit_heads "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only()"
    )


def downgrade() -> None:
    """Let chains grow unmarked again."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_grows")
        for verb in ("UPDATE", "DELETE"):
            op.execute(f"DROP TRIGGER audit_heads_no_{verb}")
    else:
        op.execute("DROP FUNCTION audit_grows() CASCADE")
        op.execute("DROP TRIGGER audit_heads_append_only ON audit_heads")
        op.execute("DROP TRIGGER audit_heads_no_truncate ON audit_heads")
    op.drop_table("audit_grown")
