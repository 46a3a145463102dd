"""A small model for demo and tests: rules over the transcript, no key, no chance, no memory.

It sees what any chat model sees, and has to call the same tools to learn anything.
"""

import json
import re
import time
from collections.abc import Callable, Sequence

from typing_extensions import override

from agent.domain.conversation import ChatMessage, ToolCall
from agent.ports import ChatAnswer, ChatModel, ChatRequest, Hear, unheard
from agent.providers import offline_answers as answers
from agent.providers.offline_fraud import FLAG, flag_for
from agent.providers.offline_intents import move_for
from agent.providers.offline_offers import SOMETHING_ELSE
from agent.providers.offline_outcomes import outcome_words
from agent.providers.offline_search import READS
from agent.providers.offline_team import pass_on, tell_team
from agent.providers.offline_transcript import (
    Call,
    Move,
    Say,
    Wanted,
    read_outcome,
    read_team_question,
    read_turn,
)

NAME = "offline-1"

# More calls than any sentence needs; a transcript that goes round in circles ends here.
_MOST_STEPS = 16
# A word with the blanks behind it.
_WORD = re.compile(r"\s*\S+\s*")
_CALL_ID = re.compile(r"call_([0-9]{1,9})_[0-9]{1,9}")


class OfflineModel(ChatModel):
    """Understands ordinary English about this shop's orders.

    `pace_s` is how many seconds it takes for a word, so that people see an answer come.
    """

    def __init__(self, pace_s: float = 0.0, pause: Callable[[float], None] = time.sleep) -> None:
        """Keep the pace; at 0 all words are there at once."""
        self._pace_s = pace_s
        self._pause = pause

    @property
    @override
    def name(self) -> str:
        """Return the model's name and version."""
        return NAME

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Answer by the rules, word by word; the same transcript always gets the same answer."""
        offered = frozenset(tool.name for tool in request.tools)
        move = _next_move(request.messages, offered)
        if isinstance(move, Call) and not offered.issuperset(w.name for w in move.wanted):
            move = Say(answers.UNABLE)
        answer = _answer(move, request.messages)
        self._speak(answer.text, hear)
        return answer

    def _speak(self, text: str, hear: Hear) -> None:
        for word in _WORD.finditer(text):
            hear(text[: word.end()])
            if self._pace_s:
                self._pause(self._pace_s)


def _next_move(messages: Sequence[ChatMessage], offered: frozenset[str]) -> Move:
    turn = read_turn(messages)
    if turn is None:
        return Say(SOMETHING_ELSE)
    outcome = read_outcome(turn.asked)
    if outcome is not None:
        return Say(outcome_words(outcome))
    question = read_team_question(turn.asked)
    if question is not None:
        return tell_team(turn, question, offered)
    if turn.results("hand_off"):
        handed = turn.results("hand_off")[-1].result
        return Say(answers.HANDED_OFF if handed.get("ok") is True else answers.UNABLE)
    if len(turn.steps) > _MOST_STEPS:
        return Say(answers.UNABLE)
    move = pass_on(turn) or move_for(turn)
    flag = flag_for(turn) if FLAG in offered else None
    if flag is not None:
        move = _with_flag(move, flag)
    if isinstance(move, Call) and any(turn.made(wanted) for wanted in move.wanted):
        return Say(answers.UNREADABLE_RESULT)
    return move


def _with_flag(move: Move, flag: Wanted) -> Move:
    """Let a flag go along as soon as the reads are made that tell what it is about."""
    if isinstance(move, Say):
        return Call((flag,))
    if all(wanted.name in READS for wanted in move.wanted):
        return move
    return Call((flag, *move.wanted))


def _answer(move: Move, messages: Sequence[ChatMessage]) -> ChatAnswer:
    text = move.text if isinstance(move, Say) else ""
    number = _next_number(messages)
    calls = tuple(
        ToolCall(f"call_{number}_{i}", w.name, json.dumps(dict(w.arguments), ensure_ascii=False))
        for i, w in enumerate(move.wanted if isinstance(move, Call) else ())
    )
    said = text or " ".join(call.arguments for call in calls)
    read = sum(len(message.content.split()) for message in messages)
    return ChatAnswer(text, calls, NAME, tokens_in=read, tokens_out=len(said.split()))


def _next_number(messages: Sequence[ChatMessage]) -> int:
    """Return the place of the next message, or more where older messages were cut off."""
    ids = [call.call_id for message in messages for call in message.calls]
    seen = [int(match[1]) for call_id in ids if (match := _CALL_ID.fullmatch(call_id))]
    return max(len(messages), max(seen, default=-1) + 1)
