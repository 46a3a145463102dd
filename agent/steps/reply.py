"""What comes back to a question of the team: the customer's next message, or the agent's answer."""

from contextlib import suppress
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval, Status
from agent.domain.asking import NO_WORDS, Standing, answer_for_model, standing, takes_answer
from agent.domain.asks import Ask
from agent.domain.audit import AuditType
from agent.domain.conversation import ChatMessage
from agent.domain.deadlines import TURN_LEASE, is_past
from agent.domain.errors import Corrupt
from agent.domain.ids import ConversationId
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import ChatAnswer, DeliveryKind
from agent.steps import tell
from agent.steps.outcomes import slack_message
from storage import asks, audit, outbox, runs
from storage.runs import Turn
from storage.transaction import Tx


def hear_customer(
    tx: Tx, desk: Desk, conversation_id: ConversationId, text: str, now: datetime
) -> Payload | None:
    """Take a customer's message as the answer to the oldest open question put to them there.

    Returns what the agent is told of it, None for a message that answers nothing. Where every
    request has ended, what comes soon after is kept as a late answer, and the agent, who hears
    the end, is told nothing of it. The caller holds the conversation.
    """
    waiting = [
        (one, request)
        for one in asks.unanswered_in(tx, conversation_id)
        if (request := _newest(tx, one)) is not None
    ]
    still = [pair for pair in waiting if standing(*pair) is Standing.OPEN]
    for number, (one, request) in enumerate(still):
        if _note(tx, desk, one, request, text, now):
            others = tuple(other for other, _ in still[number + 1 :])
            return answer_for_model(one, request, others)
    for one, request in waiting:
        ended_at = request.decided_at or request.ended_at
        if takes_answer(ended_at, now) and _note(tx, desk, one, request, text, now):
            break
    return None


def agent_answers(desk: Desk, turn: Turn, answer: ChatAnswer) -> None:
    """Store the agent's words for the team alone, and end the turn."""
    fact = audit.Fact(
        AuditType.MODEL_ANSWERED,
        answer.model,
        Channel.CHAT,
        {"calls": [], "tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out},
    )
    _end(desk, turn, answer.text.strip() or None, None, fact)


def agent_is_silent(desk: Desk, turn: Turn, problem: str) -> None:
    """Tell the team that no answer could be had, and end the turn; the customer hears nothing."""
    _end(desk, turn, None, problem)


def _end(
    desk: Desk, turn: Turn, words: str | None, problem: str | None, *facts: audit.Fact
) -> None:
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        runs.append(tx, turn, now, ChatMessage("assistant", words or NO_WORDS))
        audit.append(tx, turn.run_id, now, *facts)
        one = asks.get(tx, str(turn.row.body["ask_id"]))
        _note(tx, desk, one, _newest(tx, one), words, now)
        tell.end(tx, desk, turn, now, error=problem)
    desk.wake(Lane.SLACK)


def _newest(tx: Tx, one: Ask) -> Approval | None:
    """Return the request of a question as it stands now, None for a damaged one."""
    with suppress(Corrupt):
        return asks.newest_of(tx, one.approval_id)
    return None


def _note(
    tx: Tx, desk: Desk, one: Ask, request: Approval | None, words: str | None, now: datetime
) -> bool:
    """Store an answer and let the asker see it; False when somebody else was first."""
    late = request is None or _has_ended(request, now)
    if not asks.answer(tx, one, words, now, late=late):
        return False
    tag = AuditType.QUESTION_UNANSWERED if words is None else AuditType.QUESTION_ANSWERED
    data: Payload = {"ask_id": one.id, "late": late, "characters": len(words or "")}
    fact = audit.Fact(tag, one.asked_of.value, Channel.CHAT, data, one.approval_id)
    audit.append(tx, one.run_id, now, fact)
    if request is not None:
        body: Payload = {"ask_id": one.id}
        update = f"card_update:{request.id}:answered:{one.id}"
        outbox.add(
            tx,
            now,
            slack_message(desk, DeliveryKind.CARD_UPDATE, update, {}, request),
            slack_message(desk, DeliveryKind.ANSWER, f"answer:{one.id}", body, request),
        )
    return True


def _has_ended(request: Approval, now: datetime) -> bool:
    return request.status is not Status.PENDING or is_past(request.expires_at, now)
