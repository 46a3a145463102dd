"""The model answers and proposes tool calls, under a fenced lease on the conversation.

Every answer is committed before any of its calls is looked at, so a turn driven again after a
crash goes on from the stored calls.
"""

import json
import logging
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import takewhile

from agent.desk import UNWATCHED, Desk, Lane
from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.conversation import (
    MAX_CALL_ID,
    MAX_CALLS,
    MAX_PROMPT_MESSAGES,
    MAX_TOOL_NAME,
    ChatMessage,
    RunState,
    ToolCall,
    storable,
)
from agent.domain.deadlines import REJECTIONS_COUNT_FOR, TURN_LEASE, backoff
from agent.domain.decision import Refused
from agent.domain.errors import FenceLost, InvalidInput, Leaving, ModelUnavailable
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.languages import Language
from agent.domain.payload import Payload
from agent.domain.recap import MAX_ENDED, recap
from agent.domain.risk import Refusal, Refuse
from agent.domain.roles import Channel
from agent.domain.wording import declined_text, is_for_customer
from agent.domain.words import words_in
from agent.ports import ChatAnswer, ChatRequest, ToolSpec
from agent.steps import gate, reply, resume, tell
from agent.steps.ask import QUESTION_TURN
from agent.steps.decide import withdraw
from agent.steps.generate import Stopped, generate, shown_text
from agent.steps.hand_off import MAX_REVISIONS_EXCEEDED, hand_off
from agent.tools.base import Arguments, Caller, Tool, ToolClass, failure, parse_arguments
from agent.tools.flags import FLAG_FOR_FRAUD
from agent.tools.registry import EFFECTS, INSTRUCTIONS, SPECS, TOOLS, HandOff
from agent.tools.status import WithdrawRequest
from storage import approvals, audit, conversations, outbox, runs
from storage.runs import Turn
from storage.transaction import Tx

log = logging.getLogger(__name__)

MAX_STEPS = 8
# The model may send arguments that cannot be read so often in one run; then a person takes over.
MAX_MALFORMED = 2
# A turn that broke off so often for whatever reason breaks off again: a person is needed.
MAX_TRIES = 6
# An outcome is told whatever the customer pressed: the money moved, or did not. And what the team
# asks the agent is nothing that the customer could stop.
_UNSTOPPED = frozenset({"outcome", QUESTION_TURN})
# Whoever asks the agent wants to know; nothing moves by it.
_LOOK_UPS = tuple(tool.spec() for tool in TOOLS.values() if tool.tool_class is ToolClass.READ)
_MODEL_TRIES = 3
_MODEL_BACKOFF = timedelta(seconds=2)


def take_turn(desk: Desk) -> bool:
    """Take the oldest waiting turn and drive it to its end; False when none was waiting."""
    with desk.store.transaction() as tx:
        turn = runs.claim_turn(tx, desk.replica, desk.clock.now(), TURN_LEASE)
        if turn is None:
            return False
        heard = _open(tx, desk, turn)
    if heard:
        return True
    try:
        if turn.row.attempts >= MAX_TRIES:
            _give_up(desk, turn)
        elif not _escalate(desk, turn):
            _drive(desk, turn)
    except FenceLost:
        log.info("turn of %s was taken over", turn.run_id)
    except Leaving:
        _leave(desk, turn)
    except Exception as failure:
        _let_go(desk, turn, f"{type(failure).__name__}: {failure}")
        raise
    return True


def _let_go(desk: Desk, turn: Turn, problem: str) -> None:
    """Give back a turn that broke off, to be driven again soon instead of after its lease."""
    wait = backoff(turn.row.attempts + 1, base=_MODEL_BACKOFF, jitter=desk.ids.jitter())
    with desk.store.transaction() as tx:
        runs.pause(tx, turn)
        outbox.retry(tx, turn.row.id, desk.clock.now() + wait, problem, ambiguous=False)


