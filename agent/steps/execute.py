"""The stored payload is carried out once, and the outcome written down honestly (design.md §8)."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.breaker import BreakerState
from agent.domain.deadlines import EXECUTION_LEASE, FACTS_MAX_AGE, is_past
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.judgement import hash_shown
from agent.domain.payload import Payload
from agent.domain.risk import Refuse
from agent.domain.roles import Channel, higher_tier
from agent.domain.wording import known_words, request_words
from agent.steps import breaker as breaker_step
from agent.steps import review
from agent.steps.alerts import end_alert, raise_alert, raise_corrupt, unknown_subject
from agent.steps.answers import Ending, judge_answer
from agent.steps.finish import finish
from agent.steps.outcomes import Telling, show
from agent.steps.votes import still_approved
from agent.tools.effects import Effect, EffectAnswer, Reading, Recorded, question_about
from agent.tools.order_facts import pause_of
from agent.tools.refunds import own_left_out
from agent.tools.registry import EFFECTS
from storage import approvals, attempts, audit, breaker
from storage.transaction import Tx

_OTHER_RULES = "The rules for such requests have changed since it was approved."
_NEEDS_A_PERSON = "It now needs a decision by a person of our team."
_NEEDS_A_NEW_WORD = "It has to be approved once more."
_PUT_OFF = timedelta(seconds=30)
_SAME_AGAIN = frozenset({Status.UNKNOWN, Status.APPROVED})
_KNOWN = frozenset({Status.EXECUTED, Status.FAILED})
# What the breaker hears of an automatic refund.
_OF_THE_BREAKER = frozenset({Status.EXECUTED, Status.FAILED, Status.UNKNOWN})


def execute_due(desk: Desk) -> bool:
    """Take up the approved row that is due first; False when none was, or none may run now."""
    try:
        with desk.store.transaction() as tx:
            waiting = approvals.take_due(tx, Status.APPROVED, desk.clock.now())
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return True
    if waiting is None:
        return False
    try:
        return _execute(desk, waiting.id) is not None
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return True
    except Exception:
        # One order that the outside cannot be asked about must not hold up the others.
        _put_off(desk, waiting.id)
        raise


def execute(desk: Desk, approval_id: ApprovalId) -> Approval | None:
    """Claim one approved row, pay, and settle it; None when it may not run now.

    The provider is called outside any transaction, and only after the claim is committed.
    """
    try:
        return _execute(desk, approval_id)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        return None


def _put_off(desk: Desk, approval_id: ApprovalId) -> None:
    with desk.store.transaction() as tx:
        approval = approvals.lock(tx, approval_id)
        if approval.status is Status.APPROVED:
            later = desk.clock.now() + _PUT_OFF
            approvals.shift_locked(tx, approval, None, wake_at=later)


def _execute(desk: Desk, approval_id: ApprovalId) -> Approval | None:
    claim = _claim(desk, approval_id, _read(desk, approval_id))
    if claim is None or not claim.is_mine:
        return None if claim is None else claim.approval
    return carry_out(desk, claim.approval, in_turn=False)


def carry_out(desk: Desk, claimed: Approval, *, in_turn: bool) -> Approval:
    """Send the stored request of a claimed row and settle the answer.

    `in_turn` says that the turn under way tells the model itself.
    """
    answer = effect_of(claimed).run(desk, claimed)
    return settle(desk, claimed, answer, in_turn=in_turn)


def effect_of(approval: Approval) -> Effect:
    """Return what carries the approval out; raises Corrupt if its stored payload may not run.

    The bytes must still be those that were bound, at the first try and at every later one.
    """
    effect = EFFECTS.get(approval.tool)
    if effect is None:
        raise Corrupt(approval.id, f"there is no tool {approval.tool!r}")
    if not hash_shown(approval, approval.payload_hash):
        raise Corrupt(approval.id, "the payload does not match its hash")
    try:
        effect.check(approval)
    except InvalidInput as invalid:
        raise Corrupt(approval.id, str(invalid)) from invalid
    return effect


def settle(desk: Desk, claimed: Approval, answer: EffectAnswer, *, in_turn: bool) -> Approval:
    """Write the outside's answer down; a late definite answer settles an unknown row too."""
    with desk.store.transaction() as tx:
        if claimed.automatic:
            breaker_step.lock(tx, desk)
        current = approvals.lock(tx, claimed.id)
        now = desk.clock.now()
        unsent = attempts.is_unsent(tx, claimed)
        ending = judge_answer(claimed, current, answer, now, desk.ids.jitter(), unsent=unsent)
        attempts.end(tx, claimed, now, ending.outcome, ending.answer)
        if ending.event is None:
            _note_contradiction(tx, desk, current, ending, now)
            if current.status is Status.EXECUTED and _is_final(answer):
                return finish(tx, desk, current, ending.answer, now)
            return _look_later(tx, current, ending)
        moved = _move(tx, current, ending)
        if moved.automatic and moved.amount is not None and moved.status in _OF_THE_BREAKER:
            executed = moved.status is Status.EXECUTED
            breaker_step.note_outcome(tx, desk, moved.id, executed=executed)
        # A second try that leads to the same is no news; after returns alone, unknown is.
        earlier = moved.status is Status.APPROVED or not unsent
        again = moved.attempts > 1 and moved.status in _SAME_AGAIN and earlier
        show(tx, desk, moved, now, Telling(run=not in_turn, quiet=again))
        if ending.event is Event.LATE_FAILURE:
            _tell_came_back(tx, desk, moved, now)
        # After the chip: the conversation is locked before the run's trail everywhere.
        review.sample(tx, desk, moved, now)
        if moved.alerted and moved.status in _KNOWN:
            end_alert(tx, desk, now, unknown_subject(moved.id), known_words(moved))
        audit.append(tx, moved.run_id, now, _ended(desk, moved, ending))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return moved


