"""How a step's refusal reads on the wire."""

from datetime import datetime
from typing import TypeAlias

from agent.domain.approvals import Approval, Status
from agent.domain.decision import RefusalCode, Refused
from bot.shapes import REFUSAL_STATUS, rfc3339
from bot.web.problems import Problem

# Who ended a request, how, through which door (where that is known) and when.
_Decided: TypeAlias = dict[str, str | None]


def refusal(refused: Refused) -> Problem:
    """Return the problem: who was first and when, or which row replaced it, where there is one."""
    extra: dict[str, object] = {}
    match refused.code:
        case RefusalCode.ALREADY_DECIDED | RefusalCode.ALREADY_VOTED:
            extra["decided"] = _decided(refused)
        case RefusalCode.SUPERSEDED if refused.approval is not None:
            extra["superseded_by"] = refused.approval.superseded_by
        case _:
            pass
    return Problem(
        REFUSAL_STATUS[refused.code], refused.code.value, refused.message, headers=None, **extra
    )


def _decided(refused: Refused) -> _Decided | None:
    earlier, approval = refused.earlier, refused.approval
    if approval is not None and approval.status is Status.CANCELLED:
        return _cancelled(approval)
    if earlier is not None:
        return _who(earlier.actor_name, earlier.verdict, earlier.channel.value, earlier.at)
    if approval is None:
        return None
    # Nobody of the team has voted, so a limit of the policy let it through.
    return _who("policy", "approve", "policy", approval.decided_at)


def _cancelled(approval: Approval) -> _Decided:
    revoked_by = (approval.result or {}).get("revoked_by")
    if isinstance(revoked_by, str):
        return _who(revoked_by, "revoke", None, approval.ended_at)
    return _who(approval.requested_by, "withdraw", "chat", approval.ended_at)


def _who(actor: str, verdict: str, channel: str | None, at: datetime | None) -> _Decided:
    return {
        "actor": actor,
        "verdict": verdict,
        "channel": channel,
        "at": None if at is None else rfc3339(at),
    }
