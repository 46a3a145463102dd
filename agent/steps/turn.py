"""The model answers and proposes tool calls, under a fenced lease on the conversation.

Every answer is committed before any of its calls is looked at, so a turn driven again after a
crash goes on from the stored calls.
"""

import json
import logging
from datetime import timedelta

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.conversation import MAX_PROMPT_MESSAGES, ChatMessage, RunState, ToolCall
from agent.domain.deadlines import TURN_LEASE, backoff
from agent.domain.errors import FenceLost, InvalidInput, ModelUnavailable
from agent.domain.ids import CustomerId
from agent.domain.payload import Payload
from agent.domain.risk import Refusal, Refuse
from agent.domain.roles import Channel
from agent.ports import ChatAnswer, ChatRequest
from agent.steps import gate, resume, tell
from agent.steps.hand_off import hand_off
from agent.tools.base import Arguments, Caller, Tool, ToolClass, failure, parse_arguments
from agent.tools.refunds import ISSUE_REFUND, IssueRefund
from agent.tools.registry import INSTRUCTIONS, SPECS, TOOLS, HandOff
from storage import audit, conversations, outbox, runs
from storage.runs import Turn
from storage.transaction import Tx

log = logging.getLogger(__name__)

MAX_STEPS = 8
# The model may send arguments that cannot be read so often in one run; then a person takes over.
MAX_MALFORMED = 2
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
        _drive(desk, turn)
    except FenceLost:
        log.info("turn of %s was taken over", turn.run_id)
    return True


def _drive(desk: Desk, turn: Turn) -> None:
    for _ in range(MAX_STEPS):
        transcript, stopped = _look(desk, turn)
        open_calls = unanswered(transcript)
        if open_calls:
            for call in open_calls:
                _answer_call(desk, turn, call, transcript)
            continue
        if stopped:
            tell.tell_stopped(desk, turn)
            return
        try:
            answer = desk.model.complete(ChatRequest(_prompt(transcript), SPECS))
        except ModelUnavailable as problem:
            _model_failed(desk, turn, str(problem))
            return
        if not answer.calls:
            tell.tell(desk, turn, answer)
            return
        _keep(desk, turn, answer)
    hand_off(desk, turn, "The assistant went round in circles.")
    tell.tell_failed(desk, turn, "too many steps")


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
    """Bring what started the turn into the transcript, once; True when it was heard before."""
    now = desk.clock.now()
    if turn.row.kind == "outcome":
        if resume.is_heard(tx, turn):
            outbox.drop(tx, turn.row.id)
            runs.release(tx, turn)
            return True
        resume.resume(tx, turn, now)
    elif not runs.is_marked(tx, turn.run_id, turn.row.key):
        run = runs.get(tx, turn.run_id)
        said = None if run is None else conversations.message(tx, run.message_id)
        if said is None:
            raise LookupError(turn.run_id)
        runs.append(tx, turn, now, ChatMessage("user", said.text, call_id=turn.row.key))
    runs.set_state(tx, turn.run_id, RunState.RUNNING, now)
    fact = audit.Fact(
        AuditType.RUN_STARTED, desk.replica, Channel.CHAT, {"kind": turn.row.kind}
    )
    audit.append(tx, turn.run_id, now, fact)
    return False


def _look(desk: Desk, turn: Turn) -> tuple[tuple[ChatMessage, ...], bool]:
    """Return the transcript's tail, and whether the customer asked to stop."""
    with desk.store.transaction(write=False) as tx:
        stopped = runs.is_stopped(tx, turn)
        return runs.tail(tx, turn.conversation_id, MAX_PROMPT_MESSAGES), stopped


def _prompt(transcript: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    return (ChatMessage("system", INSTRUCTIONS), *transcript)


def _keep(desk: Desk, turn: Turn, answer: ChatAnswer) -> None:
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
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


def _answer_call(
    desk: Desk, turn: Turn, call: ToolCall, transcript: tuple[ChatMessage, ...]
) -> None:
    result = _run_call(desk, turn, call)
    if result.get("error") == Refusal.INVALID_ARGUMENTS and _malformed(transcript):
        hand_off(desk, turn, "The assistant could not fill in a request.")
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        runs.hold(tx, turn, now + TURN_LEASE)
        if runs.tool_result(tx, turn.run_id, call.call_id) is not None:
            return
        content = json.dumps(result, ensure_ascii=False)
        runs.append(tx, turn, now, ChatMessage("tool", content, call_id=call.call_id))
        status = result.get("status") or result.get("error") or "ok"
        fact = audit.Fact(
            AuditType.TOOL_RAN,
            desk.replica,
            Channel.CHAT,
            {"tool": call.name[:100], "call_id": call.call_id, "result": status},
        )
        audit.append(tx, turn.run_id, now, fact)


def _run_call(desk: Desk, turn: Turn, call: ToolCall) -> Payload:
    tool = TOOLS.get(call.name)
    if tool is None:
        return _refuse(desk, turn, call, Refuse(Refusal.UNKNOWN_TOOL, "There is no such tool."))
    try:
        arguments = parse_arguments(tool, call.arguments)
    except InvalidInput as invalid:
        return _refuse(desk, turn, call, Refuse(Refusal.INVALID_ARGUMENTS, str(invalid)))
    return _run_tool(desk, turn, call, tool, arguments)


def _run_tool(
    desk: Desk, turn: Turn, call: ToolCall, tool: Tool, arguments: Arguments
) -> Payload:
    customer = None if turn.customer_id is None else CustomerId(turn.customer_id)
    match tool.tool_class:
        case ToolClass.READ:
            if tool.read is None:
                return failure("unknown_tool", "There is no such tool.")
            return tool.read(desk, Caller(customer, turn.conversation_id), arguments)
        case ToolClass.HAND_OFF:
            reason = arguments.reason if isinstance(arguments, HandOff) else ""
            return hand_off(desk, turn, reason)
        case ToolClass.MONEY:
            return gate.propose(desk, _proposed(desk, turn, call, arguments))


def _proposed(desk: Desk, turn: Turn, call: ToolCall, arguments: Arguments) -> gate.Proposed:
    if not isinstance(arguments, IssueRefund):
        raise TypeError(f"{call.name} is not {ISSUE_REFUND.name}")
    return gate.Proposed(
        run_id=turn.run_id,
        conversation_id=turn.conversation_id,
        customer_id=None if turn.customer_id is None else CustomerId(turn.customer_id),
        call=call,
        arguments=arguments,
        model=desk.model.name,
    )


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
    bad = 0
    for message in reversed(transcript):
        if message.role == "user":
            break
        if message.role == "tool" and f'"error": "{Refusal.INVALID_ARGUMENTS}"' in message.content:
            bad += 1
    return bad >= MAX_MALFORMED - 1


def _model_failed(desk: Desk, turn: Turn, problem: str) -> None:
    """Try the turn again a few times; then the customer hears the truth."""
    if turn.row.attempts + 1 < _MODEL_TRIES:
        wait = backoff(turn.row.attempts + 1, base=_MODEL_BACKOFF, jitter=desk.ids.jitter())
        with desk.store.transaction() as tx:
            again = desk.clock.now() + wait
            runs.hold(tx, turn, again)
            runs.release(tx, turn)
            outbox.retry(tx, turn.row.id, again, problem, ambiguous=False)
        desk.wake(Lane.TURN)
        return
    tell.tell_failed(desk, turn, problem)
