"""What people read of a conversation that was passed to them: its message in Slack and its thread.

The row of a hand-off is the truth; its message is drawn from the row whenever it changes, and
whatever is said in the conversation from then on is a line below it, each once and in order.
"""

from datetime import datetime

from agent.desk import Desk
from agent.domain.hand_offs import HandOff
from agent.domain.ids import ConversationId
from agent.domain.payload import Payload
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from storage import hand_offs, outbox
from storage.outbox import Message
from storage.transaction import Tx


def call(tx: Tx, desk: Desk, hand_off: HandOff, now: datetime) -> None:
    """Post the message that calls people."""
    body: Payload = {**about(hand_off), **hand_off.body}
    key = f"{hand_off.subject}:{desk.ids.new('out')}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.HAND_OFF, key, body))


def redraw(tx: Tx, desk: Desk, hand_off: HandOff, now: datetime) -> None:
    """Draw the message anew."""
    key = f"hand_off_update:{hand_off.subject}:{desk.ids.new('out')}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.HAND_OFF_UPDATE, key, about(hand_off)))


def tell(
    tx: Tx, desk: Desk, hand_off: HandOff, now: datetime, text: str, *, aloud: bool = False
) -> None:
    """Say in the thread what has become of the hand-off; `aloud` in the channel as well."""
    body: Payload = {**about(hand_off), "role": "desk", "text": text, "aloud": aloud}
    outbox.add(tx, now, _line(desk, hand_off, desk.ids.new("out"), body))


def mirror(
    tx: Tx,
    desk: Desk,
    conversation_id: ConversationId,
    now: datetime,
    message: Payload,
) -> bool:
    """Show people what was just said in a conversation; False where nobody was called into it.

    `message` is the data of the event. The caller holds the conversation.
    """
    hand_off = hand_offs.open_in(tx, conversation_id)
    if hand_off is None:
        return False
    body: Payload = {
        **about(hand_off),
        "role": message["role"],
        "by": message.get("by"),
        "text": message["text"],
    }
    outbox.add(tx, now, _line(desk, hand_off, str(message["message_id"]), body))
    return True


def about(hand_off: HandOff) -> Payload:
    """Return what names a hand-off in the body of a message."""
    return {"conversation_id": hand_off.conversation_id, "number": hand_off.number}


def _line(desk: Desk, hand_off: HandOff, mark: str, body: Payload) -> Message:
    key = f"hand_off_line:{hand_off.subject}:{mark}"
    return slack_message(desk, DeliveryKind.HAND_OFF_LINE, key, body)
