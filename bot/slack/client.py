"""Outbound Slack: the clients, and the notifier that carries each kind of message."""

import logging
from collections.abc import Mapping
from typing import Literal, assert_never

from slack_sdk import WebClient
from typing_extensions import override

from agent.domain.approvals import Status
from agent.ports import (
    ChannelClosed,
    Clock,
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    Limited,
    NoAnswer,
    NotAuthorized,
    Notifier,
    Pulse,
    TryAgain,
    Undeliverable,
    Unreachable,
    Well,
)
from bot.slack import asked_lines, notices
from bot.slack.alert_posts import AlertPosts
from bot.slack.announcements import PostedOnce, needed, note_of
from bot.slack.card_posts import CardPosts
from bot.slack.channels import Channels, trouble_with
from bot.slack.failures import CALL_ERRORS, Failure, Meaning, failure_of
from bot.slack.groups import read_groups
from bot.slack.hand_off_posts import HandOffPosts
from bot.slack.homes import HomeTabs
from bot.slack.lookup import slack_users
from bot.slack.notices import Note
from bot.slack.ping_posts import PingPosts
from bot.slack.pings import ping_line
from bot.slack.posting import Posting, Versions, versions_of
from bot.slack.reviews import review_note
from storage import reviews
from storage.transaction import Store

_LOG = logging.getLogger(__name__)

# Slack takes the slow ones too; the outbox's lease is longer than this.
OUTBOX_TIMEOUT_S = 15
# A trigger id lives three seconds, transit included; and a look at Slack holds up everything.
INTERACTIVE_TIMEOUT_S = 2


def web_client(token: str, base_url: str, *, timeout_s: int) -> WebClient:
    """Return a client that tries once: the outbox retries, and a click cannot wait."""
    return WebClient(token, base_url=base_url, timeout=timeout_s, retry_handlers=[])


