"""What a person's word on an approval is made of, and the closed set of answers to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from agent.domain.approvals import Approval, RejectCategory, Verdict, Vote
from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.domain.roles import Channel, Identity


class RefusalCode(StrEnum):
    """Why a decision did not count; the codes of http.md."""

    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    ROLE_UNVERIFIED = "role_unverified"
    SELF_APPROVAL = "self_approval"
    ALREADY_DECIDED = "already_decided"
    ALREADY_VOTED = "already_voted"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    PAYLOAD_CHANGED = "payload_changed"
    INVALID = "invalid"
    REASON_REQUIRED = "reason_required"
    TOO_LATE_TO_WITHDRAW = "too_late_to_withdraw"
    TOO_EARLY = "too_early"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """Where a Slack person reads why their click did not count; `user` is the bare Slack id."""

    channel: str
    user: str


@dataclass(frozen=True, slots=True)
class Edits:
    """What a person wants to change; None leaves a part as it is.

    `amount` and `order_id` are of a refund; recipients, `subject` and `body` of an e-mail.
    """

    amount: Money | None = None
    order_id: str | None = None
    to: tuple[str, ...] | None = None
    cc: tuple[str, ...] | None = None
    bcc: tuple[str, ...] | None = None
    subject: str | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """One word of one person through one door.

    `shown_hash` is the hash the person saw: all 64 hex digits, or the first 16 from a Slack card.
    `reason` is for the customer's ears; `note` is for staff only. With `break_glass` somebody on
    call approves alone, above the tier; `reason` is then for the people on call. `clicked_at` is
    when a person acted whose answer may come later; None when they wait for it. `act` is what the
    door knows of the click, for the trail.
    """

    approval_id: ApprovalId
    identity: Identity
    verdict: Verdict
    shown_hash: str
    channel: Channel
    reason: str = ""
    category: RejectCategory | None = None
    note: str = ""
    edits: Edits = Edits()
    break_glass: bool = False
    reply_to: ReplyTo | None = None
    clicked_at: datetime | None = None
    act: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision stands; `approval` is the row as it is now."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class Voted:
    """The vote counts but the tier asks for more people."""

    approval: Approval
    votes: int


@dataclass(frozen=True, slots=True)
class Edited:
    """`approval` is the new row; approved at once if the editor's word was enough."""

    approval: Approval
    superseded: Approval


@dataclass(frozen=True, slots=True)
class Refused:
    """The decision did not count. `earlier` is the vote that was first, where there is one."""

    code: RefusalCode
    message: str
    approval: Approval | None = None
    earlier: Vote | None = None


DecideAnswer = Decided | Voted | Edited | Refused
