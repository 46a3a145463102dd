"""The breaker's single row and its admissions."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete, func, insert, select, update

from agent.domain.breaker import Breaker, BreakerState
from agent.domain.ids import ApprovalId
from storage.tables import approvals, breaker, breaker_admissions
from storage.times import from_micros, micros_or_none, time_or_none, to_micros
from storage.transaction import Tx

_GET = select(breaker).where(breaker.c.id == 1)
_LOCK = _GET.with_for_update(key_share=True)
_LOCK_SHARED = _GET.with_for_update(read=True)
_SAVE = (
    update(breaker)
    .where(breaker.c.id == 1)
    .values(
        state=bindparam("new_state"),
        generation=bindparam("new_generation"),
        retry_at=bindparam("new_retry_at"),
        trial_id=bindparam("new_trial_id"),
        trial_until=bindparam("new_trial_until"),
        last_seen=bindparam("new_last_seen"),
        stopped=bindparam("new_stopped"),
    )
)
_ADMIT = insert(breaker_admissions)
_IN_WINDOW = select(func.count().label("n")).where(
    breaker_admissions.c.generation == bindparam("generation"),
    breaker_admissions.c.at > bindparam("since"),
    breaker_admissions.c.trial == 0,
)
_TRIPPING = (
    select(
        breaker_admissions.c.approval_id,
        breaker_admissions.c.at,
        approvals.c.order_id,
        approvals.c.conversation_id,
        approvals.c.amount_minor,
        approvals.c.currency,
    )
    .join(approvals, approvals.c.id == breaker_admissions.c.approval_id)
    .where(
        breaker_admissions.c.generation == bindparam("generation"),
        breaker_admissions.c.at > bindparam("since"),
        breaker_admissions.c.trial == 0,
    )
    .order_by(breaker_admissions.c.at)
    .limit(50)
)
_FORGET = delete(breaker_admissions).where(breaker_admissions.c.at <= bindparam("before"))


_NOTE_STOP = (
    update(breaker)
    .where(breaker.c.id == 1)
    .values(stopped_by=bindparam("who"), stopped_at=bindparam("at"), stop_reason=bindparam("why"))
)


@dataclass(frozen=True, slots=True)
class StopNote:
    """Who stopped everything, when and why."""

    by: str
    at: datetime | None
    reason: str


class BreakerMissing(LookupError):
    """The breaker's single row is gone: nobody may run a refund before a person looks."""


def load(tx: Tx, *, lock: bool = False) -> Breaker:
    """Return the breaker; with `lock` nobody else admits until the transaction ends.

    Raises BreakerMissing when the row is missing: no automatic refund then (design.md §11).
    """
    row = tx.one(_LOCK if lock else _GET)
    if row is None:
        raise BreakerMissing("the breaker's row is missing")
    return Breaker(
        state=BreakerState(row["state"]),
        generation=row["generation"],
        retry_at=time_or_none(row["retry_at"]),
        trial_id=row["trial_id"],
        trial_until=time_or_none(row["trial_until"]),
        last_seen=time_or_none(row["last_seen"]),
        stopped=bool(row["stopped"]),
    )


def hold_switch(tx: Tx) -> None:
    """Let nobody throw the stop switch until this transaction ends; several may hold it so."""
    tx.one(_LOCK_SHARED)


def is_stopped(tx: Tx) -> bool:
    """Tell whether everything is stopped; without the row nothing says so."""
    row = tx.one(_GET)
    return row is not None and bool(row["stopped"])


def is_there(tx: Tx) -> bool:
    """Tell whether the single row is there."""
    return tx.one(_GET) is not None


def stop_note(tx: Tx) -> StopNote | None:
    """Return who stopped everything, when and why; None while nothing is stopped."""
    row = tx.one(_GET)
    if row is None or not row["stopped"]:
        return None
    return StopNote(
        row["stopped_by"] or "", time_or_none(row["stopped_at"]), row["stop_reason"] or ""
    )


def note_stop(tx: Tx, note: StopNote | None) -> None:
    """Keep who stopped everything, or forget it; the switch itself is saved with the breaker."""
    tx.change(
        _NOTE_STOP,
        who=None if note is None else note.by,
        at=None if note is None else micros_or_none(note.at),
        why=None if note is None else note.reason,
    )


def save(tx: Tx, state: Breaker) -> None:
    """Store the breaker, locked before by `load`."""
    tx.change(
        _SAVE,
        new_state=state.state.value,
        new_generation=state.generation,
        new_retry_at=micros_or_none(state.retry_at),
        new_trial_id=state.trial_id,
        new_trial_until=micros_or_none(state.trial_until),
        new_last_seen=micros_or_none(state.last_seen),
        new_stopped=int(state.stopped),
    )


def note_admission(
    tx: Tx, approval_id: ApprovalId, at: datetime, generation: int, *, trial: bool
) -> None:
    """Record that an automatic refund was let through."""
    tx.put(
        _ADMIT,
        {
            "approval_id": approval_id,
            "at": to_micros(at),
            "generation": generation,
            "trial": int(trial),
        },
    )


def admitted_since(tx: Tx, generation: int, since: datetime) -> int:
    """Return how many of the generation were admitted after `since`, trials left out."""
    row = tx.one(_IN_WINDOW, generation=generation, since=to_micros(since))
    return 0 if row is None else int(row["n"])


def tripping(tx: Tx, generation: int, since: datetime) -> tuple[dict[str, str | int], ...]:
    """Return the admissions that filled the window, for the alert."""
    rows = tx.all(_TRIPPING, generation=generation, since=to_micros(since))
    return tuple(
        {
            "approval_id": row["approval_id"],
            "order_id": row["order_id"],
            "conversation_id": row["conversation_id"],
            "minor": row["amount_minor"],
            "currency": row["currency"],
            "at": from_micros(row["at"]).isoformat(),
        }
        for row in rows
    )


def forget_admissions(tx: Tx, before: datetime) -> int:
    """Delete admissions too old to count in any window."""
    return tx.change(_FORGET, before=to_micros(before))
