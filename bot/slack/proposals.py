"""What the payload of an e-mail or a fraud flag says, read for the eyes of people."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.domain.approvals import Approval
from agent.domain.fraud import TRIGGERS, FlagAction
from agent.domain.payload import Payload
from agent.tools.emails import SEND_EMAIL
from agent.tools.flags import FLAG_FOR_FRAUD

_Kind = TypeVar("_Kind", bound="_Bound")


class _Bound(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Email(_Bound):
    """An e-mail as it would leave; `template` is None for a text of somebody's own."""

    template: str | None
    to: list[str]
    cc: list[str]
    bcc: list[str]
    subject: str
    body: str

    def recipients(self) -> list[str]:
        """Return everybody who would receive it."""
        return [*self.to, *self.cc, *self.bcc]


class Flag(_Bound):
    """A fraud flag as it would be entered; `score` is decimal text."""

    score: str
    action: Annotated[FlagAction, Field(strict=False)]
    signals: list[str]

    @property
    def triggers(self) -> str:
        """Return what the action sets off, for the middle of a sentence."""
        return TRIGGERS[self.action]


def email_of(approval: Approval) -> Email | None:
    """Return the e-mail of an approval, None when it is about something else or cannot be read."""
    return read_email(approval.payload) if approval.tool == SEND_EMAIL.name else None


def flag_of(approval: Approval) -> Flag | None:
    """Return the flag of an approval, None when it is about something else or cannot be read."""
    return _read(Flag, approval.payload) if approval.tool == FLAG_FOR_FRAUD.name else None


def read_email(payload: Payload) -> Email | None:
    """Return the e-mail that a payload binds, None when it is none."""
    return _read(Email, payload)


def _read(kind: type[_Kind], payload: Payload) -> _Kind | None:
    try:
        return kind.model_validate(payload)
    except ValidationError:
        return None
