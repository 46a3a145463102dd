"""People answer a customer themselves: they join, write, and give the conversation back.

Whoever joins or writes first attends to the conversation, and the agent is silent from then on.
Others may write there too; they attend to it in that person's place only if they take it over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.conversation import Conversation, EventType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.hand_offs import (
    MAY_ATTEND,
    HandOff,
    HandOffState,
    Words,
    ended_for_model,
    ended_words,
    joined_words,
    judge_attending,
    judge_giving_back,
    judge_joining,
    judge_words,
    read_reference,
    reminder_subject,
    said_for_model,
)
from agent.domain.ids import ConversationId
from agent.domain.judgement import Denial, Entitled
from agent.domain.payload import Payload
from agent.steps.alerts import end_alert
from agent.steps.hand_off_thread import mirror, redraw, tell
from agent.steps.outcomes import note_for_run
from agent.steps.permission import Order, permit, proven, refuse
from storage import audit, conversations, hand_offs, outbox
from storage.conversations import Entry
from storage.transaction import Tx, retried

_Answer = TypeVar("_Answer")
_NOBODY = Denial(RefusalCode.NOT_FOUND, "Nobody has asked for a person there.")
_UNKNOWN = Denial(
    RefusalCode.NOT_FOUND,
    "There is no such conversation among those that needed a person. The message that called for "
    "one names the end of its id.",
)
_AMBIGUOUS = Denial(RefusalCode.INVALID, "More than one conversation ends so: give more of the id.")
# What somebody wants to see who opens the whole conversation.
WHOLE = "conversation"


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody of the team wrote is in the customer's chat; `seq` is where."""

    message_id: str
    seq: int
    hand_off: HandOff


@dataclass(frozen=True, slots=True)
class _Case:
    """A hand-off that is held, the person who acts in it, and when."""

    hand_off: HandOff
    conversation: Conversation
    by: Entitled
    order: Order
    now: datetime


def join(desk: Desk, conversation_id: ConversationId, order: Order) -> HandOff | Refused:
    """Attend to a conversation without a word; also in the place of somebody who does already."""
    return _act(desk, conversation_id, order, "join", lambda tx, case: _take(tx, desk, case))


def say(desk: Desk, conversation_id: ConversationId, words: Words, order: Order) -> Said | Refused:
    """Write to the customer; under the same mark of the same person it is written once."""
    return _act(desk, conversation_id, order, "say", lambda tx, case: _say(tx, desk, case, words))


def give_back(desk: Desk, conversation_id: ConversationId, order: Order) -> HandOff | Refused:
    """Let the agent answer again; anybody with a role may, should the person have left."""
    verdict = "give_back"
    return _act(desk, conversation_id, order, verdict, lambda tx, case: _give_back(tx, desk, case))


def look_in(
    desk: Desk, conversation_id: ConversationId, number: int, order: Order, verdict: str
) -> HandOff | Refused:
    """Return a hand-off to somebody who may answer in it, whether it lasts or not.

    `verdict` is what they want to see; of the whole conversation the trail keeps that they saw it.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        permitted = _permit(tx, order, now)
        if isinstance(permitted, Denial):
            return refuse(tx, order, verdict, permitted, now)
        hand_off = hand_offs.get(tx, conversation_id, number)
        if hand_off is None:
            return refuse(tx, order, verdict, _NOBODY, now)
        if verdict == WHOLE:
            data: Payload = {"conversation_id": conversation_id, **proven(permitted, order)}
            who = permitted.actor.id
            fact = audit.Fact(AuditType.CONVERSATION_SHOWN, who, order.channel, data)
            audit.append(tx, hand_off.run_id, now, fact)
        return hand_off


@dataclass(frozen=True, slots=True)
class Found:
    """The conversation that somebody means."""

    conversation_id: ConversationId


def find_conversation(desk: Desk, typed: str, order: Order) -> Found | Refused:
    """Return which conversation somebody means who may answer in it: by its id, or how it ends."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        permitted = _permit(tx, order, now)
        if isinstance(permitted, Denial):
            return refuse(tx, order, "say", permitted, now)
        meant = read_reference(typed)
        if meant.whole is not None:
            return Found(meant.whole)
        found = () if meant.tail is None else hand_offs.ending_in(tx, meant.tail)
        match found:
            case (only,):
                return Found(only)
            case ():
                return refuse(tx, order, "say", _UNKNOWN, now)
            case _:
                return refuse(tx, order, "say", _AMBIGUOUS, now)


def _permit(tx: Tx, order: Order, now: datetime) -> Entitled | Denial:
    permitted = permit(tx, order, MAY_ATTEND, now, reason=False)
    if isinstance(permitted, Denial) and permitted.code is RefusalCode.NOT_ALLOWED:
        return Denial(permitted.code, "Only people with a role at this desk answer customers.")
    return permitted