def _is_final(answer: EffectAnswer) -> bool:
    return isinstance(answer, Recorded) and answer.done and answer.settled


def _tell_came_back(tx: Tx, desk: Desk, moved: Approval, now: datetime) -> None:
    """Tell on-call that money which was paid has come back: an automatic row has no card."""
    text = f"{request_words(moved)} was paid and came back; the customer does not have the money."
    subject = f"came_back:{moved.id}"
    raise_alert(tx, desk, now, subject, AlertKind.CAME_BACK, {"text": text}, moved)


def _look_later(tx: Tx, current: Approval, ending: Ending) -> Approval:
    """Put off a row that the sweep has just asked about in vain; others are left alone."""
    if current.status not in {Status.UNKNOWN, Status.EXECUTED} or current.wake_at is None:
        return current
    return approvals.shift_locked(tx, current, None, wake_at=ending.wake_at)


def _ended(desk: Desk, moved: Approval, ending: Ending) -> audit.Fact:
    data = {**ending.answer, "status": moved.status.value, "attempt": moved.attempts}
    return audit.Fact(ending.tag, desk.replica, Channel.TIMER, data, moved.id)


def _note_contradiction(
    tx: Tx, desk: Desk, current: Approval, ending: Ending, now: datetime
) -> None:
    """Tell on-call when a late answer says other than what stands, which nobody may just change."""
    if ending.contradiction is None:
        return
    text = f"{current.id} is {current.status}, but a late answer says: {ending.contradiction}"
    subject = f"contradiction:{current.id}:{current.attempts}"
    raise_alert(tx, desk, now, subject, AlertKind.CONTRADICTION, {"text": text}, current)


def report_corrupt(desk: Desk, corrupt: Corrupt) -> None:
    """Tell on-call and the trail about a stored row that must not run; its status stays."""
    approval_id = ApprovalId(corrupt.approval_id)
    with desk.store.transaction() as tx:
        # Everywhere an approval is locked before the desk's own trail.
        approvals.set_aside(tx, approval_id)
        now = desk.clock.now()
        problem: Payload = {"problem": str(corrupt)}
        fact = audit.Fact(
            AuditType.APPROVAL_CORRUPT, desk.replica, Channel.TIMER, problem, approval_id
        )
        audit.append(tx, None, now, fact)
        raise_corrupt(tx, desk, now, approval_id, str(corrupt))
    desk.wake(Lane.SLACK)


