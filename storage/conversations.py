"""Conversations and the customer's log of events."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, exists, func, insert, or_, select, text, update

from agent.domain.conversation import Conversation, EventType, LogEvent
from agent.domain.ids import ActorId, ConversationId, CustomerId, RunId
from agent.domain.languages import Language, language_of
from agent.domain.payload import Payload, canonical
from storage.tables import conversations, events, outbox, runs
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_INSERT = insert(conversations)
_GET = select(conversations).where(conversations.c.id == bindparam("conversation"))
_LOCK = _GET.with_for_update(key_share=True)
_BY_TOKEN = select(conversations).where(conversations.c.anonymous_hash == bindparam("token_hash"))
_OF_CUSTOMER = (
    select(conversations)
    .where(conversations.c.customer_id == bindparam("customer"))
    .order_by(conversations.c.id.desc())
    .limit(100)
)
_NEXT_SEQ = (
    update(conversations)
    .where(conversations.c.id == bindparam("conversation"))
    .values(last_seq=conversations.c.last_seq + 1)
    .returning(conversations.c.last_seq)
)
_PUT_EVENT = insert(events)
_EVENTS_AFTER = (
    select(events)
    .where(events.c.conversation_id == bindparam("conversation"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("limit"))
)
_BY_CLIENT_ID = select(events).where(
    events.c.conversation_id == bindparam("conversation"),
    events.c.client_id == bindparam("client"),
)
_OF_RUN = (
    select(events).join(runs, runs.c.message_id == events.c.id).where(runs.c.id == bindparam("run"))
)
_LANGUAGE = select(conversations.c.language).where(conversations.c.id == bindparam("conversation"))
_BY_OUTCOME = select(events).where(events.c.outcome_key == bindparam("outcome"))
# Until its turn has ended, a message or an outcome that the agent is to speak of is queued.
_IS_THINKING = exists(
    select(text("1"))
    .select_from(outbox)
    .where(
        outbox.c.conversation_id == conversations.c.id,
        outbox.c.lane == "turn",
        outbox.c.kind.in_(("message", "outcome")),
    )
)
_STANDINGS = select(
    conversations.c.id, conversations.c.last_seq, _IS_THINKING.label("is_thinking")
).where(conversations.c.id.in_(bindparam("conversation_ids", expanding=True)))
_READ = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"),
        conversations.c.read_seq < bindparam("seq"),
        conversations.c.last_seq >= bindparam("seq"),
    )
    .values(read_seq=bindparam("seq"))
)
_SPEAK = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"),
        conversations.c.language.is_distinct_from(bindparam("tongue")),
    )
    .values(language=bindparam("tongue"))
)
_RATE = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"),
        or_(
            conversations.c.rating.is_distinct_from(bindparam("score")),
            conversations.c.rating_comment.is_distinct_from(bindparam("comment")),
        ),
    )
    .values(
        rating=bindparam("score"), rating_comment=bindparam("comment"), rated_at=bindparam("at")
    )
)
_RATINGS = (
    select(conversations.c.rating, func.count().label("number"))
    .where(conversations.c.rating.is_not(None))
    .group_by(conversations.c.rating)
)
_STOP = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"),
        or_(conversations.c.lease_owner.is_not(None), _IS_THINKING),
    )
    .values(stop_requested=1)
)
_HURRY_TURN = (
    update(outbox)
    .where(
        outbox.c.conversation_id == bindparam("conversation"),
        outbox.c.lane == "turn",
        outbox.c.kind == "message",
        outbox.c.next_at > bindparam("now"),
    )
    .values(next_at=bindparam("now"))
)
_ATTACH = (
    update(conversations)
    .where(
        conversations.c.anonymous_hash == bindparam("token_hash"),
        conversations.c.customer_id.is_(None),
    )
    .values(customer_id=bindparam("customer"), anonymous_hash=None)
)
_FIRST_WORDS = (
    select(events.c.data)
    .where(
        events.c.conversation_id == bindparam("conversation"),
        events.c.type == "message",
        events.c.client_id.is_not(None),
    )
    .order_by(events.c.seq)
    .limit(1)
)
_CUSTOMER_WORDS = (
    select(events.c.data)
    .where(
        events.c.conversation_id == bindparam("conversation"),
        events.c.type == "message",
        events.c.client_id.is_not(None),
        events.c.at <= bindparam("until"),
    )
    .order_by(events.c.seq.desc())
    .limit(bindparam("limit"))
)


_LAST_MESSAGES = (
    select(events)
    .where(events.c.conversation_id == bindparam("conversation"), events.c.type == "message")
    .order_by(events.c.seq.desc())
    .limit(bindparam("limit"))
)


@dataclass(frozen=True, slots=True)
class Entry:
    """An event to add to the log. `outcome_key` makes the telling of an outcome unique."""

    id: str
    type: EventType
    data: Payload
    run_id: RunId | None = None
    client_id: str | None = None
    outcome_key: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest seq of a conversation, and whether the agent is about to say something in it."""

    last_seq: int
    is_thinking: bool


