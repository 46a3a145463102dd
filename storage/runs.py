"""Runs, the transcript, and the queue of turns under a fenced lease."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, exists, insert, or_, select, text, update

from agent.domain.conversation import ChatMessage, Run, RunState, ToolCall
from agent.domain.errors import FenceLost
from agent.domain.ids import ConversationId, RunId
from storage.outbox import OutboxRow, read_row
from storage.tables import conversations, messages, outbox, runs
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_INSERT = insert(runs)
_GET = select(runs).where(runs.c.id == bindparam("run"))
_PAGE = (
    select(runs)
    .where(runs.c.state == bindparam("wanted"), runs.c.id > bindparam("after"))
    .order_by(runs.c.id)
    .limit(bindparam("most"))
)
_NEWEST = select(runs).order_by(runs.c.id.desc()).limit(bindparam("most"))
_SET_STATE = (
    update(runs)
    .where(runs.c.id == bindparam("run"))
    .values(
        state=bindparam("new_state"),
        step=runs.c.step + bindparam("steps"),
        updated_at=bindparam("now"),
        error=bindparam("problem"),
    )
)
_earlier = outbox.alias("earlier")
_NEXT_TURN = (
    select(outbox, conversations.c.customer_id)
    .join(conversations, conversations.c.id == outbox.c.conversation_id)
    .where(
        outbox.c.lane == "turn",
        outbox.c.next_at <= bindparam("now"),
        or_(conversations.c.lease_until.is_(None), conversations.c.lease_until <= bindparam("now")),
        ~exists(
            select(text("1"))
            .select_from(_earlier)
            .where(
                _earlier.c.conversation_id == outbox.c.conversation_id,
                _earlier.c.lane == "turn",
                _earlier.c.id < outbox.c.id,
            )
        ),
    )
    .order_by(outbox.c.id)
    .limit(1)
    # The queue row too: one that another worker has just answered must not be seen any more.
    .with_for_update(of=(conversations, outbox), skip_locked=True, key_share=True)
)
_TAKE_LEASE = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"),
        or_(conversations.c.lease_until.is_(None), conversations.c.lease_until <= bindparam("now")),
    )
    .values(
        fence=conversations.c.fence + 1,
        lease_owner=bindparam("owner"),
        lease_until=bindparam("until"),
    )
    .returning(conversations.c.fence)
)
_COUNT_TRY = (
    update(outbox).where(outbox.c.id == bindparam("row_id")).values(attempts=outbox.c.attempts + 1)
)
_RENEW = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"), conversations.c.fence == bindparam("mine")
    )
    .values(lease_until=bindparam("until"))
    .returning(conversations.c.id)
)
_PEEK = select(conversations.c.stop_requested).where(
    conversations.c.id == bindparam("conversation"), conversations.c.fence == bindparam("mine")
)
_RELEASE = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"), conversations.c.fence == bindparam("mine")
    )
    .values(lease_owner=None, lease_until=None, stop_requested=0)
)
_PAUSE = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"), conversations.c.fence == bindparam("mine")
    )
    .values(lease_owner=None, lease_until=None)
)
_RELEASE_OWNER = (
    update(conversations)
    .where(conversations.c.lease_owner == bindparam("owner"))
    .values(lease_owner=None, lease_until=None)
)
_MOVE_POSITION = (
    update(conversations)
    .where(
        conversations.c.id == bindparam("conversation"), conversations.c.fence == bindparam("mine")
    )
    .values(last_position=conversations.c.last_position + bindparam("more"))
    .returning(conversations.c.last_position)
)
_PUT_MESSAGE = insert(messages)
_TAIL = (
    select(messages)
    .where(messages.c.conversation_id == bindparam("conversation"))
    .order_by(messages.c.position.desc())
    .limit(bindparam("most"))
)
_LENGTH = select(conversations.c.last_position).where(
    conversations.c.id == bindparam("conversation")
)
_OF_RUN = (
    select(messages).where(messages.c.run_id == bindparam("run")).order_by(messages.c.position)
)
_TOOL_RESULT = select(messages.c.content).where(
    messages.c.run_id == bindparam("run"),
    messages.c.role == "tool",
    messages.c.call_id == bindparam("call"),
)
_MARK = (
    select(messages.c.position)
    .where(messages.c.run_id == bindparam("run"), messages.c.call_id == bindparam("mark"))
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn this process holds: the queue row, and the fence that every append must match.

    `customer_id` is for whom it is, None for a visitor, also one who has been signed in since.
    """

    row: OutboxRow
    conversation_id: ConversationId
    run_id: RunId
    customer_id: str | None
    fence: int


def add(tx: Tx, run: Run) -> None:
    """Store a new run."""
    tx.put(
        _INSERT,
        {
            "id": run.id,
            "conversation_id": run.conversation_id,
            "message_id": run.message_id,
            "state": run.state.value,
            "step": run.step,
            "created_at": to_micros(run.created_at),
            "updated_at": to_micros(run.updated_at),
            "error": run.error,
            "tools_version": run.tools_version,
        },
    )


def get(tx: Tx, run_id: RunId) -> Run | None:
    """Return the run, None if there is none."""
    row = tx.one(_GET, run=run_id)
    return None if row is None else _read(row)


def page(tx: Tx, state: RunState, after: str, limit: int) -> tuple[Run, ...]:
    """Return runs of a state with id > `after`, oldest first."""
    return tuple(_read(r) for r in tx.all(_PAGE, wanted=state.value, after=after, most=limit))


def newest(tx: Tx, limit: int) -> tuple[Run, ...]:
    """Return the newest runs of any state."""
    return tuple(_read(row) for row in tx.all(_NEWEST, most=limit))


