"""Everything stops by one word, and goes on by another (design.md §11)."""

from dataclasses import replace
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.breaker import Breaker
from agent.domain.deadlines import is_past
from agent.domain.decision import RefusalCode, Refused
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.domain.roles import MAY_LIFT, MAY_STOP
from agent.domain.wording import is_for_customer
from agent.ports import DeliveryKind
from agent.steps import breaker as breaker_step
from agent.steps.alerts import end_alert, raise_alert
from agent.steps.outcomes import show_chip, slack_message
from agent.steps.permission import Order, permit, proven, refuse
from storage import approvals, audit, breaker, outbox
from storage.breaker import StopNote
from storage.times import to_micros
from storage.transaction import Tx, retried


def stop_all(desk: Desk, order: Order) -> Breaker | Refused:
    """Stop everything: nothing executes and nothing is sent again until it is lifted."""
    return retried(lambda: _throw(desk, order, stopped=True))


def lift(desk: Desk, order: Order) -> Breaker | Refused:
    """Let things execute again; what was approved meanwhile runs if it is still usable."""
    return retried(lambda: _throw(desk, order, stopped=False))


def _throw(desk: Desk, order: Order, *, stopped: bool) -> Breaker | Refused:
    verdict = "stop" if stopped else "lift"
    with desk.store.transaction() as tx:
        current = breaker_step.lock(tx, desk)
        now = desk.clock.now()
        permitted = permit(tx, order, MAY_STOP if stopped else MAY_LIFT, now)
        if isinstance(permitted, Entitled) and current.stopped is stopped:
            permitted = (
                Denial(RefusalCode.STOPPED, "Everything is stopped already.")
                if stopped
                else Denial(RefusalCode.ALREADY_DECIDED, "Nothing is stopped.")
            )
        if isinstance(permitted, Denial):
            return refuse(tx, order, verdict, permitted, now)
        before, thrown = breaker.stop_note(tx), replace(current, stopped=stopped)
        breaker.save(tx, thrown)
        note = StopNote(permitted.actor.name, now, order.reason.strip())
        breaker.note_stop(tx, note if stopped else None)
        tag = AuditType.STOP_THROWN if stopped else AuditType.STOP_LIFTED
        fact = audit.Fact(tag, permitted.actor.id, order.channel, proven(permitted, order))
        audit.append(tx, None, now, fact)
        _redraw_waiting(tx, desk, now)
        if before is None:
            _alarm(tx, desk, note, now)
        else:
            _call_off(tx, desk, before, note, now)
    for lane in (Lane.SLACK, Lane.EXECUTE):
        desk.wake(lane)
    return thrown


def stop_subject(note: StopNote) -> str:
    """Return what the alert of a stop is about: when it was thrown tells one from another."""
    return f"stop:{0 if note.at is None else to_micros(note.at)}"


def _alarm(tx: Tx, desk: Desk, note: StopNote, now: datetime) -> None:
    body: Payload = {"text": f"{note.by} stopped everything.", "reason": note.reason}
    raise_alert(tx, desk, now, stop_subject(note), AlertKind.STOP_THROWN, body)


def _call_off(tx: Tx, desk: Desk, thrown: StopNote, lifted: StopNote, now: datetime) -> None:
    words = f"{lifted.by} lifted the stop: approved requests run again. Reason: {lifted.reason}"
    end_alert(tx, desk, now, stop_subject(thrown), words)


def _redraw_waiting(tx: Tx, desk: Desk, now: datetime) -> None:
    """Redraw whatever still waits: each card and chip says how it stands."""
    mark = desk.ids.new("out")
    messages = []
    for approval in approvals.waiting(tx):
        key = f"card_stop:{approval.id}:{mark}"
        if not approval.automatic:
            messages.append(slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, approval))
        usable = approval.use_by is None or not is_past(approval.use_by, now)
        if approval.status is Status.APPROVED and usable and is_for_customer(approval):
            show_chip(tx, desk, approval, now)
    outbox.add(tx, now, *messages)
