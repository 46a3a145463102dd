"""The look at an automatic effect after it ran."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.domain.ids import ApprovalId, CustomerId


class ReviewState(StrEnum):
    """Where a review stands."""

    OPEN = "open"
    RIGHT = "right"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True)
class Review:
    """One automatic effect in the review queue; `why` is `share` or `large`.

    `actor_name`, `answered_at` and `reason` are None while nobody has answered.
    """

    approval_id: ApprovalId
    customer_id: CustomerId
    why: str
    state: ReviewState
    asked_at: datetime
    answered_at: datetime | None
    actor_name: str | None
    reason: str | None
