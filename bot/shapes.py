"""JSON shapes of http.md that more than one edge shows."""

from datetime import UTC, datetime
from typing import TypeAlias

from agent.domain.approvals import Approval, ApprovalView, Snapshot, Vote
from agent.domain.asks import Ask
from agent.domain.conversation import LogEvent, Run
from agent.domain.decision import RefusalCode
from agent.domain.hand_offs import HandOff
from agent.domain.money import money_json
from agent.domain.reviews import Review
from agent.tools.levels import weigh
from agent.tools.registry import TOOLS
from storage.pauses import Pause

# An object as it goes out. FastAPI cannot make a schema of the recursive type `Json`.
JsonObject: TypeAlias = dict[str, object]

# The HTTP status of each way in which a person's word may not count.
REFUSAL_STATUS: dict[RefusalCode, int] = {
    RefusalCode.NOT_FOUND: 404,
    RefusalCode.NOT_ALLOWED: 403,
    RefusalCode.ROLE_UNVERIFIED: 403,
    RefusalCode.SELF_APPROVAL: 403,
    RefusalCode.ALREADY_DECIDED: 409,
    RefusalCode.ALREADY_VOTED: 409,
    RefusalCode.SUPERSEDED: 409,
    RefusalCode.EXPIRED: 409,
    RefusalCode.PAYLOAD_CHANGED: 409,
    RefusalCode.TOO_LATE_TO_WITHDRAW: 409,
    RefusalCode.TOO_EARLY: 409,
    RefusalCode.STOPPED: 409,
    RefusalCode.INVALID: 422,
    RefusalCode.REASON_REQUIRED: 422,
}


def rfc3339(moment: datetime) -> str:
    """Return the time in UTC, e.g. `2026-11-29T12:00:00Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def approval_json(view: ApprovalView) -> JsonObject:
    """Return an approval; `payload` is what is hashed and executed, untouched.

    `proposed` is what the model proposed, where people have changed it.
    """
    approval = view.approval
    return {
        "id": approval.id,
        "run_id": approval.run_id,
        "conversation_id": approval.conversation_id,
        "tool": approval.tool,
        "payload": approval.payload,
        "payload_hash": approval.payload_hash,
        "proposed": approval.original,
        "status": approval.status.value,
        "risk": _risk(approval),
        "requested_by": approval.requested_by,
        "tier": {
            "role": approval.tier.role.value,
            "approvals_needed": approval.tier.approvals_needed,
        },
        "decisions": [vote_json(vote) for vote in view.votes],
        "questions": [ask_json(ask) for ask in view.asks],
        "created_at": rfc3339(approval.created_at),
        "expires_at": rfc3339(approval.expires_at),
        "supersedes": approval.supersedes,
        "superseded_by": approval.superseded_by,
        "attempts": approval.attempts,
        "result": approval.result,
        "model": approval.model,
        "policy_version": approval.policy_version,
    }


def vote_json(vote: Vote) -> JsonObject:
    """Return who decided what, when and why; the note for staff stays inside."""
    return {
        "actor": vote.actor_name,
        "verdict": vote.verdict,
        "channel": vote.channel.value,
        "at": rfc3339(vote.at),
        "reason": vote.reason,
        "break_glass": vote.break_glass,
    }


def ask_json(ask: Ask) -> JsonObject:
    """Return a question about a request; `answer` is null while none came, or none could be had.

    `late` tells that the request had ended before it was answered.
    """
    return {
        "id": ask.id,
        "of": ask.asked_of.value,
        "actor": ask.actor_name,
        "question": ask.question,
        "asked_at": rfc3339(ask.asked_at),
        "answered_at": None if ask.answered_at is None else rfc3339(ask.answered_at),
        "answer": ask.answer,
        "late": ask.late,
    }


def review_json(review: Review, effect: ApprovalView | None) -> JsonObject:
    """Return one automatic effect of the review queue, and what people made of it.

    `effect` is None where the stored row does not validate.
    """
    return {
        "approval_id": review.approval_id,
        "customer_id": review.customer_id,
        "why": review.why,
        "state": review.state.value,
        "asked_at": rfc3339(review.asked_at),
        "answered_at": None if review.answered_at is None else rfc3339(review.answered_at),
        "actor": review.actor_name,
        "reason": review.reason,
        "approval": None if effect is None else approval_json(effect),
    }


def pause_json(pause: Pause) -> JsonObject:
    """Return a customer for whom nothing runs without a person, and since when and why."""
    return {
        "customer_id": pause.customer_id,
        "since": rfc3339(pause.since),
        "reason": pause.reason,
        "approval_id": pause.approval_id,
    }


def hand_off_json(hand_off: HandOff) -> JsonObject:
    """Return one time that people were called into a conversation."""
    joined, ended = hand_off.joined_at, hand_off.ended_at
    return {
        "conversation_id": hand_off.conversation_id,
        "number": hand_off.number,
        "state": hand_off.state.value,
        "customer": hand_off.body.get("customer"),
        "reason": hand_off.body.get("reason"),
        "opened_at": rfc3339(hand_off.opened_at),
        "attended_by": hand_off.attended_name,
        "joined_at": None if joined is None else rfc3339(joined),
        "ended_at": None if ended is None else rfc3339(ended),
        "ended_by": hand_off.ended_by,
        "rating": hand_off.rating,
    }


def event_json(event: LogEvent) -> JsonObject:
    """Return one event of a customer's log."""
    return {
        "seq": event.seq,
        "at": rfc3339(event.at),
        "type": event.type.value,
        "data": event.data,
    }


def run_json(run: Run) -> JsonObject:
    """Return one line of a list of runs; the checkpoint has the rest."""
    return {
        "run_id": run.id,
        "conversation_id": run.conversation_id,
        "message_id": run.message_id,
        "status": run.state.value,
        "step": run.step,
        "created_at": rfc3339(run.created_at),
        "updated_at": rfc3339(run.updated_at),
        "error": run.error,
    }


def _risk(approval: Approval) -> JsonObject:
    tool, weighed = TOOLS.get(approval.tool), weigh(approval)
    return {
        "level": weighed.level.value,
        "impact": None if tool is None else tool.impact,
        "reversible": None if tool is None else tool.reversible,
        "triggers": weighed.triggers,
        "reasons": [{"code": f.code.value, "text": f.text} for f in approval.findings],
        "confidence": approval.confidence,
        "amount": None if approval.amount is None else money_json(approval.amount),
        "order": None if approval.snapshot is None else _order(approval.snapshot),
    }


def _order(snapshot: Snapshot) -> JsonObject:
    return {
        "total": money_json(snapshot.order_total),
        "captured": money_json(snapshot.captured),
        "refunded": money_json(snapshot.refunded),
        "remaining": money_json(snapshot.remaining),
    }
