"""Somebody on call says that they look into an opened breaker: once a generation."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.judgement import Denial
from agent.domain.payload import Payload
from agent.domain.roles import MAY_ACKNOWLEDGE, Channel, Identity
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from agent.steps.permission import Order, permit, refuse
from storage import audit, outbox
from storage.heartbeats import set_setting, setting

_SETTING = "breaker_acknowledged"


def acknowledge(desk: Desk, identity: Identity, generation: int, thread_ts: str) -> str:
    """Note who looks into it, tell the alert's thread, and return a sentence for the person."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        order = Order(identity, Channel.SLACK, "")
        permitted = permit(tx, order, MAY_ACKNOWLEDGE, now, reason=False)
        if isinstance(permitted, Denial):
            refuse(tx, order, "breaker_acknowledge", permitted, now)
            return "Only people on call and refund managers acknowledge this."
        actor = permitted.actor
        earlier, _, name = (setting(tx, _SETTING) or "").partition(":")
        if earlier == str(generation):
            return f"{name} has acknowledged it already."
        set_setting(tx, _SETTING, f"{generation}:{actor.name}")
        body: Payload = {
            "text": f"{actor.name} has seen this and looks into it.",
            "thread_ts": thread_ts,
            "good": True,
        }
        key = f"breaker_acknowledged:{generation}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, body))
        seen: Payload = {"generation": generation, "identity": str(identity)}
        fact = audit.Fact(AuditType.BREAKER_ACKNOWLEDGED, actor.id, Channel.SLACK, seen)
        audit.append(tx, None, now, fact)
    desk.wake(Lane.SLACK)
    return "Thank you. The channel can see that you look into it."
