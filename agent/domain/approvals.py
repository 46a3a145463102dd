"""The life of an approval: one table of moves, the row, and the judgement over a vote."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from agent.domain.asks import Ask
from agent.domain.deadlines import is_past
from agent.domain.errors import InvalidInput
from agent.domain.ids import ActorId, ApprovalId, ConversationId, CustomerId, RunId
from agent.domain.money import Money
from agent.domain.payload import Payload
from agent.domain.risk import Finding
from agent.domain.roles import Channel, Role, Tier


class Status(StrEnum):
    """Where an approval stands."""

    PENDING = "pending"
    APPROVED = "approved"
    EXECUTING = "executing"
    EXECUTED = "executed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    STALE = "stale"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What moves an approval."""

    PARK = "park"
    ALLOW = "allow"
    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    DEADLINE = "deadline"
    ESCALATE = "deadline, one more period for high value"
    WITHDRAW = "withdraw"
    CLAIM = "claim"
    RECHECK_FAILS = "recheck fails"
    PROVIDER_YES = "provider says yes"
    PROVIDER_NO = "provider says no"
    SILENCE = "no clear answer or lease lost"
    NOT_STARTED = "provably not started"
    REVOKE = "revoke"
    FOUND_DONE = "record found, done"
    FOUND_FAILED = "record found, failed"
    RESEND = "provably absent, re-send"
    SETTLED_DONE = "settled with evidence, done"
    SETTLED_FAILED = "settled with evidence, failed"
    LATE_FAILURE = "provider later reports failure"


@dataclass(frozen=True, slots=True)
class Move:
    """One row of the transition table; `source` is None where a row begins."""

    source: Status | None
    event: Event
    target: Status
    by: str


_S, _E = Status, Event

MOVES: tuple[Move, ...] = (
    Move(None, _E.PARK, _S.PENDING, "gate"),
    Move(None, _E.ALLOW, _S.APPROVED, "gate"),
    Move(_S.PENDING, _E.APPROVE, _S.APPROVED, "people"),
    Move(_S.PENDING, _E.REJECT, _S.REJECTED, "people"),
    Move(_S.PENDING, _E.EDIT, _S.SUPERSEDED, "people"),
    Move(_S.PENDING, _E.DEADLINE, _S.EXPIRED, "timer"),
    Move(_S.PENDING, _E.ESCALATE, _S.PENDING, "timer"),
    Move(_S.PENDING, _E.WITHDRAW, _S.CANCELLED, "customer, operator"),
    Move(_S.APPROVED, _E.CLAIM, _S.EXECUTING, "executor"),
    Move(_S.APPROVED, _E.RECHECK_FAILS, _S.STALE, "executor"),
    Move(_S.APPROVED, _E.REVOKE, _S.CANCELLED, "people"),
    Move(_S.EXECUTING, _E.PROVIDER_YES, _S.EXECUTED, "executor"),
    Move(_S.EXECUTING, _E.PROVIDER_NO, _S.FAILED, "executor"),
    Move(_S.EXECUTING, _E.SILENCE, _S.UNKNOWN, "executor, sweep"),
    Move(_S.EXECUTING, _E.NOT_STARTED, _S.APPROVED, "executor"),
    Move(_S.UNKNOWN, _E.FOUND_DONE, _S.EXECUTED, "sweep, webhook"),
    Move(_S.UNKNOWN, _E.FOUND_FAILED, _S.FAILED, "sweep, webhook"),
    Move(_S.UNKNOWN, _E.RESEND, _S.EXECUTING, "sweep"),
    Move(_S.UNKNOWN, _E.SETTLED_DONE, _S.EXECUTED, "refund_manager"),
    Move(_S.UNKNOWN, _E.SETTLED_FAILED, _S.FAILED, "refund_manager"),
    Move(_S.EXECUTED, _E.LATE_FAILURE, _S.FAILED, "webhook, sweep"),
)

_TARGETS: dict[tuple[Status | None, Event], Status] = {(m.source, m.event): m.target for m in MOVES}

FINAL: frozenset[Status] = frozenset(
    {_S.REJECTED, _S.EXPIRED, _S.SUPERSEDED, _S.CANCELLED, _S.STALE}
)
# Statuses that hold money of the order although the provider may not show it yet.
RESERVING: frozenset[Status] = frozenset({_S.EXECUTING, _S.UNKNOWN, _S.EXECUTED})
OPEN: frozenset[Status] = frozenset({_S.PENDING, _S.APPROVED, _S.EXECUTING, _S.UNKNOWN})


def move(source: Status | None, event: Event) -> Status:
    """Return where `event` leads from `source`; raises ValueError if the table has no such row."""
    try:
        return _TARGETS[source, event]
    except KeyError:
        raise ValueError(f"no move from {source} by {event}") from None


def state_diagram() -> str:
    """Return the table as a Mermaid state diagram, one line a move."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {m.source or '[*]'} --> {m.target}: {m.event} ({m.by})" for m in MOVES]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The order as it stood when the approval was made, for the card's before and after."""

    order_total: Money
    captured: Money
    refunded: Money
    remaining: Money


