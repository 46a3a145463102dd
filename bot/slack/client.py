"""Outbound Slack: the clients, the channels they post to, and the notifier behind the outbox."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias, assert_never

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse
from typing_extensions import override

from agent.domain.approvals import ApprovalView, Status
from agent.domain.ids import ApprovalId
from agent.ports import (
    Clock,
    Delivered,
    Delivery,
    DeliveryAnswer,
    DeliveryKind,
    MessageRef,
    Notifier,
    TryAgain,
    Undeliverable,
)
from bot.slack import notices
from bot.slack.cards import Card, approval_card, brief_card
from bot.slack.channels import Channels
from bot.slack.failures import CALL_ERRORS, Failure, Meaning, failure_of
from bot.slack.lookup import slack_users
from bot.slack.notices import Note
from bot.slack.reviews import review_note
from storage import approvals, cards, decisions, reviews
from storage.transaction import Store

_LOG = logging.getLogger(__name__)

EVENT_TYPE = "supportdesk"
# Slack takes the slow ones too; the outbox's lease is longer than this.
OUTBOX_TIMEOUT_S = 15
# A trigger id lives three seconds, transit included.
INTERACTIVE_TIMEOUT_S = 2

_PAGE, _PAGES = 100, 5
# Slack's clock and ours may differ.
_SKEW = timedelta(minutes=2)
# A card that another worker is posting right now is noted within its lease.
_CARD_ON_ITS_WAY = timedelta(seconds=60)
_LOOK_AGAIN = timedelta(seconds=3)

_Message: TypeAlias = dict[str, Any]


def web_client(token: str, base_url: str, *, timeout_s: int) -> WebClient:
    """Return a client that tries once: the outbox retries, and a click cannot wait."""
    return WebClient(token, base_url=base_url, timeout=timeout_s, retry_handlers=[])


class SlackNotifier(Notifier):
    """Carries outbox rows to Slack; safe to share between threads."""

    def __init__(self, client: WebClient, channels: Channels, store: Store, clock: Clock) -> None:
        """Keep what is needed; `channels` hold ids that `check_channels` has verified."""
        self._client = client
        self._channels = channels
        self._store = store
        self._clock = clock
        # Set for good once the workspace has refused a card with a table.
        self._without_tables = False

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
                return self._post_card(delivery, _needed(delivery))
            case DeliveryKind.CARD_UPDATE:
                return self._update_cards(delivery, _needed(delivery))
            case DeliveryKind.THREAD:
                return self._reply(delivery, _needed(delivery))
            case DeliveryKind.EPHEMERAL:
                return self._whisper(delivery)
            case DeliveryKind.HAND_OFF:
                note = notices.hand_off(delivery.body)
                return self._post_note(delivery, self._channels.approvals, note)
            case (
                DeliveryKind.BREAKER_OPENED
                | DeliveryKind.STOP_THROWN
                | DeliveryKind.UNKNOWN_OUTCOME
            ):
                return self._post_note(delivery, self._channels.oncall, _oncall_note(delivery))
            case DeliveryKind.ONCALL:
                return self._alert(delivery)
            case DeliveryKind.REVIEW:
                return self._post_review(delivery, _needed(delivery))
            case DeliveryKind.REVIEW_UPDATE:
                return self._update_reviews(delivery, _needed(delivery))
            case _:
                assert_never(delivery.kind)

    # --- cards

    def _post_card(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        channel = self._channels.approvals
        found = self._arrived(delivery, channel, None)
        if found is not None and self._redraw(view, found, None):
            return Delivered((found,))
        ref = self._send_card(view, lambda card: self._post(delivery, channel, card))
        if view.approval.supersedes is not None:
            self._link_replaced(view.approval.supersedes, ref)
        return Delivered((ref,))

    def _update_cards(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Redraw every copy; where the last one is gone, post the state afresh."""
        if not delivery.refs:
            return self._no_card_yet(delivery)
        url = self._replacement_url(view)
        lost = tuple(ref for ref in delivery.refs if not self._redraw(view, ref, url))
        if len(lost) < len(delivery.refs):
            return Delivered(lost_refs=lost)
        channel = self._channels.approvals
        found = self._arrived(delivery, channel, None)
        if found is not None and self._redraw(view, found, url):
            return Delivered((found,), lost)
        fresh = self._send_card(view, lambda card: self._post(delivery, channel, card), url)
        return Delivered((fresh,), lost)

    def _redraw(self, view: ApprovalView, ref: MessageRef, url: str | None) -> bool:
        """Update one copy; false when Slack has it no more."""
        return _is_there(lambda: self._send_card(view, partial(self._update, ref), url))

    def _send_card(
        self, view: ApprovalView, send: Callable[[Card], MessageRef], url: str | None = None
    ) -> MessageRef:
        """Send the card; where the workspace refuses its blocks, send a plainer one."""
        with self._store.transaction(write=False) as tx:
            users = slack_users(tx, view)
        now = self._clock.now()
        if not self._without_tables:
            try:
                return send(approval_card(view, now, users, replacement_url=url))
            except CALL_ERRORS as error:
                _pass_blocks(error, view)
                self._without_tables = True
        try:
            return send(approval_card(view, now, users, classic=True, replacement_url=url))
        except CALL_ERRORS as error:
            _pass_blocks(error, view)
        return send(brief_card(view, now, users, replacement_url=url))

    def _no_card_yet(self, delivery: Delivery) -> DeliveryAnswer:
        # Whoever posts it later draws the row as it is then; only one being posted at this very
        # moment would stay an old picture.
        age = self._clock.now() - delivery.created_at
        if age >= _CARD_ON_ITS_WAY:
            return Delivered()
        wait = max(_LOOK_AGAIN, 2 * age)
        return TryAgain("the card is not posted yet", wait.total_seconds(), ambiguous=False)

    def _link_replaced(self, old: ApprovalId, new: MessageRef) -> None:
        """Let the cards of a superseded request point to the new one, which was just posted."""
        with self._store.transaction(write=False) as tx:
            approval = approvals.get(tx, old)
            view = None if approval is None else decisions.view(tx, approval)
            refs = cards.of(tx, old)
        if view is None:
            return
        try:
            url = self._permalink(new)
            for ref in refs:
                self._redraw(view, ref, url)
        except CALL_ERRORS as error:
            # The old card names the new request all the same.
            _LOG.warning("no link to the new card on %s: %s", old, failure_of(error).code)

    def _replacement_url(self, view: ApprovalView) -> str | None:
        """Return where the card of the successor is, None as long as it is not posted."""
        if view.approval.superseded_by is None:
            return None
        with self._store.transaction(write=False) as tx:
            refs = cards.of(tx, view.approval.superseded_by)
        return self._permalink(refs[0]) if refs else None

    def _permalink(self, ref: MessageRef) -> str:
        found = self._client.chat_getPermalink(channel=ref.channel, message_ts=ref.ts)
        return str(found["permalink"])

    # --- reviews

    def _post_review(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        channel, note = self._channels.review, self._review_note(view)
        found = self._arrived(delivery, channel, None)
        return Delivered((found or self._post(delivery, channel, note),))

    def _update_reviews(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Redraw every copy; one that is gone is not missed, since the answer is written down."""
        if not delivery.refs:
            return self._no_card_yet(delivery)
        note = self._review_note(view)
        lost = tuple(
            ref for ref in delivery.refs if not _is_there(partial(self._update, ref, note))
        )
        return Delivered(lost_refs=lost)

    def _review_note(self, view: ApprovalView) -> Note:
        with self._store.transaction(write=False) as tx:
            review = reviews.get(tx, view.approval.id)
        if review is None:
            raise ValueError(f"nobody was asked to review {view.approval.id}")
        return review_note(view, review)

    # --- everything else

    def _reply(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        if not delivery.refs:
            return self._no_card_yet(delivery)
        root = delivery.refs[0]
        if self._arrived(delivery, root.channel, root.ts) is None:
            note = notices.thread_line(view, Status(str(delivery.body["status"])))
            self._post(delivery, root.channel, note, root.ts)
        return Delivered()

    def _whisper(self, delivery: Delivery) -> Delivered:
        body = delivery.body
        channel, user = str(body["channel"]), str(body["user"])
        note = notices.private_answer(str(body["text"]))
        try:
            if channel:
                self._client.chat_postEphemeral(
                    channel=channel, user=user, blocks=note.blocks, text=note.text, parse="none"
                )
                return Delivered()
        except CALL_ERRORS as error:
            if failure_of(error).meaning is not Meaning.ABSENT_USER:
                raise
        self._post(delivery, user, note)
        return Delivered()

    def _alert(self, delivery: Delivery) -> Delivered:
        body = delivery.body
        about, thread_ts = body.get("approval_id"), body.get("thread_ts")
        named = about if isinstance(about, str) else None
        note = notices.oncall(str(body["text"]), named, good=body.get("good") is True)
        root = thread_ts if isinstance(thread_ts, str) else None
        return self._post_note(delivery, self._channels.oncall, note, root)

    def _post_note(
        self, delivery: Delivery, channel: str, note: Note, thread_ts: str | None = None
    ) -> Delivered:
        if self._arrived(delivery, channel, thread_ts) is None:
            self._post(delivery, channel, note, thread_ts)
        return Delivered()

    # --- the calls that everything goes through

    def _update(self, ref: MessageRef, message: Card | Note) -> MessageRef:
        self._client.chat_update(
            channel=ref.channel,
            ts=ref.ts,
            blocks=message.blocks,
            text=message.text,
            parse="none",
            link_names=False,
        )
        return ref

    def _post(
        self, delivery: Delivery, channel: str, message: Card | Note, thread_ts: str | None = None
    ) -> MessageRef:
        """Post once, marked so that a copy whose answer was lost can be found again."""
        payload = {"outbox_id": delivery.outbox_id}
        if delivery.approval is not None:
            payload["approval_id"] = delivery.approval.approval.id
        posted = self._client.chat_postMessage(
            channel=channel,
            blocks=message.blocks,
            text=message.text,
            thread_ts=thread_ts,
            metadata={"event_type": EVENT_TYPE, "event_payload": payload},
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
            link_names=False,
        )
        return MessageRef(str(posted["channel"]), str(posted["ts"]))

    def _arrived(
        self, delivery: Delivery, channel: str, thread_ts: str | None
    ) -> MessageRef | None:
        """Look for a copy that an earlier try may have posted; None when there is none to see."""
        if not delivery.ambiguous:
            return None
        try:
            for message in self._posted_since(delivery, channel, thread_ts):
                marked = message.get("metadata", {}).get("event_payload", {})
                if marked.get("outbox_id") == delivery.outbox_id:
                    return MessageRef(channel, str(message["ts"]))
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if not failure.permanent:
                raise
            # Two copies do no harm: both are updated, and the decision lives in the database.
            _LOG.warning("cannot look for %s: %s", delivery.outbox_id, failure.code)
        return None

    def _posted_since(
        self, delivery: Delivery, channel: str, thread_ts: str | None
    ) -> Iterator[_Message]:
        oldest = f"{(delivery.created_at - _SKEW).timestamp():.6f}"
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._page(channel, thread_ts, oldest, cursor)
            yield from page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return

    def _page(
        self, channel: str, thread_ts: str | None, oldest: str, cursor: str | None
    ) -> SlackResponse:
        if thread_ts is None:
            return self._client.conversations_history(
                channel=channel,
                oldest=oldest,
                cursor=cursor,
                limit=_PAGE,
                include_all_metadata=True,
            )
        return self._client.conversations_replies(
            channel=channel,
            ts=thread_ts,
            oldest=oldest,
            cursor=cursor,
            limit=_PAGE,
            include_all_metadata=True,
        )


def _is_there(update: Callable[[], object]) -> bool:
    """Update a message; false when Slack has it no more."""
    try:
        update()
    except CALL_ERRORS as error:
        if failure_of(error).meaning is Meaning.GONE:
            return False
        raise
    return True


def _answer(failure: Failure, delivery: Delivery) -> DeliveryAnswer:
    if failure.permanent:
        return Undeliverable(failure.code)
    ambiguous = delivery.ambiguous or failure.meaning is Meaning.UNCLEAR
    return TryAgain(failure.code, failure.after_s, ambiguous=ambiguous)


def _pass_blocks(error: Exception, view: ApprovalView) -> None:
    """Log that Slack refused the blocks of a card; raise any other error again."""
    failure = failure_of(error)
    if failure.meaning is not Meaning.BLOCKS:
        raise error
    _LOG.error("Slack refused the card of %s: %s", view.approval.id, failure.code)


def _oncall_note(delivery: Delivery) -> Note:
    """Return an alert that has buttons of its own."""
    if delivery.kind is DeliveryKind.BREAKER_OPENED:
        return notices.breaker_opened(delivery.body)
    if delivery.kind is DeliveryKind.STOP_THROWN:
        return notices.stop_thrown(delivery.body)
    return notices.unknown_outcome(_needed(delivery), delivery.body)


def _needed(delivery: Delivery) -> ApprovalView:
    if delivery.approval is None:
        raise ValueError(f"{delivery.kind} {delivery.outbox_id} is about no approval")
    return delivery.approval
