"""A request that waits is brought up again; its deadline is met, whoever notices first (§10)."""

from dataclasses import replace
from datetime import datetime, timedelta

from agent.desk import Desk
from agent.domain.approvals import Approval, Event, Status
from agent.domain.audit import AuditType
from agent.domain.deadlines import is_past
from agent.domain.digest import digest_mark, next_digest
from agent.domain.escalation import (
    Level,
    Wait,
    due_level,
    further_deadline,
    wakes_at,
)
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.ports import DeliveryKind
from agent.steps.expire import expire
from agent.steps.outcomes import ping_update, slack_message
from storage import approvals, audit, marks, outbox, pings
from storage.outbox import Message
from storage.transaction import Tx


def wake(tx: Tx, desk: Desk, waiting: Approval, now: datetime) -> Approval:
    """Do what is due about a locked row that waits, and note when to look at it next."""
    if is_past(waiting.expires_at, now):
        return meet_deadline(tx, desk, waiting, now)
    schedule, wait = desk.policy.escalation.schedule(), Wait.of(waiting)
    level = due_level(wait, schedule, now)
    if level is None:
        # Under the policy of today it is not due yet.
        return approvals.shift_locked(tx, waiting, None, wake_at=wakes_at(wait, schedule))
    return _bring_up(tx, desk, waiting, level, now)


def meet_deadline(tx: Tx, desk: Desk, row: Approval, now: datetime) -> Approval:
    """Return a locked row as its deadline leaves it: it waits on, has more time, or has expired.

    Everybody who touches a row that may wait asks this first: the sweep only tells of it.
    """
    if row.status is not Status.PENDING or not is_past(row.expires_at, now):
        return row
    until = further_deadline(row, desk.policy.escalation.schedule(), now)
    return expire(tx, desk, row, now) if until is None else _escalate(tx, desk, row, until, now)


def _bring_up(tx: Tx, desk: Desk, waiting: Approval, level: Level, now: datetime) -> Approval:
    """Reach a level: tell its people, in one message for all while too many wait."""
    rules = desk.policy.escalation
    folded = approvals.is_more_pending(tx, rules.digest_over)
    if pings.reach(tx, waiting.id, level, now):
        if folded:
            _fold(tx, desk, level, now)
        else:
            outbox.add(tx, now, *_messages(desk, waiting, level))
    data: Payload = {
        "level": level.key,
        "in_digest": folded,
        "expires_at": waiting.expires_at.isoformat(),
    }
    _note(tx, waiting, now, AuditType.APPROVAL_PINGED, data)
    wakes = wakes_at(replace(Wait.of(waiting), pinged=level), rules.schedule())
    return approvals.shift_locked(tx, waiting, None, pinged=level, wake_at=wakes)


def _escalate(tx: Tx, desk: Desk, row: Approval, until: datetime, now: datetime) -> Approval:
    """Give the senior group one more period; cards and pings show the new deadline."""
    more = approvals.shift_locked(
        tx,
        row,
        Event.ESCALATE,
        escalations=row.escalations + 1,
        pinged=Level.SENIOR,
        waits_since=row.expires_at,
        expires_at=until,
        wake_at=until,
    )
    told = [slack_message(desk, DeliveryKind.CARD_UPDATE, f"card_update:{row.id}:more", {}, more)]
    if row.pinged:
        told.append(ping_update(desk, more, "more"))
    if pings.reach(tx, row.id, Level.SENIOR, now):
        # Few requests are worth so much: none of them is told in a digest.
        told += _messages(desk, more, Level.SENIOR)
    outbox.add(tx, now, *told)
    data: Payload = {
        "status": more.status.value,
        "level": Level.SENIOR.key,
        "was": row.expires_at.isoformat(),
        "expires_at": until.isoformat(),
    }
    _note(tx, more, now, AuditType.APPROVAL_ESCALATED, data)
    return more


def _messages(desk: Desk, row: Approval, level: Level) -> list[Message]:
    key = f"ping:{row.id}:{level.key}"
    body: Payload = {"level": level.key, "senior": desk.policy.escalation.senior.value}
    told = [slack_message(desk, DeliveryKind.PING, key, body, row)]
    if level is Level.ONCALL:
        # Their message is in another channel: whoever looks at the card sees that they know.
        line = slack_message(desk, DeliveryKind.PING_LINE, f"ping_line:{row.id}", {}, row)
        told.append(line)
    return told


def _fold(tx: Tx, desk: Desk, level: Level, now: datetime) -> None:
    """Let a digest of the queue stand for the level, unless one is on its way already."""
    name = digest_mark(level)
    newest = marks.get(tx, name)
    every = timedelta(seconds=desk.policy.escalation.digest_every_s)
    at = next_digest(newest, now, every)
    if at is None or not marks.move(tx, name, newest, at):
        return
    body: Payload = {"level": level.key, "at": at.isoformat()}
    key = f"{name}:{at.isoformat()}"
    outbox.add(tx, at, slack_message(desk, DeliveryKind.DIGEST, key, body))


def _note(tx: Tx, row: Approval, now: datetime, tag: AuditType, data: Payload) -> None:
    fact = audit.Fact(tag, "timer", Channel.TIMER, data, row.id)
    audit.append(tx, row.run_id, now, fact)
