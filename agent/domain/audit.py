"""The trail: event tags and the hash chain over the stored bytes."""

import hashlib
from enum import StrEnum

GENESIS = "0" * 64
DESK_CHAIN = "desk"
_EVENT_DOMAIN = b"supportdesk/audit/v1\n"


class AuditType(StrEnum):
    """One tag a kind of fact, `subject.action`."""

    MESSAGE_RECEIVED = "message.received"
    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    MODEL_ANSWERED = "model.answered"
    TOOL_RAN = "tool.ran"
    PROPOSAL_PARKED = "proposal.parked"
    PROPOSAL_ALLOWED = "proposal.allowed"
    PROPOSAL_REFUSED = "proposal.refused"
    PROPOSAL_JOINED = "proposal.joined"
    VOTE_CAST = "vote.cast"
    APPROVAL_APPROVED = "approval.approved"
    APPROVAL_REJECTED = "approval.rejected"
    APPROVAL_EDITED = "approval.edited"
    APPROVAL_EXPIRED = "approval.expired"
    APPROVAL_WITHDRAWN = "approval.withdrawn"
    APPROVAL_REVOKED = "approval.revoked"
    APPROVAL_STALE = "approval.stale"
    APPROVAL_ASKED_AGAIN = "approval.asked_again"
    APPROVAL_CORRUPT = "approval.corrupt"
    DECISION_REFUSED = "decision.refused"
    EXECUTION_CLAIMED = "execution.claimed"
    EXECUTION_ENDED = "execution.ended"
    EXECUTION_UNKNOWN = "execution.unknown"
    EXECUTION_RETURNED = "execution.returned"
    EXECUTION_SETTLED = "execution.settled"
    PROVIDER_HEARD = "provider.heard"
    DRAFT_MADE = "draft.made"
    REVIEW_ASKED = "review.asked"
    REVIEW_ANSWERED = "review.answered"
    AUTOMATIC_PAUSED = "automatic.paused"
    AUTOMATIC_RESUMED = "automatic.resumed"
    STOP_THROWN = "stop.thrown"
    STOP_LIFTED = "stop.lifted"
    CUSTOMER_TOLD = "customer.told"
    HANDED_OFF = "conversation.handed_off"
    BREAKER_OPENED = "breaker.opened"
    BREAKER_TRIAL = "breaker.trial"
    BREAKER_CLOSED = "breaker.closed"
    BREAKER_ACKNOWLEDGED = "breaker.acknowledged"
    BREAKER_RESET = "breaker.reset"
    BREAKER_CLOCK_STEP = "breaker.clock_step"
    CARD_POSTED = "card.posted"
    DELIVERY_FAILED = "delivery.failed"
    ALERT_RAISED = "alert.raised"
    ALERT_POSTED = "alert.posted"
    ALERT_AMENDED = "alert.amended"
    ALERT_ACKNOWLEDGED = "alert.acknowledged"
    ALERT_ENDED = "alert.ended"
    ACTOR_CHANGED = "actor.changed"
    SHOP_IMPORTED = "shop.imported"
    POLICY_TRIED = "policy.tried"


def event_hash(previous: str, body: str) -> str:
    """Return the chain's next link: sha256, in hex, over the previous link and the stored text."""
    return hashlib.sha256(_EVENT_DOMAIN + previous.encode() + b"\n" + body.encode()).hexdigest()
