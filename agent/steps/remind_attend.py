"""A customer who was promised a person and has none is brought to people on call, once."""

from datetime import datetime

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.audit import AuditType
from agent.domain.hand_offs import REMIND_AFTER, HandOff, reminder_subject, unattended_words
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.steps.alerts import raise_alert
from agent.steps.hand_off_thread import about
from storage import audit, conversations, hand_offs
from storage.transaction import Tx


def remind_attend(desk: Desk) -> bool:
    """Tell people on call of the conversation that waits longest; False when none is due.

    Any number of replicas may look: whoever holds the conversation tells. The alert ends as soon
    as somebody answers.
    """
    with desk.store.transaction(write=False) as tx:
        due = hand_offs.unattended(tx, desk.clock.now() - REMIND_AFTER)
    return False if due is None else bring_up(desk, due)


def bring_up(desk: Desk, due: HandOff) -> bool:
    """Tell people on call of a hand-off that waits, unless somebody was faster; True always."""
    with desk.store.transaction() as tx:
        conversations.lock(tx, due.conversation_id)
        now = desk.clock.now()
        if hand_offs.get(tx, due.conversation_id, due.number) == due:
            _tell(tx, desk, due, now)
    return True


def _tell(tx: Tx, desk: Desk, due: HandOff, now: datetime) -> None:
    body: Payload = {**about(due), "text": unattended_words(due, now)}
    raise_alert(tx, desk, now, reminder_subject(due), AlertKind.UNATTENDED, body)
    hand_offs.remind(tx, due, now)
    data: Payload = {**about(due), "since": due.opened_at.isoformat()}
    fact = audit.Fact(AuditType.HAND_OFF_REMINDED, desk.replica, Channel.TIMER, data)
    audit.append(tx, due.run_id, now, fact)
