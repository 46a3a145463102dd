"""What a button's value and a modal's private metadata name: a hint, checked against the row."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.domain.approvals import Approval
from agent.domain.ids import ApprovalId, ConversationId


class _Named(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def text(self) -> str:
        """Return the compact JSON that Slack carries."""
        return self.model_dump_json()


class Target(_Named):
    """One approval as a person saw it: id, revision and the first 16 digits of the hash."""

    v: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^apr_[0-9A-Z]{26}$")]
    rev: Annotated[int, Field(ge=0, le=1_000_000)]
    h: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]

    @classmethod
    def of(cls, approval: Approval) -> "Target":
        """Return the target that names an approval as it is now."""
        return cls(id=approval.id, rev=approval.revision, h=approval.short_hash())

    @property
    def approval_id(self) -> ApprovalId:
        """Return the approval's id."""
        return ApprovalId(self.id)


class ModalTarget(Target):
    """A target with the channel that the modal was opened from; empty for App Home."""

    channel: Annotated[str, Field(max_length=64)] = ""


Section = Literal["request", "conversation", "history", "attempts"]


class PageTarget(Target):
    """A page of Details: its section, and the entry and the piece of it that it begins with."""

    section: Section = "request"
    entry: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1
    piece: Annotated[int, Field(ge=0, le=1_000_000)] = 0

    @classmethod
    def at(
        cls, approval: Approval, section: Section = "request", entry: int = 1, piece: int = 0
    ) -> "PageTarget":
        """Return the page of a request's details that begins there."""
        target = Target.of(approval)
        return cls(
            id=target.id, rev=target.rev, h=target.h, section=section, entry=entry, piece=piece
        )


class BreakerTarget(_Named):
    """One opening of the breaker, by its generation."""

    v: Literal[1] = 1
    generation: Annotated[int, Field(ge=0)]


class AlertTarget(_Named):
    """One alert, by what it is about."""

    v: Literal[1] = 1
    subject: Annotated[str, Field(min_length=1, max_length=300)]


class PingTarget(_Named):
    """One message that brought a request up again: the request, and the level by its key."""

    v: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^apr_[0-9A-Z]{26}$")]
    level: Literal["oncall", "senior"]

    @property
    def approval_id(self) -> ApprovalId:
        """Return the approval's id."""
        return ApprovalId(self.id)


class StopTarget(_Named):
    """The stop switch as a person saw it: `since` is when it was thrown, in microseconds UTC.

    None where nothing was stopped, and on a button, which shows no state of its own.
    """

    v: Literal[1] = 1
    since: Annotated[int, Field(ge=0)] | None


class HandOffTarget(_Named):
    """One time that people were called into a conversation; `entry` is where its Details begin."""

    v: Literal[1] = 1
    conversation: Annotated[str, Field(pattern=r"^cnv_[0-9A-Z]{26}$")]
    number: Annotated[int, Field(ge=1, le=1_000_000)]
    entry: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1
    piece: Annotated[int, Field(ge=0, le=1_000_000)] = 0

    @property
    def conversation_id(self) -> ConversationId:
        """Return the conversation's id."""
        return ConversationId(self.conversation)


class _Bound(BaseModel):
    """What every target of an approval has, whatever else it may carry."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: Annotated[str, Field(pattern=r"^apr_[0-9A-Z]{26}$")]
    rev: Annotated[int, Field(ge=0, le=1_000_000)]
    h: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


def named(text: str | None) -> _Bound | None:
    """Return which approval a button or a form of any kind is about; None for none."""
    try:
        return _Bound.model_validate_json(text or "")
    except ValidationError:
        return None


class TurnTarget(_Named):
    """A page of the reader's own queue, counted from 0."""

    v: Literal[1] = 1
    page: Annotated[int, Field(ge=0, le=1_000_000)]


class ShowTarget(_Named):
    """A button that shows something of the desk as a whole: its name says what."""

    # Without a default, so that an empty value is not taken for one.
    v: Literal[1]


def read_target(text: str | None) -> Target | None:
    """Read a button's value; None when this product did not write it."""
    try:
        return Target.model_validate_json(text or "")
    except ValidationError:
        return None


def read_page_target(text: str | None) -> PageTarget | None:
    """Read the value of a button that turns pages, or of one that names a request alone."""
    try:
        return PageTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_modal_target(text: str | None) -> ModalTarget | None:
    """Read a modal's private metadata; None when this product did not write it."""
    try:
        return ModalTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_breaker_target(text: str | None) -> BreakerTarget | None:
    """Read the value or the metadata of a breaker's alert; None when it is none."""
    try:
        return BreakerTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_alert_target(text: str | None) -> AlertTarget | None:
    """Read the value of an alert's Acknowledge button; None when it is none."""
    try:
        return AlertTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_ping_target(text: str | None) -> PingTarget | None:
    """Read the value of a ping's Acknowledge button; None when it is none."""
    try:
        return PingTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_stop_target(text: str | None) -> StopTarget | None:
    """Read the value of a Stop or Lift button, or the metadata of its form; None for neither."""
    try:
        return StopTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def hand_off_target(conversation: str, number: int) -> HandOffTarget | None:
    """Return the target that names a hand-off, None where the words name none."""
    try:
        return HandOffTarget(conversation=conversation, number=number)
    except ValidationError:
        return None


def read_hand_off_target(text: str | None) -> HandOffTarget | None:
    """Read the value of a hand-off's button, or the metadata of its form; None for neither."""
    try:
        return HandOffTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_turn_target(text: str | None) -> TurnTarget | None:
    """Read the value of a button that turns a page; None when this product did not write it."""
    try:
        return TurnTarget.model_validate_json(text or "")
    except ValidationError:
        return None


def read_show_target(text: str | None) -> ShowTarget | None:
    """Read the value of a button that shows something; None when this product did not write it."""
    try:
        return ShowTarget.model_validate_json(text or "")
    except ValidationError:
        return None
