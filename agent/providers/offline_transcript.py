"""The transcript as the offline model reads it: what is asked now, and what came before."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.domain.asking import ANSWER_EVENT, QUESTION_EVENT
from agent.domain.conversation import ChatMessage, ToolCall
from agent.providers.offline_offers import QUESTIONS, offered_refund
from agent.providers.offline_orders import SeenOrder, find_refs, read_order
from agent.providers.offline_words import Intent, intent_of, plain_text

OUTCOME_EVENT = "approval_outcome"
# What the customer never hears of: neither its result nor its outcome.
CONFIDENTIAL = frozenset({"flag_for_fraud"})
_MAX_THREAD = 4
_ORDER_TOOLS = frozenset({"lookup_order", "issue_refund", "send_email", "compose_reply"})


# The arguments of a call.
Given = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool call that the model wants to make."""

    name: str
    arguments: Given


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers the customer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model asks for tools first."""

    wanted: tuple[Wanted, ...]


Move = Say | Call


@dataclass(frozen=True, slots=True)
class Step:
    """A call made in this turn with its result, both as JSON objects."""

    name: str
    arguments: dict[str, object]
    result: dict[str, object]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model must answer now.

    `asked` is the customer's message, an outcome or a colleague's question; `steps` are the tool
    calls already made for it; `earlier` is all that came before it.
    """

    asked: ChatMessage
    earlier: tuple[ChatMessage, ...]
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """Return the customer's message as plain text."""
        return plain_text(self.asked.content)

    def results(self, name: str) -> list[Step]:
        """Return the calls of one tool in this turn."""
        return [step for step in self.steps if step.name == name]

    def made(self, wanted: Wanted) -> bool:
        """Tell whether this very call was made in this turn."""
        return any(
            step.name == wanted.name and step.arguments == wanted.arguments for step in self.steps
        )

    def looked_up(self, reference: str) -> SeenOrder | None:
        """Return the order a look-up of this turn showed, None if it found none."""
        for step in self.results("lookup_order"):
            if step.arguments.get("order_id") == reference:
                return read_order(step.result.get("order"))
        return None

    def listed(self) -> tuple[SeenOrder, ...] | None:
        """Return the customer's orders, None while they were not listed in this turn."""
        steps = self.results("list_orders")
        if not steps:
            return None
        found = steps[-1].result.get("orders")
        rows = found if isinstance(found, list) else []
        return tuple(order for row in rows if (order := read_order(row)) is not None)

    def last_said(self) -> str:
        """Return what the agent said last before this message, empty if nothing."""
        for message in reversed(self.earlier):
            if message.role == "assistant" and message.content.strip():
                return message.content
        return ""

    def topic(self) -> str | None:
        """Return the order that was spoken of last, None if it is unclear or none was."""
        for message in reversed(self.earlier):
            named = _orders_in(message)
            if named:
                return next(iter(named)) if len(named) == 1 else None
        return None

    def thread(self) -> tuple[str, ...]:
        """Return the messages that make up one request, newest first.

        An answer to a question of the agent's belongs to the message that it asked about.
        """
        texts = [self.asked.content]
        before = list(self.earlier)
        while len(texts) < _MAX_THREAD and (said := _pop_words(before)) is not None:
            if said.role != "assistant" or not _is_answered_by(said.content, texts[-1]):
                break
            question = _pop_words(before)
            if question is None or question.role != "user":
                break
            texts.append(question.content)
        return tuple(texts)

    def last_proposal(self, tool: str = "issue_refund") -> Step | None:
        """Return the newest call of a tool before, of the order spoken of if that is known."""
        made = [step for step in steps_of(self.earlier) if step.name == tool]
        topic = self.topic()
        about = [step for step in made if step.arguments.get("order_id") == topic]
        return next(reversed(about or made), None)

    def last_asked(self) -> str:
        """Return the customer's message before this one, empty if there is none."""
        return next((m.content for m in reversed(self.earlier) if m.role == "user"), "")


