"""The conversation is passed to a person: the customer reads it, the team is told in Slack."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval
from agent.domain.audit import AuditType
from agent.domain.conversation import EventType, RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.hand_offs import HandOff, HandOffState
from agent.domain.ids import CustomerId
from agent.domain.languages import ENGLISH
from agent.domain.payload import Json, Payload
from agent.domain.roles import Channel
from agent.domain.wording import request_words
from agent.domain.words import words_in
from agent.steps import hand_off_thread
from storage import approvals, audit, conversations, decisions, hand_offs, runs
from storage.conversations import Entry
from storage.runs import Turn
from storage.transaction import Tx

# The whole conversation is in the log; a message in Slack needs the drift of it.
_WORDS, _CHARACTERS, _REQUESTS = 5, 500, 50
MAX_REVISIONS_EXCEEDED = "max_revisions_exceeded"


def hand_off(desk: Desk, turn: Turn, reason: str, rejections: int = 0) -> Payload:
    """Mark the conversation, tell customer and team once, and return the tool's result.

    The trail has every reason, also one that comes when a person has been asked already.
    `rejections` is how often people have said no.
    """
    # What the model is told is in English, whatever the customer reads.
    told = words_in(ENGLISH).handed_off
    result: Payload = {"ok": True, "status": "handed_off", "message": told}
    customer = (
        None if turn.customer_id is None else desk.shop.customer(CustomerId(turn.customer_id))
    )
    name = turn.customer_id if customer is None else f"{customer.name} ({customer.id})"
    full_name = "" if customer is None else customer.name
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        runs.set_state(tx, turn.run_id, RunState.ESCALATED, now)
        waiting = hand_offs.open_in(tx, turn.conversation_id)
        if waiting is None:
            language = conversations.spoken(tx, turn.conversation_id)
            shown: Payload = {
                "text": words_in(language).handed_off,
                "state": HandOffState.WAITING.value,
                "by": None,
            }
            entry = Entry(desk.ids.new("msg"), EventType.HAND_OFF, shown, run_id=turn.run_id)
            conversations.append(tx, turn.conversation_id, now, entry)
        if waiting is None or _is_news(waiting, reason):
            call = _Call(name or "anonymous visitor", full_name, reason, rejections)
            _call_a_person(tx, desk, turn, call, now, waiting)
        data: Payload = {
            "reason": reason,
            "route_to": "human_agent",
            "run_id": turn.run_id,
            "conversation_id": turn.conversation_id,
        }
        fact = audit.Fact(AuditType.HANDED_OFF, desk.model.name, Channel.CHAT, data)
        audit.append(tx, turn.run_id, now, fact)
    desk.wake(Lane.SLACK)
    return result


@dataclass(frozen=True, slots=True)
class _Call:
    """Who needs a person, why, and after how many rejections."""

    customer: str
    name: str
    reason: str
    rejections: int


def _is_news(waiting: HandOff, reason: str) -> bool:
    """Tell whether people who were called already have more to know than they were told."""
    return reason == MAX_REVISIONS_EXCEEDED != waiting.body.get("reason")


def _call_a_person(
    tx: Tx, desk: Desk, turn: Turn, call: _Call, now: datetime, waiting: HandOff | None
) -> None:
    """Put the conversation into the hand-off queue in Slack, with what led to it.

    People who were called already are told in the same thread.
    """
    said = conversations.customer_words(tx, turn.conversation_id, _WORDS, now)
    words: list[Json] = [one[:_CHARACTERS] for one in said]
    history: list[Json] = [
        _past(tx, one) for one in approvals.of_conversation(tx, turn.conversation_id)
    ]
    body: Payload = {
        "conversation_id": turn.conversation_id,
        "run_id": turn.run_id,
        "customer": call.customer,
        "name": call.name,
        "reason": call.reason,
        "rejections": call.rejections,
        "words": words,
        "history": history[-_REQUESTS:],
    }
    if waiting is None:
        added = hand_offs.add(tx, turn.conversation_id, turn.run_id, body, now)
        hand_off_thread.call(tx, desk, added, now)
        return
    amended = hand_offs.amend(tx, waiting, body)
    hand_off_thread.redraw(tx, desk, amended, now)
    text = f"Declined {call.rejections} times: the customer needs a person."
    hand_off_thread.tell(tx, desk, amended, now, text, aloud=True)


def _past(tx: Tx, approval: Approval) -> Json:
    """Return one line of the history: what was asked for, how it ended, and why."""
    votes = decisions.of(tx, approval.id)
    reasons: list[Json] = [f"{v.actor_name}: {v.reason[:_CHARACTERS]}" for v in votes if v.reason]
    return {
        "approval_id": approval.id,
        "what": request_words(approval),
        "status": approval.status.value,
        "reasons": reasons,
    }
