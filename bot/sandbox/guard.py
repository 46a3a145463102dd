"""Keeps other sites and other machines away from the sandbox."""

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.sandbox.problems import problem

_READ_METHODS = ("GET", "HEAD", "OPTIONS")
_POLICY_VIOLATION = 1008


def _is_loopback(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None or "@" in host:
        return False
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class SandboxGuard:
    """ASGI middleware for paths below `prefix`: loopback Host, own Origin or none, JSON bodies.

    A foreign Host answers 421, a foreign Origin 403, another body 415, all as problem+json. Paths
    that start with one of `any_body` take other bodies too: they check a token of their own.
    """

    def __init__(
        self,
        app: ASGIApp,
        prefix: str = "/sandbox",
        any_body: Iterable[str] = ("/sandbox/slack/api/",),
    ) -> None:
        self._app = app
        self._prefix = prefix.rstrip("/")
        self._any_body = tuple(any_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with the reason why not."""
        if scope["type"] not in ("http", "websocket") or not self._guards(scope["path"]):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await problem(*refusal)(scope, receive, send)

    def _guards(self, path: str) -> bool:
        return path == self._prefix or path.startswith(f"{self._prefix}/")

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not _is_loopback(hosts[0]):
            return 421, "foreign_host", "the sandbox answers only on this machine"
        own = f"{'https' if scope['scheme'] in ('https', 'wss') else 'http'}://{hosts[0]}"
        if any(origin != own for origin in headers.getlist("origin")):
            return 403, "foreign_origin", "the sandbox answers only its own page"
        if scope["type"] == "http" and not self._takes_body(scope, headers):
            return 415, "not_json", "the body must be application/json"
        return None

    def _takes_body(self, scope: Scope, headers: Headers) -> bool:
        if scope["method"] in _READ_METHODS or scope["path"].startswith(self._any_body):
            return True
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return kind == "application/json"
