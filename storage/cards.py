"""Where a card, a review message, an alert, a ping or a hand-off was posted; each copy is kept."""

from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import bindparam, delete, or_, select, text

from agent.domain.approvals import Approval
from agent.domain.escalation import Level
from agent.domain.ids import ApprovalId
from agent.ports import MessageRef
from storage import approvals
from storage.tables import approvals as approvals_table
from storage.tables import slack_messages
from storage.times import to_micros
from storage.transaction import Tx

# No request is open for longer after its card was posted.
_LIVES = timedelta(days=40)


class MessageKind(StrEnum):
    """What a posted message shows.

    A request, a look back at it, an alert, that it waits still, a customer who needs a person.
    """

    CARD = "card"
    REVIEW = "review"
    ALERT = "alert"
    PING = "ping"
    HAND_OFF = "hand_off"


_ADD = text(
    "INSERT INTO slack_messages (channel, ts, approval_id, subject, outbox_id, kind, posted_at) "
    "VALUES (:channel, :ts, :approval, :subject, :outbox, :kind, :at) "
    "ON CONFLICT (channel, ts) DO NOTHING"
)
_OF = (
    select(slack_messages.c.channel, slack_messages.c.ts)
    .where(
        slack_messages.c.approval_id == bindparam("approval"),
        slack_messages.c.kind == bindparam("wanted"),
    )
    .order_by(slack_messages.c.posted_at)
)
_OF_SUBJECT = (
    select(slack_messages.c.channel, slack_messages.c.ts)
    .where(slack_messages.c.subject == bindparam("about"))
    .order_by(slack_messages.c.posted_at)
)
_SHOWN_IN = (
    select(approvals_table)
    .where(
        approvals_table.c.id.in_(
            select(slack_messages.c.approval_id).where(
                slack_messages.c.channel == bindparam("where_channel"),
                slack_messages.c.ts >= bindparam("since_ts"),
                slack_messages.c.kind == MessageKind.CARD.value,
            )
        )
    )
    .order_by(approvals_table.c.id)
)
_WAITING_IN = _SHOWN_IN.where(text("status = 'pending'"))
_CHANGED_IN = _SHOWN_IN.where(
    or_(approvals_table.c.ended_at.is_(None), approvals_table.c.ended_at >= bindparam("since"))
)
_FORGET_SUBJECT = delete(slack_messages).where(slack_messages.c.subject == bindparam("about"))
_AT = select(slack_messages.c.approval_id).where(
    slack_messages.c.channel == bindparam("where_channel"),
    slack_messages.c.ts == bindparam("when_ts"),
)
_SUBJECT_AT = select(slack_messages.c.subject).where(
    slack_messages.c.channel == bindparam("where_channel"),
    slack_messages.c.ts == bindparam("when_ts"),
)
_FORGET = delete(slack_messages).where(
    slack_messages.c.channel == bindparam("where_channel"),
    slack_messages.c.ts == bindparam("when_ts"),
)


def note(
    tx: Tx,
    approval_id: ApprovalId,
    outbox_id: str,
    ref: MessageRef,
    at: datetime,
    kind: MessageKind = MessageKind.CARD,
) -> None:
    """Remember a posted message."""
    _note(tx, (approval_id, None), outbox_id, ref, at, kind)


def note_alert(tx: Tx, subject: str, outbox_id: str, ref: MessageRef, at: datetime) -> None:
    """Remember a posted message about a subject of alerts."""
    _note(tx, (None, subject), outbox_id, ref, at, MessageKind.ALERT)


def note_hand_off(tx: Tx, subject: str, outbox_id: str, ref: MessageRef, at: datetime) -> None:
    """Remember the message of a hand-off."""
    _note(tx, (None, subject), outbox_id, ref, at, MessageKind.HAND_OFF)


def note_ping(
    tx: Tx, approval_id: ApprovalId, level: Level, outbox_id: str, ref: MessageRef, at: datetime
) -> None:
    """Remember a message that brought a request up again."""
    about = approval_id, _ping(approval_id, level)
    _note(tx, about, outbox_id, ref, at, MessageKind.PING)


def _note(
    tx: Tx,
    about: tuple[ApprovalId | None, str | None],
    outbox_id: str,
    ref: MessageRef,
    at: datetime,
    kind: MessageKind,
) -> None:
    approval_id, subject = about
    tx.change(
        _ADD,
        channel=ref.channel,
        ts=ref.ts,
        approval=approval_id,
        subject=subject,
        outbox=outbox_id,
        kind=kind.value,
        at=to_micros(at),
    )


def of_ping(tx: Tx, approval_id: ApprovalId, level: Level) -> tuple[MessageRef, ...]:
    """Return every message that brought a request up to this level, oldest first."""
    return of_subject(tx, _ping(approval_id, level))


def _ping(approval_id: ApprovalId, level: Level) -> str:
    return f"ping:{approval_id}:{level.key}"


def of(
    tx: Tx, approval_id: ApprovalId, kind: MessageKind = MessageKind.CARD
) -> tuple[MessageRef, ...]:
    """Return every copy of the card, or of the review message, oldest first."""
    rows = tx.all(_OF, approval=approval_id, wanted=kind.value)
    return tuple(MessageRef(row["channel"], row["ts"]) for row in rows)


def of_subject(tx: Tx, subject: str) -> tuple[MessageRef, ...]:
    """Return every message about a subject, oldest first."""
    rows = tx.all(_OF_SUBJECT, about=subject)
    return tuple(MessageRef(row["channel"], row["ts"]) for row in rows)


def forget_subject(tx: Tx, subject: str) -> None:
    """Leave the messages about a subject as they are: it begins anew."""
    tx.change(_FORGET_SUBJECT, about=subject)


def waiting_in(tx: Tx, channel: str, now: datetime) -> tuple[Approval, ...]:
    """Return the requests that wait for people and have a card in a channel, oldest first."""
    rows = tx.all(_WAITING_IN, where_channel=channel, since_ts=_ts(now - _LIVES))
    return approvals.readable(rows)


def changed_in(tx: Tx, channel: str, since: datetime) -> tuple[Approval, ...]:
    """Return the requests with a card in a channel that may have changed since a time."""
    rows = tx.all(
        _CHANGED_IN,
        where_channel=channel,
        since_ts=_ts(since - _LIVES),
        since=to_micros(since),
    )
    return approvals.readable(rows)


def forget(tx: Tx, ref: MessageRef) -> None:
    """Forget a message that is gone from Slack."""
    tx.change(_FORGET, where_channel=ref.channel, when_ts=ref.ts)


def approval_at(tx: Tx, ref: MessageRef) -> ApprovalId | None:
    """Return which approval a posted message belongs to, None for an alert's."""
    row = tx.one(_AT, where_channel=ref.channel, when_ts=ref.ts)
    return None if row is None or row["approval_id"] is None else ApprovalId(row["approval_id"])


def subject_at(tx: Tx, ref: MessageRef) -> str | None:
    """Return what the alert at a posted message is about, None where there is none."""
    row = tx.one(_SUBJECT_AT, where_channel=ref.channel, when_ts=ref.ts)
    return None if row is None or row["subject"] is None else str(row["subject"])


def _ts(moment: datetime) -> str:
    """Return the least `ts` of a message posted at a time; Slack's count seconds since 1970."""
    return f"{to_micros(moment) // 1_000_000:010d}"
