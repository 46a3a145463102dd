"""A question of an approver, to the customer or to the agent, and what came back."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.domain.ids import ActorId, ApprovalId, ConversationId, RunId


class AskedOf(StrEnum):
    """Whom a question is for."""

    CUSTOMER = "customer"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that was asked. `answered_at` without an `answer`: none could be had.

    `approval_id` is the request as it was then; an edit puts another in its place. `late` tells
    that the request had ended before the answer came.
    """

    id: str
    approval_id: ApprovalId
    conversation_id: ConversationId
    run_id: RunId
    asked_of: AskedOf
    actor_id: ActorId
    actor_name: str
    question: str
    asked_at: datetime
    answered_at: datetime | None
    answer: str | None
    late: bool
