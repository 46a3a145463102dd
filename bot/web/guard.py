"""What every answer has: security headers, CORS for the widget alone, and an end in good order."""

import logging
from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.web.problems import Problem, problem_response

log = logging.getLogger(__name__)

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Pages and files that may be kept say so themselves.
    "Cache-Control": "no-store",
}
_CORS_MAX_AGE_S = 600


class Guard:
    """ASGI middleware that adds the headers and turns a fault of ours into a problem answer."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 500 without a word of what is inside; the log has it all."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_started = False

        async def guarded(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        except Exception:
            if is_started:
                raise
            log.exception("%s %s failed", scope["method"], scope["path"])
            fault = Problem(500, "internal", "Something went wrong on our side. Try again.")
            await problem_response(fault)(scope, receive, guarded)


class ChatCors:
    """ASGI middleware: the shop's origins may call the chat from a page, and nothing else."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        """Wrap the application; without origins no page of another site may call anything."""
        self._app = app
        self._cors = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "last-event-id", "content-type"),
            expose_headers=("retry-after",),
            max_age=_CORS_MAX_AGE_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the chat through the CORS rules, everything else by."""
        is_chat = scope["type"] == "http" and scope["path"].startswith("/chat/")
        await (self._cors if is_chat else self._app)(scope, receive, send)
