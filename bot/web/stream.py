"""A customer's log as a live stream: a view of stored events that can be cut at any point."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from agent.domain.ids import ConversationId
from bot.web.context import WebContext
from bot.web.hub import Watch
from bot.web.lines import FAULT, OPENING, STILL_HERE, event_line, pieces

log = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
# nginx must neither gather events nor keep them.
HEADERS = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
_MOST_SEQ_DIGITS = 18


def resume_after(last_event_id: str | None, after: int, newest: int) -> int:
    """Return the seq after which to go on; a Last-Event-ID that no event has counts as none.

    `newest` is the log's last seq, beyond which nobody can be.
    """
    after = min(after, newest)
    text = (last_event_id or "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_SEQ_DIGITS):
        return after
    return int(text) if int(text) <= newest else after


async def event_stream(
    context: WebContext, conversation_id: ConversationId, after: int
) -> AsyncGenerator[bytes, None]:
    """Yield every event with seq > `after`, now and as it comes, until the stream is old.

    Never raises: a fault is logged and said in-band, and the client comes back by itself.
    """
    yield OPENING
    try:
        with context.hub.watch(conversation_id, after) as watch:
            async for line in _follow(context, watch):
                yield line
    except Exception:
        log.exception("the stream of %s failed", conversation_id)
        yield FAULT


async def _follow(context: WebContext, watch: Watch) -> AsyncGenerator[bytes, None]:
    times, now = context.stream, asyncio.get_running_loop().time
    ends_at = now() + times.max_age_s
    while not (context.hub.closed or watch.is_over) and now() < ends_at:
        lines = watch.stored()
        if lines is None:
            # What was before, or so slow a line that the hub has let go of what it lacks.
            events = await context.hub.read(watch)
            for piece in pieces(event_line(event) for event in events):
                yield piece
                # A long log must hold up nobody, and a client that is gone is to be noticed.
                await asyncio.sleep(0)
            if events:
                watch.sent(events[-1].seq)
            continue
        for piece in pieces((*lines, *watch.live())):
            yield piece
        if not await watch.wait(min(times.heartbeat_s, max(ends_at - now(), 0))):
            yield STILL_HERE
