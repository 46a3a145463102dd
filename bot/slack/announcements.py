"""Messages that are posted once and never changed: into which channel, and in which words."""

from typing import Literal, TypeAlias, assert_never

from agent.domain.approvals import ApprovalView
from agent.ports import Delivery, DeliveryKind
from bot.slack import notices
from bot.slack.channels import Channels
from bot.slack.notices import Note

# The kinds that the notifier has no other way for; mypy holds both lists against each other.
PostedOnce: TypeAlias = Literal[DeliveryKind.HAND_OFF]


def channel_of(kind: PostedOnce, channels: Channels) -> str:
    """Return the id of the channel whose people a message is for."""
    match kind:
        case DeliveryKind.HAND_OFF:
            return channels.approvals
        case _:
            assert_never(kind)


def note_of(kind: PostedOnce, delivery: Delivery) -> Note:
    """Return the message of a delivery."""
    match kind:
        case DeliveryKind.HAND_OFF:
            return notices.hand_off(delivery.body)
        case _:
            assert_never(kind)


def needed(delivery: Delivery) -> ApprovalView:
    """Return the request that a delivery is about; raises ValueError for one about none."""
    if delivery.approval is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no approval")
    return delivery.approval
