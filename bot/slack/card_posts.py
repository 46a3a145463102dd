"""The card of a request in Slack: posted once, every copy redrawn, plainer where it must be."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from agent.domain.approvals import ApprovalView
from agent.domain.ids import ApprovalId
from agent.ports import Clock, Delivered, Delivery, DeliveryAnswer, MessageRef, TryAgain
from bot.slack.cards import Card, approval_card, brief_card
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of
from bot.slack.lookup import slack_users
from bot.slack.posting import Posting, is_there
from storage import approvals, cards, decisions
from storage.transaction import Store

_LOG = logging.getLogger(__name__)

# A card that another worker is posting right now is noted within its lease.
_CARD_ON_ITS_WAY = timedelta(seconds=60)
_LOOK_AGAIN = timedelta(seconds=3)


class CardPosts:
    """Draws requests in one channel; safe to share between threads."""

    def __init__(self, posting: Posting, channel: str, store: Store, clock: Clock) -> None:
        """Keep what is needed; `channel` is an id."""
        self._posting = posting
        self._channel = channel
        self._store = store
        self._clock = clock
        # Set for good once the workspace has refused a card with a table.
        self._without_tables = False

    def post(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        """Post the card, or redraw the copy that an earlier try left."""
        found = self._posting.found(delivery, self._channel, None)
        if found is not None and self._redraw(view, found, None):
            return Delivered((found,))
        ref = self._send(view, partial(self._posting.post, delivery, self._channel))
        if view.approval.supersedes is not None:
            self._link_replaced(view.approval.supersedes, ref)
        return Delivered((ref,))

    def update(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Redraw every copy; where the last one is gone, post the state afresh."""
        if not delivery.refs:
            return self.not_posted_yet(delivery)
        url = self._replacement_url(view)
        lost = tuple(ref for ref in delivery.refs if not self._redraw(view, ref, url))
        if len(lost) < len(delivery.refs):
            return Delivered(lost_refs=lost)
        found = self._posting.found(delivery, self._channel, None)
        if found is not None and self._redraw(view, found, url):
            return Delivered((found,), lost)
        fresh = self._send(view, partial(self._posting.post, delivery, self._channel), url)
        return Delivered((fresh,), lost)

    def not_posted_yet(self, delivery: Delivery) -> DeliveryAnswer:
        """Answer for what follows a message that is not there yet."""
        # Whoever posts it later draws the row as it is then; only one being posted at this very
        # moment would stay an old picture.
        age = self._clock.now() - delivery.created_at
        if age >= _CARD_ON_ITS_WAY:
            return Delivered()
        wait = max(_LOOK_AGAIN, 2 * age)
        return TryAgain("the card is not posted yet", wait.total_seconds(), ambiguous=False)

    def _redraw(self, view: ApprovalView, ref: MessageRef, url: str | None) -> bool:
        """Update one copy; false when Slack has it no more."""
        return is_there(lambda: self._send(view, partial(self._posting.update, ref), url))

    def _send(
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

    def _link_replaced(self, old: ApprovalId, new: MessageRef) -> None:
        """Let the cards of a superseded request point to the new one, which was just posted."""
        with self._store.transaction(write=False) as tx:
            approval = approvals.get(tx, old)
            view = None if approval is None else decisions.view(tx, approval)
            refs = cards.of(tx, old)
        if view is None:
            return
        try:
            url = self._posting.permalink(new)
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
        return self._posting.permalink(refs[0]) if refs else None


def _pass_blocks(error: Exception, view: ApprovalView) -> None:
    """Log that Slack refused the blocks of a card; raise any other error again."""
    failure = failure_of(error)
    if failure.meaning is not Meaning.BLOCKS:
        raise error
    _LOG.error("Slack refused the card of %s: %s", view.approval.id, failure.code)
