"""Many requests at once, as rows that every check takes for real ones."""

from dataclasses import replace
from datetime import timedelta

from agent.domain.approvals import Approval
from agent.domain.ids import ApprovalId, idempotency_key
from agent.domain.payload import payload_hash
from storage import approvals
from tests.support.desk import Story


def crowd(story: Story, like: Approval, number: int) -> list[Approval]:
    """Let so many more wait like one that does, each a second longer."""
    rows = [_another(story, like, count) for count in range(1, number + 1)]
    with story.desk.store.transaction() as tx:
        for row in rows:
            approvals.add(tx, row)
    return rows


def _another(story: Story, like: Approval, count: int) -> Approval:
    new_id = ApprovalId(story.desk.ids.new("apr"))
    bound = payload_hash(
        tool=like.tool,
        payload=like.payload,
        approval_id=new_id,
        policy_version=like.policy_version,
    )
    return replace(
        like,
        id=new_id,
        call_id=f"crowd_{count}",
        payload_hash=bound,
        proposal_key=f"{like.proposal_key}:{count}",
        idempotency_key=idempotency_key(new_id),
        expires_at=like.expires_at + timedelta(seconds=count),
        wake_at=like.expires_at + timedelta(seconds=count),
    )
