"""One vote by one person, whichever door it came through; also the customer's own withdrawal."""

import json
import logging
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never, cast

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Event, Status, Verdict, Vote
from agent.domain.audit import AuditType
from agent.domain.conversation import storable
from agent.domain.decision import (
    DecideAnswer,
    Decided,
    Decision,
    RefusalCode,
    Refused,
    Voted,
)
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.judgement import (
    Counts,
    Denial,
    Lapsed,
    Register,
    demand_fresh,
    judge,
    role_needed,
)
from agent.domain.payload import Payload
from agent.domain.roles import (
    Actor,
    Channel,
    Identity,
    quorum_reached,
)
from agent.domain.wording import is_for_customer, request_words
from agent.ports import DeliveryKind
from agent.steps import edit
from agent.steps.alerts import raise_alert, raise_corrupt
from agent.steps.escalate import meet_deadline
from agent.steps.outcomes import Telling, show, slack_message
from agent.steps.permission import register_for
from agent.steps.votes import eligible
from storage import approvals, audit, breaker, conversations, decisions, outbox, people
from storage.decisions import Ballot
from storage.transaction import Tx, retried

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Case:
    """One decision under way, with what was found for it."""

    decision: Decision
    approval: Approval | None
    actor: Actor | None
    now: datetime

    def who(self) -> str:
        """Return the actor's id, or the identity of a stranger."""
        return self.actor.id if self.actor is not None else str(self.decision.identity)


@dataclass(frozen=True, slots=True)
class Unproven:
    """The word would count, but the tier asks for a role that was read since the click.

    Nothing is written. `identity` is the Slack account whose user groups are to be read.
    """

    decision: Decision
    identity: Identity


def decide(desk: Desk, decision: Decision) -> DecideAnswer:
    """Judge a person's word and, if it counts, write it down with all that follows.

    Refusals are returned, so that their audit row and a lazy expiry are committed too. Where the
    tier asks for it the person's role is read first, while they wait.
    """
    decision = replace(decision, clicked_at=desk.clock.now())
    answer = decide_at_once(desk, decision)
    if isinstance(answer, Unproven):
        # What cannot be read leaves the role unproven, and the word is refused for it.
        desk.rosters.refresh(answer.identity)
        return decide_as_known(desk, decision)
    return answer


def decide_at_once(desk: Desk, decision: Decision) -> DecideAnswer | Unproven:
    """Decide by what the desk knows, and leave it open where only the role is to be read."""
    return _decided(desk, decision, final=False)


def decide_as_known(desk: Desk, decision: Decision) -> DecideAnswer:
    """Decide by what the desk knows; a role that is not proven by now is a refusal."""
    # A final answer leaves nothing open.
    return cast(DecideAnswer, _decided(desk, decision, final=True))


