"""The card of a request in Slack: posted once, every copy redrawn, plainer where it must be."""

import logging
from collections.abc import Iterator
from functools import partial

from agent.domain.approvals import ApprovalView
from agent.ports import Clock, Delivered, Delivery
from bot.slack.cards import Card, approval_card, brief_card
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.lookup import slack_users
from bot.slack.posting import Posting
from storage import cards
from storage.transaction import Store

_LOG = logging.getLogger(__name__)


class CardPosts:
    """Draws requests; safe to share between threads."""

    def __init__(self, posting: Posting, store: Store, clock: Clock) -> None:
        """Keep what is needed."""
        self._posting = posting
        self._store = store
        self._clock = clock
        self._without_tables = False

    def post(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        """Post the card, or redraw the copies that earlier tries left."""
        return self._learn(self._posting.post_kept(delivery, partial(self._versions, view)))

    def update(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        """Redraw every copy within reach."""
        return self._learn(self._posting.redraw(delivery, partial(self._versions, view)))

    def _learn(self, done: Delivered) -> Delivered:
        """Remember a workspace that does not know tables, so that no card is refused again."""
        self._without_tables = self._without_tables or "table" in (done.complaint or "")
        return done

    def _versions(self, view: ApprovalView) -> Iterator[Card]:
        """Yield the card as it stands, from the one to show to the plainest that will do."""
        with self._store.transaction(write=False) as tx:
            users = slack_users(tx, view)
        now, url = self._clock.now(), self._replacement_url(view)
        if not self._without_tables:
            yield approval_card(view, now, users, replacement_url=url)
        yield approval_card(view, now, users, classic=True, replacement_url=url)
        yield brief_card(view, now, users, replacement_url=url)

    def _replacement_url(self, view: ApprovalView) -> str | None:
        """Return where the card of the successor is, None as long as it is not posted."""
        if view.approval.superseded_by is None:
            return None
        with self._store.transaction(write=False) as tx:
            refs = cards.of(tx, view.approval.superseded_by)
        try:
            return self._posting.permalink(refs[-1]) if refs else None
        except CALL_ERRORS as error:
            # The old card names the new request all the same.
            failure = failure_of(error)
            _LOG.warning("no link to the card of %s: %s", view.approval.superseded_by, failure.code)
            return None
