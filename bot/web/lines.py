"""What a stream says, as the bytes that are sent: stored events, and what is live only."""

import json
from collections.abc import Iterable, Iterator

from fastapi.sse import format_sse_event

from agent.domain.conversation import LogEvent
from agent.domain.ids import RunId
from bot.shapes import event_json

_RETRY_MS = 2000
_PIECE = 16 * 1024
# At once, so that a proxy passes the answer's head on.
OPENING = format_sse_event(retry=_RETRY_MS, comment="open")
STILL_HERE = format_sse_event(comment="still here")
FAULT = format_sse_event(event="error", data_str='{"code": "internal"}')


def event_line(event: LogEvent) -> bytes:
    """Return a stored event; its id is where a client goes on when it comes back."""
    data = json.dumps(event_json(event), ensure_ascii=False)
    return format_sse_event(id=str(event.seq), data_str=data)


def delta_line(run_id: RunId, offset: int, text: str) -> bytes:
    """Return the next words of an answer under way; at offset 0 it begins, or begins anew.

    `offset` counts UTF-16 units, as JavaScript does. Without an id: a client that comes back is
    told the answer so far again.
    """
    return _live("delta", {"run_id": run_id, "offset": offset, "text": text})


def status_line(*, is_thinking: bool) -> bytes:
    """Return whether the agent is about to say something."""
    return _live("status", {"status": "thinking" if is_thinking else "idle"})


def pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Put lines together that go out as one; no piece is much longer than 16 KiB."""
    gathered: list[bytes] = []
    size = 0
    for line in lines:
        gathered.append(line)
        size += len(line)
        if size >= _PIECE:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def utf16_length(text: str) -> int:
    """Return how long a text is for JavaScript."""
    return len(text) + sum(character > "\uffff" for character in text)


def _live(kind: str, data: dict[str, str | int]) -> bytes:
    return format_sse_event(data_str=json.dumps({"type": kind, "data": data}, ensure_ascii=False))
