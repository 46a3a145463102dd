"""What an answer of the outside makes of a row. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import backoff
from agent.domain.payload import Payload
from agent.ports import Declined, NoClearAnswer, NotStarted
from agent.tools.effects import EffectAnswer, Recorded

_RETRY_BASE = timedelta(seconds=2)
_LOOK_BASE = timedelta(seconds=5)
# A provider that has not made up its mind is asked again so often.
_FOLLOW_UP = timedelta(hours=1)
# facts/payments.md: these say that something else happened to the payment, maybe our own earlier
# try; what became of it is looked up before anybody calls it failed.
RECONCILE = frozenset({"idempotency_error", "charge_disputed", "charge_already_refunded"})


@dataclass(frozen=True, slots=True)
class Ending:
    """What an answer makes of a row; `event` is None when the row stays as it is.

    `ended_at` is None while the row goes on; `contradiction` says what a late answer has against
    a row that has ended otherwise.
    """

    event: Event | None
    tag: AuditType
    outcome: str
    answer: Payload
    ended_at: datetime | None = None
    wake_at: datetime | None = None
    contradiction: str | None = None


def judge_answer(
    claimed: Approval,
    current: Approval,
    answer: EffectAnswer,
    now: datetime,
    jitter: float,
    *,
    unsent: bool = False,
) -> Ending:
    """Return what to make of the answer to `claimed`, with the row as it is `current`ly.

    `jitter` is a random number of [0, 1). `unsent` tells that no earlier try had begun either.
    """
    match answer:
        case Recorded(record=record, done=done, settled=settled):
            wake_at = now + _FOLLOW_UP if done and not settled else None
            outcome = "accepted" if done else "returned"
            return _definite(current, outcome, record, now, done=done, wake_at=wake_at)
        case Declined(code=code, message=message):
            declined: Payload = {"code": code, "message": message}
            if code in RECONCILE and claimed.looked_at is None:
                return _unclear(claimed, current, declined, now, jitter)
            return _definite(current, "declined", declined, now, done=False)
        case NotStarted(problem=problem):
            return _not_started(claimed, current, problem, now, jitter, unsent=unsent)
        case NoClearAnswer(problem=problem):
            return _unclear(claimed, current, {"problem": problem}, now, jitter)
        case _:
            assert_never(answer)


def _definite(
    current: Approval,
    outcome: str,
    record: Payload,
    now: datetime,
    *,
    done: bool,
    wake_at: datetime | None = None,
) -> Ending:
    tag = AuditType.EXECUTION_ENDED
    match current.status, done:
        case Status.EXECUTING, _:
            event = Event.PROVIDER_YES if done else Event.PROVIDER_NO
        case Status.UNKNOWN, _:
            event = Event.FOUND_DONE if done else Event.FOUND_FAILED
        case Status.EXECUTED, False if outcome == "returned":
            # succeeded is not final: the money came back (facts/payments.md). Only the record
            # says so; a late "declined" speaks of another try.
            event = Event.LATE_FAILURE
        case (Status.EXECUTED, True) | (Status.FAILED, False):
            return Ending(None, tag, outcome, record, wake_at=wake_at)
        case _:
            said = "it was done" if done else "it failed"
            return Ending(None, tag, outcome, record, contradiction=said)
    return Ending(event, tag, outcome, record, now, wake_at)


def _is_executing(claimed: Approval, current: Approval) -> bool:
    return current.status is Status.EXECUTING and current.attempts == claimed.attempts


def _not_started(
    claimed: Approval,
    current: Approval,
    problem: str,
    now: datetime,
    jitter: float,
    *,
    unsent: bool,
) -> Ending:
    executing = _is_executing(claimed, current)
    first = executing and (unsent or current.attempts == 1)
    wait = backoff(claimed.attempts, base=_RETRY_BASE, jitter=jitter)
    return Ending(
        Event.NOT_STARTED if first else (Event.SILENCE if executing else None),
        AuditType.EXECUTION_RETURNED if first else AuditType.EXECUTION_UNKNOWN,
        "not_started",
        {"problem": problem},
        wake_at=now + wait,
    )


def _unclear(
    claimed: Approval, current: Approval, said: Payload, now: datetime, jitter: float
) -> Ending:
    executing = _is_executing(claimed, current)
    wait = backoff(claimed.attempts, base=_LOOK_BASE, jitter=jitter)
    event = Event.SILENCE if executing else None
    return Ending(event, AuditType.EXECUTION_UNKNOWN, "unclear", said, wake_at=now + wait)
