"""The message of an alert in Slack: posted once, every copy redrawn, its news in a thread."""

from typing import Literal, TypeAlias, assert_never

from agent.domain.alerts import Alert, is_for_the_channel
from agent.ports import ChannelClosed, Delivered, Delivery, DeliveryKind
from bot.slack.alerts import alert_line, alert_note
from bot.slack.posting import Posting, Versions, versions_of

Kinds: TypeAlias = Literal[DeliveryKind.ALERT, DeliveryKind.ALERT_UPDATE, DeliveryKind.ALERT_LINE]


class AlertPosts:
    """Draws alerts; safe to share between threads."""

    def __init__(self, posting: Posting) -> None:
        """Keep what is needed."""
        self._posting = posting

    def carry(self, delivery: Delivery, kind: Kinds) -> Delivered | ChannelClosed:
        """Post an alert, redraw every copy within reach, or add news to its thread."""
        alert = _needed(delivery)
        match kind:
            case DeliveryKind.ALERT:
                return self._posting.post_kept(delivery, _drawn(delivery, alert))
            case DeliveryKind.ALERT_UPDATE:
                return self._posting.redraw(delivery, _drawn(delivery, alert))
            case DeliveryKind.ALERT_LINE:
                note = alert_line(alert, str(delivery.body["text"]))
                return self._posting.reply(delivery, note, aloud=is_for_the_channel(alert))
            case _:
                assert_never(kind)


def _drawn(delivery: Delivery, alert: Alert) -> Versions:
    return versions_of(alert_note(alert, delivery.approval))


def _needed(delivery: Delivery) -> Alert:
    if delivery.alert is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no alert")
    return delivery.alert