def _decided(desk: Desk, decision: Decision, *, final: bool) -> DecideAnswer | Unproven:
    decision = replace(decision, reason=storable(decision.reason), note=storable(decision.note))
    reading = edit.read_for(desk, decision)
    answer, case = retried(lambda: _decide(desk, decision, reading, final=final))
    if isinstance(answer, Unproven):
        return answer
    for lane in (Lane.EXECUTE, Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    if case is not None:
        _log(case, answer)
    return answer


def _decide(
    desk: Desk, decision: Decision, reading: edit.Wanted | None, *, final: bool
) -> tuple[DecideAnswer | Unproven, _Case | None]:
    """Judge and write in one transaction; no case is returned for a damaged row."""
    with desk.store.transaction() as tx:
        # What people read of an approval depends on the switch.
        breaker.hold_switch(tx)
        edit.lock(tx, reading)
        try:
            approval = approvals.get(tx, decision.approval_id, lock=True)
        except Corrupt as corrupt:
            return _corrupt(tx, desk, decision, str(corrupt)), None
        if approval is not None:
            # Everywhere the conversation is locked before the run's trail.
            conversations.lock(tx, approval.conversation_id)
        actor = people.find(tx, decision.identity)
        case = _Case(decision, approval, actor, desk.clock.now())
        case, judged = _judged(tx, desk, case)
        if isinstance(judged, Counts):
            judged = demand_fresh(judged, decision, case.now)
        if not final and _waits_for_role(case, judged):
            return Unproven(decision, _slack_identity(case)), case
        if isinstance(judged, Denial):
            return _refuse(tx, desk, case, judged), case
        return _apply(tx, desk, case, judged, reading), case


def _judged(tx: Tx, desk: Desk, case: _Case) -> tuple[_Case, Counts | Denial]:
    """Judge the decision; one that comes after the deadline on what that made of the row."""
    approval = case.approval
    votes = () if approval is None else decisions.of(tx, approval.id)
    found = judge(approval, case.actor, case.decision, votes, _register(tx, case), case.now)
    match found:
        case Lapsed(approval=lapsed):
            met = meet_deadline(tx, desk, lapsed, case.now)
            return _judged(tx, desk, replace(case, approval=met))
        case Counts() | Denial():
            return case, found
        case _:
            assert_never(found)


def _waits_for_role(case: _Case, judged: Counts | Denial) -> bool:
    """Tell whether nothing but a role that was not read lately is in the way."""
    unverified = isinstance(judged, Denial) and judged.code is RefusalCode.ROLE_UNVERIFIED
    return unverified and case.approval is not None and case.approval.tier.fresh_role


def _slack_identity(case: _Case) -> Identity:
    subject = None if case.actor is None else case.actor.slack_subject()
    return case.decision.identity if subject is None else Identity("slack", subject)


def withdraw(
    desk: Desk,
    approval_id: ApprovalId,
    customer_id: CustomerId,
    *,
    heard_in: ConversationId | None = None,
) -> Approval | Refused:
    """Cancel a request that still waits, by the customer who asked for it.

    `heard_in` is the conversation whose turn under way tells the model itself.
    """
    answer = retried(lambda: _withdraw(desk, approval_id, customer_id, heard_in))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def _withdraw(
    desk: Desk,
    approval_id: ApprovalId,
    customer_id: CustomerId,
    heard_in: ConversationId | None,
) -> Approval | Refused:
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id, lock=True)
        now = desk.clock.now()
        if approval is None or approval.customer_id != customer_id or not is_for_customer(approval):
            refused = Refused(RefusalCode.NOT_FOUND, "There is no such request.")
            return _not_withdrawn(tx, approval_id, customer_id, refused, now)
        conversations.lock(tx, approval.conversation_id)
        approval = meet_deadline(tx, desk, approval, now)
        if approval.status is not Status.PENDING:
            refused = Refused(
                RefusalCode.TOO_LATE_TO_WITHDRAW, f"The request is {approval.status}.", approval
            )
            return _not_withdrawn(tx, approval_id, customer_id, refused, now)
        cancelled = approvals.shift_locked(tx, approval, Event.WITHDRAW, ended_at=now, wake_at=None)
        data: Payload = {"status": cancelled.status.value}
        fact = audit.Fact(
            AuditType.APPROVAL_WITHDRAWN, customer_id, Channel.CHAT, data, approval.id
        )
        show(tx, desk, cancelled, now, Telling(heard_in=heard_in, by_customer=True))
        audit.append(tx, approval.run_id, now, fact)
        return cancelled


def _not_withdrawn(
    tx: Tx, approval_id: ApprovalId, customer_id: CustomerId, refused: Refused, now: datetime
) -> Refused:
    """Write down that a customer could not take something back, and why."""
    about = refused.approval
    data: Payload = {
        "code": refused.code.value,
        "verdict": "withdraw",
        "approval_id": approval_id[:64],
    }
    known = None if about is None else about.id
    fact = audit.Fact(AuditType.DECISION_REFUSED, customer_id, Channel.CHAT, data, known)
    audit.append(tx, None if about is None else about.run_id, now, fact)
    return refused


