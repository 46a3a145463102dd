"""The calls that every message goes through: post, redraw, and look for a copy already there."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Protocol, TypeAlias

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from agent.ports import ChannelClosed, Delivered, Delivery, MessageRef
from bot.slack.blocks import Block
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of
from bot.slack.notices import Note, plainly

_LOG = logging.getLogger(__name__)

EVENT_TYPE = "supportdesk"

_PAGE, _PAGES = 100, 5
# Slack's clock and ours may differ.
_SKEW = timedelta(minutes=2)

_Found: TypeAlias = dict[str, Any]


class Message(Protocol):
    """What is posted: a card or a note."""

    @property
    def blocks(self) -> list[Block]:
        """Return the blocks."""

    @property
    def text(self) -> str:
        """Return the text for notifications and screen readers."""


# A message as it is to be shown, and plainer ones for where Slack refuses it as it is drawn.
Versions: TypeAlias = Callable[[], Iterator[Message]]


class Posting:
    """Messages of the desk in Slack; every method raises what is in `CALL_ERRORS`."""

    def __init__(self, client: WebClient) -> None:
        """Keep the client."""
        self._client = client

    def post_once(self, delivery: Delivery, note: Note) -> Delivered:
        """Post a message that is never changed, unless an earlier try of it is there."""
        return replace(self._post_kept(delivery, versions_of(note), None), refs=())

    def post_kept(self, delivery: Delivery, versions: Versions) -> Delivered:
        """Post a message that is drawn anew later, or redraw the copies that earlier tries left."""
        return self._post_kept(delivery, versions, None)

    def post_under(
        self, delivery: Delivery, versions: Versions, roots: tuple[MessageRef, ...]
    ) -> Delivered | ChannelClosed:
        """Post such a message into a thread and, for all to see, into the channel.

        It goes under the first of `roots` that takes a line; without one it stands for itself.
        """
        return self._under(delivery, versions, roots, aloud=True)

    def reply(
        self, delivery: Delivery, note: Note, *, aloud: bool = False
    ) -> Delivered | ChannelClosed:
        """Add a line to the thread of what was posted before; a message of its own without one.

        A line that is said `aloud` is shown in the channel as well.
        """
        said = self._under(delivery, versions_of(note), delivery.refs, aloud=aloud)
        return replace(said, refs=()) if isinstance(said, Delivered) else said

    def _under(
        self,
        delivery: Delivery,
        versions: Versions,
        roots: tuple[MessageRef, ...],
        *,
        aloud: bool,
    ) -> Delivered | ChannelClosed:
        """Post into a thread; not under what is gone or locked, nor in a closed channel."""
        for root in replace(delivery, refs=roots).within_reach:
            try:
                return self._post_kept(delivery, versions, root, aloud=aloud)
            except CALL_ERRORS as error:
                failure = failure_of(error)
                if failure.meaning is Meaning.CHANNEL:
                    return ChannelClosed(failure.code, root.channel)
                if failure.meaning is not Meaning.GONE:
                    raise
        return self._post_kept(delivery, versions, None)

    def _post_kept(
        self,
        delivery: Delivery,
        versions: Versions,
        thread: MessageRef | None,
        *,
        aloud: bool = False,
    ) -> Delivered:
        found = self.found(delivery, thread)
        shut = tuple(ref for ref in found if ref.channel in delivery.closed)
        redrawn = self.redraw(replace(delivery, refs=found), versions)
        there = tuple(ref for ref in found if ref not in shut and ref not in redrawn.lost_refs)
        if there:
            return Delivered(shut + there, (), redrawn.closed, redrawn.complaint)
        carry = partial(self.post, delivery, thread=thread, aloud=aloud)
        ref, complaint = _carried(delivery, versions, carry)
        return Delivered((*shut, ref), (), redrawn.closed, complaint)

    def redraw(self, delivery: Delivery, versions: Versions) -> Delivered:
        """Update every copy within reach; `lost_refs` are those that are gone."""
        lost: list[MessageRef] = []
        closed: dict[str, str] = {}
        complaint = None
        for ref in delivery.within_reach:
            try:
                _, refused = _carried(delivery, versions, partial(self.update, ref))
                complaint = complaint or refused
            except CALL_ERRORS as error:
                failure = failure_of(error)
                if failure.meaning is Meaning.CHANNEL and ref.channel in delivery.channels:
                    closed[ref.channel] = failure.code
                elif failure.meaning in {Meaning.GONE, Meaning.CHANNEL}:
                    lost.append(ref)
                else:
                    raise
        return Delivered((), tuple(lost), tuple(closed.items()), complaint)

    def post(
        self,
        delivery: Delivery,
        message: Message,
        *,
        thread: MessageRef | None = None,
        aloud: bool = False,
    ) -> MessageRef:
        """Post, marked so that a copy whose answer was lost can be found again."""
        payload = {"outbox_id": delivery.outbox_id}
        if delivery.approval is not None:
            payload["approval_id"] = delivery.approval.approval.id
        posted = self._client.chat_postMessage(
            channel=delivery.channel if thread is None else thread.channel,
            blocks=message.blocks,
            text=message.text,
            thread_ts=None if thread is None else thread.ts,
            reply_broadcast=(aloud and thread is not None) or None,
            metadata={"event_type": EVENT_TYPE, "event_payload": payload},
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
            link_names=False,
        )
        return MessageRef(str(posted["channel"]), str(posted["ts"]))

    def update(self, ref: MessageRef, message: Message) -> MessageRef:
        """Redraw a posted message."""
        self._client.chat_update(
            channel=ref.channel,
            ts=ref.ts,
            blocks=message.blocks,
            text=message.text,
            parse="none",
            link_names=False,
        )
        return ref

    def whisper(self, channel: str, user: str, note: Note) -> None:
        """Let one person in a channel read something; it is not kept and cannot be changed."""
        self._client.chat_postEphemeral(
            channel=channel, user=user, blocks=note.blocks, text=note.text, parse="none"
        )

    def permalink(self, ref: MessageRef) -> str:
        """Return the address of a posted message."""
        found = self._client.chat_getPermalink(channel=ref.channel, message_ts=ref.ts)
        return str(found["permalink"])

    def found(self, delivery: Delivery, thread: MessageRef | None = None) -> tuple[MessageRef, ...]:
        """Look for copies that earlier tries may have posted; none where there are none to see."""
        if not delivery.ambiguous:
            return ()
        places = (delivery.channels or (delivery.channel,)) if thread is None else (thread.channel,)
        found: list[MessageRef] = []
        for channel in places:
            try:
                found += [
                    MessageRef(channel, str(message["ts"]))
                    for message in self._posted_since(delivery, channel, thread)
                    if _is_marked(message, delivery.outbox_id)
                ]
            except CALL_ERRORS as error:
                failure = failure_of(error)
                if not failure.permanent:
                    raise
                # Two copies do no harm: the decision lives in the database.
                _LOG.warning("cannot look for %s: %s", delivery.outbox_id, failure.code)
        return tuple(found)

    def _posted_since(
        self, delivery: Delivery, channel: str, thread: MessageRef | None
    ) -> Iterator[_Found]:
        oldest = f"{(delivery.created_at - _SKEW).timestamp():.6f}"
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._page(channel, thread, oldest, cursor)
            yield from page["messages"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return

    def _page(
        self, channel: str, thread: MessageRef | None, oldest: str, cursor: str | None
    ) -> SlackResponse:
        if thread is None:
            return self._client.conversations_history(
                channel=channel,
                oldest=oldest,
                cursor=cursor,
                limit=_PAGE,
                include_all_metadata=True,
            )
        return self._client.conversations_replies(
            channel=channel,
            ts=thread.ts,
            oldest=oldest,
            cursor=cursor,
            limit=_PAGE,
            include_all_metadata=True,
        )


def versions_of(note: Note) -> Versions:
    """Return a note as it is drawn, and the same in plain text."""
    return lambda: iter((note, plainly(note)))


def _carried(
    delivery: Delivery, versions: Versions, carry: Callable[[Message], MessageRef]
) -> tuple[MessageRef, str | None]:
    """Carry the first version that Slack does not refuse; return also what it had against one."""
    complaint, refused = None, None
    for message in versions():
        try:
            return carry(message), complaint
        except CALL_ERRORS as error:
            failure = failure_of(error)
            if failure.meaning is not Meaning.BLOCKS:
                raise
            told = failure.code
            _LOG.error("Slack refused the %s %s: %s", delivery.kind, delivery.outbox_id, told)
            complaint, refused = complaint or told, error
    raise refused or ValueError(f"{delivery.kind} {delivery.outbox_id} has no version")


def _is_marked(message: _Found, outbox_id: str) -> bool:
    return bool(message.get("metadata", {}).get("event_payload", {}).get("outbox_id") == outbox_id)
