"""What the world must hear leaves the outbox: claimed, delivered at least once, written down."""

from datetime import datetime, timedelta
from typing import assert_never

from agent.desk import Desk
from agent.domain.approvals import ApprovalView, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import DELIVERY_LEASE, backoff
from agent.domain.digest import digest_mark
from agent.domain.errors import Corrupt
from agent.domain.escalation import Level
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import (
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    MessageRef,
    Notifier,
    TryAgain,
    Undeliverable,
)
from storage import alerts, approvals, audit, cards, decisions, digests, marks, outbox
from storage.cards import MessageKind
from storage.outbox import OutboxRow
from storage.transaction import Tx

_BASE = timedelta(seconds=1)
_OF_REVIEWS = frozenset({DeliveryKind.REVIEW, DeliveryKind.REVIEW_UPDATE})
_OF_ALERTS = frozenset({DeliveryKind.ALERT, DeliveryKind.ALERT_UPDATE, DeliveryKind.ALERT_LINE})
# What is posted once and drawn anew from then on.
_KEPT = frozenset({DeliveryKind.CARD, DeliveryKind.REVIEW, DeliveryKind.ALERT, DeliveryKind.PING})
# What only matters as long as the request waits.
_URGING = frozenset({DeliveryKind.PING, DeliveryKind.PING_LINE})


def announce(desk: Desk, notifier: Notifier) -> bool:
    """Deliver the message that is due first for Slack; False when none was.

    One at a time, so that a message that breaks its delivery holds up no other.
    """
    with desk.store.transaction() as tx:
        row = outbox.claim_slack(tx, desk.replica, desk.clock.now(), DELIVERY_LEASE)
    if row is None:
        return False
    _deliver(desk, notifier, row)
    return True


def _deliver(desk: Desk, notifier: Notifier, row: OutboxRow) -> None:
    try:
        delivery = _load(desk, row)
    except Corrupt as corrupt:
        answer: DeliveryAnswer = Undeliverable(str(corrupt))
    else:
        answer = Delivered() if _is_moot(delivery) else notifier.deliver(delivery)
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        match answer:
            case Delivered(refs=refs, lost_refs=lost):
                for ref in lost:
                    cards.forget(tx, ref)
                _note_posted(tx, desk, row, refs, now)
                outbox.drop(tx, row.id)
            case TryAgain(problem=problem, after_s=after_s, ambiguous=ambiguous):
                at = _next_try(desk, row, now, after_s)
                outbox.retry(tx, row.id, at, problem, ambiguous=ambiguous or row.ambiguous)
            case Undeliverable(problem=problem):
                outbox.give_up(tx, row.id, problem)
                fact = audit.Fact(
                    AuditType.DELIVERY_FAILED,
                    desk.replica,
                    Channel.SLACK,
                    {"kind": row.kind, "key": row.key, "problem": problem[:500]},
                    row.approval_id,
                )
                audit.append(tx, row.run_id, now, fact)
            case _:
                assert_never(answer)


def _note_posted(
    tx: Tx, desk: Desk, row: OutboxRow, refs: tuple[MessageRef, ...], now: datetime
) -> None:
    if DeliveryKind(row.kind) in _OF_ALERTS:
        _note_alert(tx, desk, row, refs, now)
        return
    if row.approval_id is None:
        return
    if DeliveryKind(row.kind) is DeliveryKind.PING:
        _note_ping(tx, desk, row, row.approval_id, refs, now)
        return
    shows = _shows(row)
    for ref in refs:
        cards.note(tx, row.approval_id, row.id, ref, now, shows)
        posted: Payload = {"channel": ref.channel, "ts": ref.ts, "kind": shows.value}
        fact = audit.Fact(
            AuditType.CARD_POSTED, desk.replica, Channel.SLACK, posted, row.approval_id
        )
        audit.append(tx, row.run_id, now, fact)


def _note_ping(
    tx: Tx,
    desk: Desk,
    row: OutboxRow,
    about: ApprovalId,
    refs: tuple[MessageRef, ...],
    now: datetime,
) -> None:
    level = Level.named(row.body["level"])
    for ref in refs:
        cards.note_ping(tx, about, level, row.id, ref, now)
        posted: Payload = {"channel": ref.channel, "ts": ref.ts, "level": level.key}
        fact = audit.Fact(AuditType.PING_POSTED, desk.replica, Channel.SLACK, posted, about)
        audit.append(tx, row.run_id, now, fact)


