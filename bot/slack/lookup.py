"""Which Slack accounts the people on a card have."""

from agent.domain.approvals import ApprovalView
from agent.domain.ids import ActorId
from storage import people
from storage.transaction import Tx


def slack_users(tx: Tx, view: ApprovalView) -> dict[ActorId, str]:
    """Return the Slack user ids of those who voted on, edited or asked about a request."""
    named = {vote.actor_id for vote in view.votes} | set(view.approval.edited_by)
    named |= {ask.actor_id for ask in view.asks}
    users = {}
    for actor_id in named:
        actor = None if actor_id is None else people.get(tx, actor_id)
        subject = None if actor is None else actor.slack_subject()
        if actor is not None and subject is not None:
            users[actor.id] = subject.partition(":")[2]
    return users
