"""Which votes on a request still count: accounts may have been linked since they were cast."""

from agent.domain.approvals import Approval, Verdict, Vote
from agent.domain.ids import ActorId
from agent.domain.roles import Role, quorum_reached
from storage import decisions, people
from storage.transaction import Tx


def eligible(tx: Tx, approval: Approval) -> tuple[tuple[ActorId, frozenset[Role]], ...]:
    """Return who approved and may have, with the roles that each held at the click."""
    return tuple((actor_id, vote.roles) for actor_id, vote in _eligible(tx, approval))


def still_approved(tx: Tx, approval: Approval) -> bool:
    """Tell whether the people who approved a row may still have decided it."""
    voters = _eligible(tx, approval)
    if any(vote.break_glass for _, vote in voters):
        return True
    return quorum_reached(approval.tier, tuple((who, vote.roles) for who, vote in voters))


def _eligible(tx: Tx, approval: Approval) -> list[tuple[ActorId, Vote]]:
    """Return the yes votes that count.

    Neither the requester's nor that of somebody who raised the request counts; of an editor only
    the submit of the edit does.
    """
    counted = []
    for vote in decisions.of(tx, approval.id):
        actor = None if vote.actor_id is None else people.get(tx, vote.actor_id)
        if vote.verdict != Verdict.APPROVE or actor is None:
            continue
        submit = vote.at == approval.created_at
        if (
            approval.customer_id in actor.customer_ids()
            or actor.did(approval.raised_by)
            or (actor.did(approval.edited_by) and not submit)
        ):
            continue
        counted.append((actor.id, vote))
    return counted
