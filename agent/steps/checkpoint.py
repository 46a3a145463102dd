"""A run as it is stored: what `agent runs show` and GET /runs/{id} print."""

from agent.desk import Desk
from agent.domain.approvals import OPEN, Approval
from agent.domain.conversation import ChatMessage
from agent.domain.ids import RunId
from agent.domain.payload import Json, Payload
from agent.steps.turn import unanswered
from storage import approvals, runs


def checkpoint(desk: Desk, run_id: RunId) -> Payload | None:
    """Return the run with its messages and open requests, None if there is no such run."""
    with desk.store.transaction(write=False) as tx:
        run = runs.get(tx, run_id)
        if run is None:
            return None
        transcript = runs.transcript_of(tx, run_id)
        requests = approvals.of_run(tx, run_id)
    waiting = [a for a in requests if a.status in OPEN]
    open_calls = {call.call_id for call in unanswered(transcript)}
    results: list[Json] = [
        {"call_id": m.call_id, "content": m.content} for m in transcript if m.role == "tool"
    ]
    calls = [call for message in transcript for call in message.calls]
    by_call = {approval.call_id: approval for approval in waiting}
    pending: list[Json] = [
        {"name": call.name, "args": call.arguments, "call_id": call.call_id}
        for call in calls
        if call.call_id in open_calls or call.call_id in by_call
    ]
    deadlines = [approval.expires_at for approval in waiting]
    return {
        "run_id": run.id,
        "conversation_id": run.conversation_id,
        "status": run.state.value,
        "step": run.step,
        "created_at": _rfc3339(run.created_at.isoformat()),
        "updated_at": _rfc3339(run.updated_at.isoformat()),
        "expires_at": _rfc3339(min(deadlines).isoformat()) if deadlines else None,
        "error": run.error,
        "tools_version": run.tools_version,
        "messages": [_message(message) for message in transcript],
        "pending_tools": pending,
        "tool_results": results,
        "approval_metadata": [_approval(approval) for approval in requests],
    }


def _message(message: ChatMessage) -> Json:
    calls: list[Json] = [
        {"call_id": c.call_id, "name": c.name, "args": c.arguments} for c in message.calls
    ]
    return {
        "role": message.role,
        "content": message.content,
        "calls": calls,
        "call_id": message.call_id if message.role == "tool" else None,
    }


def _approval(approval: Approval) -> Json:
    return {
        "approval_id": approval.id,
        "call_id": approval.call_id,
        "tool": approval.tool,
        "status": approval.status.value,
        "payload_hash": approval.payload_hash,
        "expires_at": _rfc3339(approval.expires_at.isoformat()),
    }


def _rfc3339(text: str) -> str:
    return text.replace("+00:00", "Z")
