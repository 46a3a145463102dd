"""One vote by one person, whichever door it came through; also the customer's own withdrawal."""

import json
import logging
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Event, Status, Verdict, Vote
from agent.domain.audit import AuditType
from agent.domain.decision import (
    DecideAnswer,
    Decided,
    Decision,
    RefusalCode,
    Refused,
    Voted,
)
from agent.domain.errors import Corrupt
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.judgement import Counts, Denial, Lapsed, judge
from agent.domain.payload import Payload
from agent.domain.roles import Actor, Channel, Identity, quorum_reached
from agent.ports import DeliveryKind
from agent.steps import edit
from agent.steps.expire import expire
from agent.steps.outcomes import Telling, show, slack_message
from storage import approvals, audit, conversations, decisions, outbox, people
from storage.decisions import Ballot
from storage.transaction import Tx

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


def decide(desk: Desk, decision: Decision) -> DecideAnswer:
    """Judge a person's word and, if it counts, write it down with all that follows.

    Refusals are returned, so that their audit row and a lazy expiry are committed too.
    """
    reading = edit.read_for(desk, decision)
    with desk.store.transaction() as tx:
        edit.lock(tx, reading)
        try:
            approval = approvals.get(tx, decision.approval_id, lock=True)
        except Corrupt as corrupt:
            return _corrupt(tx, desk, decision, str(corrupt))
        if approval is not None:
            # Everywhere the conversation is locked before the run's trail.
            conversations.lock(tx, approval.conversation_id)
        actor = people.find(tx, decision.identity)
        case = _Case(decision, approval, actor, desk.clock.now())
        votes = () if approval is None else decisions.of(tx, approval.id)
        answer: DecideAnswer
        judged = judge(approval, actor, decision, votes, case.now)
        match judged:
            case Denial() as denial:
                answer = _refuse(tx, desk, case, denial)
            case Lapsed(approval=lapsed):
                answer = _lapse(tx, desk, case, lapsed)
            case Counts() as counts:
                answer = _apply(tx, desk, case, counts, reading)
            case _:
                assert_never(judged)
    for lane in (Lane.EXECUTE, Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    _log(case, answer)
    return answer


def withdraw(desk: Desk, approval_id: ApprovalId, customer_id: CustomerId) -> Approval | Refused:
    """Cancel a request that still waits, by the customer who asked for it."""
    with desk.store.transaction() as tx:
        approval = approvals.get(tx, approval_id, lock=True)
        now = desk.clock.now()
        if approval is None or approval.customer_id != customer_id:
            return Refused(RefusalCode.NOT_FOUND, "There is no such request.")
        if approval.status is not Status.PENDING:
            return Refused(
                RefusalCode.TOO_LATE_TO_WITHDRAW, f"The request is {approval.status}.", approval
            )
        cancelled = approvals.shift_locked(tx, approval, Event.WITHDRAW, ended_at=now, wake_at=None)
        fact = audit.Fact(AuditType.APPROVAL_WITHDRAWN, customer_id, Channel.CHAT, {}, approval.id)
        show(tx, desk, cancelled, now, Telling())
        audit.append(tx, approval.run_id, now, fact)
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return cancelled


def note_unknown_click(desk: Desk, identity: Identity, channel: Channel, data: Payload) -> None:
    """Write down an interaction that names nothing the desk knows."""
    with desk.store.transaction() as tx:
        fact = audit.Fact(
            AuditType.DECISION_REFUSED, str(identity), channel, {"code": "unknown_action", **data}
        )
        audit.append(tx, None, desk.clock.now(), fact)


def _apply(
    tx: Tx, desk: Desk, case: _Case, counts: Counts, reading: edit.EditReading | None
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
    voters = decisions.approving(tx, approval.id)
    if not quorum_reached(approval.tier, voters):
        progress = slack_message(
            desk,
            DeliveryKind.CARD_UPDATE,
            f"card_update:{approval.id}:votes:{len(voters)}",
            {},
            approval,
        )
        outbox.add(tx, case.now, progress)
        return Voted(approval, len(voters))
    approved = edit.approve_now(tx, approval, case.now)
    _record(tx, desk, case, approved, AuditType.APPROVAL_APPROVED)
    return Decided(approved)


def _rejected(tx: Tx, desk: Desk, case: _Case, approval: Approval) -> DecideAnswer:
    rejected = approvals.shift_locked(
        tx, approval, Event.REJECT, decided_at=case.now, ended_at=case.now, wake_at=None
    )
    _record(tx, desk, case, rejected, AuditType.APPROVAL_REJECTED)
    return Decided(rejected)


def _record(tx: Tx, desk: Desk, case: _Case, approval: Approval, tag: AuditType) -> None:
    show(tx, desk, approval, case.now, Telling(reason=case.decision.reason.strip()))
    fact = audit.Fact(
        tag,
        case.who(),
        case.decision.channel,
        {"payload_hash": approval.payload_hash, "status": approval.status.value},
        approval.id,
    )
    audit.append(tx, approval.run_id, case.now, fact)


def _lapse(tx: Tx, desk: Desk, case: _Case, approval: Approval) -> Refused:
    expired = expire(tx, desk, approval, case.now)
    late = Denial(RefusalCode.EXPIRED, "Too late: nobody decided before the deadline.")
    return _refuse(tx, desk, _Case(case.decision, expired, case.actor, case.now), late)


def _refuse(tx: Tx, desk: Desk, case: _Case, denial: Denial) -> Refused:
    approval, decision = case.approval, case.decision
    data: Payload = {
        "code": denial.code.value,
        "verdict": decision.verdict.value,
        "shown_hash": decision.shown_hash[:64],
        "approval_id": decision.approval_id[:64],
        "identity": str(decision.identity),
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
    alert = slack_message(
        desk,
        DeliveryKind.ONCALL,
        f"corrupt:{decision.approval_id}",
        {"text": f"A stored request does not validate and will not run: {problem}"},
    )
    outbox.add(tx, now, alert)
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
    )
    return Ballot(vote, approval.payload_hash, counts.evidence, counts.roles)
