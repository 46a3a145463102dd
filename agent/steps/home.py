"""Somebody looks at their Home tab: it is published, and remembered to be kept up to date."""

from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.queue import Standing
from agent.domain.roles import Identity
from agent.ports import DeliveryKind
from agent.steps.outcomes import slack_message
from agent.steps.queue import take_seat
from storage import homes, outbox
from storage.outbox import Message
from storage.transaction import Tx

# Slack never says that somebody has looked away.
OPEN_FOR = timedelta(hours=8)


def open_home(desk: Desk, identity: Identity, page: int = 0) -> None:
    """Publish a page of somebody's tab soon, and keep it up to date from now on.

    That of somebody without a role is published and not kept: nothing in it ever changes.
    """
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        homes.close_before(tx, now - OPEN_FOR)
        if take_seat(tx, identity, now).standing in {Standing.STAFF, Standing.UNVERIFIED}:
            homes.open_tab(tx, identity.subject, page, now)
        outbox.add(tx, now, _publishing(desk, identity.subject))
    desk.wake(Lane.SLACK)


def keep_home(tx: Tx, desk: Desk, subject: str, drawn: str, now: datetime) -> None:
    """Publish a tab whose picture, by its sha256, is not what Slack was given last.

    Asked by several replicas at once, it is published once. Wake the Slack lane after the commit.
    """
    tab = homes.get(tx, subject, lock=True)
    if tab is not None and tab.shown != drawn:
        outbox.add(tx, now, _publishing(desk, subject))


def home_key(subject: str) -> str:
    """Return the key of the one message on its way that publishes a tab, whatever has changed."""
    return f"home:{subject}"


def _publishing(desk: Desk, subject: str) -> Message:
    return slack_message(desk, DeliveryKind.HOME, home_key(subject), {"subject": subject})
