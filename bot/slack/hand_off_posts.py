"""The message of a hand-off in Slack: posted once, every copy redrawn, what is said in a thread."""

from typing import Literal, TypeAlias, assert_never

from agent.domain.hand_offs import HandOff
from agent.ports import ChannelClosed, Delivered, Delivery, DeliveryKind
from bot.slack import notices
from bot.slack.hand_offs import hand_off_line, hand_off_note
from bot.slack.posting import Posting, Versions, versions_of

Kinds: TypeAlias = Literal[
    DeliveryKind.HAND_OFF, DeliveryKind.HAND_OFF_UPDATE, DeliveryKind.HAND_OFF_LINE
]


class HandOffPosts:
    """Draws hand-offs; safe to share between threads."""

    def __init__(self, posting: Posting) -> None:
        """Keep what is needed."""
        self._posting = posting

    def carry(self, delivery: Delivery, kind: Kinds) -> Delivered | ChannelClosed:
        """Post a hand-off, redraw every copy within reach, or add a line to its thread."""
        hand_off = delivery.hand_off
        match kind:
            case DeliveryKind.HAND_OFF if hand_off is None:
                # Of a version that kept no row of it.
                return self._posting.post_once(delivery, notices.hand_off(delivery.body))
            case DeliveryKind.HAND_OFF:
                return self._posting.post_kept(delivery, _drawn(delivery))
            case DeliveryKind.HAND_OFF_UPDATE:
                return self._posting.redraw(delivery, _drawn(delivery))
            case DeliveryKind.HAND_OFF_LINE:
                note = hand_off_line(_needed(delivery), delivery.body)
                aloud = delivery.body.get("aloud") is True
                return self._posting.reply(delivery, note, aloud=aloud)
            case _:
                assert_never(kind)


def _drawn(delivery: Delivery) -> Versions:
    return versions_of(hand_off_note(_needed(delivery)))


def _needed(delivery: Delivery) -> HandOff:
    if delivery.hand_off is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no hand-off")
    return delivery.hand_off
