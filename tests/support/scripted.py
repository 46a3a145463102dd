"""A model that follows a script, and a notifier that keeps what it was to deliver."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

from typing_extensions import override

from agent.domain.alerts import Alert, AlertKind
from agent.domain.conversation import ToolCall
from agent.domain.errors import ModelUnavailable, Unheard
from agent.domain.places import APPROVALS, ONCALL, REVIEW
from agent.ports import (
    ChannelClosed,
    ChatAnswer,
    ChatModel,
    ChatRequest,
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    Hear,
    MessageRef,
    Notifier,
    Pulse,
    Unreachable,
    Well,
    unheard,
)

# The seconds of every message's `ts`, as Slack has them.
_POSTED_AT = 1_795_953_600
UPDATES = {DeliveryKind.CARD_UPDATE, DeliveryKind.REVIEW_UPDATE, DeliveryKind.ALERT_UPDATE}


@dataclass
class ScriptedModel(ChatModel):
    """A model that gives the answers it was told to, in order, and keeps what it was asked.

    `otherwise` is what it says when the script is at its end; without it that fails the test.
    """

    answers: deque[ChatAnswer | ModelUnavailable] = field(default_factory=deque)
    asked: list[ChatRequest] = field(default_factory=list)
    otherwise: str | None = None

    @property
    @override
    def name(self) -> str:
        """Return a fixed name."""
        return "scripted-1"

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Return the next answer; an unscripted question fails the test."""
        self.asked.append(request)
        if not self.answers and self.otherwise is not None:
            self.says(self.otherwise)
        assert self.answers, f"nobody scripted an answer to {request.messages[-1]}"
        answer = self.answers.popleft()
        if isinstance(answer, ModelUnavailable):
            raise answer
        return answer

    def says(self, text: str) -> None:
        """Queue plain words."""
        self.answers.append(ChatAnswer(text, (), self.name, 10, 5))

    def calls(self, *calls: tuple[str, str, str]) -> None:
        """Queue tool calls: (call id, tool, raw arguments)."""
        made = tuple(ToolCall(*call) for call in calls)
        self.answers.append(ChatAnswer("", made, self.name, 10, 5))

    def breaks(self, problem: str = "no answer") -> None:
        """Queue a failure."""
        self.answers.append(ModelUnavailable(problem))


class Dictated(ChatModel):
    """A model that says what it is told, when it is told; `heard` is what it has said of an answer.

    It notes in `left` that nobody waited for the rest of one.
    """

    def __init__(self) -> None:
        """Begin silent."""
        self._words: SimpleQueue[str | None] = SimpleQueue()
        self.left = threading.Event()

    @property
    @override
    def name(self) -> str:
        """Return a fixed name."""
        return "dictated-1"

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Say word by word what is dictated, until the end is."""
        so_far = ""
        while (word := self._words.get()) is not None:
            so_far = "" if word == self._ANEW else so_far + word
            try:
                hear(so_far)
            except Unheard:
                self.left.set()
                raise
        return ChatAnswer(so_far, (), self.name, 10, 5)

    _ANEW = "\0"

    def says(self, words: str) -> None:
        """Let it go on with some words."""
        self._words.put(words)

    def begins_anew(self) -> None:
        """Let it lose what it has said, as another try does."""
        self._words.put(self._ANEW)

    def ends(self) -> None:
        """Let it be done."""
        self._words.put(None)


@dataclass
class KeepingNotifier(Notifier):
    """A notifier that accepts everything and keeps it, giving each post a ts.

    `state` is what a look at Slack says, `shut` why a channel takes no messages, `meanwhile` what
    happens while the next deliveries are under way.
    """

    deliveries: list[Delivery] = field(default_factory=list)
    answers: deque[DeliveryAnswer] = field(default_factory=deque)
    state: Pulse = field(default_factory=Well)
    shut: dict[str, str] = field(default_factory=dict)
    meanwhile: deque[Callable[[], object]] = field(default_factory=deque)
    looks: int = 0

    @property
    @override
    def channels(self) -> dict[str, str]:
        """Return a channel for each purpose."""
        return {APPROVALS: "C1", ONCALL: "C2", REVIEW: "C3"}

    @override
    def pulse(self) -> Pulse:
        """Return what the test says."""
        self.looks += 1
        return self.state

    @override
    def look(self, channel: str) -> Well | Unreachable | ChannelClosed:
        """Return what the test says."""
        self.looks += 1
        problem = self.shut.get(channel)
        return Well() if problem is None else ChannelClosed(problem, channel)

    @override
    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        """Keep the delivery; cards and alerts get a reference of their own."""
        self.deliveries.append(delivery)
        ref = MessageRef(delivery.channel, f"{_POSTED_AT}.{len(self.deliveries):06d}")
        if self.meanwhile:
            self.meanwhile.popleft()()
        if self.answers:
            return self.answers.popleft()
        if delivery.channel in self.shut and delivery.kind not in UPDATES:
            return ChannelClosed(self.shut[delivery.channel], delivery.channel)
        if delivery.kind in {DeliveryKind.CARD, DeliveryKind.ALERT, DeliveryKind.HAND_OFF}:
            return Delivered((ref,))
        return Delivered()

    def alerts(self, kind: AlertKind) -> list[Alert]:
        """Return the alerts of a kind as they were when they were posted."""
        told = [d.alert for d in self.of(DeliveryKind.ALERT) if d.alert is not None]
        return [alert for alert in told if alert.kind is kind]

    def of(self, kind: DeliveryKind) -> list[Delivery]:
        """Return what was delivered of a kind."""
        return [d for d in self.deliveries if d.kind is kind]
