"""Outbound Slack: the clients, and the notifier that carries each kind of message."""

import logging
from functools import partial

from slack_sdk import WebClient
from typing_extensions import override

from agent.domain.approvals import ApprovalView, Status
from agent.ports import (
    Clock,
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    Notifier,
    TryAgain,
    Undeliverable,
)
from bot.slack import asked_lines, notices
from bot.slack.alert_posts import AlertPosts
from bot.slack.announcements import PostedOnce, channel_of, needed, note_of
from bot.slack.card_posts import CardPosts
from bot.slack.channels import Channels
from bot.slack.failures import CALL_ERRORS, Failure, Meaning, failure_of
from bot.slack.groups import read_groups
from bot.slack.homes import HomeTabs
from bot.slack.lookup import slack_users
from bot.slack.notices import Note
from bot.slack.ping_posts import PingPosts
from bot.slack.pings import ping_line
from bot.slack.posting import Posting, is_there
from bot.slack.reviews import review_note
from storage import reviews
from storage.transaction import Store

_LOG = logging.getLogger(__name__)

# Slack takes the slow ones too; the outbox's lease is longer than this.
OUTBOX_TIMEOUT_S = 15
# A trigger id lives three seconds, transit included.
INTERACTIVE_TIMEOUT_S = 2


def web_client(token: str, base_url: str, *, timeout_s: int) -> WebClient:
    """Return a client that tries once: the outbox retries, and a click cannot wait."""
    return WebClient(token, base_url=base_url, timeout=timeout_s, retry_handlers=[])


class SlackNotifier(Notifier):
    """Carries outbox rows to Slack; safe to share between threads."""

    def __init__(self, client: WebClient, channels: Channels, store: Store, clock: Clock) -> None:
        """Keep what is needed; `channels` hold ids that `check_channels` has verified."""
        self._posting = Posting(client)
        self._channels = channels
        self._cards = CardPosts(self._posting, channels.approvals, store, clock)
        self._alerts = AlertPosts(self._posting, channels.oncall)
        self._pings = PingPosts(self._posting, channels, self._cards, store)
        self._homes = HomeTabs(client, store, clock)
        self._store = store

    @override
    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        try:
            return self._deliver(delivery)
        except CALL_ERRORS as error:
            failure = failure_of(error)
            _LOG.warning("%s %s: %s", delivery.kind, delivery.outbox_id, failure.code)
            return _answer(failure, delivery)

    def _deliver(self, delivery: Delivery) -> DeliveryAnswer:
        match delivery.kind:
            case DeliveryKind.CARD:
                return self._cards.post(delivery, needed(delivery))
            case DeliveryKind.CARD_UPDATE:
                return self._cards.update(delivery, needed(delivery))
            case DeliveryKind.THREAD | DeliveryKind.PING_LINE:
                return self._reply(delivery, needed(delivery))
            case DeliveryKind.QUESTION | DeliveryKind.ANSWER:
                return self._speak(delivery, needed(delivery))
            case DeliveryKind.EPHEMERAL | DeliveryKind.HOME:
                return self._to_one(delivery)
            case DeliveryKind.REVIEW:
                return self._post_review(delivery, needed(delivery))
            case DeliveryKind.REVIEW_UPDATE:
                return self._update_reviews(delivery, needed(delivery))
            case DeliveryKind.ALERT | DeliveryKind.ALERT_UPDATE | DeliveryKind.ALERT_LINE:
                return self._alert(delivery)
            case DeliveryKind.PING | DeliveryKind.PING_UPDATE:
                return self._pings.deliver(delivery, needed(delivery))
            case _ as kind:
                return self._post_once(delivery, kind)

    def _post_once(self, delivery: Delivery, kind: PostedOnce) -> Delivered:
        with self._store.transaction(write=False) as tx:
            groups = read_groups(tx)
        channel, note = channel_of(delivery, self._channels), note_of(kind, delivery, groups)
        return self._posting.post_once(delivery, channel, note)

    def _alert(self, delivery: Delivery) -> DeliveryAnswer:
        if delivery.kind is DeliveryKind.ALERT:
            return self._alerts.post(delivery)
        if not delivery.refs:
            return self._cards.not_posted_yet(delivery)
        return self._alerts.follow(delivery)

    def _reply(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        if delivery.kind is DeliveryKind.PING_LINE:
            return self._in_thread(delivery, ping_line())
        note = notices.thread_line(view, Status(str(delivery.body["status"])))
        return self._in_thread(delivery, note)

    def _speak(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Put a question about a request, or what came back, under its card."""
        with self._store.transaction(write=False) as tx:
            users = slack_users(tx, view)
        ask_id = str(delivery.body["ask_id"])
        if delivery.kind is DeliveryKind.QUESTION:
            return self._in_thread(delivery, asked_lines.question_line(view, ask_id))
        return self._in_thread(delivery, asked_lines.answer_line(view, ask_id, users))

    def _in_thread(self, delivery: Delivery, note: Note) -> DeliveryAnswer:
        if not delivery.refs:
            return self._cards.not_posted_yet(delivery)
        root = delivery.refs[0]
        return self._posting.post_once(delivery, root.channel, note, root.ts)

    def _to_one(self, delivery: Delivery) -> Delivered:
        """Give something to one person alone: their Home tab, or words that nobody else reads."""
        is_home = delivery.kind is DeliveryKind.HOME
        return self._homes.publish(delivery) if is_home else self._whisper(delivery)

    def _whisper(self, delivery: Delivery) -> Delivered:
        body = delivery.body
        channel, user = str(body["channel"]), str(body["user"])
        note = notices.private_answer(str(body["text"]))
        try:
            if channel:
                self._posting.whisper(channel, user, note)
                return Delivered()
        except CALL_ERRORS as error:
            if failure_of(error).meaning is not Meaning.ABSENT_USER:
                raise
        self._posting.post(delivery, user, note)
        return Delivered()

    def _post_review(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        channel, note = self._channels.review, self._review_note(view)
        found = self._posting.found(delivery, channel, None)
        return Delivered((found or self._posting.post(delivery, channel, note),))

    def _update_reviews(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Redraw every copy; one that is gone is not missed, since the answer is written down."""
        if not delivery.refs:
            return self._cards.not_posted_yet(delivery)
        redraw = partial(self._posting.update, message=self._review_note(view))
        lost = tuple(ref for ref in delivery.refs if not is_there(partial(redraw, ref)))
        return Delivered(lost_refs=lost)

    def _review_note(self, view: ApprovalView) -> Note:
        with self._store.transaction(write=False) as tx:
            review = reviews.get(tx, view.approval.id)
        if review is None:
            raise ValueError(f"nobody was asked to review {view.approval.id}")
        return review_note(view, review)


def _answer(failure: Failure, delivery: Delivery) -> DeliveryAnswer:
    if failure.permanent:
        return Undeliverable(failure.code)
    ambiguous = delivery.ambiguous or failure.meaning is Meaning.UNCLEAR
    return TryAgain(failure.code, failure.after_s, ambiguous=ambiguous)
