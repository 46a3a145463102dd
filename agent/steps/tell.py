"""The customer reads how it went: the model's words where it has some, else true words of ours."""

from collections.abc import Callable
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.conversation import ChatMessage, EventType, RunState
from agent.domain.deadlines import TURN_LEASE
from agent.domain.languages import Language
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.domain.wording import STOPPED, is_for_customer, outcome_text
from agent.domain.words import words_in
from agent.ports import ChatAnswer
from agent.steps.hand_off_thread import mirror
from storage import approvals, audit, conversations, outbox, runs
from storage.conversations import Entry
from storage.runs import Turn
from storage.transaction import Tx

# What the team asks the agent is answered all the same: the customer hears nothing of it.
_SILENT = frozenset({"message", "outcome"})


def _model_down(language: Language) -> str:
    return words_in(language).model_down


def tell(desk: Desk, turn: Turn, answer: ChatAnswer) -> None:
    """Store the model's words as the customer's message and end the turn.

    Where a person has come meanwhile, the agent is silent.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        if not hush(tx, desk, turn, now):
            text = answer.text.strip() or _fallback(tx, turn)
            runs.append(tx, turn, now, ChatMessage("assistant", text))
            fact = audit.Fact(
                AuditType.MODEL_ANSWERED,
                answer.model,
                Channel.CHAT,
                {"calls": [], "tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out},
            )
            audit.append(tx, turn.run_id, now, fact)
            _say(tx, desk, turn, now, text, "complete")
            end(tx, desk, turn, now)
    desk.wake(Lane.SLACK)


def tell_failed(
    desk: Desk,
    turn: Turn,
    problem: str,
    words: Callable[[Language], str] = _model_down,
    *,
    instead: bool = False,
) -> None:
    """Tell the truth without the model: the stored outcome, else `words`, or these `instead`.

    `words` says something in the customer's language.
    """
    outcome = turn.row.kind == "outcome"
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        if not hush(tx, desk, turn, now):
            excuse = words(conversations.spoken(tx, turn.conversation_id))
            known = _known(tx, turn) or excuse
            text = excuse if instead else (_fallback(tx, turn) if outcome else known)
            runs.append(tx, turn, now, ChatMessage("assistant", text))
            _say(tx, desk, turn, now, text, "complete" if outcome else "failed")
            end(tx, desk, turn, now, None if outcome else RunState.FAILED, error=problem)
    desk.wake(Lane.SLACK)


def tell_stopped(desk: Desk, turn: Turn, said: str = "") -> None:
    """End a turn whose generation the customer stopped, and keep what was `said` until then.

    Waiting requests go on waiting.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        if hush(tx, desk, turn, now):
            return
        runs.append(tx, turn, now, ChatMessage("assistant", said or STOPPED))
        if said:
            _say(tx, desk, turn, now, said, "stopped")
        else:
            status: Payload = {"status": "stopped"}
            entry = Entry(desk.ids.new("msg"), EventType.STATUS, status, run_id=turn.run_id)
            conversations.append(tx, turn.conversation_id, now, entry)
        end(tx, desk, turn, now)


def hush(tx: Tx, desk: Desk, turn: Turn, now: datetime) -> bool:
    """End a turn where a person attends to the customer; False where the agent may speak.

    What started the turn is in the transcript already. An outcome is told, in words of ours. The
    caller holds the conversation, so that nobody comes between this and what is said.
    """
    if turn.row.kind not in _SILENT:
        return False
    conversation = conversations.get(tx, turn.conversation_id)
    if conversation is None or conversation.attended_by is None:
        return False
    why: Payload = {"attended_by": conversation.attended_by, "kind": turn.row.kind}
    fact = audit.Fact(AuditType.AGENT_SILENT, desk.replica, Channel.CHAT, why)
    audit.append(tx, turn.run_id, now, fact)
    if turn.row.kind == "outcome":
        text = _fallback(tx, turn)
        runs.append(tx, turn, now, ChatMessage("assistant", text))
        _say(tx, desk, turn, now, text, "complete")
        end(tx, desk, turn, now)
    else:
        rest(tx, turn, now)
    return True


def rest(tx: Tx, turn: Turn, now: datetime) -> None:
    """End a turn in which there was something to note and nothing to say."""
    runs.set_state(tx, turn.run_id, _resting_state(tx, turn), now)
    outbox.drop(tx, turn.row.id)
    # Nobody presses Stop because of a note: what they mean is still to come.
    give_back = runs.pause if turn.row.kind == "note" else runs.release
    give_back(tx, turn)


def end(
    tx: Tx,
    desk: Desk,
    turn: Turn,
    now: datetime,
    state: RunState | None = None,
    error: str | None = None,
) -> None:
    """End a turn that was answered; without a `state` the run rests as its requests stand."""
    ends = state or _resting_state(tx, turn)
    runs.set_state(tx, turn.run_id, ends, now, steps=1, error=error)
    outbox.drop(tx, turn.row.id)
    runs.release(tx, turn)
    ended: Payload = {"state": ends.value, "error": error}
    fact = audit.Fact(AuditType.RUN_ENDED, desk.replica, Channel.CHAT, ended)
    audit.append(tx, turn.run_id, now, fact)


def _known(tx: Tx, turn: Turn) -> str:
    """Return what the run has asked for or paid already, which is worth more than an excuse."""
    language = conversations.spoken(tx, turn.conversation_id)
    return "\n".join(
        outcome_text(one, language=language)
        for one in approvals.of_run(tx, turn.run_id)
        if is_for_customer(one) and one.status is not Status.SUPERSEDED
    )


def _fallback(tx: Tx, turn: Turn) -> str:
    if turn.row.kind == "outcome":
        return str(turn.row.body["text"])
    return _model_down(conversations.spoken(tx, turn.conversation_id))


def _say(tx: Tx, desk: Desk, turn: Turn, now: datetime, text: str, finish: str) -> None:
    """Add the agent's message; an outcome that was told already is not told again."""
    outcome_key = turn.row.key if turn.row.kind == "outcome" else None
    if outcome_key is not None and conversations.is_told(tx, outcome_key):
        return
    message_id = desk.ids.new("msg")
    data: Payload = {"message_id": message_id, "role": "agent", "text": text, "finish": finish}
    conversations.append(
        tx,
        turn.conversation_id,
        now,
        Entry(
            message_id,
            EventType.MESSAGE,
            data,
            run_id=turn.run_id,
            outcome_key=outcome_key,
        ),
    )
    mirror(tx, desk, turn.conversation_id, now, data)
    told: Payload = {"message_id": message_id, "outcome": outcome_key}
    fact = audit.Fact(
        AuditType.CUSTOMER_TOLD, desk.replica, Channel.CHAT, told, turn.row.approval_id
    )
    audit.append(tx, turn.run_id, now, fact)


def _resting_state(tx: Tx, turn: Turn) -> RunState:
    run = runs.get(tx, turn.run_id)
    if run is not None and run.state is RunState.ESCALATED:
        return RunState.ESCALATED
    return RunState.PARKED if approvals.open_of_run(tx, turn.run_id) else RunState.DONE