def _leave(desk: Desk, turn: Turn) -> None:
    """Give back a turn in the middle of an answer, to be driven by whoever comes next."""
    with desk.store.transaction() as tx:
        runs.pause(tx, turn)
        outbox.retry(tx, turn.row.id, desk.clock.now(), "the desk ended", ambiguous=False)


def _drive(desk: Desk, turn: Turn) -> None:
    for _ in range(MAX_STEPS):
        transcript, stopped, attended = _look(desk, turn)
        open_calls = unanswered(transcript)
        if open_calls:
            # A flag first: what it may hold must not run beside it.
            for call in sorted(open_calls, key=lambda one: one.name != FLAG_FOR_FRAUD.name):
                _answer_call(desk, turn, call, transcript)
            continue
        if attended and _fall_silent(desk, turn):
            return
        if stopped and turn.row.kind not in _UNSTOPPED:
            tell.tell_stopped(desk, turn)
            return
        try:
            answer = _generate(desk, turn, transcript)
        except ModelUnavailable as problem:
            _model_failed(desk, turn, str(problem))
            return
        if isinstance(answer, Stopped):
            tell.tell_stopped(desk, turn, answer.said)
            return
        answer = _storable(answer)
        if not answer.calls:
            _say(desk, turn, answer)
            return
        if not _keep(desk, turn, answer):
            return
    _pass_on(desk, turn, "The assistant went round in circles.", "too many steps")


def _generate(desk: Desk, turn: Turn, transcript: tuple[ChatMessage, ...]) -> ChatAnswer | Stopped:
    return generate(
        desk,
        turn,
        ChatRequest(_prompt(transcript), _offered(turn)),
        # What the team asks is answered to the team.
        live=UNWATCHED if turn.row.kind == QUESTION_TURN else desk.live,
        is_stoppable=turn.row.kind not in _UNSTOPPED,
    )


def _offered(turn: Turn) -> tuple[ToolSpec, ...]:
    return _LOOK_UPS if turn.row.kind == QUESTION_TURN else SPECS


def _say(desk: Desk, turn: Turn, answer: ChatAnswer) -> None:
    """Bring the model's words to whom they are for: the customer, or the team that asked."""
    if turn.row.kind == QUESTION_TURN:
        reply.agent_answers(desk, turn, answer)
    else:
        tell.tell(desk, turn, answer)


def _pass_on(desk: Desk, turn: Turn, reason: str, problem: str) -> None:
    """Let a person take over; of what the team itself had asked it learns that nothing came."""
    if turn.row.kind == QUESTION_TURN:
        reply.agent_is_silent(desk, turn, problem)
        return
    hand_off(desk, turn, reason)
    tell.tell_failed(desk, turn, problem, _too_many_steps)


def _too_many_steps(language: Language) -> str:
    return words_in(language).too_many_steps


def _give_up(desk: Desk, turn: Turn) -> None:
    log.error("turn of %s broke off %d times", turn.run_id, turn.row.attempts)
    _pass_on(desk, turn, "The assistant broke off again and again.", "broke off too often")


def _escalate(desk: Desk, turn: Turn) -> bool:
    """Hand over to a person when people have said no as often as the policy allows."""
    approval_id = turn.row.approval_id
    if turn.row.kind != "outcome" or approval_id is None:
        return False
    with desk.store.transaction(write=False) as tx:
        rejected = approvals.get(tx, approval_id)
        if rejected is None or rejected.status is not Status.REJECTED or _is_attended(tx, turn):
            return False
        since = desk.clock.now() - REJECTIONS_COUNT_FOR
        about = (rejected.tool, rejected.order_id)
        who, where = rejected.customer_id, turn.conversation_id
        rejections = approvals.rejections(tx, who, about, where, since)
    if rejections < desk.policy.max_revisions:
        return False
    hand_off(desk, turn, MAX_REVISIONS_EXCEEDED, rejections)
    told = turn.row.body["told"]
    reason = str(told.get("reason", "")) if isinstance(told, dict) else ""
    declined = partial(declined_text, rejected, reason)
    tell.tell_failed(desk, turn, MAX_REVISIONS_EXCEEDED, declined, instead=True)
    return True


