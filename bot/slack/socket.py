"""Socket Mode: the same listeners, over connections that the desk opens itself."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from slack_bolt import App, BoltRequest, BoltResponse
from slack_sdk import WebClient
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from agent.domain.payload import Payload
from bot.slack.channels import SlackNotReady
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.wire import Monotonic, Wire

_LOG = logging.getLogger(__name__)

# Messages come late on one connection alone, and one is renewed while the other goes on.
_CONNECTIONS = 2
_PATIENCE_S, _PING_EVERY_S = 30.0, 5.0
_OPEN_WITHIN_S, _OPEN_EVERY_S, _HELLO_WITHIN_S = 5, 3.0, 3.0
_FINISH_WITHIN_S, _CLOSE_WITHIN_S = 1.5, 1.5
_OK = 200


class SocketMode:
    """Keeps connections to Slack open, and answers what arrives on them.

    An envelope is acknowledged when its work is committed. One that is not, because the process or
    the connection ended before, comes again on another connection, and is worked on once: the
    listeners tell a repeat from a new click.
    """

    def __init__(
        self,
        app: App,
        app_token: str,
        api_url: str,
        *,
        patience_s: float = _PATIENCE_S,
        ping_every_s: float = _PING_EVERY_S,
        clock: Monotonic = time.monotonic,
    ) -> None:
        """Keep what is needed; nothing is opened before the first `watch`."""
        self._app = app
        self._app_token = app_token
        self._client = WebClient(base_url=api_url, timeout=_OPEN_WITHIN_S, retry_handlers=[])
        self._patience_s, self._ping_every_s = patience_s, ping_every_s
        self._clock = clock
        self._wires: list[Wire | None] = [None] * _CONNECTIONS
        self._problem, self._open_from = "", 0.0
        self._watching = threading.Lock()
        self._work = threading.Condition()
        self._busy, self._closing = 0, False

    @property
    def connections(self) -> int:
        """Return on how many connections Slack has said hello."""
        return sum(wire is not None and wire.is_greeted for wire in self._wires)

    def watch(self) -> bool:
        """Open what is missing and replace what has gone quiet; raises SlackNotReady without any.

        The library renews a connection that Slack ends; this is for those of which it does not
        know that they are dead, and for those that it cannot open.
        """
        with self._watching:
            for place, wire in enumerate(self._wires):
                trouble = "" if wire is None else wire.trouble(self._patience_s)
                if self._closing or trouble is None:
                    continue
                if wire is not None:
                    self._problem = trouble
                    _LOG.warning("connection %d to Slack is opened anew: %s", place + 1, trouble)
                    _end(wire)
                self._wires[place] = self._open()
            if self._closing:
                # It was told to close while one was opened.
                self._end_all()
        # A new connection is greeted at once; where there is none nobody waits for it.
        patience_s = _HELLO_WITHIN_S if any(self._wires) else 0
        with self._work:
            done = self._work.wait_for(lambda: self._closing or self.connections, patience_s)
        if not done:
            raise SlackNotReady(f"no connection to Slack: {self._problem}", temporary=True)
        return False

    def close(self) -> None:
        """Take no more envelopes, finish those under way, and close; bounded in time.

        What arrives meanwhile stays unacknowledged and comes again elsewhere.
        """
        with self._work:
            self._closing = True
            self._work.wait_for(lambda: self._busy == 0, _FINISH_WITHIN_S)
        for thread in self._end_all():
            thread.join(_CLOSE_WITHIN_S)

    def _end_all(self) -> list[threading.Thread]:
        wires, self._wires = self._wires, [None] * _CONNECTIONS
        return [_end(wire) for wire in wires if wire is not None]

    def _open(self) -> Wire | None:
        if self._clock() < self._open_from:
            return None
        wire = Wire(
            self._app_token, self._client, self._clock, self._note_hello, self._ping_every_s
        )
        wire.socket_mode_request_listeners.append(self._take)
        try:
            wire.connect()
        except CALL_ERRORS as error:
            failure = failure_of(error)
            self._problem = failure.code
            self._open_from = self._clock() + (failure.after_s or _OPEN_EVERY_S)
            _end(wire)
            return None
        return wire

    def _note_hello(self) -> None:
        with self._work:
            self._work.notify_all()

    def _take(self, client: BaseSocketModeClient, request: SocketModeRequest) -> None:
        with self._at_work() as may_work:
            if not may_work:
                return
            response = _answer(self._app, request)
            if response.status != _OK:
                _LOG.info("envelope %s is not acknowledged", request.envelope_id)
                return
            payload = _payload(response) if request.accepts_response_payload else None
            try:
                client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))
            except CALL_ERRORS as error:
                _LOG.info("no acknowledgement has left for %s: %s", request.envelope_id, error)

    @contextmanager
    def _at_work(self) -> Iterator[bool]:
        with self._work:
            may_work = not self._closing
            self._busy += may_work
        try:
            yield may_work
        finally:
            with self._work:
                self._busy -= may_work
                self._work.notify_all()


def _answer(app: App, request: SocketModeRequest) -> BoltResponse:
    """Return what Bolt answers to an envelope; the desk opened the connection, so it is Slack's."""
    try:
        return app.dispatch(BoltRequest(mode="socket_mode", body=request.payload))
    except Exception:  # noqa: BLE001 - Bolt takes fields of a payload for granted
        _LOG.exception("Bolt failed on an envelope")
        return BoltResponse(status=_OK)


def _payload(response: BoltResponse) -> Payload | None:
    """Return what goes with the acknowledgement, as a form or a command is answered."""
    if not response.body:
        return None
    if response.body.startswith("{"):
        answer: Payload = json.loads(response.body)
        return answer
    return {"text": response.body}


def _end(wire: Wire) -> threading.Thread:
    """Close a connection beside everything else: the library joins its threads one by one."""
    thread = threading.Thread(target=wire.close, name="slack-socket-end", daemon=True)
    thread.start()
    return thread
