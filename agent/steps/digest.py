"""Once a day the approvals channel hears what was decided, by whom, how fast, and what was not."""

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.digest import DAILY_MARK, latest_day
from agent.domain.roles import Channel
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from storage import audit, digests, marks, outbox


def daily_digest(desk: Desk) -> bool:
    """Make the digest of the newest whole day if it is not made yet; tell whether it was made now.

    A desk that was down at the time makes it late, once, of that one day. A new desk begins with
    the next.
    """
    daily = desk.policy.escalation.daily()
    if daily is None:
        return False
    since, until = latest_day(desk.clock.now(), *daily)
    with desk.store.transaction(write=False) as tx:
        newest = marks.get(tx, DAILY_MARK)
        if newest is not None and until <= newest:
            return False
        day = None if newest is None else digests.day(tx, since, until)
    with desk.store.transaction() as tx:
        first = marks.move(tx, DAILY_MARK, newest, until)
        if not first or day is None:
            return False
        now = desk.clock.now()
        key = f"{DAILY_MARK}:{until.isoformat()}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.DAILY_DIGEST, key, day.body()))
        fact = audit.Fact(AuditType.DIGEST_MADE, desk.replica, Channel.TIMER, day.body())
        audit.append(tx, None, now, fact)
    desk.wake(Lane.SLACK)
    return True
