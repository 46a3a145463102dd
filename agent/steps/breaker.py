"""The breaker under its lock: admit, note a trial's outcome, reset by a person, show."""

from datetime import datetime
from typing import assert_never

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.breaker import (
    Admitted,
    Breaker,
    BreakerState,
    Held,
    admit,
    observe,
    reset,
    shown_state,
    trial_ended,
)
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId
from agent.domain.judgement import MIN_REASON
from agent.domain.payload import Json, Payload
from agent.domain.roles import ActorKind, Channel, Identity, Role, RoleProof, prove_role
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from storage import audit, breaker, outbox, people
from storage.transaction import Tx


def lock(tx: Tx, desk: Desk) -> Breaker:
    """Lock the breaker and the stop switch, note the time, and return the row as of now.

    Raises LookupError when the row is missing: no automatic refund without it.
    """
    before = breaker.load(tx, lock=True)
    now = desk.clock.now()
    seen, stepped = observe(before, desk.policy.breaker_limits(), now)
    breaker.save(tx, seen)
    if stepped:
        _tell_clock_step(tx, desk, before, now)
    elif before.state is BreakerState.HALF_OPEN and seen.state is BreakerState.OPEN:
        _tell_opened(tx, desk, seen, now, "the trial's lease was lost")
    return seen


def admit_refund(tx: Tx, desk: Desk, approval_id: ApprovalId) -> Admitted | Held:
    """Ask for a permit, under the lock taken by `lock`; opening alerts on-call once."""
    limits = desk.policy.breaker_limits()
    current = breaker.load(tx)
    now = _monotonic(current, desk.clock.now())
    count = breaker.admitted_since(tx, current.generation, now - limits.window)
    answer = admit(current, count, limits, approval_id, now)
    breaker.save(tx, answer.breaker)
    if isinstance(answer, Held):
        if answer.opened:
            _tell_opened(tx, desk, answer.breaker, now, "too many automatic refunds")
        return answer
    breaker.note_admission(tx, approval_id, now, current.generation, trial=answer.trial)
    if answer.trial:
        fact = audit.Fact(AuditType.BREAKER_TRIAL, "policy", Channel.POLICY, {}, approval_id)
        audit.append(tx, None, now, fact)
    return answer


def note_outcome(tx: Tx, desk: Desk, approval_id: ApprovalId, *, executed: bool) -> None:
    """Tell the breaker how an automatic refund ended; only the current trial matters to it."""
    now = desk.clock.now()
    after = trial_ended(
        lock(tx, desk), approval_id, desk.policy.breaker_limits(), now, executed=executed
    )
    if after is None:
        return
    breaker.save(tx, after)
    if executed:
        fact = audit.Fact(AuditType.BREAKER_CLOSED, "policy", Channel.POLICY, {}, approval_id)
        audit.append(tx, None, now, fact)
    else:
        _tell_opened(tx, desk, after, now, "the trial did not succeed")


def reset_breaker(
    desk: Desk, identity: Identity, channel: Channel, reason: str
) -> Breaker | Refused:
    """Close the breaker by the word of somebody with the role; what ran before is forgotten."""
    with desk.store.transaction() as tx:
        current = lock(tx, desk)
        now = desk.clock.now()
        actor = people.find(tx, identity)
        if actor is None or not actor.active or actor.kind is not ActorKind.MEMBER:
            denied = Refused(RefusalCode.NOT_ALLOWED, "The desk does not know you.")
        elif (refused := _may_reset(prove_role(actor, Role.REFUND_MANAGER, now)[0])) is not None:
            denied = refused
        elif len(reason.strip()) < MIN_REASON:
            denied = Refused(RefusalCode.REASON_REQUIRED, f"Say why, in {MIN_REASON} characters.")
        else:
            closed = reset(current)
            breaker.save(tx, closed)
            data: Payload = {"reason": reason.strip(), "identity": str(identity)}
            fact = audit.Fact(AuditType.BREAKER_RESET, actor.id, channel, data)
            audit.append(tx, None, now, fact)
            said = f"{actor.name} reset the refund breaker: {reason.strip()}"
            key = f"breaker_reset:{closed.generation}"
            outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, {"text": said}))
            desk.wake(Lane.SLACK)
            return closed
        fact = audit.Fact(
            AuditType.DECISION_REFUSED,
            str(identity),
            channel,
            {"code": denied.code.value, "verdict": "breaker_reset"},
        )
        audit.append(tx, None, now, fact)
        return denied


def breaker_status(desk: Desk) -> Payload:
    """Return the breaker as http.md's GET /breaker shows it."""
    limits = desk.policy.breaker_limits()
    with desk.store.transaction(write=False) as tx:
        current = breaker.load(tx)
        now = desk.clock.now()
        count = breaker.admitted_since(tx, current.generation, now - limits.window)
    state = shown_state(current, now)
    waiting = state is BreakerState.OPEN and current.retry_at is not None
    return {
        "state": state.value,
        "admitted_in_window": count,
        "window_s": desk.policy.breaker.window_s,
        "max": limits.max_refunds,
        "opens_again_at": _rfc3339(current.retry_at) if waiting else None,
        "stopped": current.stopped,
    }


def _may_reset(proof: RoleProof) -> Refused | None:
    match proof:
        case RoleProof.HELD:
            return None
        case RoleProof.UNVERIFIED:
            return Refused(RefusalCode.ROLE_UNVERIFIED, "Your role could not be verified just now.")
        case RoleProof.ABSENT:
            return Refused(RefusalCode.NOT_ALLOWED, f"This needs the role {Role.REFUND_MANAGER}.")
        case _:
            assert_never(proof)


def _monotonic(current: Breaker, now: datetime) -> datetime:
    return now if current.last_seen is None else max(now, current.last_seen)


def _tell_opened(tx: Tx, desk: Desk, opened: Breaker, now: datetime, why: str) -> None:
    limits = desk.policy.breaker_limits()
    ran = breaker.tripping(tx, opened.generation, now - limits.window)
    refunds: list[Json] = [dict(row) for row in ran]
    body: Payload = {
        "refunds": refunds,
        "max": limits.max_refunds,
        "window_s": desk.policy.breaker.window_s,
        "retry_at": _rfc3339(opened.retry_at),
        "generation": opened.generation,
        "why": why,
    }
    at = "" if opened.retry_at is None else opened.retry_at.isoformat()
    key = f"breaker_opened:{opened.generation}:{at}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.BREAKER_OPENED, key, body))
    fact = audit.Fact(
        AuditType.BREAKER_OPENED,
        "policy",
        Channel.POLICY,
        {"why": why, "retry_at": body["retry_at"], "generation": opened.generation},
    )
    audit.append(tx, None, now, fact)


def _tell_clock_step(tx: Tx, desk: Desk, before: Breaker, now: datetime) -> None:
    seen = "" if before.last_seen is None else before.last_seen.isoformat()
    data: Payload = {"last_seen": seen, "now": now.isoformat()}
    text = f"The clock stepped back from {seen} to {now.isoformat()}; the breaker starts anew."
    fact = audit.Fact(AuditType.BREAKER_CLOCK_STEP, "policy", Channel.POLICY, data)
    audit.append(tx, None, now, fact)
    key = f"clock_step:{now.isoformat()}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.ONCALL, key, {"text": text}))


def _rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
