"""The times that people were called into a conversation; the caller holds the conversation."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select, update

from agent.domain.hand_offs import HandOff
from agent.domain.ids import ActorId, ConversationId, RunId
from agent.domain.payload import Payload, canonical
from storage.hand_off_tables import hand_offs
from storage.tables import conversations
from storage.times import from_micros, micros_or_none, time_or_none, to_micros
from storage.transaction import Row, Tx

_WITH_RATING = select(hand_offs, conversations.c.rating).join(
    conversations, conversations.c.id == hand_offs.c.conversation_id
)
_OF = hand_offs.c.conversation_id == bindparam("conversation")
_NEWEST = _WITH_RATING.where(_OF).order_by(hand_offs.c.number.desc()).limit(1)
_GET = _WITH_RATING.where(_OF, hand_offs.c.number == bindparam("which"))
_IS_OPEN = hand_offs.c.ended_at.is_(None)
_STILL_OPEN = (
    _WITH_RATING.where(_IS_OPEN)
    .order_by(hand_offs.c.opened_at, hand_offs.c.conversation_id)
    .limit(bindparam("most"))
)
_COUNT = select(func.count().label("n")).where(_IS_OPEN)
_COUNT_UNATTENDED = _COUNT.where(hand_offs.c.attended_by.is_(None))
_ENDING_IN = (
    select(hand_offs.c.conversation_id)
    .where(hand_offs.c.conversation_id.like(bindparam("pattern")))
    .distinct()
    .order_by(hand_offs.c.conversation_id.desc())
    .limit(2)
)
_UNATTENDED = (
    _WITH_RATING.where(
        _IS_OPEN,
        hand_offs.c.attended_by.is_(None),
        hand_offs.c.reminded_at.is_(None),
        hand_offs.c.opened_at <= bindparam("before"),
    )
    .order_by(hand_offs.c.opened_at, hand_offs.c.conversation_id)
    .limit(1)
)
_ADD = insert(hand_offs)
_SAVE = (
    update(hand_offs)
    .where(_OF, hand_offs.c.number == bindparam("which"))
    .values(
        body=bindparam("new_body"),
        attended_by=bindparam("who"),
        attended_name=bindparam("name"),
        joined_at=bindparam("joined"),
        ended_at=bindparam("ended"),
        ended_by=bindparam("by"),
        reminded_at=bindparam("reminded"),
    )
)
_ATTEND = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation"))
    .values(
        attended_by=bindparam("who"), attended_name=bindparam("name"), handed_off=bindparam("open")
    )
)


def add(
    tx: Tx, conversation_id: ConversationId, run_id: RunId, body: Payload, at: datetime
) -> HandOff:
    """Store that people are called, here and on the conversation; the one before has ended."""
    before = newest(tx, conversation_id)
    number = 1 if before is None else before.number + 1
    tx.put(
        _ADD,
        {
            "conversation_id": conversation_id,
            "number": number,
            "run_id": run_id,
            "body": canonical(body),
            "opened_at": to_micros(at),
        },
    )
    tx.change(_ATTEND, conversation=conversation_id, who=None, name=None, open=1)
    return HandOff(conversation_id, number, run_id, body, at)


def newest(tx: Tx, conversation_id: ConversationId) -> HandOff | None:
    """Return the last time that people were called, None where they never were."""
    row = tx.one(_NEWEST, conversation=conversation_id)
    return None if row is None else _read(row)


def open_in(tx: Tx, conversation_id: ConversationId) -> HandOff | None:
    """Return the hand-off that lasts, None where the agent is alone with the customer."""
    found = newest(tx, conversation_id)
    return None if found is None or found.ended_at is not None else found


def get(tx: Tx, conversation_id: ConversationId, number: int) -> HandOff | None:
    """Return one hand-off, None if there is none of that number."""
    row = tx.one(_GET, conversation=conversation_id, which=number)
    return None if row is None else _read(row)


def still_open(tx: Tx, most: int) -> tuple[HandOff, ...]:
    """Return the hand-offs that last, the oldest first."""
    return tuple(_read(row) for row in tx.all(_STILL_OPEN, most=most))


def count_open(tx: Tx) -> int:
    """Return how many hand-offs last."""
    row = tx.one(_COUNT)
    return 0 if row is None else int(row["n"])


def count_unattended(tx: Tx) -> int:
    """Return how many customers were promised a person and have none yet."""
    row = tx.one(_COUNT_UNATTENDED)
    return 0 if row is None else int(row["n"])


def ending_in(tx: Tx, tail: str) -> tuple[ConversationId, ...]:
    """Return the conversations with a hand-off whose id ends so, at most two.

    `tail` is of capital letters and digits.
    """
    rows = tx.all(_ENDING_IN, pattern=f"%{tail}")
    return tuple(ConversationId(row["conversation_id"]) for row in rows)


def unattended(tx: Tx, before: datetime) -> HandOff | None:
    """Return the oldest that nobody has taken since `before`, and of which nobody was reminded."""
    row = tx.one(_UNATTENDED, before=to_micros(before))
    return None if row is None else _read(row)


def amend(tx: Tx, hand_off: HandOff, body: Payload) -> HandOff:
    """Store what is new about why a person is needed."""
    return _save(tx, replace(hand_off, body=body))


def join(tx: Tx, hand_off: HandOff, who: ActorId, name: str, at: datetime) -> HandOff:
    """Store who answers from now on, here and on the conversation."""
    tx.change(_ATTEND, conversation=hand_off.conversation_id, who=who, name=name, open=1)
    return _save(tx, replace(hand_off, attended_by=who, attended_name=name, joined_at=at))


def end(tx: Tx, hand_off: HandOff, by: str, at: datetime) -> HandOff:
    """Store that the agent answers again, and by whose word."""
    tx.change(_ATTEND, conversation=hand_off.conversation_id, who=None, name=None, open=0)
    return _save(tx, replace(hand_off, ended_at=at, ended_by=by))


def remind(tx: Tx, hand_off: HandOff, at: datetime) -> HandOff:
    """Store that people on call were told that nobody has come."""
    return _save(tx, replace(hand_off, reminded_at=at))


def _save(tx: Tx, hand_off: HandOff) -> HandOff:
    values: Mapping[str, object] = {
        "new_body": canonical(hand_off.body),
        "who": hand_off.attended_by,
        "name": hand_off.attended_name,
        "joined": micros_or_none(hand_off.joined_at),
        "ended": micros_or_none(hand_off.ended_at),
        "by": hand_off.ended_by,
        "reminded": micros_or_none(hand_off.reminded_at),
    }
    tx.change(_SAVE, conversation=hand_off.conversation_id, which=hand_off.number, **values)
    return hand_off


def _read(row: Row) -> HandOff:
    return HandOff(
        conversation_id=ConversationId(row["conversation_id"]),
        number=row["number"],
        run_id=RunId(row["run_id"]),
        body=json.loads(row["body"]),
        opened_at=from_micros(row["opened_at"]),
        attended_by=None if row["attended_by"] is None else ActorId(row["attended_by"]),
        attended_name=row["attended_name"],
        joined_at=time_or_none(row["joined_at"]),
        ended_at=time_or_none(row["ended_at"]),
        ended_by=row["ended_by"],
        reminded_at=time_or_none(row["reminded_at"]),
        rating=row["rating"],
    )
