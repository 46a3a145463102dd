"""What the model is told of a conversation that is longer than its prompt. Pure."""

from collections.abc import Sequence

from agent.domain.approvals import Approval
from agent.domain.payload import Json, Payload
from agent.domain.wording import is_for_customer, request_words

RECAP_EVENT = "earlier_in_this_conversation"
# Of what has ended, the newest; what still waits is told whole.
MAX_ENDED = 20
_BEGINNING = 500


def recap(left_out: int, beginning: str, requests: Sequence[Approval]) -> Payload:
    """Return the system message that stands for the messages which are left out (design.md §13).

    `beginning` is the customer's first message, `requests` what the conversation has asked for,
    oldest first: the one thing that must not be forgotten, as the model would ask for it again.
    """
    told: list[Json] = [
        {
            "approval_id": one.id,
            "what": request_words(one),
            "status": one.status.value,
            "waiting": one.ended_at is None,
        }
        for one in requests
        if is_for_customer(one)
    ]
    return {
        "event": RECAP_EVENT,
        "messages_left_out": left_out,
        "customer_began_with": beginning[:_BEGINNING],
        "requests": told,
    }
