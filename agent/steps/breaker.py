"""The breaker under its lock: admit, note a trial's outcome, reset by a person, show."""

from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
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
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Json, Payload
from agent.domain.roles import MAY_RESET, Channel
from agent.steps.alerts import amend_alert, end_alert, raise_alert
from agent.steps.permission import Order, permit, proven, refuse
from storage import alerts, audit, breaker, places
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
        _tell_clock_step(tx, desk, before, seen, now)
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
        subject = breaker_subject(after.generation - 1)
        end_alert(tx, desk, now, subject, "A trial went through: automatic refunds run again.")
    else:
        _tell_opened(tx, desk, after, now, "the trial did not succeed")


def reset_breaker(desk: Desk, order: Order, generation: int | None = None) -> Breaker | Refused:
    """Close the breaker by the word of somebody with the role; what ran before is forgotten.

    With `generation` only the opening that the person saw: a later one needs a word of its own.
    """
    with desk.store.transaction() as tx:
        current = lock(tx, desk)
        now = desk.clock.now()
        permitted = permit(tx, order, MAY_RESET, now)
        if isinstance(permitted, Entitled):
            permitted = is_too_late(current, generation) or permitted
        if isinstance(permitted, Denial):
            return refuse(tx, order, "breaker_reset", permitted, now)
        closed = reset(current)
        breaker.save(tx, closed)
        data: Payload = {"generation": closed.generation, **proven(permitted, order)}
        fact = audit.Fact(AuditType.BREAKER_RESET, permitted.actor.id, order.channel, data)
        audit.append(tx, None, now, fact)
        said = f"{permitted.actor.name} reset it. Reason: {order.reason.strip()}"
        end_alert(tx, desk, now, breaker_subject(current.generation), said)
    desk.wake(Lane.SLACK)
    return closed


def breaker_subject(generation: int) -> str:
    """Return what the alert of an opening is about; trials that fail belong to the same opening."""
    return f"breaker:{generation}"


def breaker_status(desk: Desk) -> Payload:
    """Return the breaker as http.md's GET /breaker shows it."""
    limits = desk.policy.breaker_limits()
    with desk.store.transaction(write=False) as tx:
        current = breaker.load(tx)
        now = desk.clock.now()
        count = breaker.admitted_since(tx, current.generation, now - limits.window)
        note = breaker.stop_note(tx)
    state = shown_state(current, now)
    waiting = state is BreakerState.OPEN and current.retry_at is not None
    return {
        "state": state.value,
        "admitted_in_window": count,
        "window_s": desk.policy.breaker.window_s,
        "max": limits.max_refunds,
        "opens_again_at": _rfc3339(current.retry_at) if waiting else None,
        "stopped": current.stopped,
        "stop": None
        if note is None
        else {"by": note.by, "at": _rfc3339(note.at), "reason": note.reason},
    }


def _monotonic(current: Breaker, now: datetime) -> datetime:
    return now if current.last_seen is None else max(now, current.last_seen)


def is_too_late(current: Breaker, generation: int | None) -> Denial | None:
    """Return why an opening of the breaker cannot be reset any more, None while it can."""
    if current.state is BreakerState.CLOSED:
        return Denial(RefusalCode.ALREADY_DECIDED, "The breaker is closed.")
    if generation is not None and generation != current.generation:
        words = "It was closed, and has opened once more: look at the newest alert."
        return Denial(RefusalCode.ALREADY_DECIDED, words)
    return None


def _tell_opened(tx: Tx, desk: Desk, opened: Breaker, now: datetime, why: str) -> None:
    """Raise the alert of this opening, or say in it that the trial has failed."""
    fact = audit.Fact(
        AuditType.BREAKER_OPENED,
        "policy",
        Channel.POLICY,
        {
            "why": why,
            "retry_at": _rfc3339(opened.retry_at),
            "generation": opened.generation,
        },
    )
    audit.append(tx, None, now, fact)
    subject = breaker_subject(opened.generation)
    alert = alerts.get(tx, subject)
    if alert is None or not alert.is_open:
        _alarm(tx, desk, opened, now, why)
        return
    failed = alert.body.get("failed_trials")
    again: Payload = {
        **alert.body,
        "why": why,
        "retry_at": _rfc3339(opened.retry_at),
        "failed_trials": (failed if isinstance(failed, int) else 0) + 1,
    }
    cooldown = desk.policy.breaker.cooldown_s
    words = f"{why.capitalize()}: automatic refunds stay paused for {cooldown} more seconds."
    amend_alert(tx, desk, now, subject, again, words)


def _alarm(tx: Tx, desk: Desk, opened: Breaker, now: datetime, why: str) -> None:
    limits, window_s = desk.policy.breaker_limits(), desk.policy.breaker.window_s
    ran = breaker.tripping(tx, opened.generation, now - limits.window)
    refunds: list[Json] = [dict(row) for row in ran]
    body: Payload = {
        "text": f"Automatic refunds are paused: {why}.",
        "refunds": refunds,
        "max": limits.max_refunds,
        "window_s": window_s,
        "retry_at": _rfc3339(opened.retry_at),
        "generation": opened.generation,
        "why": why,
        "failed_trials": 0,
    }
    subject = breaker_subject(opened.generation)
    raise_alert(tx, desk, now, subject, AlertKind.BREAKER_OPENED, body)


def _tell_clock_step(tx: Tx, desk: Desk, before: Breaker, anchored: Breaker, now: datetime) -> None:
    """Tell on-call, and let an open breaker's pause, which begins anew, have a new alert.

    Slack's places would rest until the time of before, and nobody would be told.
    """
    places.hold(tx)
    places.begin_anew(tx, now)
    seen = "" if before.last_seen is None else before.last_seen.isoformat()
    data: Payload = {"last_seen": seen, "now": now.isoformat()}
    text = f"The clock stepped back from {seen} to {now.isoformat()}; the breaker starts anew."
    fact = audit.Fact(AuditType.BREAKER_CLOCK_STEP, "policy", Channel.POLICY, data)
    audit.append(tx, None, now, fact)
    subject = f"clock_step:{anchored.generation}"
    raise_alert(tx, desk, now, subject, AlertKind.CLOCK_STEP, {"text": text})
    if anchored.state is BreakerState.OPEN:
        said = "The clock stepped back: the pause begins anew, with an alert of its own."
        end_alert(tx, desk, now, breaker_subject(before.generation), said)
        _alarm(tx, desk, anchored, now, "the clock stepped back")


def _rfc3339(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