def set_state(
    tx: Tx,
    run_id: RunId,
    state: RunState,
    at: datetime,
    *,
    steps: int = 0,
    error: str | None = None,
) -> None:
    """Note the run's state; `steps` is how many model answers were added."""
    tx.change(
        _SET_STATE,
        run=run_id,
        new_state=state.value,
        steps=steps,
        now=to_micros(at),
        problem=error,
    )


def claim_turn(tx: Tx, owner: str, now: datetime, lease: timedelta) -> Turn | None:
    """Take the oldest waiting turn of a conversation nobody holds; None when there is none."""
    micros = to_micros(now)
    row = tx.one(_NEXT_TURN, now=micros)
    if row is None:
        return None
    leased = tx.one(
        _TAKE_LEASE,
        conversation=row["conversation_id"],
        owner=owner,
        now=micros,
        until=to_micros(now + lease),
    )
    if leased is None:
        return None
    found = read_row(row)
    turn = Turn(
        row=found,
        conversation_id=row["conversation_id"],
        run_id=row["run_id"],
        customer_id=None if found.body.get("by_visitor") else row["customer_id"],
        fence=leased["fence"],
    )
    if tx.change(_COUNT_TRY, row_id=row["id"]) != 1:
        # Another worker answered it between this query's snapshot and the lease.
        pause(tx, turn)
        return None
    return turn


def hold(tx: Tx, turn: Turn, until: datetime) -> None:
    """Renew the lease; raises FenceLost when somebody else holds the conversation."""
    renewed = tx.one(
        _RENEW, conversation=turn.conversation_id, mine=turn.fence, until=to_micros(until)
    )
    if renewed is None:
        raise FenceLost(turn.conversation_id)


def is_stopped(tx: Tx, turn: Turn) -> bool:
    """Tell whether the customer asked to stop; raises FenceLost when the lease is lost."""
    row = tx.one(_PEEK, conversation=turn.conversation_id, mine=turn.fence)
    if row is None:
        raise FenceLost(turn.conversation_id)
    return bool(row["stop_requested"])


def release(tx: Tx, turn: Turn) -> None:
    """Give the conversation back at the end of a turn; a lease lost meanwhile is left alone."""
    tx.change(_RELEASE, conversation=turn.conversation_id, mine=turn.fence)


def pause(tx: Tx, turn: Turn) -> None:
    """Give the conversation back; what the customer wants stopped is still to come."""
    tx.change(_PAUSE, conversation=turn.conversation_id, mine=turn.fence)


def release_owner(tx: Tx, owner: str) -> int:
    """Give back every conversation that a dead replica holds."""
    return tx.change(_RELEASE_OWNER, owner=owner)


def append(tx: Tx, turn: Turn, at: datetime, *added: ChatMessage) -> None:
    """Add messages to the transcript; raises FenceLost when somebody else holds it."""
    row = tx.one(
        _MOVE_POSITION, conversation=turn.conversation_id, mine=turn.fence, more=len(added)
    )
    if row is None:
        raise FenceLost(turn.conversation_id)
    first = row["last_position"] - len(added) + 1
    tx.put(
        _PUT_MESSAGE,
        *(
            {
                "conversation_id": turn.conversation_id,
                "position": first + offset,
                "run_id": turn.run_id,
                "role": message.role,
                "content": message.content,
                "calls": _calls_text(message.calls),
                "call_id": message.call_id,
                "at": to_micros(at),
            }
            for offset, message in enumerate(added)
        ),
    )


def tail(tx: Tx, conversation_id: ConversationId, limit: int) -> tuple[ChatMessage, ...]:
    """Return the transcript's last messages, oldest first."""
    rows = tx.all(_TAIL, conversation=conversation_id, most=limit)
    return tuple(_message(row) for row in reversed(rows))


def length(tx: Tx, conversation_id: ConversationId) -> int:
    """Return how many messages the transcript has; raises LookupError."""
    row = tx.one(_LENGTH, conversation=conversation_id)
    if row is None:
        raise LookupError(conversation_id)
    return int(row["last_position"])


def transcript_of(tx: Tx, run_id: RunId) -> tuple[ChatMessage, ...]:
    """Return the messages that belong to a run."""
    return tuple(_message(row) for row in tx.all(_OF_RUN, run=run_id))


def tool_result(tx: Tx, run_id: RunId, call_id: str) -> str | None:
    """Return the stored result of a call, None while it has none."""
    row = tx.one(_TOOL_RESULT, run=run_id, call=call_id)
    return None if row is None else row["content"]


def is_marked(tx: Tx, run_id: RunId, mark: str) -> bool:
    """Tell whether the run's transcript holds a message of this call id or mark."""
    return tx.one(_MARK, run=run_id, mark=mark) is not None


def _calls_text(calls: tuple[ToolCall, ...]) -> str | None:
    if not calls:
        return None
    return json.dumps([[c.call_id, c.name, c.arguments] for c in calls])


def _message(row: Row) -> ChatMessage:
    calls = () if row["calls"] is None else tuple(ToolCall(*c) for c in json.loads(row["calls"]))
    return ChatMessage(
        role=row["role"], content=row["content"], calls=calls, call_id=row["call_id"]
    )


def _read(row: Row) -> Run:
    return Run(
        id=RunId(row["id"]),
        conversation_id=ConversationId(row["conversation_id"]),
        message_id=row["message_id"],
        state=RunState(row["state"]),
        step=row["step"],
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        error=row["error"],
        tools_version=row["tools_version"],
    )