@dataclass(frozen=True, slots=True)
class Approval:
    """One proposed side effect. `payload_text` are the canonical bytes that are executed.

    `wake_at` is the one deadline at which a worker or the sweep must look at the row; None when
    it has ended. `edited_by` and `raised_by` name the people of the whole chain of edits;
    `original` is the payload the chain began with, None where nobody has edited. `shown_at` is when
    its card was first in Slack while people could decide; `pinged` is the highest level of
    reminding that was reached, `escalations` how many periods were added at the deadline;
    `taken_by` is the name of the person who said that they look into it. The period under way
    began at `waits_since`, None where that is when the row was made; `extra_s` is how many seconds
    the senior group has after the deadline, None where the row ends at it.
    """

    id: ApprovalId
    run_id: RunId
    conversation_id: ConversationId
    call_id: str
    customer_id: CustomerId
    tool: str
    payload_text: str
    payload: Payload
    payload_hash: str
    proposal_key: str
    policy_version: str
    model: str
    confidence: str | None
    model_reason: str
    status: Status
    automatic: bool
    findings: tuple[Finding, ...]
    tier: Tier
    order_id: str | None
    amount: Money | None
    original: Payload | None
    snapshot: Snapshot | None
    idempotency_key: str
    created_at: datetime
    expires_at: datetime
    use_within_s: int
    use_by: datetime | None
    decided_at: datetime | None
    ended_at: datetime | None
    requested_by: str
    supersedes: ApprovalId | None
    superseded_by: ApprovalId | None
    revision: int
    edited_by: tuple[ActorId, ...]
    raised_by: tuple[ActorId, ...]
    attempts: int
    result: Payload | None
    lease_owner: str | None
    lease_until: datetime | None
    first_sent_at: datetime | None
    clean_looks: int
    looked_at: datetime | None
    alerted: bool
    wake_at: datetime | None
    shown_at: datetime | None = None
    pinged: int = 0
    escalations: int = 0
    taken_by: str | None = None
    taken_at: datetime | None = None
    waits_since: datetime | None = None
    extra_s: int | None = None

    @property
    def proposed(self) -> Payload:
        """Return the payload that the model proposed, before any person changed it."""
        return self.payload if self.original is None else self.original

    @property
    def original_amount(self) -> Money | None:
        """Return the amount that the model proposed, None where there is none."""
        return amount_of(self.proposed)

    @property
    def is_edited(self) -> bool:
        """Tell whether a person has changed what the model proposed."""
        return bool(self.edited_by)

    def is_open(self, now: datetime) -> bool:
        """Tell whether people can still decide, or will once its further period has begun."""
        extends = self.extra_s is not None and not self.escalations
        return self.status is Status.PENDING and (extends or not is_past(self.expires_at, now))

    def short_hash(self) -> str:
        """Return the first 16 hex digits, enough for a person to compare."""
        return self.payload_hash[:16]


def amount_of(payload: Payload) -> Money | None:
    """Return the amount that a payload binds, None where it is not about money."""
    match payload.get("amount"):
        case {"minor": int(minor), "currency": str(currency)}:
            with suppress(InvalidInput):
                return Money(minor, currency)
        case _:
            pass
    return None


class Verdict(StrEnum):
    """What a person may say about a pending approval."""

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"


class RejectCategory(StrEnum):
    """Why a proposal was turned down; the words stand on the modal and in the export."""

    NOT_ELIGIBLE = "not_eligible"
    WRONG_AMOUNT = "wrong_amount"
    NEEDS_INFORMATION = "needs_information"
    SUSPECTED_ABUSE = "suspected_abuse"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Vote:
    """One recorded decision on an approval."""

    id: str
    approval_id: ApprovalId
    actor_id: ActorId | None
    actor_name: str
    verdict: str
    channel: Channel
    at: datetime
    reason: str
    category: str | None
    note: str
    break_glass: bool = False
    roles: frozenset[Role] = frozenset()


class EvidenceKind(StrEnum):
    """What a person has seen who settles an unknown outcome."""

    PROVIDER_RECORD = "provider_record"
    BANK_RECORD = "bank_record"
    PROVIDER_SUPPORT = "provider_support"
    SERVER_LOG = "server_log"


# Evidence that there can be of one tool's effect alone.
_EVIDENCE_OF = {
    EvidenceKind.BANK_RECORD: "issue_refund",
    EvidenceKind.SERVER_LOG: "send_email",
}


def is_evidence_of(kind: EvidenceKind, tool: str) -> bool:
    """Tell whether such evidence can speak of a tool's effect at all."""
    return _EVIDENCE_OF.get(kind, tool) == tool


@dataclass(frozen=True, slots=True)
class ApprovalView:
    """An approval with what people need to see around it.

    `customer_words` are the customer's last messages, newest last; `customer_name` is empty for a
    customer the shop no longer knows. `stopped` tells that nothing executes at present. `asks` are
    the questions about it and about the requests it took the place of, oldest first.
    """

    approval: Approval
    votes: tuple[Vote, ...]
    customer_name: str
    customer_email: str
    customer_words: tuple[str, ...]
    stopped: bool = False
    asks: tuple[Ask, ...] = ()
