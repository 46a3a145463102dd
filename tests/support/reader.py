"""A customer's screen as the widget keeps it: what a stream said, however often it was cut."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Screen:
    """Takes the bytes of one stream after the other; fails for a line that is lost or out of order.

    `lines` are the stored events, `draft` the answer under way, `status` what the agent does.
    `drafts` counts the pieces of answers, `begun` how often one began or began anew.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    draft: str | None = None
    status: str | None = None
    drafts: int = 0
    begun: int = 0
    # What came again after a cut, and was dropped.
    doubled: int = 0
    _rest: bytes = b""

    @property
    def seen(self) -> int:
        """The seq after which to go on."""
        return self.lines[-1]["seq"] if self.lines else 0

    def texts(self, role: str) -> list[str]:
        """Return what somebody has said."""
        said = [line["data"] for line in self.lines if line["type"] == "message"]
        return [data["text"] for data in said if data["role"] == role]

    def cut(self) -> None:
        """Begin with a new stream: what was half there is nothing."""
        self._rest, self.draft = b"", None

    def take(self, data: bytes) -> None:
        """Take some bytes, wherever they were cut."""
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            self._block(block.decode())

    def _block(self, block: str) -> None:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        assert "event" not in fields, fields
        if "data" not in fields:
            return
        line = json.loads(fields["data"])
        if "id" not in fields:
            self._live(line["type"], line["data"])
            return
        assert int(fields["id"]) == line["seq"]
        if line["seq"] <= self.seen:
            self.doubled += 1
            return
        assert line["seq"] == self.seen + 1, f"{line['seq']} after {self.seen}"
        self.lines.append(line)
        if line["type"] == "status" or line["data"].get("role") == "agent":
            self.draft = None

    def _live(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "status":
            self.status = data["status"]
            return
        assert kind == "delta", kind
        self.drafts += 1
        if data["offset"] == 0:
            self.draft, self.begun = "", self.begun + 1
        assert self.draft is not None, data
        assert data["offset"] == len(self.draft.encode("utf-16-le")) // 2
        self.draft += data["text"]


def reads_on(
    client: httpx.Client,
    chat: str,
    who: dict[str, str],
    screen: Screen,
    until: Callable[[Screen], object],
) -> bool:
    """Open a stream where the screen is and read it until something shows; False if it was cut."""
    screen.cut()
    screen.status = None
    mark = {"last-event-id": str(screen.seen)} if screen.seen else {}
    headers = {**who, "accept": "text/event-stream", **mark}
    try:
        with client.stream("GET", f"{chat}/events", headers=headers) as answer:
            assert answer.status_code == httpx.codes.OK, answer.read()
            for data in answer.iter_raw():
                screen.take(data)
                if until(screen):
                    return True
    except httpx.TransportError:
        pass
    return False


@contextmanager
def patient_client(url: str) -> Iterator[httpx.Client]:
    """Yield a client that takes a new connection each time, as a browser does after a cut."""
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=url, timeout=10.0, limits=limits, trust_env=False) as client:
        yield client
