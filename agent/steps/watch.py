"""What cannot tell of itself is looked at by every replica, and becomes an alert until it is well.

That is messages that are stuck, parts of the desk that are silent, and a breaker that is gone.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.alerts import Alert, AlertKind
from agent.domain.heartbeats import REPLICA, Heartbeat, is_awake, silent
from agent.domain.payload import Json, Payload
from agent.steps.alerts import BREAKER_GONE, amend_alert, end_alert, raise_alert
from storage import alerts, audit, breaker, deliveries, heartbeats
from storage.times import to_micros
from storage.transaction import Tx

# How many problems an alert names: errors may have numbers in their words.
_MOST_PROBLEMS = 10
# Of replicas that nobody hears of any more, and of commands that were killed.
_FORGET_REPLICA, _FORGET_COMMAND = timedelta(days=1), timedelta(hours=1)


def watch(desk: Desk, patience: Mapping[str, timedelta]) -> bool:
    """Look at everything once and tell people on call what is new; false when nothing is.

    `patience` is how long each job may give no sign of life. Any number of replicas may look: the
    alerts' rows decide who tells.
    """
    news = [_watch_deliveries(desk), _watch_signs(desk, patience), _watch_breaker(desk)]
    if any(news):
        desk.wake(Lane.SLACK)
    return any(news)


def _watch_deliveries(desk: Desk) -> bool:
    with desk.store.transaction(write=False) as tx:
        stuck, told = deliveries.stuck_for(tx), _told_stuck(tx)
    if (told is None and not stuck) or (told is not None and stuck and not _news(stuck, told)):
        return False
    with desk.store.transaction() as tx:
        # Whoever is second sees what the first has told.
        audit.hold(tx, None)
        stuck, told = deliveries.stuck_for(tx), _told_stuck(tx)
        now = desk.clock.now()
        if told is None:
            return bool(stuck) and _tell_stuck(tx, desk, now, stuck)
        if not stuck:
            return end_alert(tx, desk, now, told.subject, "Nothing is stuck any more.")
        return _amend_stuck(tx, desk, now, told, _news(stuck, told))


def _told_stuck(tx: Tx) -> Alert | None:
    return next(iter(alerts.still_open(tx, AlertKind.DELIVERIES_STUCK)), None)


def _tell_stuck(tx: Tx, desk: Desk, now: datetime, stuck: tuple[Payload, ...]) -> bool:
    problems: list[Json] = [*stuck]
    body: Payload = {
        "text": "What the desk has to say does not get through to Slack.",
        "problems": problems,
    }
    subject = f"stuck:{to_micros(now)}"
    return raise_alert(tx, desk, now, subject, AlertKind.DELIVERIES_STUCK, body)


def _amend_stuck(tx: Tx, desk: Desk, now: datetime, told: Alert, news: tuple[Payload, ...]) -> bool:
    """Add what is new; what was a problem once stays in sight until all is well."""
    body: Payload = {**told.body, "problems": [*_problems(told), *news]}
    return bool(news) and amend_alert(tx, desk, now, told.subject, body)


def _news(stuck: tuple[Payload, ...], told: Alert) -> tuple[Payload, ...]:
    known = _problems(told)
    room = max(_MOST_PROBLEMS - len(known), 0)
    return tuple(one for one in stuck if one not in known)[:room]


def _problems(alert: Alert) -> list[Json]:
    problems = alert.body.get("problems")
    return problems if isinstance(problems, list) else []


def _watch_signs(desk: Desk, patience: Mapping[str, timedelta]) -> bool:
    with desk.store.transaction(write=False) as tx:
        now = desk.clock.now()
        beats = heartbeats.everything(tx)
        told = alerts.still_open(tx, AlertKind.STALE_HEARTBEAT)
    if not is_awake(beats, desk.replica, now):
        return False
    _forget_commands(desk, beats, now)
    known = {alert.subject for alert in told}
    late = [one for one in silent(beats, patience, now) if _subject(one) not in known]
    raised = [_tell_silent(desk, one) for one in late]
    ended = [_tell_well(desk, alert, beats, now) for alert in told]
    return any(raised) or any(ended)


def _subject(sign: Heartbeat) -> str:
    """Return what the alert of a silence is about: the last sign tells one silence from the next.

    All replicas read the same sign, so that they tell of one silence once.
    """
    return f"silent:{sign.replica}:{sign.job}:{to_micros(sign.at)}"


def _tell_silent(desk: Desk, sign: Heartbeat) -> bool:
    whole = sign.job == REPLICA
    text = (
        f"The replica {sign.replica} gives no sign of life; the others take over what it had begun."
        if whole
        else f"The job {sign.job} of the replica {sign.replica} does not get its work done."
    )
    body: Payload = {
        "text": text,
        "replica": sign.replica,
        "job": sign.job,
        "since": sign.at.isoformat(),
        "problem": sign.problem,
    }
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        return raise_alert(tx, desk, now, _subject(sign), AlertKind.STALE_HEARTBEAT, body)


def _tell_well(desk: Desk, alert: Alert, beats: tuple[Heartbeat, ...], now: datetime) -> bool:
    replica, job = str(alert.body.get("replica")), str(alert.body.get("job"))
    sign = next((one for one in beats if (one.replica, one.job) == (replica, job)), None)
    words = _over(alert, sign, now)
    if words is None:
        return False
    with desk.store.transaction() as tx:
        if sign is not None and _subject(sign) == alert.subject:
            heartbeats.forget(tx, replica)
        return end_alert(tx, desk, now, alert.subject, words)


def _over(alert: Alert, sign: Heartbeat | None, now: datetime) -> str | None:
    """Return how a silence is over, None while it lasts."""
    if sign is None:
        return "It has signed off."
    if _subject(sign) != alert.subject:
        return "It shows life again."
    if sign.job != REPLICA:
        return None
    if alert.acknowledged_by is not None:
        return "It is written off: somebody has seen it, and others do its work."
    if now - sign.at > _FORGET_REPLICA:
        return "It is written off: nobody has heard of it for a day, and others do its work."
    return None


def _forget_commands(desk: Desk, beats: tuple[Heartbeat, ...], now: datetime) -> None:
    for one in beats:
        if one.is_command and now - one.at > _FORGET_COMMAND:
            with desk.store.transaction() as tx:
                heartbeats.forget(tx, one.replica)


def _watch_breaker(desk: Desk) -> bool:
    """End the alert of a breaker that was gone, once somebody has put its row back."""
    with desk.store.transaction(write=False) as tx:
        told = alerts.still_open(tx, AlertKind.BREAKER_MISSING)
        if not told or not breaker.is_there(tx):
            return False
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        return end_alert(tx, desk, now, BREAKER_GONE, "It is back: refunds are decided again.")
