"""The conversation is passed to a person: the customer reads it, the team is told in Slack."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.conversation import EventType, RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.payload import Json, Payload
from agent.domain.roles import Channel
from agent.domain.wording import HANDED_OFF
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from storage import audit, conversations, outbox, runs
from storage.conversations import Entry
from storage.runs import Turn

# The whole conversation is in the log; a message in Slack needs the drift of it.
_WORDS, _CHARACTERS = 5, 500


def hand_off(desk: Desk, turn: Turn, reason: str) -> Payload:
    """Mark the conversation, tell customer and team once, and return the tool's result."""
    result: Payload = {"ok": True, "status": "handed_off", "message": HANDED_OFF}
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        runs.set_state(tx, turn.run_id, RunState.ESCALATED, now)
        if not conversations.mark_handed_off(tx, turn.conversation_id):
            return result
        shown: Payload = {"text": HANDED_OFF}
        entry = Entry(desk.ids.new("msg"), EventType.HAND_OFF, shown, run_id=turn.run_id)
        conversations.append(tx, turn.conversation_id, now, entry)
        said = conversations.customer_words(tx, turn.conversation_id, _WORDS)
        words: list[Json] = [one[:_CHARACTERS] for one in said]
        body: Payload = {
            "conversation_id": turn.conversation_id,
            "customer": turn.customer_id or "anonymous visitor",
            "reason": reason,
            "words": words,
        }
        key = f"hand_off:{turn.conversation_id}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.HAND_OFF, key, body))
        data: Payload = {"reason": reason, "conversation_id": turn.conversation_id}
        fact = audit.Fact(AuditType.HANDED_OFF, desk.model.name, Channel.CHAT, data)
        audit.append(tx, turn.run_id, now, fact)
    desk.wake(Lane.SLACK)
    return result
