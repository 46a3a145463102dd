"""Somebody on call says that they look into an opened breaker: once a generation."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.decision import RefusalCode
from agent.domain.payload import Payload
from agent.domain.roles import ActorKind, Channel, Identity, Role, RoleProof, prove_role
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from storage import audit, outbox, people
from storage.heartbeats import set_setting, setting

_SETTING = "breaker_acknowledged"
_MAY = (Role.ONCALL, Role.REFUND_MANAGER)


def acknowledge(desk: Desk, identity: Identity, generation: int, thread_ts: str) -> str:
    """Note who looks into it, tell the alert's thread, and return a sentence for the person."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        actor = people.find(tx, identity)
        member = actor is not None and actor.active and actor.kind is ActorKind.MEMBER
        proofs = [prove_role(actor, role, now)[0] for role in _MAY] if member and actor else []
        if actor is None or RoleProof.HELD not in proofs:
            data: Payload = {
                "code": RefusalCode.NOT_ALLOWED.value,
                "verdict": "breaker_acknowledge",
            }
            fact = audit.Fact(AuditType.DECISION_REFUSED, str(identity), Channel.SLACK, data)
            audit.append(tx, None, now, fact)
            return "Only people on call and refund managers acknowledge this."
        earlier, _, name = (setting(tx, _SETTING) or "").partition(":")
        if earlier == str(generation):
            return f"{name} has acknowledged it already."
        set_setting(tx, _SETTING, f"{generation}:{actor.name}")
        body: Payload = {
            "text": f"{actor.name} has seen this and looks into it.",
            "thread_ts": thread_ts,
        }
        key = f"breaker_acknowledged:{generation}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, body))
        seen: Payload = {"generation": generation, "identity": str(identity)}
        fact = audit.Fact(AuditType.BREAKER_ACKNOWLEDGED, actor.id, Channel.SLACK, seen)
        audit.append(tx, None, now, fact)
    desk.wake(Lane.SLACK)
    return "Thank you. The channel can see that you look into it."
