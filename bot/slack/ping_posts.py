"""Messages that bring a request up again: posted once a level, and drawn anew until it ends."""

import logging
from dataclasses import dataclass, replace

from agent.domain.approvals import ApprovalView
from agent.domain.escalation import Level
from agent.domain.roles import Role
from agent.ports import Delivered, Delivery, DeliveryAnswer, DeliveryKind, MessageRef
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.groups import read_groups
from bot.slack.pings import Urging, ping_note
from bot.slack.posting import Posting, Versions, versions_of
from storage import cards, pings
from storage.transaction import Store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PingPosts:
    """Draws them where their people are; safe to share between threads."""

    posting: Posting
    store: Store

    def deliver(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Post such a message, or redraw all of a request's.

        People on call read it in their channel, others under the card.
        """
        if delivery.kind is DeliveryKind.PING_UPDATE:
            return self._update(delivery, view)
        level = Level.named(delivery.body["level"])
        drawn = self._drawn(delivery, view, level)
        if level is Level.ONCALL:
            return self.posting.post_kept(delivery, drawn)
        return self.posting.post_under(delivery, drawn, self._cards(view))

    def _update(self, delivery: Delivery, view: ApprovalView) -> Delivered:
        with self.store.transaction(write=False) as tx:
            posted = {level: cards.of_ping(tx, view.approval.id, level) for level in Level}
        lost: tuple[MessageRef, ...] = ()
        closed: tuple[tuple[str, str], ...] = ()
        for level, refs in posted.items():
            if refs:
                drawn = self._drawn(delivery, view, level)
                done = self.posting.redraw(replace(delivery, refs=refs), drawn)
                lost, closed = lost + done.lost_refs, closed + done.closed
        return Delivered((), lost, closed)

    def _drawn(self, delivery: Delivery, view: ApprovalView, level: Level) -> Versions:
        with self.store.transaction(write=False) as tx:
            ping = pings.get(tx, view.approval.id, level)
            groups = read_groups(tx)
        # The others hang below the card itself.
        url = self._url(view) if level is Level.ONCALL else None
        senior = Role(str(delivery.body["senior"]))
        return versions_of(ping_note(Urging(view, level, ping, groups, senior, url)))

    def _cards(self, view: ApprovalView) -> tuple[MessageRef, ...]:
        with self.store.transaction(write=False) as tx:
            return cards.of(tx, view.approval.id)

    def _url(self, view: ApprovalView) -> str | None:
        roots = self._cards(view)
        try:
            return self.posting.permalink(roots[0]) if roots else None
        except CALL_ERRORS as error:
            _LOG.warning("no link to %s: %s", view.approval.id, failure_of(error).code)
            return None
