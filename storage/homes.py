"""Whose Home tab is open, which page it shows, and whether anything it could show has changed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, select, text, update

from agent.domain.roles import ROLE_MAX_AGE
from storage.tables import homes
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_GET = select(homes).where(homes.c.subject == bindparam("who"))
_LOCK = _GET.with_for_update()
_SINCE = select(homes).where(homes.c.opened_at >= bindparam("since")).order_by(homes.c.subject)
_OPEN = text(
    "INSERT INTO homes (subject, opened_at, page, shown) VALUES (:who, :at, :page, NULL) "
    "ON CONFLICT (subject) DO UPDATE SET opened_at = excluded.opened_at, page = excluded.page, "
    "shown = NULL"
)
_NOTE = update(homes).where(homes.c.subject == bindparam("who")).values(shown=bindparam("mark"))
_FORGET = delete(homes).where(homes.c.subject == bindparam("who"))
_CLOSE = delete(homes).where(homes.c.opened_at < bindparam("before"))
# Each is one row of numbers that differ when something differs. Times are counted from `since`, so
# that their sum fits a number of either database.
_PULSE = (
    text(
        "SELECT count(*) AS n, sum(expires_at - :since) AS due, sum(taken_at - :since) AS taken, "
        "sum(pinged) AS pinged, sum(escalations) AS later, max(id) AS newest FROM ("
        "SELECT id, expires_at, taken_at, pinged, escalations FROM approvals "
        "WHERE status = 'pending' ORDER BY expires_at, id LIMIT :most) AS soonest"
    ),
    text("SELECT count(*) AS n FROM approvals WHERE status = 'pending'"),
    text(
        "SELECT approvals.status, count(*) AS n, sum(approvals.ended_at - :since) AS ended "
        "FROM decisions JOIN approvals ON approvals.id = decisions.approval_id "
        "WHERE decisions.at >= :since GROUP BY approvals.status ORDER BY approvals.status"
    ),
    text(
        "SELECT state, generation, retry_at, retry_at <= :now AS due, stopped, stopped_at "
        "FROM breaker"
    ),
    text("SELECT subject, acknowledged_at FROM alerts WHERE ended_at IS NULL ORDER BY subject"),
    text(
        "SELECT actor_id, role, source, (verified_at IS NULL OR verified_at >= :fresh) AS proven "
        "FROM role_members ORDER BY actor_id, role, source"
    ),
    text("SELECT role, source, read_at >= :fresh AS fresh FROM rosters ORDER BY role, source"),
    text("SELECT id, active, kind, merged_into, utc_offset_s FROM actors ORDER BY id"),
    text("SELECT subject, page FROM homes WHERE opened_at >= :open ORDER BY subject"),
)


@dataclass(frozen=True, slots=True)
class Home:
    """A Home tab; `subject` is `team:user`, `shown` the sha256 of what Slack was given last.

    `page` counts from 0; `shown` is None where the tab is to be published whatever it shows.
    """

    subject: str
    opened_at: datetime
    page: int
    shown: str | None


def open_tab(tx: Tx, subject: str, page: int, at: datetime) -> None:
    """Note that somebody looks at a page of their tab now: it is published anew."""
    tx.change(_OPEN, who=subject, at=to_micros(at), page=page)


def get(tx: Tx, subject: str, *, lock: bool = False) -> Home | None:
    """Return somebody's tab, None where it is not open."""
    row = tx.one(_LOCK if lock else _GET, who=subject)
    return None if row is None else _read(row)


def open_since(tx: Tx, since: datetime) -> tuple[Home, ...]:
    """Return every tab that was opened since a moment."""
    return tuple(_read(row) for row in tx.all(_SINCE, since=to_micros(since)))


def note_shown(tx: Tx, subject: str, mark: str) -> None:
    """Note what Slack has been given."""
    tx.change(_NOTE, who=subject, mark=mark)


def close(tx: Tx, subject: str) -> None:
    """Forget somebody's tab."""
    tx.change(_FORGET, who=subject)


def close_before(tx: Tx, before: datetime) -> int:
    """Forget tabs that nobody has opened since."""
    return tx.change(_CLOSE, before=to_micros(before))


def pulse(tx: Tx, now: datetime, opened_since: datetime, most: int) -> str:
    """Return a text that is another one whenever a Home tab might show something else.

    Few small numbers are read, and of the past two days only who decided: nothing is drawn for it.
    `most` is how much of the queue is ever read.
    """
    # Fixed for the day, so that nothing differs just because time goes on; every reader's day
    # begins later.
    since = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    values = {
        "now": to_micros(now),
        "since": to_micros(since),
        "fresh": to_micros(now - ROLE_MAX_AGE),
        "open": to_micros(opened_since),
        "most": most,
    }
    # Somebody's day ends at a quarter of an hour.
    quarter = to_micros(now) // (15 * 60 * 1_000_000)
    read = [[tuple(row.values()) for row in tx.all(part, **values)] for part in _PULSE]
    return repr((quarter, read))


def _read(row: Row) -> Home:
    return Home(row["subject"], from_micros(row["opened_at"]), row["page"], row["shown"])
