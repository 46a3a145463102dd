"""Messages that bring a request up again: posted once a level, and drawn anew until it ends."""

import logging
from dataclasses import dataclass
from functools import partial

from agent.domain.approvals import ApprovalView
from agent.domain.escalation import Level
from agent.domain.roles import Role
from agent.ports import Delivered, Delivery, DeliveryAnswer, DeliveryKind, MessageRef, TryAgain
from bot.slack.card_posts import CardPosts
from bot.slack.channels import Channels
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.groups import read_groups
from bot.slack.notices import Note
from bot.slack.pings import Urging, ping_note
from bot.slack.posting import Posting, is_there
from storage import cards, outbox, pings
from storage.transaction import Store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PingPosts:
    """Draws them where their people are; safe to share between threads."""

    posting: Posting
    channels: Channels
    cards: CardPosts
    store: Store

    def deliver(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        """Post such a message, or redraw all of a request's."""
        if delivery.kind is DeliveryKind.PING_UPDATE:
            return self._update(delivery, view)
        return self._post(delivery, view, self._card(view))

    def _post(
        self, delivery: Delivery, view: ApprovalView, root: MessageRef | None
    ) -> DeliveryAnswer:
        """Post it, to people on call in their channel and to others under the card, aloud.

        Where there is no card, and none comes, it stands for itself.
        """
        level = Level.named(delivery.body["level"])
        place, thread_ts = self.channels.approvals, None
        if level is Level.ONCALL:
            place = self.channels.oncall
        elif root is not None:
            place, thread_ts = root.channel, root.ts
        elif isinstance(later := self.cards.not_posted_yet(delivery), TryAgain):
            return later
        note = self._note(delivery, view, level)
        found = self.posting.found(delivery, place, thread_ts)
        if found is not None and is_there(partial(self.posting.update, found, note)):
            return Delivered((found,))
        aloud = thread_ts is not None
        return Delivered((self.posting.post(delivery, place, note, thread_ts, aloud=aloud),))

    def _update(self, delivery: Delivery, view: ApprovalView) -> DeliveryAnswer:
        approval_id = view.approval.id
        with self.store.transaction(write=False) as tx:
            posted = {level: cards.of_ping(tx, approval_id, level) for level in Level}
            coming = any(
                outbox.is_being_delivered(tx, f"ping:{approval_id}:{level.key}") for level in Level
            )
        # One that is just being posted was drawn before what happened, and is not written down yet.
        if coming and isinstance(later := self.cards.not_posted_yet(delivery), TryAgain):
            return later
        lost: list[MessageRef] = []
        for level, refs in posted.items():
            if refs:
                redraw = partial(self.posting.update, message=self._note(delivery, view, level))
                lost += [ref for ref in refs if not is_there(partial(redraw, ref))]
        return Delivered(lost_refs=tuple(lost))

    def _note(self, delivery: Delivery, view: ApprovalView, level: Level) -> Note:
        with self.store.transaction(write=False) as tx:
            ping = pings.get(tx, view.approval.id, level)
            groups = read_groups(tx)
        # The others hang below the card itself.
        url = self._url(view) if level is Level.ONCALL else None
        senior = Role(str(delivery.body["senior"]))
        return ping_note(Urging(view, level, ping, groups, senior, url))

    def _card(self, view: ApprovalView) -> MessageRef | None:
        with self.store.transaction(write=False) as tx:
            refs = cards.of(tx, view.approval.id)
        return refs[0] if refs else None

    def _url(self, view: ApprovalView) -> str | None:
        root = self._card(view)
        try:
            return None if root is None else self.posting.permalink(root)
        except CALL_ERRORS as error:
            _LOG.warning("no link to %s: %s", view.approval.id, failure_of(error).code)
            return None
