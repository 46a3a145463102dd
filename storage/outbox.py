"""What the world must hear: written with the fact, delivered at least once, then deleted."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select, update

from agent.domain.ids import ApprovalId, ConversationId, RunId
from agent.domain.payload import Payload, canonical
from storage.tables import outbox
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_PUT = insert(outbox)
_LEASE = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"))
    .values(
        next_at=bindparam("until"),
        lease_owner=bindparam("owner"),
        attempts=outbox.c.attempts + 1,
    )
)
_DROP = delete(outbox).where(outbox.c.id == bindparam("row_id"))
_RETRY = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"))
    .values(
        next_at=bindparam("at"),
        lease_owner=None,
        last_error=bindparam("problem"),
        ambiguous=bindparam("is_ambiguous"),
    )
)
_GIVE_UP = (
    update(outbox)
    .where(outbox.c.id == bindparam("row_id"))
    .values(next_at=None, lease_owner=None, last_error=bindparam("problem"))
)
_EXISTS = select(outbox.c.id, outbox.c.lease_owner, outbox.c.next_at).where(
    outbox.c.key == bindparam("key")
)
# A picture is drawn of what is committed: it must not be taken before the fact that asks for it.
_EXISTS_DRAWN = _EXISTS.with_for_update()
_TRY_ANEW = update(outbox).where(outbox.c.id == bindparam("row_id")).values(next_at=bindparam("at"))


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One message on its way. `ambiguous`: an earlier try may have arrived."""

    id: str
    kind: str
    key: str
    conversation_id: ConversationId | None
    run_id: RunId | None
    approval_id: ApprovalId | None
    body: Payload
    attempts: int
    ambiguous: bool
    created_at: datetime
    place: str
    about: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """A message to add; `key` is unique among those on their way.

    `place` is where in Slack it goes, as far as pacing and pauses are concerned; `about` is what it
    draws there, such as a card. It leaves from `due`, at once without one.
    """

    id: str
    lane: str
    kind: str
    key: str
    body: Payload
    conversation_id: ConversationId | None = None
    run_id: RunId | None = None
    approval_id: ApprovalId | None = None
    place: str = ""
    about: str | None = None
    due: datetime | None = None


def add(tx: Tx, at: datetime, *messages: Message) -> None:
    """Add messages that do not wait already under the same key.

    A picture that somebody has taken, and may have drawn, is followed by another; one that was
    given up is tried anew, for what it draws has changed.
    """
    micros = to_micros(at)
    fresh = [m for one in messages if (m := _fresh(tx, one, micros)) is not None]
    tx.put(
        _PUT,
        *(
            {
                "id": m.id,
                "lane": m.lane,
                "place": m.place,
                "about": m.about,
                "kind": m.kind,
                "key": m.key,
                "conversation_id": m.conversation_id,
                "run_id": m.run_id,
                "approval_id": m.approval_id,
                "body": canonical(m.body),
                "attempts": 0,
                "ambiguous": 0,
                "created_at": micros,
                "next_at": micros if m.due is None else to_micros(m.due),
            }
            for m in fresh
        ),
    )


def _fresh(tx: Tx, message: Message, at: int) -> Message | None:
    if message.about is None:
        return message if tx.one(_EXISTS, key=message.key) is None else None
    known = tx.one(_EXISTS_DRAWN, key=message.key)
    if known is None:
        return message
    if known["next_at"] is None:
        tx.change(_TRY_ANEW, row_id=known["id"], at=at)
        return None
    taken = known["lease_owner"] is not None
    return replace(message, key=f"{message.key}:{message.id}") if taken else None


def lease(tx: Tx, row_id: str, owner: str, until: datetime) -> None:
    """Take a message for one try, which is counted; it comes due again at `until`."""
    tx.change(_LEASE, row_id=row_id, until=to_micros(until), owner=owner)


def drop(tx: Tx, row_id: str) -> bool:
    """Forget a message that has done its work; false when somebody else has forgotten it."""
    return tx.change(_DROP, row_id=row_id) == 1


def retry(tx: Tx, row_id: str, at: datetime, problem: str, *, ambiguous: bool) -> None:
    """Make a message due again at `at`."""
    tx.change(
        _RETRY,
        row_id=row_id,
        at=to_micros(at),
        problem=problem[:500],
        is_ambiguous=int(ambiguous),
    )


def give_up(tx: Tx, row_id: str, problem: str) -> None:
    """Keep what cannot be worked on, for a person to look at."""
    tx.change(_GIVE_UP, row_id=row_id, problem=problem[:500])


def on_their_way(tx: Tx, keys: Sequence[str]) -> frozenset[str]:
    """Return which of the keys have a message on its way."""
    return frozenset(key for key in keys if tx.one(_EXISTS, key=key) is not None)


def read_row(row: Row) -> OutboxRow:
    """Turn a database row into a record."""
    return OutboxRow(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        conversation_id=row["conversation_id"],
        run_id=row["run_id"],
        approval_id=row["approval_id"],
        body=json.loads(row["body"]),
        attempts=row["attempts"],
        ambiguous=bool(row["ambiguous"]),
        created_at=from_micros(row["created_at"]),
        place=row["place"],
        about=row["about"],
    )