def unanswered(transcript: tuple[ChatMessage, ...]) -> tuple[ToolCall, ...]:
    """Return the calls of the last answer that have no result yet."""
    calls: tuple[ToolCall, ...] = ()
    answered: set[str | None] = set()
    for message in reversed(transcript):
        if message.role == "tool":
            answered.add(message.call_id)
        if message.role == "assistant":
            calls = message.calls
            break
    return tuple(call for call in calls if call.call_id not in answered)


def _open(tx: Tx, desk: Desk, turn: Turn) -> bool:
    """Bring what started the turn into the transcript, once; True when nothing is left to say."""
    now = desk.clock.now()
    if turn.row.kind == "outcome":
        if resume.is_heard(tx, turn):
            outbox.drop(tx, turn.row.id)
            runs.pause(tx, turn)
            return True
        resume.resume(tx, turn, now)
    elif turn.row.kind == "note":
        resume.resume(tx, turn, now)
        tell.rest(tx, turn, now)
        return True
    elif turn.row.kind == QUESTION_TURN:
        resume.resume(tx, turn, now)
    elif not runs.is_marked(tx, turn.run_id, turn.row.key):
        words = conversations.words_of_run(tx, turn.run_id)
        said = ChatMessage("user", words, call_id=turn.row.key)
        runs.append(tx, turn, now, *_what_it_answers(turn), said)
    runs.set_state(tx, turn.run_id, RunState.RUNNING, now)
    fact = audit.Fact(AuditType.RUN_STARTED, desk.replica, Channel.CHAT, {"kind": turn.row.kind})
    audit.append(tx, turn.run_id, now, fact)
    return False


def _what_it_answers(turn: Turn) -> tuple[ChatMessage, ...]:
    """Return what the model is told before a message that answers a question of the team."""
    told = turn.row.body.get("answers")
    return () if told is None else (ChatMessage("system", json.dumps(told, ensure_ascii=False)),)


def _look(desk: Desk, turn: Turn) -> tuple[tuple[ChatMessage, ...], bool, bool]:
    """Return the transcript as far as it is shown, and what came meanwhile: a Stop, a person."""
    with desk.store.transaction(write=False) as tx:
        stopped = runs.is_stopped(tx, turn)
        attended = _is_attended(tx, turn)
        tail = runs.tail(tx, turn.conversation_id, MAX_PROMPT_MESSAGES)
        return (*_before(tx, turn, len(tail)), *tail), stopped, attended


def _is_attended(tx: Tx, turn: Turn) -> bool:
    conversation = conversations.get(tx, turn.conversation_id)
    return conversation is not None and conversation.attended_by is not None