def _register(tx: Tx, case: _Case) -> Register:
    if case.approval is None:
        return Register()
    role = role_needed(case.approval, case.decision)
    return register_for(tx, case.actor, role, case.now)


def note_unknown_click(desk: Desk, identity: Identity, channel: Channel, data: Payload) -> None:
    """Write down an interaction that names nothing the desk knows."""
    with desk.store.transaction() as tx:
        fact = audit.Fact(
            AuditType.DECISION_REFUSED, str(identity), channel, {"code": "unknown_action", **data}
        )
        audit.append(tx, None, desk.clock.now(), fact)


def _apply(
    tx: Tx, desk: Desk, case: _Case, counts: Counts, reading: edit.Wanted | None
) -> DecideAnswer:
    approval, decision = counts.approval, case.decision
    if decision.verdict is Verdict.EDIT:
        ballot = _ballot(desk, case, counts, approval)
        edited = edit.edit(tx, desk, edit.Edit(approval, decision, counts, ballot), reading)
        return _refuse(tx, desk, case, edited) if isinstance(edited, Denial) else edited
    decisions.add(tx, _ballot(desk, case, counts, approval))
    cast = audit.Fact(
        AuditType.VOTE_CAST,
        counts.actor.id,
        decision.channel,
        _vote_data(case, counts),
        approval.id,
    )
    audit.append(tx, approval.run_id, case.now, cast)
    if decision.verdict is Verdict.REJECT:
        return _rejected(tx, desk, case, approval)
    return _approved(tx, desk, case, approval)


def _approved(tx: Tx, desk: Desk, case: _Case, approval: Approval) -> DecideAnswer:
    voters = eligible(tx, approval)
    if not case.decision.break_glass and not quorum_reached(approval.tier, voters):
        progress = slack_message(
            desk,
            DeliveryKind.CARD_UPDATE,
            f"card_update:{approval.id}:votes:{len(voters)}",
            {},
            approval,
        )
        outbox.add(tx, case.now, progress)
        # Accounts that turned out to be one person are one vote.
        return Voted(approval, len({actor_id for actor_id, _ in voters}))
    approved = edit.approve_now(tx, approval, case.now)
    _record(tx, desk, case, approved, AuditType.APPROVAL_APPROVED)
    if case.decision.break_glass:
        _tell_broken_glass(tx, desk, case, approved)
    return Decided(approved)


def _tell_broken_glass(tx: Tx, desk: Desk, case: _Case, approval: Approval) -> None:
    """Let everybody on call see that one of them decided alone."""
    name = case.who() if case.actor is None else case.actor.name
    body: Payload = {
        "text": f"{name} broke the glass and approved {request_words(approval)} alone.",
        "reason": case.decision.reason.strip(),
    }
    subject = f"break_glass:{approval.id}"
    raise_alert(tx, desk, case.now, subject, AlertKind.BREAK_GLASS, body, approval)


def _rejected(tx: Tx, desk: Desk, case: _Case, approval: Approval) -> DecideAnswer:
    rejected = approvals.shift_locked(
        tx, approval, Event.REJECT, decided_at=case.now, ended_at=case.now, wake_at=None
    )
    _record(tx, desk, case, rejected, AuditType.APPROVAL_REJECTED)
    return Decided(rejected)


def _record(tx: Tx, desk: Desk, case: _Case, approval: Approval, tag: AuditType) -> None:
    # Why the glass was broken is no business of the customer's.
    reason = "" if case.decision.break_glass else case.decision.reason.strip()
    category = case.decision.category if approval.status is Status.REJECTED else None
    telling = Telling(reason=reason, category=None if category is None else category.value)
    show(tx, desk, approval, case.now, telling)
    fact = audit.Fact(
        tag,
        case.who(),
        case.decision.channel,
        {
            "payload_hash": approval.payload_hash,
            "status": approval.status.value,
            "use_by": None if approval.use_by is None else approval.use_by.isoformat(),
        },
        approval.id,
    )
    audit.append(tx, approval.run_id, case.now, fact)


