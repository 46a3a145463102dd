"""Somebody who may decide a request asks about it first: the customer in their chat, or the agent.

Nothing else changes: the request waits as before, and nothing was decided.
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval
from agent.domain.asking import (
    Question,
    Standing,
    customer_words,
    judge_question,
    question_for_model,
    standing,
)
from agent.domain.asks import Ask, AskedOf
from agent.domain.audit import AuditType
from agent.domain.conversation import EventType
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import ApprovalId, ConversationId
from agent.domain.judgement import Denial, Entitled, Lapsed
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import DeliveryKind
from agent.steps.expire import expire
from agent.steps.hand_off_thread import mirror
from agent.steps.outcomes import listeners_of, note_for_run, slack_message
from agent.steps.permission import Order, Where, permit, proven, refuse
from storage import approvals, asks, audit, breaker, conversations, decisions, joins, outbox
from storage.conversations import Entry
from storage.joins import Listener
from storage.outbox import Message
from storage.transaction import Tx, retried

# The kind of a turn in which the agent answers the team, and nobody else.
QUESTION_TURN = "question"


def ask(desk: Desk, approval_id: ApprovalId, question: Question, order: Order) -> Ask | Refused:
    """Put a question about a request that waits, and return it; under a key it is put once.

    Takes the role that a vote on the request takes. Nothing is decided, so no hash is needed.
    """
    answer = retried(lambda: _ask(desk, approval_id, question, order))
    for lane in (Lane.SLACK, Lane.TURN):
        desk.wake(lane)
    return answer


def repeat_in(tx: Tx, desk: Desk, approval: Approval, listener: Listener, now: datetime) -> None:
    """Show the open questions of a request in a conversation that has just joined it."""
    for one in open_questions(tx, approval, AskedOf.CUSTOMER):
        if not conversations.is_told(tx, _told_key(one, listener.conversation_id)):
            _tell_customer(tx, desk, approval, one, listener, now)
            # Before an edit another row stood here: what answers its question is heard here, too.
            joins.add(tx, one.approval_id, listener)


def open_questions(tx: Tx, approval: Approval, asked_of: AskedOf | None = None) -> tuple[Ask, ...]:
    """Return the questions of a request that wait for their answers, oldest first."""
    return tuple(
        one
        for one in asks.of(tx, approval)
        if standing(one, approval) is Standing.OPEN and asked_of in {None, one.asked_of}
    )


def _ask(desk: Desk, approval_id: ApprovalId, question: Question, order: Order) -> Ask | Refused:
    # Another person's form may bear the same mark.
    key = None if question.key is None else f"{order.identity}:{question.key}"
    with desk.store.transaction() as tx:
        # Where the deadline has passed the request ends here.
        breaker.hold_switch(tx)
        approval = approvals.get(tx, approval_id, lock=True)
        if approval is None:
            missing = Denial(RefusalCode.NOT_FOUND, "There is no such request.")
            return refuse(tx, order, "ask", missing, desk.clock.now())
        conversations.lock(tx, approval.conversation_id)
        before = None if key is None else asks.by_key(tx, key)
        return before or _judge(tx, desk, approval, question, order, key)


def _judge(
    tx: Tx, desk: Desk, approval: Approval, question: Question, order: Order, key: str | None
) -> Ask | Refused:
    now = desk.clock.now()
    where = Where(approval.id, approval.run_id)
    permitted = permit(tx, order, (approval.tier.floor(),), now, reason=False)
    if isinstance(permitted, Denial):
        return refuse(tx, order, "ask", permitted, now, where)
    votes = decisions.of(tx, approval.id)
    number = len(open_questions(tx, approval))
    judged = judge_question(approval, permitted.actor, question, votes, number, now)
    match judged:
        case Denial() as denial:
            return refuse(tx, order, "ask", denial, now, where)
        case Lapsed():
            expire(tx, desk, approval, now)
            late = Denial(RefusalCode.EXPIRED, "Too late: nobody decided before the deadline.")
            return refuse(tx, order, "ask", late, now, where)
        case None:
            row = _row(desk, approval, question, permitted, now)
            asks.add(tx, row, key)
            _put(tx, desk, approval, row, now)
            _record(tx, approval, row, proven(permitted, order), order.channel)
            return row
        case _:
            assert_never(judged)


def _row(desk: Desk, approval: Approval, question: Question, by: Entitled, now: datetime) -> Ask:
    return Ask(
        id=desk.ids.new("ask"),
        approval_id=approval.id,
        conversation_id=approval.conversation_id,
        run_id=approval.run_id,
        asked_of=question.asked_of,
        actor_id=by.actor.id,
        actor_name=by.actor.name,
        question=question.text,
        asked_at=now,
        answered_at=None,
        answer=None,
        late=False,
    )


def _record(tx: Tx, approval: Approval, row: Ask, right: Payload, channel: Channel) -> None:
    data: Payload = {
        "ask_id": row.id,
        "asked_of": row.asked_of.value,
        "question": row.question,
        **right,
    }
    fact = audit.Fact(AuditType.QUESTION_ASKED, row.actor_id, channel, data, approval.id)
    audit.append(tx, approval.run_id, row.asked_at, fact)


def _put(tx: Tx, desk: Desk, approval: Approval, row: Ask, now: datetime) -> None:
    """Bring a new question to whom it is for, and onto the card and into its thread."""
    if row.asked_of is AskedOf.CUSTOMER:
        for listener in listeners_of(tx, approval):
            _tell_customer(tx, desk, approval, row, listener, now)
    else:
        outbox.add(tx, now, _turn(desk, approval, row))
    body: Payload = {"ask_id": row.id}
    update = f"card_update:{approval.id}:asked:{row.id}"
    outbox.add(
        tx,
        now,
        slack_message(desk, DeliveryKind.CARD_UPDATE, update, {}, approval),
        slack_message(desk, DeliveryKind.QUESTION, f"question:{row.id}", body, approval),
    )


def _turn(desk: Desk, approval: Approval, row: Ask) -> Message:
    """Return the turn in which the agent answers."""
    return Message(
        id=desk.ids.new("out"),
        lane="turn",
        kind=QUESTION_TURN,
        key=f"question_turn:{row.id}",
        body={"ask_id": row.id, "told": question_for_model(row, approval)},
        conversation_id=approval.conversation_id,
        run_id=approval.run_id,
        approval_id=approval.id,
    )


def _tell_customer(
    tx: Tx, desk: Desk, approval: Approval, row: Ask, listener: Listener, now: datetime
) -> None:
    """Put a question into a conversation's log, and let its run know what was asked there."""
    message_id, key = desk.ids.new("msg"), _told_key(row, listener.conversation_id)
    language = conversations.spoken(tx, listener.conversation_id)
    data: Payload = {
        "message_id": message_id,
        "role": "staff",
        "text": customer_words(approval, row.question, language),
        "approval_id": approval.id,
        "question": row.question,
        "answer_by": approval.expires_at.isoformat().replace("+00:00", "Z"),
    }
    entry = Entry(message_id, EventType.MESSAGE, data, run_id=listener.run_id, outcome_key=key)
    conversations.append(tx, listener.conversation_id, now, entry)
    mirror(tx, desk, listener.conversation_id, now, {**data, "by": row.actor_name})
    note = note_for_run(desk, approval, key, question_for_model(row, approval))
    outbox.add(
        tx,
        now,
        replace(note, conversation_id=listener.conversation_id, run_id=listener.run_id),
    )


def _told_key(ask: Ask, conversation_id: ConversationId) -> str:
    """Return what marks the customer's message with a question in a conversation."""
    return f"question:{ask.id}:{conversation_id}"