def _move(tx: Tx, current: Approval, ending: Ending) -> Approval:
    return approvals.shift_locked(
        tx,
        current,
        ending.event,
        ended_at=ending.ended_at,
        result=current.result if ending.ended_at is None else ending.answer,
        lease_owner=None,
        lease_until=None,
        wake_at=ending.wake_at,
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    """A row after the claim; `is_mine` says that this process may now pay."""

    approval: Approval
    is_mine: bool


def _read(desk: Desk, approval_id: ApprovalId) -> Reading:
    with desk.store.transaction() as tx:
        approval = approvals.lock(tx, approval_id)
    effect = effect_of(approval)
    return own_left_out(effect.read(desk, approval.payload), approval)


def _claim(desk: Desk, approval_id: ApprovalId, reading: Reading) -> _Claim | None:
    with desk.store.transaction() as tx:
        stopped = breaker_step.lock(tx, desk).stopped
        if reading.order is not None:
            attempts.lock_order(tx, reading.order.facts)
        approval = approvals.lock(tx, approval_id)
        now = desk.clock.now()
        if approval.status is not Status.APPROVED:
            return _Claim(approval, is_mine=False)
        if stopped or now - reading.read_at > FACTS_MAX_AGE:
            return None
        problem = _stale(tx, desk, approval, reading, now)
        if problem is not None:
            return _Claim(_make_stale(tx, desk, approval, problem, now), is_mine=False)
        return _Claim(_begin(tx, desk, approval, now), is_mine=True)


def _begin(tx: Tx, desk: Desk, approval: Approval, now: datetime) -> Approval:
    claimed = approvals.shift_locked(
        tx,
        approval,
        Event.CLAIM,
        attempts=approval.attempts + 1,
        lease_owner=desk.replica,
        lease_until=now + EXECUTION_LEASE,
        first_sent_at=approval.first_sent_at or now,
        wake_at=now + EXECUTION_LEASE,
    )
    attempts.start(tx, claimed, now)
    data = claim_data(claimed)
    fact = audit.Fact(AuditType.EXECUTION_CLAIMED, desk.replica, Channel.TIMER, data, claimed.id)
    audit.append(tx, claimed.run_id, now, fact)
    return claimed


def claim_data(claimed: Approval) -> Payload:
    """Return what the trail keeps of a try: its number, the key and the very request."""
    return {
        "status": claimed.status.value,
        "attempt": claimed.attempts,
        "key": claimed.idempotency_key,
        "request": claimed.payload,
        "payload_hash": claimed.payload_hash,
    }


@dataclass(frozen=True, slots=True)
class _Stale:
    """Why an approved payload may not run any more: for the customer, and more for staff."""

    problem: str
    detail: str = ""


def _stale(
    tx: Tx, desk: Desk, approval: Approval, reading: Reading, now: datetime
) -> _Stale | None:
    """Return why the approved payload may not run any more, None when it may."""
    if approval.use_by is not None and is_past(approval.use_by, now):
        return _Stale(
            "It was approved too long ago.", f"usable until {approval.use_by.isoformat()}"
        )
    effect = effect_of(approval)
    question = question_about(approval)
    checked = effect.recheck(tx, desk, approval.payload, reading, question, now)
    if isinstance(checked.verdict, Refuse):
        return _Stale(checked.verdict.message)
    if approval.automatic and approval.policy_version != desk.policy.version:
        return _Stale(_OTHER_RULES, "allowed without a person under another policy")
    if not approval.automatic and not still_approved(tx, approval):
        detail = "who approved it turned out to be the requester or an editor"
        return _Stale(_NEEDS_A_NEW_WORD, detail)
    if approval.automatic and (held := _held(tx, approval)) is not None:
        return _Stale(_NEEDS_A_PERSON, held)
    demanded = effect.terms(desk.policy, approval.payload).tier
    # How a role is proven is a matter of the click, which is over.
    demanded = replace(demanded, fresh_role=approval.tier.fresh_role)
    if not approval.automatic and higher_tier(approval.tier, demanded) != approval.tier:
        asked = f"the policy now asks for {demanded.approvals_needed} x {demanded.role}"
        return _Stale(_OTHER_RULES, asked)
    return None


def _held(tx: Tx, approval: Approval) -> str | None:
    """Return what keeps an automatic effect from running that had not begun; None if nothing."""
    paused = pause_of(tx, approval.customer_id)
    if paused is not None:
        return paused
    if approval.amount is not None and breaker.load(tx).state is not BreakerState.CLOSED:
        return "the refund breaker is open"
    return None


def _make_stale(tx: Tx, desk: Desk, approval: Approval, why: _Stale, now: datetime) -> Approval:
    told: Payload = {"problem": why.problem, "detail": why.detail}
    stale = approvals.shift_locked(
        tx,
        approval,
        Event.RECHECK_FAILS,
        ended_at=now,
        wake_at=None,
        result=told,
    )
    show(tx, desk, stale, now, Telling(reason=why.problem))
    data: Payload = {"status": stale.status.value, **told}
    fact = audit.Fact(AuditType.APPROVAL_STALE, desk.replica, Channel.TIMER, data, stale.id)
    audit.append(tx, stale.run_id, now, fact)
    return stale