def _refuse(tx: Tx, desk: Desk, case: _Case, denial: Denial) -> Refused:
    approval, decision = case.approval, case.decision
    data: Payload = {
        "code": denial.code.value,
        "verdict": decision.verdict.value,
        "shown_hash": decision.shown_hash[:64],
        "approval_id": decision.approval_id[:64],
        "identity": str(decision.identity),
        **decision.act,
    }
    fact = audit.Fact(
        AuditType.DECISION_REFUSED,
        case.who(),
        decision.channel,
        data,
        None if approval is None else approval.id,
    )
    audit.append(tx, None if approval is None else approval.run_id, case.now, fact)
    _answer_in_slack(tx, desk, case, denial)
    return Refused(denial.code, denial.message, approval, denial.earlier)


def _answer_in_slack(tx: Tx, desk: Desk, case: _Case, denial: Denial) -> None:
    _whisper(tx, desk, case.decision, denial.message, case.now)
    if case.decision.reply_to is not None and case.approval is not None:
        # The clicker saw an old picture: draw the card again as the row is now.
        key = f"card_redraw:{case.approval.id}"
        redraw = slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, case.approval)
        outbox.add(tx, case.now, redraw)


def _whisper(tx: Tx, desk: Desk, decision: Decision, words: str, now: datetime) -> None:
    """Let the clicker alone read why the click did not count."""
    reply = decision.reply_to
    if reply is None:
        return
    body: Payload = {"channel": reply.channel, "user": reply.user, "text": words}
    key = f"ephemeral:{desk.ids.new('out')}"
    outbox.add(tx, now, slack_message(desk, DeliveryKind.EPHEMERAL, key, body))


def _corrupt(tx: Tx, desk: Desk, decision: Decision, problem: str) -> Refused:
    now = desk.clock.now()
    fact = audit.Fact(
        AuditType.APPROVAL_CORRUPT,
        str(decision.identity),
        decision.channel,
        {"problem": problem},
        decision.approval_id,
    )
    audit.append(tx, None, now, fact)
    raise_corrupt(tx, desk, now, decision.approval_id, problem)
    words = "The stored request is damaged and will not run; on-call was told."
    _whisper(tx, desk, decision, words, now)
    return Refused(RefusalCode.PAYLOAD_CHANGED, words)


def _log(case: _Case, answer: DecideAnswer) -> None:
    """Write the line that log searches look for; reasons and notes stay in the trail."""
    decision = case.decision
    line = {
        "event": "hitl",
        "decision": decision.verdict.value,
        "counted": not isinstance(answer, Refused),
        "code": answer.code.value if isinstance(answer, Refused) else None,
        "actor": case.who(),
        "tool": None if case.approval is None else case.approval.tool,
        "approval_id": decision.approval_id,
        "channel": decision.channel.value,
        "ts": case.now.isoformat(),
    }
    log.info("%s", json.dumps(line))


def _vote_data(case: _Case, counts: Counts) -> Payload:
    decision = case.decision
    return {
        "verdict": decision.verdict.value,
        "shown_hash": decision.shown_hash,
        "evidence": counts.evidence,
        "identity": str(decision.identity),
        "category": None if decision.category is None else decision.category.value,
        "reason": decision.reason.strip(),
        "note": decision.note.strip(),
        "break_glass": decision.break_glass,
        **decision.act,
    }


def _ballot(desk: Desk, case: _Case, counts: Counts, approval: Approval) -> Ballot:
    decision = case.decision
    vote = Vote(
        id=desk.ids.new("dec"),
        approval_id=approval.id,
        actor_id=counts.actor.id,
        actor_name=counts.actor.name,
        verdict=decision.verdict.value,
        channel=decision.channel,
        at=case.now,
        reason=decision.reason.strip(),
        category=None if decision.category is None else decision.category.value,
        note=decision.note.strip(),
        break_glass=decision.break_glass,
    )
    return Ballot(vote, decision.shown_hash, counts.evidence, counts.roles)
