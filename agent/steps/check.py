"""A click on a tier whose roles are read afresh waits for that, as a row that no restart loses."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval
from agent.domain.deadlines import backoff, is_past
from agent.domain.decision import DecideAnswer, Decision, ReplyTo
from agent.domain.payload import Payload
from agent.ports import Unread
from agent.steps.alerts import raise_alert
from agent.steps.decide import Unproven, decide_as_known, decide_at_once
from agent.steps.kept import LEASE, Kept, carry_out, finish, message, read, whisper, words
from storage import clicks, outbox
from storage.outbox import OutboxRow

log = logging.getLogger(__name__)

# A person is told after so long that their role could not be verified.
_CHECK_WITHIN = timedelta(seconds=60)
_BASE = timedelta(seconds=1)
# Whatever ends the process this often is not tried any more.
_MOST_TRIES = 12
CHECKING = "Your role is being checked with Slack. You will read here what became of your click."
_GIVEN_UP = "Your click could not be worked on. Nothing was decided unless the card says so."


@dataclass(frozen=True, slots=True)
class Checking:
    """The answer comes later, in a message of its own."""


Heard = Callable[[Decision, DecideAnswer], None]


def submit(desk: Desk, decision: Decision, reply_to: ReplyTo) -> DecideAnswer | Checking:
    """Decide by the own database, or keep the click until the person's role was read.

    A click on a button is told that it is being checked; a form says so itself.
    """
    decision = replace(decision, clicked_at=desk.clock.now())
    answer = decide_at_once(desk, decision)
    if not isinstance(answer, Unproven):
        return answer
    who = str(decision.identity)
    # One that waits already for the same word of the same person is the one that counts.
    key = f"click:{decision.approval_id}:{who}:{decision.verdict}:{decision.break_glass}"
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        # The answer is told once, by the row.
        outbox.add(tx, now, message(desk, replace(decision, reply_to=None), reply_to, key))
        if decision.reply_to is not None:
            outbox.add(tx, now, whisper(desk, decision.reply_to, CHECKING))
    for lane in (Lane.CLICK, Lane.SLACK):
        desk.wake(lane)
    return Checking()


def check_click(desk: Desk, heard: Heard) -> bool:
    """Work on the kept click that is due first; False when none was.

    `heard` is given what became of each decision.
    """
    with desk.store.transaction() as tx:
        row = clicks.claim(tx, desk.replica, desk.clock.now(), LEASE)
    if row is None:
        return False
    try:
        kept = read(row)
    except (ValueError, KeyError) as error:
        _set_aside(desk, row, str(error))
        return True
    if row.attempts > _MOST_TRIES:
        finish(desk, row.id, kept.reply_to, _GIVEN_UP)
        return True
    answer = _work(desk, row, kept)
    if answer is None:
        return True
    if isinstance(kept.wish, Decision) and not isinstance(answer, Approval):
        heard(kept.wish, answer)
    finish(desk, row.id, kept.reply_to, words(kept.wish, answer))
    return True


def _work(desk: Desk, row: OutboxRow, kept: Kept) -> DecideAnswer | Approval | None:
    """Carry a wish out; None when it has to be tried again."""
    answer = carry_out(desk, kept.wish)
    if not isinstance(answer, Unproven):
        return answer
    unread, now = desk.rosters.refresh(answer.identity), desk.clock.now()
    ends_at = row.created_at + _CHECK_WITHIN
    if unread is not None and not is_past(ends_at, now):
        at = min(_next_try(desk, row, unread, now), ends_at)
        with desk.store.transaction() as tx:
            outbox.retry(tx, row.id, at, unread.problem, ambiguous=False)
        return None
    return decide_as_known(desk, answer.decision)


def _next_try(desk: Desk, row: OutboxRow, unread: Unread, now: datetime) -> datetime:
    if unread.after_s is not None:
        return now + timedelta(seconds=unread.after_s)
    return now + backoff(row.attempts, base=_BASE, jitter=desk.ids.jitter())


def _set_aside(desk: Desk, row: OutboxRow, problem: str) -> None:
    """Leave what cannot be read for a person to look at."""
    log.error("the kept click %s cannot be read: %s", row.id, problem)
    body: Payload = {"text": f"A kept click cannot be read and was not worked on: {row.id}"}
    with desk.store.transaction() as tx:
        outbox.give_up(tx, row.id, problem)
        now = desk.clock.now()
        raise_alert(tx, desk, now, f"click:{row.id}", AlertKind.CORRUPT_ROW, body)
    desk.wake(Lane.SLACK)
