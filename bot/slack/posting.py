"""The calls that every message goes through: post, redraw, and look for a copy already there."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypeAlias

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from agent.ports import Delivered, Delivery, MessageRef
from bot.slack.cards import Card
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of
from bot.slack.notices import Note

_LOG = logging.getLogger(__name__)

EVENT_TYPE = "supportdesk"

_PAGE, _PAGES = 100, 5
# Slack's clock and ours may differ.
_SKEW = timedelta(minutes=2)

_Message: TypeAlias = dict[str, Any]


class Posting:
    """Messages of the desk in Slack; every method raises what is in `CALL_ERRORS`."""

    def __init__(self, client: WebClient) -> None:
        """Keep the client."""
        self._client = client

    def post_once(
        self,
        delivery: Delivery,
        channel: str,
        message: Card | Note,
        thread_ts: str | None = None,
        *,
        aloud: bool = False,
    ) -> Delivered:
        """Post a message that is never changed, unless an earlier try of it is there.

        A line of a thread that is said `aloud` is shown in the channel as well.
        """
        if self.found(delivery, channel, thread_ts) is None:
            self.post(delivery, channel, message, thread_ts, aloud=aloud)
        return Delivered()

    def post(
        self,
        delivery: Delivery,
        channel: str,
        message: Card | Note,
        thread_ts: str | None = None,
        *,
        aloud: bool = False,
    ) -> MessageRef:
        """Post, marked so that a copy whose answer was lost can be found again."""
        payload = {"outbox_id": delivery.outbox_id}
        if delivery.approval is not None:
            payload["approval_id"] = delivery.approval.approval.id
        posted = self._client.chat_postMessage(
            channel=channel,
            blocks=message.blocks,
            text=message.text,
            thread_ts=thread_ts,
            reply_broadcast=aloud or None,
            metadata={"event_type": EVENT_TYPE, "event_payload": payload},
            unfurl_links=False,
            unfurl_media=False,
            parse="none",
            link_names=False,
        )
        return MessageRef(str(posted["channel"]), str(posted["ts"]))

    def update(self, ref: MessageRef, message: Card | Note) -> MessageRef:
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

    def found(self, delivery: Delivery, channel: str, thread_ts: str | None) -> MessageRef | None:
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


def is_there(update: Callable[[], object]) -> bool:
    """Update a message; false when Slack has it no more."""
    try:
        update()
    except CALL_ERRORS as error:
        if failure_of(error).meaning is Meaning.GONE:
            return False
        raise
    return True
