"""A message that is there is written down: where it is, that people can see it, what follows."""

from datetime import datetime

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.audit import AuditType
from agent.domain.escalation import Level
from agent.domain.hand_offs import named
from agent.domain.ids import ApprovalId, RunId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import Delivered, Delivery, DeliveryKind, MessageRef
from agent.steps.alerts import raise_alert
from agent.steps.load_delivery import OF_ALERTS, OF_HAND_OFFS, shows
from agent.steps.outcomes import slack_message
from agent.steps.try_delivery import There
from storage import alerts, approvals, audit, cards, deliveries, hand_offs, outbox
from storage.deliveries import Taken
from storage.outbox import Message, OutboxRow
from storage.transaction import Tx

# What is posted again when the last copy that an update could reach is gone.
_POSTED_AS = {
    DeliveryKind.CARD_UPDATE: DeliveryKind.CARD,
    DeliveryKind.ALERT_UPDATE: DeliveryKind.ALERT,
    DeliveryKind.HAND_OFF_UPDATE: DeliveryKind.HAND_OFF,
}
# What draws a thing anew, for each kind that draws it.
_DRAWN_BY = {
    DeliveryKind.CARD: DeliveryKind.CARD_UPDATE,
    DeliveryKind.CARD_UPDATE: DeliveryKind.CARD_UPDATE,
    DeliveryKind.REVIEW: DeliveryKind.REVIEW_UPDATE,
    DeliveryKind.REVIEW_UPDATE: DeliveryKind.REVIEW_UPDATE,
    DeliveryKind.ALERT: DeliveryKind.ALERT_UPDATE,
    DeliveryKind.ALERT_UPDATE: DeliveryKind.ALERT_UPDATE,
    DeliveryKind.PING: DeliveryKind.PING_UPDATE,
    DeliveryKind.PING_UPDATE: DeliveryKind.PING_UPDATE,
    DeliveryKind.HAND_OFF: DeliveryKind.HAND_OFF_UPDATE,
    DeliveryKind.HAND_OFF_UPDATE: DeliveryKind.HAND_OFF_UPDATE,
}


def note_delivered(tx: Tx, desk: Desk, taken: Taken, there: There, now: datetime) -> None:
    """Write down what is there, and drop what has nothing to say any more.

    Whoever lost the lease may have drawn over a newer picture: it is drawn once more.
    """
    row, answer = taken.row, there.answer
    for ref in answer.lost_refs:
        cards.forget(tx, ref)
    if row.kind == DeliveryKind.CARD and answer.refs and row.approval_id is not None:
        approvals.note_shown(tx, row.approval_id, now)
    if deliveries.arrived(tx, taken):
        deliveries.drop(tx, there.loaded.needless)
        outbox.add(tx, now, *_following(tx, desk, row, there.loaded.delivery, answer))
    elif (kind := _DRAWN_BY.get(DeliveryKind(row.kind))) is not None:
        outbox.add(tx, now, _same_about(desk, row, kind))
    _note_refs(tx, desk, row, answer.refs, now)
    if answer.complaint is not None:
        _tell_complaint(tx, desk, row, answer.complaint, now)


def _following(
    tx: Tx, desk: Desk, row: OutboxRow, delivery: Delivery, there: Delivered
) -> list[Message]:
    """Return what is to be posted or drawn because of what is there now."""
    found = []
    closed = {channel for channel, _ in there.closed}
    kind = _POSTED_AS.get(delivery.kind)
    is_wanted = delivery.alert is None or delivery.alert.is_open
    if delivery.hand_off is not None:
        is_wanted = delivery.hand_off.ended_at is None
    left = set(delivery.within_reach) - set(there.lost_refs)
    is_seen = any(ref.channel not in closed for ref in left)
    if kind is not None and is_wanted and delivery.refs and not is_seen:
        found.append(_same_about(desk, row, kind))
    view = delivery.approval
    if delivery.kind is DeliveryKind.CARD and view is not None and there.refs:
        replaced = None if (old := view.approval.supersedes) is None else approvals.get(tx, old)
        if replaced is not None:
            # Its card is to link to the one that was just posted.
            key = f"card_update:{replaced.id}:linked"
            found.append(slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, replaced))
    return found