def _note_alert(
    tx: Tx, desk: Desk, row: OutboxRow, refs: tuple[MessageRef, ...], now: datetime
) -> None:
    subject = str(row.body["subject"])
    alert = alerts.get(tx, subject)
    about = None if alert is None else alert.approval_id
    run_id = None if alert is None else alerts.run_of(tx, alert)
    for ref in refs:
        cards.note_alert(tx, subject, row.id, ref, now)
        posted: Payload = {"subject": subject, "channel": ref.channel, "ts": ref.ts}
        fact = audit.Fact(AuditType.ALERT_POSTED, desk.replica, Channel.SLACK, posted, about)
        audit.append(tx, run_id, now, fact)


def _load(desk: Desk, row: OutboxRow) -> Delivery:
    if DeliveryKind(row.kind) in _OF_ALERTS:
        return _load_alert(desk, row)
    if DeliveryKind(row.kind) is DeliveryKind.DIGEST:
        return _load_digest(desk, row)
    with desk.store.transaction(write=False) as tx:
        view: ApprovalView | None = None
        refs: tuple[MessageRef, ...] = ()
        if row.approval_id is not None:
            approval = approvals.get(tx, row.approval_id)
            view = None if approval is None else decisions.view(tx, approval)
            refs = _refs(tx, row, row.approval_id)
    return Delivery(
        outbox_id=row.id,
        kind=DeliveryKind(row.kind),
        body=row.body,
        approval=view,
        refs=refs,
        created_at=row.created_at,
        ambiguous=row.ambiguous,
    )


def _refs(tx: Tx, row: OutboxRow, about: ApprovalId) -> tuple[MessageRef, ...]:
    if DeliveryKind(row.kind) is DeliveryKind.PING:
        return cards.of_ping(tx, about, Level.named(row.body["level"]))
    return cards.of(tx, about, _shows(row))


def _load_digest(desk: Desk, row: OutboxRow) -> Delivery:
    """Read the queue as it is now, unless a later digest is due that shows it as well."""
    at, now = datetime.fromisoformat(str(row.body["at"])), desk.clock.now()
    with desk.store.transaction(write=False) as tx:
        newest = marks.get(tx, digest_mark(Level.named(row.body["level"])))
        outdated = newest is not None and at < newest <= now
        queue = None if outdated else digests.queue(tx)
    return Delivery(
        outbox_id=row.id,
        kind=DeliveryKind.DIGEST,
        body=row.body,
        approval=None,
        refs=(),
        created_at=row.created_at,
        ambiguous=row.ambiguous,
        queue=queue,
    )


def _load_alert(desk: Desk, row: OutboxRow) -> Delivery:
    subject = str(row.body["subject"])
    with desk.store.transaction(write=False) as tx:
        alert = alerts.get(tx, subject)
        refs = cards.of_subject(tx, subject)
        view: ApprovalView | None = None
        if alert is not None and alert.approval_id is not None:
            approval = approvals.get(tx, alert.approval_id)
            view = None if approval is None else decisions.view(tx, approval)
    return Delivery(
        outbox_id=row.id,
        kind=DeliveryKind(row.kind),
        body=row.body,
        approval=view,
        refs=refs,
        created_at=row.created_at,
        ambiguous=row.ambiguous,
        alert=alert,
    )


def _shows(row: OutboxRow) -> MessageKind:
    """Return what the messages of a delivery show; each kind is updated for itself."""
    return MessageKind.REVIEW if DeliveryKind(row.kind) in _OF_REVIEWS else MessageKind.CARD


def _is_moot(delivery: Delivery) -> bool:
    """Tell whether the message is there already, or nobody has to hear of it any more.

    An earlier try arrived and was written down, or the request it urges does not wait.
    """
    view = delivery.approval
    if delivery.kind in _URGING and view is not None and view.approval.status is not Status.PENDING:
        return True
    if delivery.kind is DeliveryKind.DIGEST:
        return delivery.queue is None
    return delivery.kind in _KEPT and bool(delivery.refs)


def _next_try(desk: Desk, row: OutboxRow, now: datetime, after_s: float | None) -> datetime:
    if after_s is not None:
        return now + timedelta(seconds=after_s)
    return now + backoff(row.attempts + 1, base=_BASE, jitter=desk.ids.jitter())
