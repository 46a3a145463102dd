"""A customer's log as a live stream: a view of stored events that can be cut at any point."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool

from agent.desk import Desk
from agent.domain.conversation import LogEvent
from agent.domain.ids import ConversationId
from bot.shapes import event_json
from bot.web.context import WebContext
from storage import conversations

log = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
# nginx must neither gather events nor keep them.
HEADERS = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
_RETRY_MS = 2000
_MOST_SEQ_DIGITS = 18


def resume_after(last_event_id: str | None, after: int) -> int:
    """Return the seq after which to go on; a Last-Event-ID that is no number counts as none."""
    text = (last_event_id or "").strip()
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_SEQ_DIGITS:
        return int(text)
    return after


async def event_stream(
    context: WebContext, conversation_id: ConversationId, after: int
) -> AsyncIterator[bytes]:
    """Yield every event with seq > `after`, now and as it comes, until the stream is old.

    Never raises: a fault is logged and said in-band, and the client comes back by itself.
    """
    # At once, so that a proxy passes the answer's head on.
    yield format_sse_event(retry=_RETRY_MS, comment="open")
    try:
        async for chunk in _follow(context, conversation_id, after):
            yield chunk
    except Exception:
        log.exception("the stream of %s failed", conversation_id)
        yield format_sse_event(event="error", data_str='{"code": "internal"}')


async def _follow(
    context: WebContext, conversation_id: ConversationId, after: int
) -> AsyncIterator[bytes]:
    times, now = context.stream, asyncio.get_running_loop().time
    ends_at = now() + times.max_age_s
    with context.hub.watch(conversation_id, after) as watch:
        has_news = True
        while not context.hub.closed and now() < ends_at:
            if has_news:
                events = await run_in_threadpool(_read, context.desk, conversation_id, watch.seen)
                for event in events:
                    yield _chunk(event)
                    watch.seen = event.seq
                if events:
                    # There may be another page.
                    continue
            has_news = await watch.wait(min(times.heartbeat_s, max(ends_at - now(), 0)))
            if not has_news:
                yield format_sse_event(comment="still here")


def _read(desk: Desk, conversation_id: ConversationId, after: int) -> tuple[LogEvent, ...]:
    with desk.store.transaction(write=False) as tx:
        return conversations.events_after(tx, conversation_id, after)


def _chunk(event: LogEvent) -> bytes:
    data = json.dumps(event_json(event), ensure_ascii=False)
    return format_sse_event(id=str(event.seq), data_str=data)
