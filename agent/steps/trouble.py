"""Trouble with Slack: how far it reaches, who is told, and how the desk finds out that it is over.

A failure reaches one message, one place or everything. What a place cannot take waits in order, or
goes elsewhere; nothing is dropped, and nothing overtakes.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.payload import Payload
from agent.domain.places import (
    APPROVALS,
    EVERYTHING,
    LOOK_AGAIN,
    ONCALL,
    PAGE_AFTER,
    REVIEW,
    Place,
    rest_of_all,
)
from agent.ports import ChannelClosed, DeliveryKind, NotAuthorized, Notifier, Unreachable, Well
from agent.steps import hand_off_thread
from agent.steps.alerts import end_alert, raise_alert
from agent.steps.load_delivery import Route, route
from agent.steps.outcomes import slack_message
from agent.steps.page import page
from storage import alerts, cards, hand_offs, outbox, places
from storage.transaction import Tx

_LOG = logging.getLogger(__name__)
# More customers than this do not wait for people at a time.
_HAND_OFFS = 200

SLACK = "slack"
_NAMES = {APPROVALS: "approvals channel", ONCALL: "on-call channel", REVIEW: "review channel"}
_MEANWHILE = (
    "Requests go on expiring meanwhile; `agent pending list` and the HTTP API work without Slack."
)
# What a look at the channel does not show: only the next message can tell whether it is over.
_UNSEEN_BY_A_LOOK = ("restricted_action", "ekm_access_denied")
_MENDS = {
    "not_in_channel": "Invite the bot there.",
    "channel_not_found": "Invite the bot there if it is private, or correct the setting.",
    "is_archived": "Unarchive it, or set another channel.",
    "is_inactive": "Unarchive it, or set another channel.",
}


def lose_slack(tx: Tx, desk: Desk, now: datetime, pulse: Unreachable | NotAuthorized) -> None:
    """Let nothing leave for Slack until a look at it goes well; the places are held.

    Without leave to speak nobody in Slack can be told, so people on call are paged at once; where
    Slack does not answer, after five minutes.
    """
    before = places.get(tx, EVERYTHING, now)
    if isinstance(pulse, NotAuthorized):
        wait = LOOK_AGAIN
    else:
        wait = rest_of_all(before.failures + 1, desk.ids.jitter())
    # Not from the end of the time that the look itself was given.
    lost = replace(before, free_at=now).failed(pulse.problem, now, wait)
    places.save(tx, lost)
    _LOG.warning("nothing leaves for Slack: %s", pulse.problem)
    if isinstance(pulse, NotAuthorized):
        _LOG.critical("Slack does not let the desk in: %s", pulse.problem)
        _tell_all(tx, desk, now, f"Slack does not let the desk in any more ({pulse.problem}).")
    elif now - (lost.since or now) >= PAGE_AFTER:
        _tell_all(tx, desk, now, f"Slack does not answer ({pulse.problem}).")


def regain_slack(tx: Tx, desk: Desk, now: datetime, everything: Place) -> None:
    """Note that Slack takes messages again; the places are held."""
    places.save(tx, everything.well())
    _LOG.warning("messages leave for Slack again")
    if end_alert(tx, desk, now, SLACK, "Slack takes messages again."):
        page(tx, desk, now, "Supportdesk: Slack works again", "Slack takes messages again.")


def report_gone(desk: Desk, event: str) -> None:
    """Stop sending at once, and page people on call: Slack says that it has put the desk out."""
    with desk.store.transaction() as tx:
        places.hold(tx)
        lose_slack(tx, desk, desk.clock.now(), NotAuthorized(event))


def feel_pulse(desk: Desk, notifier: Notifier) -> None:
    """Ask whether Slack is back, and note the answer."""
    pulse = notifier.pulse()
    with desk.store.transaction() as tx:
        everything = places.hold(tx)[EVERYTHING]
        now = desk.clock.now()
        if isinstance(pulse, Well):
            places.save(tx, everything.tried(now))
        else:
            lose_slack(tx, desk, now, pulse)


def close_channel(
    tx: Tx, desk: Desk, now: datetime, channels: Mapping[str, str], closed: ChannelClosed
) -> None:
    """Send what a channel refuses elsewhere, and tell people on call once; the places are held."""
    for name, channel in channels.items():
        if channel == closed.channel:
            places.save(tx, places.get(tx, name, now).closed(closed.problem, now))
    way = route(channels, places.troubled(tx))
    for name in channels:
        if way.to(name) in way.closed:
            # Nobody takes its messages: they wait.
            places.occupy(tx, (name,), now + LOOK_AGAIN)
    if _tell_closed(tx, desk, now, way, closed):
        _show_elsewhere(tx, desk, now, way, closed.channel)


def look_at(desk: Desk, notifier: Notifier, name: str) -> None:
    """Look whether a closed channel takes messages again, and note the answer."""
    channels = notifier.channels
    # One that is no channel of the desk any more is in nobody's way.
    seen = notifier.look(channels[name]) if name in channels else Well()
    if not isinstance(seen, Well):
        return
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        for one, place in places.hold(tx).items():
            if one == name or channels.get(one, "") == channels.get(name):
                tried = place.tried(now)
                places.save(tx, tried)
                if not (place.problem or "").startswith(_UNSEEN_BY_A_LOOK):
                    open_place(tx, desk, now, channels, tried)


def open_place(
    tx: Tx, desk: Desk, now: datetime, channels: Mapping[str, str], place: Place
) -> None:
    """Note that a place is well again; the places are held.

    What changed about requests while its channel was closed is drawn there.
    """
    places.save(tx, place.well())
    channel = channels.get(place.name)
    if channel is None or not end_alert(tx, desk, now, _subject(channel), "It works again."):
        return
    for hand_off in hand_offs.still_open(tx, _HAND_OFFS):
        hand_off_thread.redraw(tx, desk, hand_off, now)
    for approval in cards.changed_in(tx, channel, place.since or now):
        key = f"card_update:{approval.id}:{desk.ids.new('out')}"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, approval))


def _tell_all(tx: Tx, desk: Desk, now: datetime, text: str) -> None:
    """Tell people on call that nothing leaves for Slack, by mail and, later, in Slack; once."""
    if raise_alert(tx, desk, now, SLACK, AlertKind.SLACK_TROUBLE, {"text": text}):
        page(tx, desk, now, "Supportdesk: Slack is the trouble", f"{text}\n\n{_MEANWHILE}\n")


def _tell_closed(tx: Tx, desk: Desk, now: datetime, way: Route, closed: ChannelClosed) -> bool:
    named = [name for name, channel in way.channels.items() if channel == closed.channel]
    what = " and ".join(_NAMES.get(name, f"{name} channel") for name in named)
    mend = _MENDS.get(closed.problem.split(":")[0], "A workspace admin has to allow it.")
    goes = "its messages go to another channel meanwhile"
    if way.to(named[0]) in way.closed:
        goes = "no other channel takes its messages, so they wait"
    text = f"Slack refuses messages to the {what} ({closed.problem}): {goes}. {mend}"
    body: Payload = {"text": text, "channel": closed.channel}
    if not raise_alert(tx, desk, now, _subject(closed.channel), AlertKind.SLACK_TROUBLE, body):
        return False
    if way.to(ONCALL) in way.closed:
        page(tx, desk, now, "Supportdesk: Slack is the trouble", f"{text}\n\n{_MEANWHILE}\n")
    return True


def _show_elsewhere(tx: Tx, desk: Desk, now: datetime, way: Route, channel: str) -> None:
    """Post again what waits for people and can be seen nowhere else."""
    for approval in cards.waiting_in(tx, channel, now):
        if all(ref.channel in way.closed for ref in cards.of(tx, approval.id)):
            key = f"card:{approval.id}"
            outbox.add(tx, now, slack_message(desk, DeliveryKind.CARD, key, {}, approval))
    for hand_off in hand_offs.still_open(tx, _HAND_OFFS):
        refs = cards.of_subject(tx, hand_off.subject)
        if refs and all(ref.channel in way.closed for ref in refs):
            hand_off_thread.call(tx, desk, hand_off, now)
    for alert in alerts.still_open(tx):
        refs = cards.of_subject(tx, alert.subject)
        if refs and all(ref.channel in way.closed for ref in refs):
            key, body = f"alert:{alert.subject}", {"subject": alert.subject}
            outbox.add(tx, now, slack_message(desk, DeliveryKind.ALERT, key, {**body}))


def _subject(channel: str) -> str:
    return f"{SLACK}:{channel}"
