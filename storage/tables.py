"""Every table but those of the trail and the outside.

Times are integer microseconds UTC, money is minor units, flags are 0 or 1. The types
are the plainest that both databases share, so that rows look the same on each.
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
    text,
)

from storage import (  # noqa: F401 - in metadata
    audit_tables,
    columns,
    hand_off_tables,
    mail_tables,
    outside_tables,
)

metadata = columns.metadata

# --- conversations and runs ----------------------------------------------------------------------

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("customer_id", Text, index=True),
    # sha256 of the anonymous visitor's token; null for a signed-in customer.
    Column("anonymous_hash", Text, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("last_seq", Integer, nullable=False, default=0),
    Column("last_position", Integer, nullable=False, default=0),
    Column("read_seq", Integer, nullable=False, default=0),
    columns.flag("handed_off"),
    # The person of the team who answers here instead of the agent; null while the agent does.
    Column("attended_by", Text),
    Column("attended_name", Text),
    # A language that the desk has words in, e.g. `de`; null for English.
    Column("language", Text),
    # What the customer thought of the help, 1 to 5; null before they said.
    Column("rating", Integer),
    Column("rating_comment", Text),
    Column("rated_at", BigInteger),
    columns.flag("stop_requested"),
    # The fenced lease of the turn under way (design.md §13).
    Column("fence", Integer, nullable=False, default=0),
    Column("lease_owner", Text),
    Column("lease_until", BigInteger),
    CheckConstraint("rating IS NULL OR rating BETWEEN 1 AND 5", name="rating"),
    # Counted at each scrape of the metrics.
    Index(
        "ix_conversations_rating",
        "rating",
        sqlite_where=text("rating IS NOT NULL"),
        postgresql_where=text("rating IS NOT NULL"),
    ),
)

events = Table(
    "events",
    metadata,
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("id", Text, nullable=False, unique=True),
    Column("type", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("run_id", Text),
    # The sender's own id of a customer's message: a repeat finds the first row.
    Column("client_id", Text),
    # `approval:outcome` of the one message that tells the customer about it.
    Column("outcome_key", Text, unique=True),
    PrimaryKeyConstraint("conversation_id", "seq"),
    UniqueConstraint("conversation_id", "client_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("calls", Text),
    Column("call_id", Text),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("conversation_id", "position"),
    Index("ix_messages_run_id", "run_id", "position"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("message_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("step", Integer, nullable=False, default=0),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("error", Text),
    Column("tools_version", Text, nullable=False),
    CheckConstraint(
        "state IN ('queued','running','parked','done','failed','escalated')", name="state"
    ),
    Index("ix_runs_state_id", "state", "id"),
    Index("ix_runs_conversation_id", "conversation_id"),
)

# --- approvals -----------------------------------------------------------------------------------

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False),
    Column("call_id", Text, nullable=False),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("customer_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("payload_hash", Text, nullable=False),
    Column("proposal_key", Text, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("confidence", Text),
    Column("model_reason", Text, nullable=False),
    Column("status", Text, nullable=False),
    columns.flag("automatic"),
    Column("findings", Text, nullable=False),
    Column("tier_role", Text, nullable=False),
    Column("approvals_needed", Integer, nullable=False),
    # Whether a person's role must be read after the click.
    columns.flag("fresh_role"),
    Column("order_id", Text),
    Column("amount_minor", BigInteger),
    # What the model proposed, where a person has changed it since; else null.
    Column("original", Text),
    Column("currency", Text),
    Column("snapshot", Text),
    Column("idempotency_key", Text, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("use_within_s", Integer, nullable=False),
    Column("use_by", BigInteger),
    Column("decided_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("requested_by", Text, nullable=False),
    Column("supersedes", Text),
    Column("superseded_by", Text),
    Column("revision", Integer, nullable=False),
    Column("edited_by", Text, nullable=False),
    Column("raised_by", Text, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("result", Text),
    Column("lease_owner", Text),
    Column("lease_until", BigInteger),
    Column("first_sent_at", BigInteger),
    # How often the provider's book was read without finding the refund, and when last.
    Column("clean_looks", Integer, nullable=False, default=0),
    Column("looked_at", BigInteger),
    columns.flag("alerted"),
    # When its card was first there for people to see; null while nobody could have decided.
    Column("shown_at", BigInteger),
    # The highest level of reminding that was reached, and how many periods were added (§10).
    Column("pinged", Integer, nullable=False, default=0),
    Column("escalations", Integer, nullable=False, default=0),
    # Who said that they look into it.
    Column("taken_by", Text),
    Column("taken_at", BigInteger),
    # When the period under way began, where that is not when the row was made; and how many
    # seconds the senior group has after the deadline, null where the row ends at it.
    Column("waits_since", BigInteger),
    Column("extra_s", Integer),
    # The one column of deadlines: when the sweep must look at the row; null when it is finished.
    Column("wake_at", BigInteger),
    CheckConstraint(
        "status IN ('pending','approved','executing','executed','failed','unknown','stale',"
        "'rejected','expired','superseded','cancelled')",
        name="status",
    ),
    CheckConstraint("amount_minor IS NULL OR amount_minor > 0", name="amount"),
    Index(
        "uq_approvals_call",
        "run_id",
        "call_id",
        unique=True,
        sqlite_where=text("supersedes IS NULL"),
        postgresql_where=text("supersedes IS NULL"),
    ),
    Index(
        "uq_approvals_pending_proposal",
        "proposal_key",
        unique=True,
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
    Index(
        "ix_approvals_wake",
        "status",
        "wake_at",
        sqlite_where=text("wake_at IS NOT NULL"),
        postgresql_where=text("wake_at IS NOT NULL"),
    ),
    Index("ix_approvals_status_id", "status", "id"),
    # What waits for people, the soonest deadline first.
    Index(
        "ix_approvals_pending",
        "status",
        "expires_at",
        sqlite_where=text("status = 'pending'"),
        postgresql_where=text("status = 'pending'"),
    ),
    # What ended lately: the numbers of a day or a week read nothing older.
    Index(
        "ix_approvals_ended",
        "ended_at",
        "automatic",
        "status",
        sqlite_where=text("ended_at IS NOT NULL"),
        postgresql_where=text("ended_at IS NOT NULL"),
    ),
    Index("ix_approvals_order_id", "order_id"),
    Index("ix_approvals_customer_id", "customer_id", "created_at"),
    Index("ix_approvals_conversation_id", "conversation_id"),
)

joins = Table(
    "joins",
    metadata,
    # A call that asked for just what was waiting already: its run hears the outcome, too.
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False),
    Column("call_id", Text, nullable=False),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False, index=True),
    PrimaryKeyConstraint("approval_id", "run_id", "call_id"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("actor_id", Text),
    Column("actor_name", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("shown_hash", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("roles", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("category", Text),
    Column("note", Text, nullable=False),
    columns.flag("break_glass"),
    UniqueConstraint("approval_id", "actor_id", "verdict", "break_glass"),
    # Who decided what lately.
    Index("ix_decisions_at", "at", "actor_id"),
    # Few of very many: they are counted at each scrape of the metrics.
    Index(
        "ix_decisions_broken_glass",
        "approval_id",
        sqlite_where=text("break_glass = 1"),
        postgresql_where=text("break_glass = 1"),
    ),
)

attempts = Table(
    "attempts",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("outcome", Text),
    Column("answer", Text),
    PrimaryKeyConstraint("approval_id", "number"),
)

order_money = Table(
    "order_money",
    metadata,
    Column("order_id", Text, primary_key=True),
    Column("currency", Text, nullable=False),
    Column("captured_minor", BigInteger, nullable=False),
    Column("refunded_minor", BigInteger, nullable=False),
    Column("read_at", BigInteger, nullable=False),
)

breaker = Table(
    "breaker",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("retry_at", BigInteger),
    Column("trial_id", Text),
    Column("trial_until", BigInteger),
    Column("last_seen", BigInteger),
    columns.flag("stopped"),
    # Who stopped everything, when and why; null while nothing is stopped.
    Column("stopped_by", Text),
    Column("stopped_at", BigInteger),
    Column("stop_reason", Text),
    CheckConstraint("id = 1", name="single"),
    CheckConstraint("state IN ('closed','open','half_open')", name="state"),
)

breaker_admissions = Table(
    "breaker_admissions",
    metadata,
    Column("approval_id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("generation", Integer, nullable=False),
    columns.flag("trial"),
    Index("ix_breaker_admissions_generation_at", "generation", "at"),
)

# --- what the world must hear --------------------------------------------------------------------

outbox = Table(
    "outbox",
    metadata,
    Column("id", Text, primary_key=True),
    Column("lane", Text, nullable=False),
    # Where in Slack it goes, as far as pacing and pauses are concerned; empty in other lanes.
    Column("place", Text, nullable=False, default=""),
    # What the message draws, such as a card: one at a time, and none before its first.
    Column("about", Text),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False, unique=True),
    Column("conversation_id", Text),
    Column("run_id", Text),
    Column("approval_id", Text),
    Column("body", Text, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    columns.flag("ambiguous"),
    Column("created_at", BigInteger, nullable=False),
    Column("next_at", BigInteger),
    Column("lease_owner", Text),
    Column("last_error", Text),
    CheckConstraint("lane IN ('slack','turn','click','mail')", name="lane"),
    Index("ix_outbox_lane_next_at", "lane", "next_at"),
    Index("ix_outbox_conversation_id", "conversation_id"),
    Index(
        "ix_outbox_about",
        "about",
        sqlite_where=text("about IS NOT NULL"),
        postgresql_where=text("about IS NOT NULL"),
    ),
    Index(
        "ix_outbox_leased",
        "lane",
        sqlite_where=text("lease_owner IS NOT NULL"),
        postgresql_where=text("lease_owner IS NOT NULL"),
    ),
)

slack_messages = Table(
    "slack_messages",
    metadata,
    Column("channel", Text, nullable=False),
    Column("ts", Text, nullable=False),
    Column("approval_id", Text, ForeignKey("approvals.id"), index=True),
    # What an alert is about (see `alerts`); null for the messages of an approval alone.
    Column("subject", Text, index=True),
    Column("outbox_id", Text, nullable=False),
    # `card`, `review` for the message that asks about an automatic effect afterwards, `alert`,
    # `ping`, `hand_off`.
    Column("kind", Text, nullable=False, default="card"),
    Column("posted_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("channel", "ts"),
    CheckConstraint("approval_id IS NOT NULL OR subject IS NOT NULL", name="about"),
)

# How each place in Slack fares: a channel, a person, or everything. Shared by all replicas.
slack_places = Table(
    "slack_places",
    metadata,
    Column("place", Text, primary_key=True),
    # Nothing is sent there before.
    Column("free_at", BigInteger, nullable=False),
    # Failures in a row, what the newest was, and since when; null while all is well.
    Column("failures", Integer, nullable=False, default=0),
    Column("problem", Text),
    Column("since", BigInteger),
    # A channel that refuses messages: they go elsewhere until it is looked at again.
    Column("closed_until", BigInteger),
)

# What a person on call was told, once a subject over all replicas, and what became of it.
alerts = Table(
    "alerts",
    metadata,
    Column("subject", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("approval_id", Text),
    Column("body", Text, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("acknowledged_by", Text),
    Column("acknowledged_at", BigInteger),
    Column("ended_at", BigInteger),
    # How it ended, in words; null while it lasts.
    Column("ended", Text),
    Index(
        "ix_alerts_open",
        "kind",
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)

# One reminder or escalation of a request: at most one a level, over all replicas.
pings = Table(
    "pings",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False),
    Column("level", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("acknowledged_by", Text),
    Column("acknowledged_at", BigInteger),
    PrimaryKeyConstraint("approval_id", "level"),
)

# A question of an approver, to the customer or to the agent, and what came back.
asks = Table(
    "asks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("approval_id", Text, ForeignKey("approvals.id"), nullable=False, index=True),
    Column("conversation_id", Text, ForeignKey("conversations.id"), nullable=False),
    Column("run_id", Text, ForeignKey("runs.id"), nullable=False),
    Column("asked_of", Text, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("actor_name", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    # Null with `answered_at` set: no answer could be had.
    Column("answered_at", BigInteger),
    Column("answer", Text),
    # 1 when the request had ended before the answer came.
    Column("late", Integer, nullable=False, default=0),
    # The asker's own mark of this question: asked twice under it, it is asked once.
    Column("key", Text, unique=True),
    CheckConstraint("asked_of IN ('customer','agent')", name="asked_of"),
    Index(
        "ix_asks_open",
        "conversation_id",
        sqlite_where=text("answered_at IS NULL"),
        postgresql_where=text("answered_at IS NULL"),
    ),
)

# What Slack has sent and the desk has dealt with: a repeat of it is not dealt with again.
slack_seen = Table(
    "slack_seen",
    metadata,
    Column("key", Text, primary_key=True),
    Column("at", BigInteger, nullable=False, index=True),
    Column("answer", Text, nullable=False),
)

# Whose Home tab is open, or was lately, and what it shows.
homes = Table(
    "homes",
    metadata,
    # `team:user`.
    Column("subject", Text, primary_key=True),
    Column("opened_at", BigInteger, nullable=False),
    # Which page of the queue the reader has turned to, counted from 0.
    Column("page", Integer, nullable=False, default=0),
    # sha256 of the view as it was last published, its time of drawing left out; null when it is
    # to be published whatever it is.
    Column("shown", Text),
)

reviews = Table(
    "reviews",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.id"), primary_key=True),
    Column("customer_id", Text, nullable=False),
    # Why it was picked: `share` by chance, `large` as every large one.
    Column("why", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("answered_at", BigInteger),
    Column("actor_id", Text),
    Column("actor_name", Text),
    Column("reason", Text),
    CheckConstraint("state IN ('open','right','flagged')", name="state"),
    Index("ix_reviews_state_approval_id", "state", "approval_id"),
)

automatic_pauses = Table(
    "automatic_pauses",
    metadata,
    Column("customer_id", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    # The approval whose flag or review led to the pause.
    Column("approval_id", Text, nullable=False),
)

webhook_events = Table(
    "webhook_events",
    metadata,
    # The provider's own id of the event: a repeat finds the first row.
    Column("id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("approval_id", Text),
    Column("received_at", BigInteger, nullable=False),
)

# --- people, trail, machinery --------------------------------------------------------------------

actors = Table(
    "actors",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    columns.flag("active"),
    Column("created_at", BigInteger, nullable=False),
    # The person this turned out to be: everything of theirs counts there.
    Column("merged_into", Text),
    # How far the person's clock is ahead of UTC, by Slack; null where nobody has said.
    Column("utc_offset_s", Integer),
    Index("ix_actors_merged_into", "merged_into"),
)

identities = Table(
    "identities",
    metadata,
    Column("provider", Text, nullable=False),
    # Slack `team:user`, sha256 of an API token, an OS user, or a shop customer's id.
    Column("subject", Text, nullable=False),
    Column("actor_id", Text, ForeignKey("actors.id"), nullable=False, index=True),
    PrimaryKeyConstraint("provider", "subject"),
)

role_members = Table(
    "role_members",
    metadata,
    Column("actor_id", Text, ForeignKey("actors.id"), nullable=False),
    Column("role", Text, nullable=False),
    # `fixed`, or the Slack user group that was read.
    Column("source", Text, nullable=False),
    Column("verified_at", BigInteger),
    PrimaryKeyConstraint("actor_id", "role", "source"),
)

rosters = Table(
    "rosters",
    metadata,
    Column("role", Text, nullable=False),
    Column("source", Text, nullable=False),
    # The last look that succeeded, and how many people it showed.
    Column("read_at", BigInteger),
    Column("size", Integer, nullable=False, default=0),
    # What went wrong at the newest look; null when it succeeded.
    Column("problem", Text),
    # Slack's id of the user group, for naming it in a message.
    Column("group_id", Text),
    PrimaryKeyConstraint("role", "source"),
)

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("replica", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("problem", Text),
    PrimaryKeyConstraint("replica", "job"),
)

settings = Table(
    "settings",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