class SlackNotifier(Notifier):
    """Carries outbox rows to Slack; safe to share between threads."""

    def __init__(
        self, client: WebClient, quick: WebClient, channels: Channels, store: Store, clock: Clock
    ) -> None:
        """Keep what is needed; `channels` hold ids that `check_channels` has verified.

        `quick` does not wait long: with it Slack is looked at when `client` got no answer.
        """
        self._posting = Posting(client)
        self._quick = quick
        self._channels = channels.by_place()
        self._cards = CardPosts(self._posting, store, clock)
        self._alerts = AlertPosts(self._posting)
        self._hand_offs = HandOffPosts(self._posting)
        self._pings = PingPosts(self._posting, store)
        self._homes = HomeTabs(client, store, clock)
        self._store = store

    @property
    @override
    def channels(self) -> Mapping[str, str]:
        return self._channels

    @override
    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        try:
            return self._deliver(delivery)
        except CALL_ERRORS as error:
            failure = failure_of(error)
            _LOG.warning("%s %s: %s", delivery.kind, delivery.outbox_id, failure.code)
            return _answer(failure, delivery)

    @override
    def pulse(self) -> Pulse:
        try:
            self._quick.auth_test()
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.meaning is Meaning.CONFIG:
                return NotAuthorized(failure.code)
            if failure.is_silence:
                return Unreachable(failure.code)
        return Well()

    @override
    def look(self, channel: str) -> Well | Unreachable | ChannelClosed:
        try:
            problem = trouble_with(self._quick.conversations_info(channel=channel)["channel"])
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.is_silence:
                return Unreachable(failure.code)
            problem = failure.code if failure.meaning is Meaning.CHANNEL else None
        return Well() if problem is None else ChannelClosed(problem, channel)

    def _deliver(self, delivery: Delivery) -> DeliveryAnswer:
        match delivery.kind:
            case DeliveryKind.CARD:
                return self._cards.post(delivery, needed(delivery))
            case DeliveryKind.CARD_UPDATE:
                return self._cards.update(delivery, needed(delivery))
            case (
                DeliveryKind.THREAD
                | DeliveryKind.PING_LINE
                | DeliveryKind.QUESTION
                | DeliveryKind.ANSWER
                | DeliveryKind.MAIL_LINE
            ) as line:
                return self._posting.reply(delivery, self._line(delivery, line))
            case DeliveryKind.EPHEMERAL | DeliveryKind.HOME:
                return self._to_one(delivery)
            case DeliveryKind.REVIEW:
                return self._posting.post_kept(delivery, self._review(delivery))
            case DeliveryKind.REVIEW_UPDATE:
                return self._posting.redraw(delivery, self._review(delivery))
            case DeliveryKind.ALERT | DeliveryKind.ALERT_UPDATE | DeliveryKind.ALERT_LINE as kind:
                return self._alerts.carry(delivery, kind)
            case (
                DeliveryKind.HAND_OFF | DeliveryKind.HAND_OFF_UPDATE | DeliveryKind.HAND_OFF_LINE
            ) as kind:
                return self._hand_offs.carry(delivery, kind)
            case DeliveryKind.PING | DeliveryKind.PING_UPDATE:
                return self._pings.deliver(delivery, needed(delivery))
            case _ as kind:
                return self._posting.post_once(delivery, self._once(delivery, kind))

    def _line(
        self,
        delivery: Delivery,
        kind: Literal[
            DeliveryKind.THREAD,
            DeliveryKind.PING_LINE,
            DeliveryKind.QUESTION,
            DeliveryKind.ANSWER,
            DeliveryKind.MAIL_LINE,
        ],
    ) -> Note:
        """Return a line for the thread of a card."""
        view, body = needed(delivery), delivery.body
        match kind:
            case DeliveryKind.THREAD:
                return notices.thread_line(view, Status(str(body["status"])))
            case DeliveryKind.PING_LINE:
                return ping_line()
            case DeliveryKind.MAIL_LINE:
                return notices.mail_line(view, str(body["problem"]))
            case DeliveryKind.QUESTION:
                return asked_lines.question_line(view, str(body["ask_id"]))
            case DeliveryKind.ANSWER:
                with self._store.transaction(write=False) as tx:
                    users = slack_users(tx, view)
                return asked_lines.answer_line(view, str(body["ask_id"]), users)
            case _:
                assert_never(kind)

    def _once(self, delivery: Delivery, kind: PostedOnce) -> Note:
        """Return a message that is never changed."""
        with self._store.transaction(write=False) as tx:
            groups = read_groups(tx)
        return note_of(kind, delivery, groups)

    def _to_one(self, delivery: Delivery) -> DeliveryAnswer:
        """Give something to one person alone: their Home tab, or words that nobody else reads."""
        is_home = delivery.kind is DeliveryKind.HOME
        return self._homes.publish(delivery) if is_home else self._whisper(delivery)

    def _whisper(self, delivery: Delivery) -> DeliveryAnswer:
        """Answer one person where they are, or where that cannot be, in a direct message."""
        body = delivery.body
        channel, user = str(body["channel"]), str(body["user"])
        note = notices.private_answer(str(body["text"]))
        try:
            if channel:
                self._posting.whisper(channel, user, note)
                return Delivered()
        except CALL_ERRORS as error:
            if failure_of(error).meaning not in {Meaning.ABSENT_USER, Meaning.CHANNEL}:
                raise
        try:
            self._posting.post(delivery, note)
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.meaning is not Meaning.CHANNEL:
                raise
            return Undeliverable(failure.code)
        return Delivered()

    def _review(self, delivery: Delivery) -> Versions:
        view = needed(delivery)
        with self._store.transaction(write=False) as tx:
            review = reviews.get(tx, view.approval.id)
        if review is None:
            raise ValueError(f"nobody was asked to review {view.approval.id}")
        return versions_of(review_note(view, review))


def _answer(failure: Failure, delivery: Delivery) -> DeliveryAnswer:
    match failure.meaning:
        case Meaning.LIMITED:
            return Limited(failure.code, failure.after_s, delivery.ambiguous)
        case Meaning.UNCLEAR:
            return NoAnswer(failure.code, ambiguous=True)
        case Meaning.NOT_SENT:
            return NoAnswer(failure.code, delivery.ambiguous)
        case Meaning.CHANNEL:
            return ChannelClosed(failure.code, delivery.channel)
        case Meaning.CONFIG:
            return NotAuthorized(failure.code)
        case Meaning.BLOCKS | Meaning.PERSON:
            return Undeliverable(failure.code)
        case _:
            return TryAgain(failure.code, delivery.ambiguous)
