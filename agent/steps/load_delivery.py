"""What a message shows is read afresh for each try, so that no try draws an old picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import ApprovalView, Status
from agent.domain.digest import Queue, digest_mark
from agent.domain.escalation import Level
from agent.domain.hand_offs import HandOff, named
from agent.domain.ids import ApprovalId
from agent.domain.places import APPROVALS, ONCALL, REVIEW, Place, receiver
from agent.ports import Delivery, DeliveryKind, MessageRef
from storage import alerts, approvals, cards, decisions, deliveries, digests, hand_offs, marks
from storage.cards import MessageKind
from storage.outbox import OutboxRow
from storage.transaction import Tx

OF_HAND_OFFS = frozenset(
    {DeliveryKind.HAND_OFF, DeliveryKind.HAND_OFF_UPDATE, DeliveryKind.HAND_OFF_LINE}
)
OF_ALERTS = frozenset({DeliveryKind.ALERT, DeliveryKind.ALERT_UPDATE, DeliveryKind.ALERT_LINE})
# What is posted once and drawn anew from then on.
_KEPT = frozenset(
    {
        DeliveryKind.CARD,
        DeliveryKind.REVIEW,
        DeliveryKind.ALERT,
        DeliveryKind.PING,
        DeliveryKind.HAND_OFF,
    }
)
# What only matters as long as the request waits.
_URGING = frozenset({DeliveryKind.PING, DeliveryKind.PING_LINE})
# Which waiting messages a picture makes needless. Whoever sees a card for the first time sees how
# it stands; only those who have seen it before need to be told that this has changed.
_MAKES_NEEDLESS = {
    DeliveryKind.CARD: {DeliveryKind.CARD_UPDATE, DeliveryKind.THREAD},
    DeliveryKind.CARD_UPDATE: {DeliveryKind.CARD_UPDATE},
    DeliveryKind.REVIEW: {DeliveryKind.REVIEW_UPDATE},
    DeliveryKind.REVIEW_UPDATE: {DeliveryKind.REVIEW_UPDATE},
    DeliveryKind.ALERT: {DeliveryKind.ALERT_UPDATE},
    DeliveryKind.ALERT_UPDATE: {DeliveryKind.ALERT_UPDATE},
    DeliveryKind.PING_UPDATE: {DeliveryKind.PING_UPDATE},
    DeliveryKind.HAND_OFF: {DeliveryKind.HAND_OFF_UPDATE},
    DeliveryKind.HAND_OFF_UPDATE: {DeliveryKind.HAND_OFF_UPDATE},
}
# Whose channel an update is about, should it look for what was posted there.
_HOME = {
    DeliveryKind.CARD_UPDATE: APPROVALS,
    DeliveryKind.REVIEW_UPDATE: REVIEW,
    DeliveryKind.ALERT_UPDATE: ONCALL,
    DeliveryKind.PING_UPDATE: ONCALL,
    DeliveryKind.HAND_OFF_UPDATE: APPROVALS,
}
_OF_REVIEWS = frozenset({DeliveryKind.REVIEW, DeliveryKind.REVIEW_UPDATE})


@dataclass(frozen=True, slots=True)
class Route:
    """The channels of the places, and which of them refuse messages at present."""

    channels: Mapping[str, str]
    closed: frozenset[str]

    def to(self, place: str) -> str:
        """Return the id that messages of a place go to: a channel's, or a person's."""
        if place in self.channels:
            return receiver(place, self.channels, self.closed)
        return place.partition(":")[2]

    def ever(self, place: str) -> tuple[str, ...]:
        """Return where a message of a place may have gone, where it goes now first."""
        if place not in self.channels:
            return (self.to(place),)
        everywhere = (self.to(place), self.channels[place], *self.channels.values())
        return tuple(dict.fromkeys(everywhere))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A delivery, and which messages that wait already it makes needless once it is there."""

    delivery: Delivery
    needless: tuple[str, ...]

    @property
    def is_moot(self) -> bool:
        """Tell whether the message is there already, or nobody has to hear of it any more.

        An earlier try arrived and was written down, or the request it urges does not wait.
        """
        delivery, view = self.delivery, self.delivery.approval
        waits = view is None or view.approval.status is Status.PENDING
        if delivery.kind in _URGING and not waits:
            return True
        if delivery.kind is DeliveryKind.DIGEST:
            return delivery.queue is None
        return delivery.kind in _KEPT and bool(delivery.within_reach)


