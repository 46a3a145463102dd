"""One connection of Socket Mode: the library's client, upon a socket that does what it leaves out.

The library's reader loses its place when a frame stops half-way for longer than its time-out, takes
a closed connection for silence and spins on it, and keeps the lock that closing needs for seconds;
its `send` may send a part only.
"""

import errno
import logging
import selectors
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.builtin import SocketModeClient
from typing_extensions import override

from bot.slack.failures import failure_of

_LOG = logging.getLogger(__name__)

_WORKERS = 8
_PIECE = 64 * 1024
# Closing waits for the reader no longer than this.
_LOOK_UP_S = 0.25
_TWO_BYTES, _EIGHT_BYTES = 126, 127

Monotonic = Callable[[], float]


class WholeFrames:
    """A connected socket that gives whole frames or nothing, and sends all that it is given."""

    def __init__(self, sock: socket.socket, heard: Callable[[], None]) -> None:
        """Take the socket over; `heard` is told whenever the other side has sent something."""
        self._sock = sock
        self._heard = heard
        self._selector = selectors.DefaultSelector()
        self._selector.register(sock, selectors.EVENT_READ)
        self._has_begun = False
        self._arrived = bytearray()
        self._whole = bytearray()

    def send(self, data: bytes) -> int:
        """Send all of it; raises OSError when the connection does not take it."""
        self._sock.sendall(data)
        return len(data)

    def recv(self, size: int) -> bytes:
        """Return bytes of frames that are there to the end, none when there is no such frame yet.

        Raises ConnectionResetError when the other side has closed.
        """
        if not self._whole:
            self._listen()
        taken = bytes(self._whole[:size])
        del self._whole[:size]
        return taken

    def close(self) -> None:
        """Close for good."""
        self._selector.close()
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def _listen(self) -> None:
        # What TLS has decrypted already shows on no selector.
        decrypted = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()
        if not decrypted and not self._selector.select(_LOOK_UP_S):
            return
        try:
            data = self._sock.recv(_PIECE)
        except TimeoutError:
            return
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "Slack has closed the connection")
        self._heard()
        # The library leaves the last character of the handshake to whoever reads next.
        self._arrived += data if self._has_begun else data.removeprefix(b"\n")
        self._has_begun = True
        length = whole_frames(self._arrived)
        self._whole += self._arrived[:length]
        del self._arrived[:length]


def whole_frames(data: bytes | bytearray) -> int:
    """Return how many bytes at the front are frames that are there to the end (RFC 6455 §5.2)."""
    end = 0
    while True:
        length = _frame(data[end : end + 14])
        if length is None or end + length > len(data):
            return end
        end += length


def _frame(head: bytes | bytearray) -> int | None:
    """Return how long the frame is that begins so, None while that cannot be told."""
    if len(head) < 2:  # noqa: PLR2004 - the part that every frame has
        return None
    masked, length, at = head[1] & 0x80, head[1] & 0x7F, 2
    if length in {_TWO_BYTES, _EIGHT_BYTES}:
        at += 2 if length == _TWO_BYTES else 8
        if len(head) < at:
            return None
        length = int.from_bytes(head[2:at], "big")
    return at + (4 if masked else 0) + length


class Wire(SocketModeClient):
    """A client of the library that knows when it last heard of Slack."""

    def __init__(
        self,
        app_token: str,
        web_client: WebClient,
        clock: Monotonic,
        greeted: Callable[[], None],
        ping_every_s: float,
    ) -> None:
        """Prepare; nothing is opened before `connect`. The threads end with `close`.

        `greeted` is told of each hello of Slack's; `clock` counts seconds. A connection that broke
        off is opened anew with the next ping.
        """
        self._now = clock
        self._greeted = greeted
        self._ask_from = 0.0
        self._heard_at = self._connected_at = clock()
        self._is_greeted = False
        super().__init__(
            app_token,
            logger=_LOG,
            web_client=web_client,
            ping_interval=ping_every_s,
            receive_buffer_size=_PIECE,
            concurrency=_WORKERS,
        )
        self.message_listeners.append(self._look_at)

    @override
    def issue_new_wss_url(self) -> str:
        """Ask for an address; raises what the call raises, also when Slack says to wait.

        The library would wait for half a minute in the thread that hands out envelopes.
        """
        if self._now() < self._ask_from:
            raise OSError("Slack has asked to wait before the next connection is opened")
        try:
            answer = self.web_client.apps_connections_open(app_token=self.app_token)
        except SlackApiError as error:
            self._ask_from = self._now() + (failure_of(error).after_s or 0.0)
            raise
        return str(answer["url"])

    @override
    def connect(self) -> None:
        self._is_greeted = False
        self._heard_at = self._connected_at = self._now()
        super().connect()
        session = self.current_session
        if session is not None and session.sock is not None:
            whole = WholeFrames(session.sock, self._hear)
            session.sock = cast(ssl.SSLSocket, whole)

    def trouble(self, patience_s: float) -> str | None:
        """Return why the connection is as good as none, None while it is well."""
        now = self._now()
        if not self._is_greeted:
            late = now - self._connected_at > patience_s
            return "Slack has not said hello" if late else None
        if now - self._heard_at > patience_s:
            return f"nothing was heard of Slack for {patience_s:.0f} seconds"
        return None

    @property
    def is_greeted(self) -> bool:
        """Return whether Slack has said hello on the connection there is."""
        return self._is_greeted and self.is_connected()

    def _hear(self) -> None:
        self._heard_at = self._now()

    def _look_at(self, _client: object, message: Mapping[str, object], _raw: str | None) -> None:
        self._hear()
        if message.get("type") == "hello":
            self._is_greeted = True
            self._greeted()
