"""A customer who was promised a person and has none is brought to people on call, once."""

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.audit import AuditType
from agent.domain.hand_offs import REMIND_AFTER, reminder_subject, unattended_words
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps.alerts import raise_alert
from agent.steps.hand_off_thread import about
from storage import audit, conversations, hand_offs


def remind_attend(desk: Desk) -> bool:
    """Tell people on call of the conversation that waits longest; False when none is due.

    Any number of replicas may look: whoever holds the conversation tells. The alert ends as soon
    as somebody answers.
    """
    with desk.store.transaction(write=False) as tx:
        due = hand_offs.unattended(tx, desk.clock.now() - REMIND_AFTER)
    if due is None:
        return False
    with desk.store.transaction() as tx:
        conversations.lock(tx, due.conversation_id)
        now = desk.clock.now()
        waiting = hand_offs.unattended(tx, now - REMIND_AFTER)
        if waiting != due:
            # Somebody else was faster: with the answer, or with the reminder.
            return waiting is not None
        text = unattended_words(due, now)
        raise_alert(
            tx, desk, now, reminder_subject(due), AlertKind.UNATTENDED, {**about(due), "text": text}
        )
        hand_offs.remind(tx, due, now)
        data: Payload = {**about(due), "since": due.opened_at.isoformat()}
        fact = audit.Fact(AuditType.HAND_OFF_REMINDED, desk.replica, Channel.TIMER, data)
        audit.append(tx, due.run_id, now, fact)
        return True
