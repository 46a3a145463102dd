"""The message of an alert in Slack: posted once, every copy redrawn, its news in a thread."""

from functools import partial

from agent.domain.alerts import Alert, is_for_the_channel
from agent.ports import Delivered, Delivery, DeliveryKind
from bot.slack.alerts import alert_line, alert_note
from bot.slack.posting import Posting, is_there


class AlertPosts:
    """Draws alerts in one channel; safe to share between threads."""

    def __init__(self, posting: Posting, channel: str) -> None:
        """Keep what is needed; `channel` is an id."""
        self._posting = posting
        self._channel = channel

    def post(self, delivery: Delivery) -> Delivered:
        """Post the alert, or redraw the copy that an earlier try left."""
        note = alert_note(_needed(delivery), delivery.approval)
        found = self._posting.found(delivery, self._channel, None)
        if found is not None and is_there(partial(self._posting.update, found, note)):
            return Delivered((found,))
        return Delivered((self._posting.post(delivery, self._channel, note),))

    def follow(self, delivery: Delivery) -> Delivered:
        """Bring what is posted already up to date, or add a line of news to its thread."""
        alert = _needed(delivery)
        if delivery.kind is DeliveryKind.ALERT_LINE:
            return self._add_line(delivery, alert)
        return self._redraw(delivery, alert)

    def _redraw(self, delivery: Delivery, alert: Alert) -> Delivered:
        """Redraw every copy; an alert that lasts and has none left is posted afresh."""
        draw = partial(self._posting.update, message=alert_note(alert, delivery.approval))
        lost = tuple(ref for ref in delivery.refs if not is_there(partial(draw, ref)))
        if len(lost) < len(delivery.refs) or not alert.is_open:
            return Delivered(lost_refs=lost)
        return Delivered(self.post(delivery).refs, lost)

    def _add_line(self, delivery: Delivery, alert: Alert) -> Delivered:
        root, note = delivery.refs[0], alert_line(alert, str(delivery.body["text"]))
        aloud = is_for_the_channel(alert)
        return self._posting.post_once(delivery, root.channel, note, root.ts, aloud=aloud)


def _needed(delivery: Delivery) -> Alert:
    if delivery.alert is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no alert")
    return delivery.alert