@dataclass(frozen=True, slots=True)
class SentMessage:
    """Where a customer's message landed."""

    message_id: str
    run_id: RunId
    seq: int
    text: str


def create(
    tx: Tx,
    conversation_id: ConversationId,
    customer_id: CustomerId | None,
    anonymous_hash: str | None,
    at: datetime,
    language: Language,
) -> None:
    """Store a new conversation of a customer, or of the holder of an anonymous token."""
    tx.put(
        _INSERT,
        {
            "id": conversation_id,
            "customer_id": customer_id,
            "anonymous_hash": anonymous_hash,
            "created_at": to_micros(at),
            "language": language,
            "last_seq": 0,
            "last_position": 0,
            "read_seq": 0,
            "handed_off": 0,
            "stop_requested": 0,
            "fence": 0,
        },
    )


def get(tx: Tx, conversation_id: ConversationId, *, lock: bool = False) -> Conversation | None:
    """Return the conversation, None if there is none of that id; `lock` holds its log."""
    row = tx.one(_LOCK if lock else _GET, conversation=conversation_id)
    return None if row is None else _read(row)


def lock(tx: Tx, conversation_id: ConversationId) -> None:
    """Let nobody else add to the log until the transaction ends; raises LookupError."""
    if tx.one(_LOCK, conversation=conversation_id) is None:
        raise LookupError(conversation_id)


def by_token(tx: Tx, token_hash: str) -> Conversation | None:
    """Return the conversation of an anonymous visitor's token."""
    row = tx.one(_BY_TOKEN, token_hash=token_hash)
    return None if row is None else _read(row)


def of_customer(tx: Tx, customer_id: CustomerId) -> tuple[Conversation, ...]:
    """Return the customer's conversations, newest first, at most 100."""
    return tuple(_read(row) for row in tx.all(_OF_CUSTOMER, customer=customer_id))


def append(tx: Tx, conversation_id: ConversationId, at: datetime, entry: Entry) -> int:
    """Add an event and return its seq; raises Conflict if its client id or outcome is there."""
    row = tx.one(_NEXT_SEQ, conversation=conversation_id)
    if row is None:
        raise LookupError(conversation_id)
    seq = int(row["last_seq"])
    tx.put(
        _PUT_EVENT,
        {
            "conversation_id": conversation_id,
            "seq": seq,
            "id": entry.id,
            "type": entry.type.value,
            "data": canonical(entry.data),
            "at": to_micros(at),
            "run_id": entry.run_id,
            "client_id": entry.client_id,
            "outcome_key": entry.outcome_key,
        },
    )
    return seq


def events_after(
    tx: Tx, conversation_id: ConversationId, after: int, limit: int = 500
) -> tuple[LogEvent, ...]:
    """Return the log's events with seq > `after`, in order."""
    rows = tx.all(_EVENTS_AFTER, conversation=conversation_id, after=after, limit=limit)
    return tuple(_event(row) for row in rows)


def last_messages(tx: Tx, conversation_id: ConversationId, limit: int) -> tuple[LogEvent, ...]:
    """Return what was said last by anybody, in order."""
    rows = tx.all(_LAST_MESSAGES, conversation=conversation_id, limit=limit)
    return tuple(_event(row) for row in reversed(rows))


def sent(tx: Tx, conversation_id: ConversationId, client_id: str) -> SentMessage | None:
    """Return the message that was stored under a sender's own id."""
    row = tx.one(_BY_CLIENT_ID, conversation=conversation_id, client=client_id)
    return None if row is None else _sent(row)


def words_of_run(tx: Tx, run_id: RunId) -> str:
    """Return the customer's message that a run answers; raises LookupError without one."""
    row = tx.one(_OF_RUN, run=run_id)
    if row is None:
        raise LookupError(run_id)
    return _sent(row).text


