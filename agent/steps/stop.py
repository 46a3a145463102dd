"""Everything stops by one word, and goes on by another (design.md §11)."""

from dataclasses import replace
from datetime import datetime

from agent.desk import Desk, Lane
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
from agent.steps.outcomes import show_chip, slack_message
from agent.steps.permission import Order, permit, proven, refuse
from storage import approvals, audit, breaker, outbox
from storage.breaker import StopNote
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
        thrown = replace(current, stopped=stopped)
        breaker.save(tx, thrown)
        name = permitted.actor.name
        breaker.note_stop(tx, StopNote(name, now, order.reason.strip()) if stopped else None)
        tag = AuditType.STOP_THROWN if stopped else AuditType.STOP_LIFTED
        fact = audit.Fact(tag, permitted.actor.id, order.channel, proven(permitted, order))
        audit.append(tx, None, now, fact)
        _tell_everybody(tx, desk, order, name, now, stopped=stopped)
    for lane in (Lane.SLACK, Lane.EXECUTE):
        desk.wake(lane)
    return thrown


def _tell_everybody(
    tx: Tx, desk: Desk, order: Order, name: str, now: datetime, *, stopped: bool
) -> None:
    """Tell on-call, and redraw whatever still waits: each card and chip says how it stands."""
    did = "stopped everything" if stopped else "lifted the stop: approved requests run again"
    body: Payload = {
        "text": f"{name} {did}. Reason: {order.reason.strip()}",
        "stopped": stopped,
        "good": not stopped,
    }
    mark = desk.ids.new("out")
    kind = DeliveryKind.STOP_THROWN if stopped else DeliveryKind.ONCALL
    messages = [slack_message(desk, kind, f"stop:{mark}", body)]
    for approval in approvals.waiting(tx):
        key = f"card_stop:{approval.id}:{mark}"
        if not approval.automatic:
            messages.append(slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, approval))
        usable = approval.use_by is None or not is_past(approval.use_by, now)
        if approval.status is Status.APPROVED and usable and is_for_customer(approval):
            show_chip(tx, desk, approval, now)
    outbox.add(tx, now, *messages)
