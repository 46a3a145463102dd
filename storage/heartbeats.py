"""Signs of life: which replicas are up and which jobs ran."""

from datetime import datetime

from sqlalchemy import bindparam, delete, select, text, union

from agent.domain.heartbeats import COMMAND_PREFIX, REPLICA, Heartbeat
from storage.tables import approvals, conversations, heartbeats, outbox
from storage.tables import settings as settings_table
from storage.times import from_micros, to_micros
from storage.transaction import Tx

_BEAT = text(
    "INSERT INTO heartbeats (replica, job, at) VALUES (:replica, :job, :at) "
    "ON CONFLICT (replica, job) DO UPDATE SET at = excluded.at, problem = NULL"
)
_FAIL = text(
    "INSERT INTO heartbeats (replica, job, at, problem) VALUES (:replica, :job, :at, :problem) "
    "ON CONFLICT (replica, job) DO UPDATE SET problem = excluded.problem"
)
_ALL = select(heartbeats).order_by(heartbeats.c.replica, heartbeats.c.job)
_FORGET = delete(heartbeats).where(heartbeats.c.replica == bindparam("who"))
_OTHER_SERVERS = delete(heartbeats).where(
    heartbeats.c.replica != bindparam("who"),
    heartbeats.c.replica.not_like(f"{COMMAND_PREFIX}%"),
)
_LEASE_OWNERS = union(
    select(conversations.c.lease_owner.label("owner")).where(
        conversations.c.lease_owner.is_not(None)
    ),
    select(approvals.c.lease_owner.label("owner")).where(text("status = 'executing'")),
    select(outbox.c.lease_owner.label("owner")).where(
        outbox.c.lease_owner.is_not(None),
        outbox.c.next_at > bindparam("now"),
    ),
)
_ALIVE = select(heartbeats.c.replica).where(
    heartbeats.c.job == REPLICA, heartbeats.c.at > bindparam("since")
)
_GET_SETTING = select(settings_table.c.value).where(settings_table.c.name == bindparam("which"))
_PUT_SETTING = text(
    "INSERT INTO settings (name, value) VALUES (:which, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def beat(tx: Tx, replica: str, job: str, at: datetime) -> None:
    """Note that a job did its work."""
    tx.change(_BEAT, replica=replica, job=job, at=to_micros(at))


def fail(tx: Tx, replica: str, job: str, at: datetime, problem: str) -> None:
    """Note what went wrong with a job; when it last did its work stays."""
    tx.change(_FAIL, replica=replica, job=job, at=to_micros(at), problem=problem)


def everything(tx: Tx) -> tuple[Heartbeat, ...]:
    """Return every heartbeat."""
    return tuple(
        Heartbeat(r["replica"], r["job"], from_micros(r["at"]), r["problem"]) for r in tx.all(_ALL)
    )


def forget(tx: Tx, replica: str) -> None:
    """Remove a replica that stopped in good order."""
    tx.change(_FORGET, who=replica)


def forget_other_servers(tx: Tx, replica: str) -> None:
    """Declare every other server dead: SQLite has one host and one server."""
    tx.change(_OTHER_SERVERS, who=replica)


def dead_owners(tx: Tx, since: datetime, now: datetime) -> tuple[str, ...]:
    """Return holders of leases that still run who gave no sign of life after `since`."""
    alive = {row["replica"] for row in tx.all(_ALIVE, since=to_micros(since))}
    owners = {row["owner"] for row in tx.all(_LEASE_OWNERS, now=to_micros(now))}
    return tuple(sorted(owner for owner in owners if owner and owner not in alive))


def setting(tx: Tx, name: str) -> str | None:
    """Return a stored setting of the database itself, e.g. the mark of a real workspace."""
    row = tx.one(_GET_SETTING, which=name)
    return None if row is None else str(row["value"])


def set_setting(tx: Tx, name: str, value: str) -> None:
    """Store a setting of the database itself."""
    tx.change(_PUT_SETTING, which=name, value=value)