def _fall_silent(desk: Desk, turn: Turn) -> bool:
    """End a turn where a person attends to the customer; False where the agent may speak."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        silent = tell.hush(tx, desk, turn, now)
    desk.wake(Lane.SLACK)
    return silent


def _before(tx: Tx, turn: Turn, shown: int) -> tuple[ChatMessage, ...]:
    """Return what stands for the messages that the prompt has no room for."""
    left_out = runs.length(tx, turn.conversation_id) - shown
    if left_out == 0:
        return ()
    beginning = conversations.first_words(tx, turn.conversation_id)
    requests = approvals.latest_heard_in(tx, turn.conversation_id, MAX_ENDED)
    told = recap(left_out, beginning, requests)
    return (ChatMessage("system", json.dumps(told, ensure_ascii=False)),)


def _prompt(transcript: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    return (ChatMessage("system", INSTRUCTIONS), *transcript)


def _storable(answer: ChatAnswer) -> ChatAnswer:
    """Return the answer with nothing in it that a database refuses."""
    calls = tuple(
        ToolCall(
            storable(call.call_id)[:MAX_CALL_ID],
            storable(call.name)[:MAX_TOOL_NAME],
            storable(call.arguments),
        )
        for call in answer.calls[:MAX_CALLS]
    )
    return replace(answer, text=shown_text(answer.text), calls=calls)


def _keep(desk: Desk, turn: Turn, answer: ChatAnswer) -> bool:
    """Store an answer with its calls; False where a person came while the model was thinking."""
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        if tell.hush(tx, desk, turn, now):
            return False
        runs.append(tx, turn, now, ChatMessage("assistant", answer.text, calls=answer.calls))
        runs.set_state(tx, turn.run_id, RunState.RUNNING, now, steps=1)
        fact = audit.Fact(
            AuditType.MODEL_ANSWERED,
            answer.model,
            Channel.CHAT,
            {
                "calls": [call.name for call in answer.calls],
                "tokens_in": answer.tokens_in,
                "tokens_out": answer.tokens_out,
            },
        )
        audit.append(tx, turn.run_id, now, fact)
    return True


def _answer_call(
    desk: Desk, turn: Turn, call: ToolCall, transcript: tuple[ChatMessage, ...]
) -> None:
    result = _run_call(desk, turn, call)
    if turn.row.kind != QUESTION_TURN:
        _hand_off_after(desk, turn, result, transcript)
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        content = json.dumps(result, ensure_ascii=False)
        runs.append(tx, turn, now, ChatMessage("tool", content, call_id=call.call_id))
        audit.append(tx, turn.run_id, now, *_ran(desk, call, result))


def _hand_off_after(
    desk: Desk, turn: Turn, result: Payload, transcript: tuple[ChatMessage, ...]
) -> None:
    """Let a person take over after a result that the model cannot do better about."""
    if result.get("error") == Refusal.INVALID_ARGUMENTS and _malformed(transcript):
        hand_off(desk, turn, "The assistant could not fill in a request.")
    if result.get("error") == Refusal.TOO_MANY_REJECTIONS:
        # The refusal says that a person takes over, also in a new conversation.
        hand_off(desk, turn, MAX_REVISIONS_EXCEEDED, desk.policy.max_revisions)


def _ran(desk: Desk, call: ToolCall, result: Payload) -> list[audit.Fact]:
    """Return what the trail keeps of a call; a draft is kept whole, as nobody else keeps it."""
    status = result.get("status") or result.get("error") or "ok"
    data: Payload = {"tool": call.name[:100], "call_id": call.call_id, "result": status}
    facts = [audit.Fact(AuditType.TOOL_RAN, desk.replica, Channel.CHAT, data)]
    if "draft" in result:
        draft: Payload = {"call_id": call.call_id, "draft": result["draft"]}
        facts.append(audit.Fact(AuditType.DRAFT_MADE, desk.model.name, Channel.CHAT, draft))
    return facts


def _run_call(desk: Desk, turn: Turn, call: ToolCall) -> Payload:
    tool = TOOLS.get(call.name)
    if tool is None:
        return _refuse(desk, turn, call, Refuse(Refusal.UNKNOWN_TOOL, "There is no such tool."))
    try:
        arguments = parse_arguments(tool, call.arguments)
    except InvalidInput as invalid:
        return _refuse(desk, turn, call, Refuse(Refusal.INVALID_ARGUMENTS, str(invalid)))
    return _run_tool(desk, turn, call, tool, arguments)


def _run_tool(desk: Desk, turn: Turn, call: ToolCall, tool: Tool, arguments: Arguments) -> Payload:
    customer = None if turn.customer_id is None else CustomerId(turn.customer_id)
    if turn.row.kind == QUESTION_TURN and tool.tool_class is not ToolClass.READ:
        return failure("not_available", "The team asks: look things up and answer, nothing else.")
    if tool.read is not None:
        return tool.read(desk, Caller(customer, turn.conversation_id), arguments)
    if call.name in EFFECTS:
        proposed = gate.Proposed(
            run_id=turn.run_id,
            conversation_id=turn.conversation_id,
            customer_id=customer,
            call=call,
            arguments=arguments,
            model=desk.model.name,
        )
        return gate.propose(desk, proposed)
    if isinstance(arguments, WithdrawRequest):
        return _withdraw(desk, turn, customer, arguments)
    reason = arguments.reason if isinstance(arguments, HandOff) else tool.description
    return hand_off(desk, turn, reason)


def _withdraw(
    desk: Desk, turn: Turn, customer: CustomerId | None, arguments: WithdrawRequest
) -> Payload:
    """Take back what the customer means: the request named, else the only one that waits."""
    if customer is None:
        return failure(Refusal.NOT_VERIFIED, "Please sign in to the shop first.")
    named = arguments.approval_id
    if named is None:
        meant = _meant(desk, turn)
        if len(meant) != 1:
            told = "Which request is meant?" if meant else "No request is waiting."
            return failure("ambiguous" if meant else "not_found", told)
        if meant[0].status is Status.CANCELLED:
            return _withdrawn(meant[0])
        named = meant[0].id
    answer = withdraw(desk, ApprovalId(named), customer, heard_in=turn.conversation_id)
    if isinstance(answer, Refused):
        return failure(answer.code.value, answer.message)
    return _withdrawn(answer)


def _meant(desk: Desk, turn: Turn) -> list[Approval]:
    """Return the requests that wait; else what this very turn withdrew before it was cut off."""
    with desk.store.transaction(write=False) as tx:
        run = runs.get(tx, turn.run_id)
        asked = approvals.heard_in(tx, turn.conversation_id)
    theirs = [a for a in asked if is_for_customer(a)]
    waiting = [a for a in theirs if a.status is Status.PENDING]
    return waiting or [
        a
        for a in theirs
        if a.status is Status.CANCELLED
        and a.decided_at is None
        and run is not None
        and a.ended_at is not None
        and a.ended_at >= run.created_at
    ]


def _withdrawn(cancelled: Approval) -> Payload:
    return {"ok": True, "status": "cancelled", "approval_id": cancelled.id}


def _refuse(desk: Desk, turn: Turn, call: ToolCall, refusal: Refuse) -> Payload:
    with desk.store.transaction() as tx:
        fact = audit.Fact(
            AuditType.PROPOSAL_REFUSED,
            desk.model.name,
            Channel.POLICY,
            {
                "code": refusal.code.value,
                "problem": refusal.message,
                "call_id": call.call_id,
                "tool": call.name[:100],
                "arguments": call.arguments[:2000],
            },
        )
        audit.append(tx, turn.run_id, desk.clock.now(), fact)
    return failure(refusal.code.value, refusal.message)


def _malformed(transcript: tuple[ChatMessage, ...]) -> bool:
    """Tell whether the model has used up its tries at readable arguments since the last words."""
    since = takewhile(lambda message: message.role != "user", reversed(transcript))
    mark = f'"error": "{Refusal.INVALID_ARGUMENTS}"'
    bad = sum(message.role == "tool" and mark in message.content for message in since)
    return bad >= MAX_MALFORMED - 1


def _model_failed(desk: Desk, turn: Turn, problem: str) -> None:
    """Try the turn again a few times; then the customer hears the truth."""
    if turn.row.attempts + 1 < _MODEL_TRIES:
        wait = backoff(turn.row.attempts + 1, base=_MODEL_BACKOFF, jitter=desk.ids.jitter())
        with desk.store.transaction() as tx:
            again = desk.clock.now() + wait
            runs.hold(tx, turn, again)
            runs.pause(tx, turn)
            outbox.retry(tx, turn.row.id, again, problem, ambiguous=False)
        desk.wake(Lane.TURN)
        return
    if turn.row.kind == QUESTION_TURN:
        reply.agent_is_silent(desk, turn, problem)
    else:
        tell.tell_failed(desk, turn, problem)
