"""What a conversation holds: events the customer reads, and the transcript the model reads."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from agent.domain.approvals import Status
from agent.domain.ids import ActorId, ConversationId, CustomerId, RunId
from agent.domain.languages import Language
from agent.domain.payload import Payload

MAX_MESSAGE_CHARACTERS = 4_000
# An answer longer than this helps nobody and fits no event.
MAX_ANSWER_CHARACTERS = 8_000
# What a customer may say of the help, 5 being the best.
MIN_RATING, MAX_RATING = 1, 5
MAX_RATING_COMMENT = 1_000
# So many calls and their results fit into the prompt's window together.
MAX_CALLS = 16
MAX_CALL_ID, MAX_TOOL_NAME = 200, 100
# design.md §13: the prompt holds at most so many messages.
MAX_PROMPT_MESSAGES = 40


class EventType(StrEnum):
    """What an event of the customer's log is (http.md)."""

    MESSAGE = "message"
    APPROVAL = "approval"
    STATUS = "status"
    HAND_OFF = "hand_off"
    RATING = "rating"


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    FAILED = "failed"
    ESCALATED = "escalated"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One entry of the customer's log; `seq` counts 1, 2, 3 … within the conversation."""

    seq: int
    at: datetime
    type: EventType
    data: Payload


@dataclass(frozen=True, slots=True)
class Conversation:
    """One customer's chat; `customer_id` is None for an anonymous visitor.

    `attended_by` is the actor of the team who answers instead of the agent, None while the agent
    does; `language` is one that the desk has words in; `rating` is 1 to 5, None before they said.
    """

    id: ConversationId
    customer_id: CustomerId | None
    created_at: datetime
    last_seq: int
    read_seq: int
    handed_off: bool
    attended_by: ActorId | None
    attended_name: str | None
    language: Language
    rating: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One agent turn and what follows from it."""

    id: RunId
    conversation_id: ConversationId
    message_id: str
    state: RunState
    step: int
    created_at: datetime
    updated_at: datetime
    error: str | None
    tools_version: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model wrote it; `arguments` is its raw JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the transcript, in the roles of Chat Completions."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


def storable(text: str) -> str:
    """Return text that every database holds: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


ChipStatus = Literal[
    "pending",
    "approved",
    "declined",
    "expired",
    "withdrawn",
    "replaced",
    "checking",
    "done",
    "failed",
]

# What the customer's chip says for each status (http.md).
CHIP: dict[Status, ChipStatus] = {
    Status.PENDING: "pending",
    Status.APPROVED: "approved",
    Status.EXECUTING: "approved",
    Status.UNKNOWN: "checking",
    Status.EXECUTED: "done",
    Status.FAILED: "failed",
    Status.STALE: "failed",
    Status.REJECTED: "declined",
    Status.EXPIRED: "expired",
    Status.SUPERSEDED: "replaced",
    Status.CANCELLED: "withdrawn",
}
