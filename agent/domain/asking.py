"""Asking about a request that waits: the rules and the words of a question. Pure.

A question moves nothing: status, hash, deadline, votes and tier stay as they are. It is open until
it is answered or its request has ended, so nothing has to close it.
"""

import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent.domain.approvals import Approval, Status, Vote
from agent.domain.asks import Ask, AskedOf
from agent.domain.conversation import storable
from agent.domain.deadlines import is_past
from agent.domain.decision import RefusalCode
from agent.domain.judgement import Denial, Lapsed, too_late
from agent.domain.languages import ENGLISH, Language
from agent.domain.payload import Json, Payload
from agent.domain.roles import Actor
from agent.domain.wording import fenced, is_for_customer, what_text
from agent.domain.words import words_in

MIN_QUESTION, MAX_QUESTION = 5, 1_000
# So many questions of one request may wait for their answers at a time.
MAX_OPEN = 5
# What the customer writes so soon after the end of a request may still answer a question about it.
LATE_ANSWERS_FOR = timedelta(hours=1)
QUESTION_EVENT, ANSWER_EVENT = "staff_question", "staff_answer"
# Stands in the transcript where the agent had no words for the team.
NO_WORDS = "(no answer)"
# Categories of characters that nobody sees: controls, formats, unassigned, separators, blanks.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants to know, and of whom.

    `key` is the asker's own mark: asked again under the same mark, it is asked once.
    """

    asked_of: AskedOf
    text: str
    key: str | None = None

    def __post_init__(self) -> None:
        """Keep words that every database holds, without the blanks around them."""
        object.__setattr__(self, "text", storable(self.text).strip())


class Standing(StrEnum):
    """How a question stands."""

    OPEN = "open"
    ANSWERED = "answered"
    SILENT = "silent"
    CLOSED = "closed"


def standing(ask: Ask, approval: Approval) -> Standing:
    """Return how a question stands; `approval` is its request, or what took that one's place."""
    if ask.answered_at is not None:
        return Standing.SILENT if ask.answer is None else Standing.ANSWERED
    return Standing.OPEN if approval.status is Status.PENDING else Standing.CLOSED


def judge_question(
    approval: Approval,
    actor: Actor,
    question: Question,
    votes: tuple[Vote, ...],
    number_open: int,
    now: datetime,
) -> Denial | Lapsed | None:
    """Return why a question is not asked, None if it is; who may decide is proven already.

    `number_open` counts the questions of the request that wait for their answers.
    """
    if approval.customer_id in actor.customer_ids():
        words = "This is your own request; somebody else asks about it."
        return Denial(RefusalCode.SELF_APPROVAL, words)
    over = too_late(approval, votes)
    if over is not None:
        return over
    if is_past(approval.expires_at, now):
        return Lapsed(approval)
    problem = _problem(approval, question, number_open)
    return None if problem is None else Denial(RefusalCode.INVALID, problem)


def takes_answer(ended_at: datetime | None, now: datetime) -> bool:
    """Tell whether words of the customer still count as an answer, late, after the end."""
    return ended_at is not None and now - ended_at <= LATE_ANSWERS_FOR


def customer_words(approval: Approval, question: str, language: Language = ENGLISH) -> str:
    """Return the message that puts a question to the customer, with the time in words."""
    words = words_in(language)
    until = fenced(words, words.time.format(at=approval.expires_at))
    asked = words.question.format(until=until, what=what_text(approval, language))
    return f"{question}\n\n{asked}"


def question_for_model(ask: Ask, approval: Approval) -> Payload:
    """Return the system message that tells a run of a question, to it or to its customer."""
    return {
        "event": QUESTION_EVENT,
        "asked_of": ask.asked_of.value,
        **_about(approval),
        "question": ask.question,
    }


def answer_for_model(ask: Ask, approval: Approval, still_open: tuple[Ask, ...]) -> Payload:
    """Return the system message before a customer's words that answer a question.

    `still_open` are the other questions to the customer.
    """
    more: list[Json] = [other.question for other in still_open]
    return {
        "event": ANSWER_EVENT,
        **_about(approval),
        "question": ask.question,
        "passed_on": True,
        "still_open": more,
    }


def _about(approval: Approval) -> Payload:
    return {
        "approval_id": approval.id,
        "tool": approval.tool,
        "order_id": approval.order_id,
        "amount": None if approval.amount is None else str(approval.amount),
    }


def _problem(approval: Approval, question: Question, number_open: int) -> str | None:
    if question.asked_of is AskedOf.CUSTOMER and not is_for_customer(approval):
        return "asked_of: the customer hears nothing of this request. Ask the agent."
    if sum(unicodedata.category(one) not in _UNSEEN for one in question.text) < MIN_QUESTION:
        return f"question: write at least {MIN_QUESTION} characters that can be read."
    if len(question.text) > MAX_QUESTION:
        return f"question: write at most {MAX_QUESTION:,} characters."
    if number_open >= MAX_OPEN:
        return f"question: {MAX_OPEN} questions wait for their answers already."
    return None