def read_turn(messages: Sequence[ChatMessage]) -> Turn | None:
    """Find what is to be answered, None if everything was.

    An answer belongs to the newest open message, a tool's result to the one its call was for.
    """
    messages = _between_us(messages)
    open_places: list[int] = []
    for place, message in enumerate(messages):
        if message.role == "user" or read_outcome(message) or read_team_question(message):
            open_places.append(place)
        elif message.role == "assistant" and not message.calls and open_places:
            open_places.pop()
    end = _calling_place(messages)
    before = [place for place in open_places if place < end]
    if not before:
        return None
    place = before[-1]
    return Turn(
        asked=messages[place],
        earlier=tuple(messages[:place]),
        steps=tuple(steps_of(messages[place + 1 :])),
    )


def read_outcome(message: ChatMessage) -> dict[str, object] | None:
    """Return the fields of an outcome that the customer must hear, None for any other message.

    Other system messages, such as a person's edit, are there to be known and not to be answered.
    """
    if message.role != "system":
        return None
    fields = read_object(message.content)
    heard = fields.get("event") == OUTCOME_EVENT and str(fields.get("tool")) not in CONFIDENTIAL
    return fields if heard else None


def read_team_question(message: ChatMessage) -> dict[str, object] | None:
    """Return the fields of a colleague's question to the agent, None for any other message."""
    fields = read_object(message.content) if message.role == "system" else {}
    to_us = fields.get("event") == QUESTION_EVENT and fields.get("asked_of") == "agent"
    return fields if to_us else None


def read_team_answer(turn: Turn) -> dict[str, object] | None:
    """Return which question of the team a customer's message answers, None if it answers none."""
    if turn.asked.role != "user" or not turn.earlier or turn.earlier[-1].role != "system":
        return None
    fields = read_object(turn.earlier[-1].content)
    return fields if fields.get("event") == ANSWER_EVENT else None


def read_object(text: str) -> dict[str, object]:
    """Return the JSON object in a text, empty if it holds none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_answered_by(said: str, reply: str) -> bool:
    """Tell whether a message goes on with what the agent asked, rather than beginning anew."""
    if any(question in said for question in QUESTIONS):
        return True
    return offered_refund(said) is not None and intent_of(plain_text(reply)) is not Intent.REFUND


def _between_us(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return what was said between customer and agent: what the team asked and heard is left out.

    A question of the team that has no answer yet stays.
    """
    kept: list[ChatMessage] = []
    aside: list[ChatMessage] = []
    for message in messages:
        if aside or read_team_question(message):
            aside.append(message)
            if message.role == "assistant" and not message.calls:
                aside = []
        else:
            kept.append(message)
    return [*kept, *aside]


def _calling_place(messages: Sequence[ChatMessage]) -> int:
    """Return where the call of a result at the end was made, the end if there is no such result."""
    if messages and messages[-1].role == "tool":
        for place in range(len(messages) - 1, -1, -1):
            if any(call.call_id == messages[-1].call_id for call in messages[place].calls):
                return place
    return len(messages)


def calls_in(messages: Sequence[ChatMessage]) -> dict[str, ToolCall]:
    """Return every call of a piece of the transcript by its id."""
    return {call.call_id: call for message in messages for call in message.calls}


def read_step(message: ChatMessage, calls: dict[str, ToolCall]) -> Step | None:
    """Return the call whose result a message holds, None for any other message."""
    call = calls.get(message.call_id or "") if message.role == "tool" else None
    if call is None:
        return None
    return Step(call.name, read_object(call.arguments), read_object(message.content))


def steps_of(messages: Sequence[ChatMessage]) -> list[Step]:
    """Return the calls of a piece of the transcript that have a result, oldest first."""
    calls = calls_in(messages)
    return [step for one in messages if (step := read_step(one, calls)) is not None]


def _pop_words(messages: list[ChatMessage]) -> ChatMessage | None:
    """Take messages off the end up to one with words of the customer or the agent."""
    while messages:
        message = messages.pop()
        if message.role in {"user", "assistant"} and message.content.strip() and not message.calls:
            return message
    return None


def _orders_in(message: ChatMessage) -> set[str]:
    if message.role == "tool":
        return set()
    if outcome := read_outcome(message):
        return {str(outcome["order_id"])} if outcome.get("order_id") else set()
    if message.role == "system":
        return set()
    if message.calls:
        asked = (read_object(c.arguments) for c in message.calls if c.name in _ORDER_TOOLS)
        return {str(arguments["order_id"]) for arguments in asked if arguments.get("order_id")}
    refs, _ = find_refs(plain_text(message.content))
    return {ref.reference for ref in refs}