def route(channels: Mapping[str, str], troubled: Mapping[str, Place]) -> Route:
    """Return the way of messages while these places are in trouble."""
    closed = (
        channels[name]
        for name, place in troubled.items()
        if place.closed_until is not None and name in channels
    )
    return Route(channels, frozenset(closed))


def load_delivery(desk: Desk, row: OutboxRow, way: Route) -> Loaded:
    """Read what a message is about as it is now; raises Corrupt for a damaged request."""
    kind = DeliveryKind(row.kind)
    with desk.store.transaction(write=False) as tx:
        # Before the picture: what waits now tells of nothing that the picture will not show.
        needless = _needless(tx, row, kind)
        alert = alerts.get(tx, str(row.body["subject"])) if kind in OF_ALERTS else None
        about = row.approval_id if alert is None else alert.approval_id
        view = None if about is None else _view(tx, about)
        refs = _refs(tx, row, kind)
        queue = _queue(tx, desk, row) if kind is DeliveryKind.DIGEST else None
        hand_off = _hand_off(tx, row) if kind in OF_HAND_OFFS else None
    place = _HOME.get(kind, row.place)
    delivery = Delivery(
        outbox_id=row.id,
        kind=kind,
        body=row.body,
        approval=view,
        refs=refs,
        created_at=row.created_at,
        ambiguous=row.ambiguous,
        channel=way.to(place),
        alert=alert,
        queue=queue,
        hand_off=hand_off,
        channels=way.ever(place),
        closed=way.closed,
    )
    return Loaded(delivery, needless)


def shows(kind: DeliveryKind) -> MessageKind:
    """Return what the messages of a delivery show; each kind is updated for itself."""
    return MessageKind.REVIEW if kind in _OF_REVIEWS else MessageKind.CARD


def _needless(tx: Tx, row: OutboxRow, kind: DeliveryKind) -> tuple[str, ...]:
    needless = _MAKES_NEEDLESS.get(kind)
    if row.about is None or needless is None:
        return ()
    waiting = deliveries.waiting_about(tx, row.about)
    return tuple(row_id for row_id, one in waiting.items() if one in needless)


def _refs(tx: Tx, row: OutboxRow, kind: DeliveryKind) -> tuple[MessageRef, ...]:
    if kind in OF_ALERTS:
        return cards.of_subject(tx, str(row.body["subject"]))
    if kind in OF_HAND_OFFS:
        return cards.of_subject(tx, str(row.about))
    if row.approval_id is None:
        return ()
    if kind is DeliveryKind.PING:
        return cards.of_ping(tx, row.approval_id, Level.named(row.body["level"]))
    return cards.of(tx, row.approval_id, shows(kind))


def _hand_off(tx: Tx, row: OutboxRow) -> HandOff | None:
    """Return the hand-off of a message, None for a message of an earlier version."""
    return hand_offs.get(tx, *named(row.body))


def _queue(tx: Tx, desk: Desk, row: OutboxRow) -> Queue | None:
    """Return the queue as it is now, None where a later digest is due that shows it as well."""
    at, now = datetime.fromisoformat(str(row.body["at"])), desk.clock.now()
    newest = marks.get(tx, digest_mark(Level.named(row.body["level"])))
    outdated = newest is not None and at < newest <= now
    return None if outdated else digests.queue(tx)


def _view(tx: Tx, approval_id: ApprovalId) -> ApprovalView | None:
    approval = approvals.get(tx, approval_id)
    return None if approval is None else decisions.view(tx, approval)
