"""How a step's refusal reads on the wire."""

from datetime import datetime

from agent.domain.approvals import Approval, Status
from agent.domain.decision import RefusalCode, Refused
from bot.shapes import REFUSAL_STATUS, rfc3339
from bot.web.problems import Problem


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


def _decided(refused: Refused) -> dict[str, str | None] | None:
    earlier, approval = refused.earlier, refused.approval
    if earlier is not None:
        return _who(earlier.actor_name, earlier.verdict, earlier.channel.value, earlier.at)
    return None if approval is None else _without_vote(approval)


def _without_vote(approval: Approval) -> dict[str, str | None]:
    """Return who ended a row on which nobody of the team has voted."""
    if approval.status is Status.CANCELLED:
        return _who(approval.requested_by, "withdraw", "chat", approval.ended_at)
    return _who("policy", "approve", "policy", approval.decided_at)


def _who(actor: str, verdict: str, channel: str, at: datetime | None) -> dict[str, str | None]:
    return {
        "actor": actor,
        "verdict": verdict,
        "channel": channel,
        "at": None if at is None else rfc3339(at),
    }
