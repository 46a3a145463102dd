"""The customer says what the help was worth; who thinks better of it says so again."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.conversation import MAX_RATING, MAX_RATING_COMMENT, MIN_RATING, EventType
from agent.domain.errors import InvalidInput
from agent.domain.ids import ConversationId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps import hand_off_thread
from storage import audit, conversations, hand_offs
from storage.conversations import Entry


def rate(desk: Desk, conversation_id: ConversationId, score: int, comment: str = "") -> None:
    """Keep a rating from 1 to 5 with a comment for the team; the same again changes nothing.

    Raises InvalidInput for another score or a longer comment, LookupError for an unknown
    conversation.
    """
    if not MIN_RATING <= score <= MAX_RATING:
        raise InvalidInput("score", f"is not from {MIN_RATING} to {MAX_RATING}")
    if len(comment) > MAX_RATING_COMMENT:
        raise InvalidInput("comment", f"is longer than {MAX_RATING_COMMENT} characters")
    with desk.store.transaction() as tx:
        conversations.lock(tx, conversation_id)
        now = desk.clock.now()
        if not conversations.rate(tx, conversation_id, score, comment, now):
            return
        said: Payload = {"score": score, "comment": comment}
        entry = Entry(desk.ids.new("msg"), EventType.RATING, said)
        conversations.append(tx, conversation_id, now, entry)
        called = hand_offs.newest(tx, conversation_id)
        if called is not None:
            hand_off_thread.redraw(tx, desk, called, now)
        rated: Payload = {
            "conversation_id": conversation_id,
            "score": score,
            "characters": len(comment),
        }
        fact = audit.Fact(AuditType.CONVERSATION_RATED, "customer", Channel.CHAT, rated)
        audit.append(tx, None, now, fact)
    desk.wake(Lane.SLACK)
