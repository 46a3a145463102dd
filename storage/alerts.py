"""What people on call were told: one row a subject, and how it stands."""

import json
from dataclasses import replace
from datetime import datetime

from sqlalchemy import bindparam, func, select, text, update

from agent.domain.alerts import Alert, AlertKind
from agent.domain.ids import ApprovalId, RunId
from agent.domain.payload import Payload, canonical
from storage.tables import alerts, approvals
from storage.times import from_micros, micros_or_none, time_or_none, to_micros
from storage.transaction import Row, Tx

# A subject that has ended and comes again begins anew; one that is open stays as it is.
_OPEN = text(
    "INSERT INTO alerts (subject, kind, approval_id, body, opened_at) "
    "VALUES (:subject, :kind, :approval, :body, :at) "
    "ON CONFLICT (subject) DO UPDATE SET kind = excluded.kind, "
    "approval_id = excluded.approval_id, body = excluded.body, opened_at = excluded.opened_at, "
    "acknowledged_by = NULL, acknowledged_at = NULL, ended_at = NULL, ended = NULL "
    "WHERE alerts.ended_at IS NOT NULL"
)
_GET = select(alerts).where(alerts.c.subject == bindparam("about"))
_LOCK = _GET.with_for_update()
_IS_OPEN = alerts.c.ended_at.is_(None)
_SAVE = (
    update(alerts)
    .where(alerts.c.subject == bindparam("about"), _IS_OPEN)
    .values(
        body=bindparam("new_body"),
        acknowledged_by=bindparam("who"),
        acknowledged_at=bindparam("seen_at"),
        ended_at=bindparam("over_at"),
        ended=bindparam("how"),
    )
)
_ALL_OPEN = select(alerts).where(_IS_OPEN).order_by(alerts.c.opened_at, alerts.c.subject)
_OPEN_OF = (
    select(alerts)
    .where(_IS_OPEN, alerts.c.kind == bindparam("wanted"))
    .order_by(alerts.c.opened_at, alerts.c.subject)
)
_COUNTS = select(alerts.c.kind, func.count().label("n")).where(_IS_OPEN).group_by(alerts.c.kind)
_RUN_OF = select(approvals.c.run_id).where(approvals.c.id == bindparam("approval"))


def open_alert(tx: Tx, alert: Alert) -> bool:
    """Store an alert; False, and nothing is changed, when its subject is open already."""
    changed = tx.change(
        _OPEN,
        subject=alert.subject,
        kind=alert.kind.value,
        approval=alert.approval_id,
        body=canonical(alert.body),
        at=to_micros(alert.opened_at),
    )
    return changed == 1


def get(tx: Tx, subject: str, *, lock: bool = False) -> Alert | None:
    """Return the alert of a subject, None when there never was one."""
    row = tx.one(_LOCK if lock else _GET, about=subject)
    return None if row is None else _read(row)


def amend(tx: Tx, alert: Alert, body: Payload) -> Alert:
    """Store what is new about an open alert, locked before by `get`."""
    return _save(tx, replace(alert, body=body))


def acknowledge(tx: Tx, alert: Alert, by: str, at: datetime) -> Alert:
    """Store who looks into an open alert, locked before by `get`."""
    return _save(tx, replace(alert, acknowledged_by=by, acknowledged_at=at))


def end(tx: Tx, alert: Alert, ended: str, at: datetime) -> Alert:
    """Store how an open alert, locked before by `get`, has ended."""
    return _save(tx, replace(alert, ended_at=at, ended=ended))


def still_open(tx: Tx, kind: AlertKind | None = None) -> tuple[Alert, ...]:
    """Return every open alert, or those of a kind, oldest first."""
    rows = tx.all(_ALL_OPEN) if kind is None else tx.all(_OPEN_OF, wanted=kind.value)
    return tuple(_read(row) for row in rows)


def run_of(tx: Tx, alert: Alert) -> RunId | None:
    """Return the run that an alert is about, None for one about no request."""
    row = None if alert.approval_id is None else tx.one(_RUN_OF, approval=alert.approval_id)
    return None if row is None else RunId(row["run_id"])


def counts(tx: Tx) -> dict[AlertKind, int]:
    """Return how many alerts of each kind are open."""
    found = {AlertKind(row["kind"]): int(row["n"]) for row in tx.all(_COUNTS)}
    return {kind: found.get(kind, 0) for kind in AlertKind}


def _save(tx: Tx, alert: Alert) -> Alert:
    tx.change(
        _SAVE,
        about=alert.subject,
        new_body=canonical(alert.body),
        who=alert.acknowledged_by,
        seen_at=micros_or_none(alert.acknowledged_at),
        over_at=micros_or_none(alert.ended_at),
        how=alert.ended,
    )
    return alert


def _read(row: Row) -> Alert:
    approval_id = row["approval_id"]
    return Alert(
        subject=row["subject"],
        kind=AlertKind(row["kind"]),
        approval_id=None if approval_id is None else ApprovalId(approval_id),
        body=json.loads(row["body"]),
        opened_at=from_micros(row["opened_at"]),
        acknowledged_by=row["acknowledged_by"],
        acknowledged_at=time_or_none(row["acknowledged_at"]),
        ended_at=time_or_none(row["ended_at"]),
        ended=row["ended"],
    )
