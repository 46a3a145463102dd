"""Messages that are posted once and never changed, and in which words."""

from typing import Literal, TypeAlias, assert_never

from agent.domain.approvals import ApprovalView
from agent.domain.escalation import Level
from agent.ports import Delivery, DeliveryKind
from bot.slack.digests import day_note, queue_note
from bot.slack.groups import Groups
from bot.slack.notices import Note

# The kinds that the notifier has no other way for; mypy holds both lists against each other.
PostedOnce: TypeAlias = Literal[DeliveryKind.DIGEST, DeliveryKind.DAILY_DIGEST]


def note_of(kind: PostedOnce, delivery: Delivery, groups: Groups) -> Note:
    """Return the message of a delivery; `groups` are how its people are named."""
    match kind:
        case DeliveryKind.DAILY_DIGEST:
            return day_note(delivery.body)
        case DeliveryKind.DIGEST:
            return _queue_note(delivery, groups)
        case _:
            assert_never(kind)


def _queue_note(delivery: Delivery, groups: Groups) -> Note:
    if delivery.queue is None:
        raise ValueError(f"the digest {delivery.outbox_id} shows no queue")
    return queue_note(delivery.queue, Level.named(delivery.body["level"]), groups)


def needed(delivery: Delivery) -> ApprovalView:
    """Return the request that a delivery is about; raises ValueError for one about none."""
    if delivery.approval is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no approval")
    return delivery.approval