def _same_about(desk: Desk, row: OutboxRow, kind: DeliveryKind) -> Message:
    """Return a message of another kind about the same thing."""
    new = slack_message(desk, kind, f"{kind}:{row.about}:{row.id}", row.body)
    return Message(
        id=new.id,
        lane=new.lane,
        kind=new.kind,
        key=new.key,
        body=row.body,
        conversation_id=row.conversation_id,
        run_id=row.run_id,
        approval_id=row.approval_id,
        place=new.place,
        about=row.about,
    )


def _note_refs(
    tx: Tx, desk: Desk, row: OutboxRow, refs: tuple[MessageRef, ...], now: datetime
) -> None:
    if DeliveryKind(row.kind) in OF_ALERTS:
        _note_alert(tx, desk, row, refs, now)
    elif DeliveryKind(row.kind) in OF_HAND_OFFS:
        _note_hand_off(tx, desk, row, refs, now)
    elif row.approval_id is not None:
        _note_card(tx, desk, row, row.approval_id, refs, now)


def _note_card(
    tx: Tx,
    desk: Desk,
    row: OutboxRow,
    approval_id: ApprovalId,
    refs: tuple[MessageRef, ...],
    now: datetime,
) -> None:
    kind = shows(DeliveryKind(row.kind))
    for ref in refs:
        posted: Payload = {"channel": ref.channel, "ts": ref.ts}
        if row.kind == DeliveryKind.PING:
            level = Level.named(row.body["level"])
            cards.note_ping(tx, approval_id, level, row.id, ref, now)
            tag, posted = AuditType.PING_POSTED, {**posted, "level": level.key}
        else:
            cards.note(tx, approval_id, row.id, ref, now, kind)
            tag, posted = AuditType.CARD_POSTED, {**posted, "kind": kind.value}
        _note(tx, desk, now, tag, posted, approval_id, row.run_id)


def _note_alert(
    tx: Tx, desk: Desk, row: OutboxRow, refs: tuple[MessageRef, ...], now: datetime
) -> None:
    subject = str(row.body["subject"])
    alert = alerts.get(tx, subject) if refs else None
    run_id = None if alert is None else alerts.run_of(tx, alert)
    for ref in refs:
        cards.note_alert(tx, subject, row.id, ref, now)
        posted: Payload = {"subject": subject, "channel": ref.channel, "ts": ref.ts}
        about = None if alert is None else alert.approval_id
        _note(tx, desk, now, AuditType.ALERT_POSTED, posted, about, run_id)


def _note_hand_off(
    tx: Tx, desk: Desk, row: OutboxRow, refs: tuple[MessageRef, ...], now: datetime
) -> None:
    hand_off = hand_offs.get(tx, *named(row.body)) if refs else None
    if hand_off is None:
        return
    for ref in refs:
        cards.note_hand_off(tx, hand_off.subject, row.id, ref, now)
        posted: Payload = {
            "conversation_id": hand_off.conversation_id,
            "channel": ref.channel,
            "ts": ref.ts,
        }
        _note(tx, desk, now, AuditType.HAND_OFF_POSTED, posted, None, hand_off.run_id)


def _note(
    tx: Tx,
    desk: Desk,
    now: datetime,
    tag: AuditType,
    data: Payload,
    about: ApprovalId | None,
    run_id: RunId | None,
) -> None:
    audit.append(tx, run_id, now, audit.Fact(tag, desk.replica, Channel.SLACK, data, about))


def _tell_complaint(tx: Tx, desk: Desk, row: OutboxRow, complaint: str, now: datetime) -> None:
    """Tell people on call, once until they have seen it, that a plainer message had to do."""
    text = (
        f"Slack refused a {row.kind} as it was drawn, so a plainer one was posted: {complaint}. "
        "Everything that is decided on is in it or one click away; the drawing is to be mended."
    )
    body: Payload = {"text": text[:1000]}
    raise_alert(tx, desk, now, f"blocks:{row.kind}", AlertKind.BLOCKS_REFUSED, body)
