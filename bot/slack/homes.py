"""Home tabs as Slack has them: published from the rows as they are, and anew when those change."""

import hashlib
import json
import logging
from datetime import datetime, timedelta

from slack_sdk import WebClient

from agent.desk import Desk, Lane
from agent.domain.queue import Standing
from agent.domain.roles import Identity
from agent.ports import Clock, Delivered, Delivery
from agent.steps.home import OPEN_FOR, home_key, keep_home
from agent.steps.queue import READ, Pool, look, read_pool, take_seat
from bot.slack.blocks import Block
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of
from bot.slack.home import ROWS, home_view, outside_view, plain_view, stamped
from storage import homes, outbox
from storage.transaction import Store, Tx

_LOG = logging.getLogger(__name__)

# Clicks come in bursts, and each wakes the watch.
_APART = timedelta(seconds=0.5)
# Drawing takes at most so much of a processor's time, however much there is to draw.
_SHARE = 10


class HomeTabs:
    """Publishes tabs, each drawn at the moment of its publishing; safe to share between threads."""

    def __init__(self, client: WebClient, store: Store, clock: Clock) -> None:
        """Keep what is needed."""
        self._client = client
        self._store = store
        self._clock = clock

    def publish(self, delivery: Delivery) -> Delivered:
        """Give Slack somebody's tab as it is now; raises what is in `CALL_ERRORS`.

        A tab that nobody can open any more is forgotten, and published no more.
        """
        subject = str(delivery.body["subject"])
        now = self._clock.now()
        with self._store.transaction(write=False) as tx:
            tab = homes.get(tx, subject)
            view = draw(tx, subject, 0 if tab is None else tab.page, now)
        mark = digest(view)
        if tab is not None and tab.shown == mark:
            return Delivered()
        try:
            self._give(subject, stamped(view, now))
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.meaning not in {Meaning.CHANNEL, Meaning.PERSON}:
                raise
            _LOG.warning("the Home tab of %s is gone: %s", subject, failure.code)
            with self._store.transaction() as tx:
                homes.close(tx, subject)
            return Delivered()
        with self._store.transaction() as tx:
            homes.note_shown(tx, subject, mark)
        return Delivered()

    def _give(self, subject: str, view: Block) -> None:
        user = subject.partition(":")[2]
        try:
            self._client.views_publish(user_id=user, view=view)
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.meaning is not Meaning.BLOCKS:
                raise
            _LOG.error("Slack refused the Home tab of %s: %s", subject, failure.code)
            self._client.views_publish(user_id=user, view=plain_view())


class HomeWatch:
    """Notices in one replica that an open tab shows what is no longer so.

    Nothing is drawn while nothing has changed that a tab could show. What another replica has
    noticed already is on its way, and is not published again.
    """

    def __init__(self, desk: Desk, apart: timedelta = _APART) -> None:
        """Keep the desk; two looks are `apart` at least, however often it is asked."""
        self._desk = desk
        self._apart = apart
        # Nothing is looked at before.
        self._rests_until: datetime | None = None
        # The pulse at which each tab was last seen to be as it should be.
        self._steady: dict[str, str] = {}

    def refresh(self) -> bool:
        """Publish what has changed; False when nothing has."""
        desk, now = self._desk, self._desk.clock.now()
        if self._rests_until is not None and now < self._rests_until:
            return False
        with desk.store.transaction(write=False) as tx:
            late = self._late(tx, now)
        took = desk.clock.now() - now
        self._rests_until = now + max(self._apart, took * _SHARE)
        if not late:
            return False
        with desk.store.transaction() as tx:
            for subject, drawn in late.items():
                keep_home(tx, desk, subject, drawn, now)
        desk.wake(Lane.SLACK)
        return True

    def _late(self, tx: Tx, now: datetime) -> dict[str, str]:
        """Return the tabs that are not as they should be, with the sha256 of what they should be.

        What is being published is looked at when that is over.
        """
        tabs = homes.open_since(tx, now - OPEN_FOR)
        if not tabs:
            return {}
        pulse = homes.pulse(tx, now, now - OPEN_FOR, READ)
        self._steady = {
            tab.subject: pulse for tab in tabs if self._steady.get(tab.subject) == pulse
        }
        keys = {home_key(tab.subject): tab for tab in tabs if tab.subject not in self._steady}
        moving = outbox.on_their_way(tx, list(keys))
        resting = [tab for key, tab in keys.items() if key not in moving]
        pool = read_pool(tx) if resting else None
        late = {}
        for tab in resting:
            drawn = digest(draw(tx, tab.subject, tab.page, now, pool))
            if drawn == tab.shown:
                self._steady[tab.subject] = pulse
            else:
                late[tab.subject] = drawn
        return late


def draw(tx: Tx, subject: str, page: int, now: datetime, pool: Pool | None = None) -> Block:
    """Return somebody's tab as it is now, without the time of its drawing."""
    seat = take_seat(tx, Identity("slack", subject), now)
    if seat.standing is not Standing.STAFF:
        return outside_view(seat)
    return home_view(look(tx, seat, now, page, ROWS, pool))


def digest(view: Block) -> str:
    """Return the sha256 of a tab."""
    return hashlib.sha256(json.dumps(view, sort_keys=True).encode()).hexdigest()