def is_told(tx: Tx, outcome_key: str) -> bool:
    """Tell whether the customer's message about an outcome is there already."""
    return tx.one(_BY_OUTCOME, outcome=outcome_key) is not None


def told(tx: Tx, outcome_key: str) -> SentMessage | None:
    """Return the message that was stored under an outcome or another mark of the desk's own."""
    row = tx.one(_BY_OUTCOME, outcome=outcome_key)
    return None if row is None else _sent(row)


def standings(
    tx: Tx, conversation_ids: Collection[ConversationId]
) -> dict[ConversationId, Standing]:
    """Return how each conversation stands that exists."""
    rows = tx.all(_STANDINGS, conversation_ids=list(conversation_ids))
    return {
        ConversationId(row["id"]): Standing(row["last_seq"], bool(row["is_thinking"]))
        for row in rows
    }


def mark_read(tx: Tx, conversation_id: ConversationId, seq: int) -> None:
    """Note that the customer has read up to `seq`; never moves back or past the end."""
    tx.change(_READ, conversation=conversation_id, seq=seq)


def speak(tx: Tx, conversation_id: ConversationId, language: Language) -> None:
    """Note the language in which the customer reads the desk's own words from now on."""
    tx.change(_SPEAK, conversation=conversation_id, tongue=language)


def rate(tx: Tx, conversation_id: ConversationId, score: int, comment: str, at: datetime) -> bool:
    """Keep what the customer says of the help; False when they had said just that before."""
    moment = to_micros(at)
    return (
        tx.change(_RATE, conversation=conversation_id, score=score, comment=comment, at=moment) == 1
    )


def ratings(tx: Tx) -> dict[int, int]:
    """Return how many conversations were rated with each score."""
    return {row["rating"]: row["number"] for row in tx.all(_RATINGS)}


def spoken(tx: Tx, conversation_id: ConversationId) -> Language:
    """Return the language in which the customer reads the desk's own words."""
    row = tx.one(_LANGUAGE, conversation=conversation_id)
    return language_of(None if row is None else row["language"])


def request_stop(tx: Tx, conversation_id: ConversationId) -> None:
    """Ask the turn under way, or else the next in the queue, to end without more words."""
    tx.change(_STOP, conversation=conversation_id)


def stop_turn(tx: Tx, conversation_id: ConversationId, now: datetime) -> None:
    """Ask the turn that answers, or is about to, to end without more words, and that at once.

    The caller holds the conversation: else the turn might end meanwhile, and the next one instead.
    """
    request_stop(tx, conversation_id)
    tx.change(_HURRY_TURN, conversation=conversation_id, now=to_micros(now))


def attach(tx: Tx, token_hash: str, customer_id: CustomerId) -> bool:
    """Give an anonymous visitor's conversation to a customer; the token dies with it."""
    return tx.change(_ATTACH, token_hash=token_hash, customer=customer_id) == 1


def customer_words(
    tx: Tx, conversation_id: ConversationId, limit: int, until: datetime
) -> tuple[str, ...]:
    """Return the customer's last messages up to a time, newest last."""
    rows = tx.all(
        _CUSTOMER_WORDS, conversation=conversation_id, limit=limit, until=to_micros(until)
    )
    return tuple(str(json.loads(row["data"])["text"]) for row in reversed(rows))


def first_words(tx: Tx, conversation_id: ConversationId) -> str:
    """Return the customer's first message, empty when there is none."""
    row = tx.one(_FIRST_WORDS, conversation=conversation_id)
    return "" if row is None else str(json.loads(row["data"])["text"])


def _event(row: Row) -> LogEvent:
    at, kind = from_micros(row["at"]), EventType(row["type"])
    return LogEvent(row["seq"], at, kind, json.loads(row["data"]))


def _sent(row: Row) -> SentMessage:
    return SentMessage(row["id"], row["run_id"], row["seq"], json.loads(row["data"])["text"])


def _read(row: Row) -> Conversation:
    return Conversation(
        id=row["id"],
        customer_id=row["customer_id"],
        created_at=from_micros(row["created_at"]),
        last_seq=row["last_seq"],
        read_seq=row["read_seq"],
        handed_off=bool(row["handed_off"]),
        attended_by=None if row["attended_by"] is None else ActorId(row["attended_by"]),
        attended_name=row["attended_name"],
        language=language_of(row["language"]),
        rating=row["rating"],
    )
