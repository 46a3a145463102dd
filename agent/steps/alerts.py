"""What people on call must hear: told once over all replicas, kept up to date until it is over.

The row of an alert is the truth; its message in Slack is drawn from the row whenever it changes.
"""

from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.alerts import Alert, AlertKind, is_over_when_seen
from agent.domain.approvals import Approval
from agent.domain.audit import AuditType
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial
from agent.domain.payload import Payload
from agent.domain.roles import MAY_ACKNOWLEDGE, Channel, Identity
from agent.ports import DeliveryKind, MessageRef
from agent.steps.outcomes import slack_message
from agent.steps.permission import Order, permit, refuse
from storage import alerts, audit, cards, outbox
from storage.outbox import Message
from storage.transaction import Tx

# Without its single row no refund runs, and there is nothing to tell one time from another.
BREAKER_GONE = "breaker_missing"
_THANKS = "Thank you. The channel can see that you look into it."


def unknown_subject(approval_id: ApprovalId) -> str:
    """Return what the alert of an outcome that nobody knows is about."""
    return f"unknown:{approval_id}"


def raise_corrupt(tx: Tx, desk: Desk, now: datetime, approval_id: ApprovalId, problem: str) -> None:
    """Tell people on call of a stored request that must not run."""
    body: Payload = {
        "text": f"It does not validate and will not run: {problem}",
        "approval_id": approval_id,
    }
    raise_alert(tx, desk, now, f"corrupt:{approval_id}", AlertKind.CORRUPT_ROW, body)


def raise_alert(
    tx: Tx,
    desk: Desk,
    now: datetime,
    subject: str,
    kind: AlertKind,
    body: Payload,
    approval: Approval | None = None,
) -> bool:
    """Tell people on call; False when the subject is open already, and nothing is told.

    `body["text"]` says it in a sentence. What can come again needs a subject of its own each time,
    such as one with a generation: a subject that has ended opens anew, and its old message stays as
    it is. Wake the Slack lane after the commit.
    """
    # Everywhere the trail is locked before the alert.
    audit.hold(tx, None if approval is None else approval.run_id)
    alert = Alert(subject, kind, None if approval is None else approval.id, body, now)
    if not alerts.open_alert(tx, alert):
        return False
    cards.forget_subject(tx, subject)
    key = f"alert:{subject}:{desk.ids.new('out')}"
    outbox.add(tx, now, _message(desk, DeliveryKind.ALERT, key, alert))
    data: Payload = {"kind": kind.value, "body": body}
    _note(tx, desk, now, AuditType.ALERT_RAISED, alert, data)
    return True


def amend_alert(
    tx: Tx, desk: Desk, now: datetime, subject: str, body: Payload, words: str = ""
) -> bool:
    """Change what an open alert says; False when none is open.

    Its message is drawn anew, and a line in its thread says `words`, if there are any.
    """
    alert = _hold(tx, subject)
    if alert is None or not alert.is_open:
        return False
    amended = alerts.amend(tx, alert, body)
    _redraw(tx, desk, now, amended, words)
    _note(tx, desk, now, AuditType.ALERT_AMENDED, amended, {"body": body})
    return True


def end_alert(tx: Tx, desk: Desk, now: datetime, subject: str, words: str) -> bool:
    """End an open alert, with `words` for how; False when none is open.

    Its message loses its buttons, and a line in its thread says the words.
    """
    alert = _hold(tx, subject)
    if alert is None or not alert.is_open:
        return False
    ended = alerts.end(tx, alert, words, now)
    _redraw(tx, desk, now, ended, words)
    _note(tx, desk, now, AuditType.ALERT_ENDED, ended, {"ended": words})
    return True


def acknowledge_alert(desk: Desk, identity: Identity, subject: str) -> str:
    """Note who looks into an alert, once, and return a sentence for the person.

    Its message is drawn anew in any case: somebody who clicks has seen a button.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        alert = _hold(tx, subject)
        told = _acknowledge(tx, now, identity, alert)
        if alert is not None:
            key = f"alert_redraw:{subject}:{desk.ids.new('out')}"
            outbox.add(tx, now, _message(desk, DeliveryKind.ALERT_UPDATE, key, alert))
    desk.wake(Lane.SLACK)
    return told


def redraw_alert(desk: Desk, ref: MessageRef) -> bool:
    """Draw the alert at a message anew, for somebody who saw an old picture; False for no alert."""
    with desk.store.transaction() as tx:
        subject = cards.subject_at(tx, ref)
        alert = None if subject is None else alerts.get(tx, subject)
        if alert is None:
            return False
        key = f"alert_redraw:{alert.subject}:{desk.ids.new('out')}"
        message = _message(desk, DeliveryKind.ALERT_UPDATE, key, alert)
        outbox.add(tx, desk.clock.now(), message)
    desk.wake(Lane.SLACK)
    return True


def _acknowledge(tx: Tx, now: datetime, identity: Identity, alert: Alert | None) -> str:
    order = Order(identity, Channel.SLACK, "")
    permitted = permit(tx, order, MAY_ACKNOWLEDGE, now, reason=False)
    if isinstance(permitted, Denial):
        refuse(tx, order, "acknowledge", permitted, now)
        return "Only people on call and refund managers acknowledge this."
    if alert is None:
        return "There is no such alert."
    if alert.acknowledged_by is not None:
        return f"{alert.acknowledged_by} has acknowledged it already."
    if alert.ended is not None:
        return f"It is over already: {alert.ended}"
    actor = permitted.actor
    seen = alerts.acknowledge(tx, alert, actor.name, now)
    if is_over_when_seen(seen.kind):
        alerts.end(tx, seen, f"Seen by {actor.name}.", now)
    fact = audit.Fact(
        AuditType.ALERT_ACKNOWLEDGED,
        actor.id,
        Channel.SLACK,
        {
            "subject": alert.subject,
            "identity": str(identity),
            "evidence": permitted.evidence,
            "ends": is_over_when_seen(seen.kind),
        },
        alert.approval_id,
    )
    audit.append(tx, alerts.run_of(tx, alert), now, fact)
    return _THANKS


def _hold(tx: Tx, subject: str) -> Alert | None:
    """Lock the trail that an alert belongs to, and then the alert."""
    alert = alerts.get(tx, subject)
    if alert is None:
        return None
    audit.hold(tx, alerts.run_of(tx, alert))
    return alerts.get(tx, subject, lock=True)


def _redraw(tx: Tx, desk: Desk, now: datetime, alert: Alert, words: str) -> None:
    """Draw the message anew and add a line to its thread."""
    mark = f"{alert.subject}:{desk.ids.new('out')}"
    messages = [_message(desk, DeliveryKind.ALERT_UPDATE, f"alert_update:{mark}", alert)]
    if words:
        line = _message(desk, DeliveryKind.ALERT_LINE, f"alert_line:{mark}", alert, text=words)
        messages.append(line)
    outbox.add(tx, now, *messages)


def _message(desk: Desk, kind: DeliveryKind, key: str, alert: Alert, **more: str) -> Message:
    return slack_message(desk, kind, key, {"subject": alert.subject, **more})


def _note(tx: Tx, desk: Desk, now: datetime, tag: AuditType, alert: Alert, data: Payload) -> None:
    fact = audit.Fact(
        tag, desk.replica, Channel.TIMER, {"subject": alert.subject, **data}, alert.approval_id
    )
    audit.append(tx, alerts.run_of(tx, alert), now, fact)
