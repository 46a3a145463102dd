"""Slack's end of Socket Mode: a real WebSocket server that sends envelopes and hears their acks."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.server import ServerConnection, serve

from tests.support.outside import eventually
from tests.support.slack_sandbox import MOUNT, decoded

APP_TOKEN = "xapp-1-a-token-for-tests"
OPEN = f"{MOUNT}/api/apps.connections.open"
# Slack waits so long for the acknowledgement of an envelope.
ACK_S = 3.0


@dataclass
class Envelope:
    """Something that was sent; `acks` are the acknowledgements, with what came with them."""

    id: str
    body: dict[str, Any]
    acks: list[dict[str, Any]] = field(default_factory=list)


class SocketPeer:
    """Everything that Slack does on its side; safe to use from any thread."""

    def __init__(self) -> None:
        self.url = ""
        # What the next calls of apps.connections.open answer instead of an address.
        self.refusals: list[tuple[int, dict[str, Any], dict[str, str]]] = []
        self.greets = True
        # While it is deaf no acknowledgement reaches it.
        self.is_deaf = False
        self.opened = 0
        self.lines: list[ServerConnection] = []
        self.envelopes: dict[str, Envelope] = {}
        self._numbers = count(1)
        self._changed = threading.Condition()

    # --- connections

    def serve(self, line: ServerConnection) -> None:
        """Greet a connection and hear what comes, until it ends."""
        with self._changed:
            self.opened += 1
            self.lines.append(line)
        try:
            if self.greets:
                hello = {"type": "hello", "num_connections": len(self.lines)}
                line.send(json.dumps({**hello, "connection_info": {"app_id": "A07SUPPDESK"}}))
            with self._changed:
                self._changed.notify_all()
            for message in line:
                self._hear(json.loads(message))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self._changed:
                self.lines.remove(line)
                self._changed.notify_all()

    def waits_for(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something is true of the connections, of the envelopes, or of the desk."""
        eventually(holds, what)

    def ends(self, line: ServerConnection, reason: str) -> None:
        """Say that a connection is about to end, as Slack does every few hours."""
        line.send(json.dumps({"type": "disconnect", "reason": reason}))

    def drops(self, line: ServerConnection, envelope: Envelope | None = None) -> None:
        """Let a connection break off without a word, or half-way through an envelope."""
        if envelope is not None:
            data = json.dumps(envelope.body).encode()
            whole = Frame(Opcode.TEXT, data).serialize(mask=False)
            line.socket.sendall(whole[: len(whole) // 2])
        line.socket.shutdown(socket.SHUT_RDWR)

    # --- envelopes

    def makes(self, kind: str, payload: dict[str, Any]) -> Envelope:
        """Return an envelope that is not sent yet."""
        name = f"env-{next(self._numbers)}"
        answers = kind != "events_api"
        body = {"envelope_id": name, "type": kind, "payload": payload}
        envelope = Envelope(name, {**body, "accepts_response_payload": answers})
        self.envelopes[name] = envelope
        return envelope

    def sends(self, envelope: Envelope, on: int = 0) -> None:
        """Send an envelope, for the first time or once more, on one of the connections."""
        self.lines[on].send(json.dumps(envelope.body))

    def answer_to(self, envelope: Envelope) -> dict[str, Any]:
        """Return the newest acknowledgement as soon as there is one."""
        self.waits_for(lambda: envelope.acks, f"no ack of {envelope.id}")
        return envelope.acks[-1]

    def _hear(self, message: dict[str, Any]) -> None:
        with self._changed:
            if not self.is_deaf:
                self.envelopes[message["envelope_id"]].acks.append(message)
            self._changed.notify_all()

    def _answered(self, envelope: Envelope) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: bool(envelope.acks), ACK_S)

    # --- beside the stand-in

    def in_front_of(self, slack: ASGIApp) -> ASGIApp:
        """Return the stand-in with apps.connections.open, which it has not."""
        door = FastAPI()

        @door.post(OPEN)
        async def open_connection(request: Request) -> Response:
            if request.headers.get("authorization") != f"Bearer {APP_TOKEN}":
                return JSONResponse({"ok": False, "error": "invalid_auth"})
            if self.refusals:
                status, body, headers = self.refusals.pop(0)
                return JSONResponse(body, status, headers)
            return JSONResponse({"ok": True, "url": self.url})

        async def choose(scope: Scope, receive: Receive, send: Send) -> None:
            app = door if scope.get("path") == OPEN else slack
            await app(scope, receive, send)

        return choose

    def bridge(self) -> FastAPI:
        """Return what takes the stand-in's requests and sends them as envelopes.

        So people click in the stand-in, and the desk hears of it over its own connections, by
        turns.
        """
        app, turns = FastAPI(), count()

        @app.post("/slack/events")
        async def events(request: Request) -> Response:
            raw = await request.body()
            payload = decoded(request, raw)
            kind = "events_api" if payload.get("type") == "event_callback" else "interactive"
            envelope = self.makes("slash_commands" if "command" in payload else kind, payload)
            answered = await asyncio.to_thread(self._exchange, envelope, next(turns))
            if not answered:
                return Response(status_code=504)
            body = envelope.acks[-1].get("payload")
            return Response() if body is None else JSONResponse(body)

        return app

    def _exchange(self, envelope: Envelope, turn: int) -> bool:
        self.sends(envelope, turn % len(self.lines))
        return self._answered(envelope)


@contextmanager
def running_peer() -> Iterator[SocketPeer]:
    """Run Slack's end on a free port of this machine."""
    peer = SocketPeer()
    with serve(peer.serve, "127.0.0.1", 0, ping_interval=None, max_size=None) as server:
        peer.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/link/?ticket=t&app_id=A07"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield peer
        finally:
            server.shutdown()
            for line in list(peer.lines):
                line.close()
            thread.join()