def _act(
    desk: Desk,
    conversation_id: ConversationId,
    order: Order,
    verdict: str,
    work: Callable[[Tx, _Case], _Answer | Denial],
) -> _Answer | Refused:
    """Do something in a conversation for somebody who may; refusals are written down."""
    answer = retried(lambda: _locked(desk, conversation_id, order, verdict, work))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def _locked(
    desk: Desk,
    conversation_id: ConversationId,
    order: Order,
    verdict: str,
    work: Callable[[Tx, _Case], _Answer | Denial],
) -> _Answer | Refused:
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        permitted = _permit(tx, order, now)
        if isinstance(permitted, Denial):
            return refuse(tx, order, verdict, permitted, now)
        conversation = conversations.get(tx, conversation_id, lock=True)
        if conversation is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such conversation.")
            return refuse(tx, order, verdict, missing, now)
        hand_off = hand_offs.newest(tx, conversation_id)
        denial = judge_attending(hand_off, conversation.customer_id, permitted.actor)
        if denial is not None or hand_off is None:
            return _refuse(tx, desk, order, verdict, hand_off, denial, now)
        answer = work(tx, _Case(hand_off, conversation, permitted, order, now))
        if isinstance(answer, Denial):
            return _refuse(tx, desk, order, verdict, hand_off, answer, now)
        return answer


def _refuse(
    tx: Tx,
    desk: Desk,
    order: Order,
    verdict: str,
    hand_off: HandOff | None,
    denial: Denial | None,
    now: datetime,
) -> Refused:
    if hand_off is not None:
        # What was clicked may be an old picture.
        redraw(tx, desk, hand_off, now)
    return refuse(tx, order, verdict, denial or _NOBODY, now)


def _take(tx: Tx, desk: Desk, case: _Case) -> HandOff | Denial:
    return judge_joining(case.hand_off, case.by.actor) or _join(tx, desk, case)


def _join(tx: Tx, desk: Desk, case: _Case) -> HandOff:
    actor, before = case.by.actor, case.hand_off
    joined = hand_offs.join(tx, before, actor.id, actor.name, case.now)
    if before.attended_by is None:
        # What the agent is saying at this moment would come after the person's first word.
        conversations.request_stop(tx, before.conversation_id)
    _show(tx, desk, case, HandOffState.JOINED, actor.name)
    instead = "" if before.attended_name is None else f" in {before.attended_name}'s place"
    tell(tx, desk, joined, case.now, f"{actor.name} answers here now{instead}.")
    redraw(tx, desk, joined, case.now)
    data: Payload = {"instead_of": before.attended_by, **proven(case.by, case.order)}
    _note(tx, case, AuditType.CONVERSATION_JOINED, data)
    end_alert(tx, desk, case.now, reminder_subject(joined), f"{actor.name} answers the customer.")
    return joined


def _say(tx: Tx, desk: Desk, case: _Case, words: Words) -> Said | Denial:
    actor, where = case.by.actor, case.hand_off.conversation_id
    # Never a client's id: by that one a message is known as the customer's.
    mark = f"staff:{where}:{actor.id}:{words.key}"
    before = conversations.told(tx, mark)
    if before is not None:
        return Said(before.message_id, before.seq, case.hand_off)
    denial = judge_words(words.text)
    if denial is not None:
        return denial
    hand_off = case.hand_off
    if hand_off.state is HandOffState.WAITING:
        hand_off = _join(tx, desk, case)
    message_id = desk.ids.new("msg")
    data: Payload = {
        "message_id": message_id,
        "role": "staff",
        "text": words.text,
        "by": actor.name,
    }
    entry = Entry(message_id, EventType.MESSAGE, data, run_id=hand_off.run_id, outcome_key=mark)
    seq = conversations.append(tx, where, case.now, entry)
    mirror(tx, desk, where, case.now, data)
    told = said_for_model(actor.name, words.text)
    outbox.add(tx, case.now, note_for_run(desk, hand_off, f"staff:{message_id}", told))
    said: Payload = {
        "message_id": message_id,
        "seq": seq,
        "characters": len(words.text),
        **proven(case.by, case.order),
    }
    _note(tx, case, AuditType.STAFF_SAID, said)
    return Said(message_id, seq, hand_off)


def _give_back(tx: Tx, desk: Desk, case: _Case) -> HandOff | Denial:
    denial = judge_giving_back(case.hand_off)
    if denial is not None:
        return denial
    actor, before = case.by.actor, case.hand_off
    left = before.attended_name or actor.name
    _show(tx, desk, case, HandOffState.ENDED, left)
    tell(tx, desk, before, case.now, f"{actor.name} gave it back: the agent answers again.")
    ended = hand_offs.end(tx, before, actor.name, case.now)
    redraw(tx, desk, ended, case.now)
    key = f"given_back:{ended.subject}"
    outbox.add(tx, case.now, note_for_run(desk, ended, key, ended_for_model(left)))
    data: Payload = {"attended_by": before.attended_by, **proven(case.by, case.order)}
    _note(tx, case, AuditType.CONVERSATION_GIVEN_BACK, data)
    return ended


def _show(tx: Tx, desk: Desk, case: _Case, state: HandOffState, name: str) -> None:
    """Let the customer read who has come, or who has left."""
    say = joined_words if state is HandOffState.JOINED else ended_words
    text = say(case.conversation.language, name)
    data: Payload = {"text": text, "state": state.value, "by": name}
    hand_off = case.hand_off
    entry = Entry(desk.ids.new("msg"), EventType.HAND_OFF, data, run_id=hand_off.run_id)
    conversations.append(tx, hand_off.conversation_id, case.now, entry)


def _note(tx: Tx, case: _Case, tag: AuditType, data: Payload) -> None:
    where: Payload = {"conversation_id": case.hand_off.conversation_id}
    fact = audit.Fact(tag, case.by.actor.id, case.order.channel, {**where, **data})
    audit.append(tx, case.hand_off.run_id, case.now, fact)
