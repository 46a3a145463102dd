"""Messages that are posted once and never changed: into which channel, and in which words."""

from typing import Literal, TypeAlias, assert_never

from agent.domain.approvals import ApprovalView
from agent.ports import Delivery, DeliveryKind
from bot.slack import notices
from bot.slack.channels import Channels
from bot.slack.notices import Note

# The kinds that the notifier has no other way for; mypy holds both lists against each other.
PostedOnce: TypeAlias = Literal[
    DeliveryKind.HAND_OFF,
    DeliveryKind.BREAKER_OPENED,
    DeliveryKind.STOP_THROWN,
    DeliveryKind.UNKNOWN_OUTCOME,
    DeliveryKind.ONCALL,
]


def channel_of(kind: PostedOnce, channels: Channels) -> str:
    """Return the id of the channel whose people a message is for."""
    return channels.approvals if kind is DeliveryKind.HAND_OFF else channels.oncall


def note_of(kind: PostedOnce, delivery: Delivery) -> Note:
    """Return the message of a delivery."""
    body = delivery.body
    match kind:
        case DeliveryKind.HAND_OFF:
            return notices.hand_off(body)
        case DeliveryKind.BREAKER_OPENED:
            return notices.breaker_opened(body)
        case DeliveryKind.STOP_THROWN:
            return notices.stop_thrown(body)
        case DeliveryKind.UNKNOWN_OUTCOME:
            return notices.unknown_outcome(needed(delivery), body)
        case DeliveryKind.ONCALL:
            about = body.get("approval_id")
            named = about if isinstance(about, str) else None
            return notices.oncall(str(body["text"]), named, good=body.get("good") is True)
        case _:
            assert_never(kind)


def thread_of(delivery: Delivery) -> str | None:
    """Return the message that a delivery answers to, None for a message of its own."""
    thread_ts = delivery.body.get("thread_ts")
    return thread_ts if isinstance(thread_ts, str) else None


def needed(delivery: Delivery) -> ApprovalView:
    """Return the request that a delivery is about; raises ValueError for one about none."""
    if delivery.approval is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no approval")
    return delivery.approval
