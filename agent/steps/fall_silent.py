"""While a person answers the customer, the agent does not: its turns end without the model."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.deadlines import TURN_LEASE
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps import tell
from storage import audit, conversations, runs
from storage.runs import Turn

# What the team asks the agent is answered all the same: the customer hears nothing of it.
_SILENT = frozenset({"message", "outcome"})


def fall_silent(desk: Desk, turn: Turn) -> bool:
    """End a turn where a person attends to the customer; False where the agent may speak.

    What started the turn is in the transcript already. An outcome is told, in words of ours.
    """
    if turn.row.kind not in _SILENT:
        return False
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        conversation = conversations.get(tx, turn.conversation_id)
        if conversation is None or conversation.attended_by is None:
            return False
        why: Payload = {"attended_by": conversation.attended_by, "kind": turn.row.kind}
        fact = audit.Fact(AuditType.AGENT_SILENT, desk.replica, Channel.CHAT, why)
        audit.append(tx, turn.run_id, now, fact)
        if turn.row.kind == "outcome":
            tell.plainly(tx, desk, turn, now)
        else:
            tell.rest(tx, turn, now)
    desk.wake(Lane.SLACK)
    return True
