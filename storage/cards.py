"""Where the card of an approval was posted; every copy is kept and updated."""

from datetime import datetime

from sqlalchemy import bindparam, delete, select, text

from agent.domain.ids import ApprovalId
from agent.ports import MessageRef
from storage.tables import slack_messages
from storage.times import to_micros
from storage.transaction import Tx

_ADD = text(
    "INSERT INTO slack_messages (channel, ts, approval_id, outbox_id, posted_at) "
    "VALUES (:channel, :ts, :approval, :outbox, :at) ON CONFLICT (channel, ts) DO NOTHING"
)
_OF = (
    select(slack_messages.c.channel, slack_messages.c.ts)
    .where(slack_messages.c.approval_id == bindparam("approval"))
    .order_by(slack_messages.c.posted_at)
)
_AT = select(slack_messages.c.approval_id).where(
    slack_messages.c.channel == bindparam("where_channel"),
    slack_messages.c.ts == bindparam("when_ts"),
)
_FORGET = delete(slack_messages).where(
    slack_messages.c.channel == bindparam("where_channel"),
    slack_messages.c.ts == bindparam("when_ts"),
)


def note(tx: Tx, approval_id: ApprovalId, outbox_id: str, ref: MessageRef, at: datetime) -> None:
    """Remember a posted card."""
    tx.change(
        _ADD,
        channel=ref.channel,
        ts=ref.ts,
        approval=approval_id,
        outbox=outbox_id,
        at=to_micros(at),
    )


def of(tx: Tx, approval_id: ApprovalId) -> tuple[MessageRef, ...]:
    """Return every copy of the card, oldest first."""
    return tuple(MessageRef(r["channel"], r["ts"]) for r in tx.all(_OF, approval=approval_id))


def forget(tx: Tx, ref: MessageRef) -> None:
    """Forget a card that is gone from Slack."""
    tx.change(_FORGET, where_channel=ref.channel, when_ts=ref.ts)


def approval_at(tx: Tx, ref: MessageRef) -> ApprovalId | None:
    """Return which approval a posted card belongs to."""
    row = tx.one(_AT, where_channel=ref.channel, when_ts=ref.ts)
    return None if row is None else ApprovalId(row["approval_id"])
