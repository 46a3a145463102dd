"""What a tool is: its arguments, its class, its attributes, and how a read runs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NoReturn

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from agent.desk import Desk
from agent.domain.errors import InvalidInput
from agent.domain.ids import ConversationId, CustomerId
from agent.domain.mail_text import is_mail_line
from agent.domain.payload import MAX_PAYLOAD_BYTES, Payload
from agent.ports import ToolSpec
from agent.tools.faults import first_fault


class ToolClass(StrEnum):
    """What a tool touches decides its way: reads run, the rest goes through the gate."""

    READ = "read"
    DRAFT = "draft"
    MONEY = "money"
    MESSAGE = "message"
    ACCOUNT = "account"
    CONVERSATION = "conversation"


class Arguments(BaseModel):
    """Base of every tool's arguments: unknown fields are refused, text is not guessed at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="after")
    @classmethod
    def _no_nul(cls, value: object) -> object:
        # PostgreSQL stores no text with a NUL in it.
        if isinstance(value, str) and "\0" in value:
            raise ValueError("holds a NUL")
        return value


def one_line(text: str) -> str:
    """Return a text of one line; raises ValueError for control characters, line breaks included."""
    if not is_mail_line(text):
        raise ValueError("is one line without control characters")
    return text


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: from the session, never from the model's arguments."""

    customer_id: CustomerId | None
    conversation_id: ConversationId


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool the model may ask for.

    `read` is there for reads and drafts only; it returns the tool's result, a JSON object with
    `ok`. Tools of money, message and account have an effect instead (agent/tools/registry.py).
    """

    name: str
    description: str
    arguments: type[Arguments]
    tool_class: ToolClass
    side_effect: Literal["none", "draft", "mutating"]
    requires_confirmation: bool
    impact: Literal["low", "moderate", "high"]
    reversible: Literal["yes", "in part", "no"]
    triggers: str
    read: Callable[[Desk, Caller, Arguments], Payload] | None = None

    def spec(self) -> ToolSpec:
        """Return the tool as the model is told of it."""
        return ToolSpec(self.name, self.description, self.arguments.model_json_schema())


def read_tool(
    name: str,
    description: str,
    arguments: type[Arguments],
    read: Callable[[Desk, Caller, Arguments], Payload],
) -> Tool:
    """Return a tool that looks something up and changes nothing."""
    return Tool(
        name=name,
        description=description,
        arguments=arguments,
        tool_class=ToolClass.READ,
        side_effect="none",
        requires_confirmation=False,
        impact="low",
        reversible="yes",
        triggers="nothing",
        read=read,
    )


def parse_arguments(tool: Tool, raw: str) -> Arguments:
    """Read the model's raw JSON arguments; raises InvalidInput naming the first fault.

    Numbers with a fraction are kept as the text the model wrote, so no float is ever made.
    """
    if len(raw) > MAX_PAYLOAD_BYTES:
        raise InvalidInput("arguments", "too long")
    try:
        value = json.loads(
            raw or "{}", parse_float=str, parse_constant=_refuse, object_pairs_hook=_unique
        )
        return tool.arguments.model_validate(value)
    except ValidationError as error:
        raise first_fault(error, "arguments") from error
    except (ValueError, RecursionError) as error:
        # Besides bad JSON: Python refuses whole numbers of over 4,300 digits.
        raise InvalidInput("arguments", "not valid JSON") from error


def failure(code: str, message: str) -> Payload:
    """Return a tool result that tells the model what went wrong."""
    return {"ok": False, "error": code, "message": message}


def _refuse(text: str) -> NoReturn:
    raise InvalidInput("arguments", f"{text} is not a number")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInput("arguments", "a key appears twice")
    return found
