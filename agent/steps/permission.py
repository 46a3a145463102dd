"""Who may do what beside deciding: one look at the role, one line in the trail for a refusal."""

from dataclasses import dataclass
from datetime import datetime

from agent.domain.audit import AuditType
from agent.domain.conversation import storable
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId, RunId
from agent.domain.judgement import MIN_REASON, Denial, Entitled, Register, entitle
from agent.domain.payload import Payload
from agent.domain.roles import Actor, Channel, Identity, Role, RoleProof, prove_role
from storage import audit, people
from storage.transaction import Tx


@dataclass(frozen=True, slots=True)
class Order:
    """What a person wants done, through which door, and why."""

    identity: Identity
    channel: Channel
    reason: str

    def __post_init__(self) -> None:
        """Keep words that every database holds."""
        object.__setattr__(self, "reason", storable(self.reason))


@dataclass(frozen=True, slots=True)
class Where:
    """The request that an order is about, for the trail."""

    approval_id: ApprovalId
    run_id: RunId


def register_for(tx: Tx, actor: Actor | None, role: Role, now: datetime) -> Register:
    """Read who holds roles at all, but only for somebody who does not hold the one needed."""
    if actor is not None and prove_role(actor, role, now)[0] is not RoleProof.ABSENT:
        return Register()
    return people.register(tx)


def permit(
    tx: Tx, order: Order, roles: tuple[Role, ...], now: datetime, *, reason: bool = True
) -> Entitled | Denial:
    """Prove one of the roles, and that a reason is given where one is needed.

    With several roles the first that is held counts; "could not verify" outweighs "does not".
    """
    actor = people.find(tx, order.identity)
    answers = [entitle(actor, role, register_for(tx, actor, role, now), now) for role in roles]
    held = next((answer for answer in answers if isinstance(answer, Entitled)), None)
    if held is None:
        denials = [answer for answer in answers if isinstance(answer, Denial)]
        unsure = [d for d in denials if d.code is RefusalCode.ROLE_UNVERIFIED]
        return (unsure or denials)[0]
    if reason and len(order.reason.strip()) < MIN_REASON:
        words = f"Say why, in at least {MIN_REASON} characters."
        return Denial(RefusalCode.REASON_REQUIRED, words)
    return held


def refuse(
    tx: Tx, order: Order, verdict: str, denial: Denial, now: datetime, where: Where | None = None
) -> Refused:
    """Write a refusal into the trail, of the run where there is one, and return it."""
    actor = people.find(tx, order.identity)
    data: Payload = {
        "code": denial.code.value,
        "verdict": verdict,
        "identity": str(order.identity),
        "reason": order.reason.strip()[:500],
    }
    who = str(order.identity) if actor is None else actor.id
    about = None if where is None else where.approval_id
    fact = audit.Fact(AuditType.DECISION_REFUSED, who, order.channel, data, about)
    audit.append(tx, None if where is None else where.run_id, now, fact)
    return Refused(denial.code, denial.message)


def proven(entitled: Entitled, order: Order) -> Payload:
    """Return what the trail keeps of a person's right to what they did."""
    return {
        "name": entitled.actor.name,
        "identity": str(order.identity),
        "evidence": entitled.evidence,
        "reason": order.reason.strip(),
    }
