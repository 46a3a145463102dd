"""A shop on an origin of its own: its pages have the two lines, under the strictest policy."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

COOKIE = "site_customer"

_POLICY = (
    "default-src 'none'; script-src {desk}; connect-src 'self' {desk}; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_WITHOUT_DESK = _POLICY.replace("connect-src 'self' {desk}", "connect-src 'self'")
_PAGE = """<!doctype html>
<html lang="{lang}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A shop</title>
<script type="module" src="{desk}/widget/v1/desk.js"></script>
</head>
<body>
<main>
<h1>A shop</h1>
<p><a href="#support-desk">Help</a></p>
</main>
<support-desk token-url="/desk-token"></support-desk>
</body>
</html>
"""


class ShopSite(ThreadingHTTPServer):
    """Serves `/` and `POST /desk-token`.

    `/?lang=ar` is in another language, `?policy=none` unprotected, `?policy=own` forgets the desk.
    A cookie holds who is signed in. `sign` returns a token for a customer, None while the desk that
    signs in this shop's name is away. Where `is_slow` is set, tokens wait for `is_quick`.
    """

    daemon_threads = True

    def __init__(self, port: int, desk: str, sign: Callable[[str], str | None]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.desk = desk
        self.sign = sign
        self.is_quick = threading.Event()
        self.is_quick.set()

    @property
    def url(self) -> str:
        """The shop's origin."""
        return f"http://127.0.0.1:{self.server_port}"

    @override
    def handle_error(self, request: object, _client: object) -> None:
        """Say nothing of browsers that hang up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ShopSite

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/favicon.ico":
            self._answer(204, None, b"")
            return
        if parts.path != "/":
            self._answer(404, "text/plain", b"")
            return
        query = parse_qs(parts.query)
        lang = query.get("lang", ["en"])[0]
        page = _PAGE.format(
            lang=escape(lang),
            direction="rtl" if lang == "ar" else "ltr",
            desk=self.server.desk,
        )
        wanted = query.get("policy", [""])[0]
        policy = {"none": None, "own": _WITHOUT_DESK}.get(wanted, _POLICY)
        self._answer(200, "text/html; charset=utf-8", page.encode(), policy)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path != "/desk-token":
            self._answer(404, "text/plain", b"")
            return
        self.server.is_quick.wait()
        morsel = SimpleCookie(self.headers.get("cookie", "")).get(COOKIE)
        if morsel is None:
            self._answer(204, None, b"")
            return
        token = self.server.sign(morsel.value)
        if token is None:
            self._answer(503, "text/plain", b"")
            return
        self._answer(200, "application/json", json.dumps({"token": token}).encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(
        self, status: int, kind: str | None, body: bytes, policy: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Cache-Control", "no-store")
        if kind is not None:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        if policy is not None:
            self.send_header("Content-Security-Policy", policy.format(desk=self.server.desk))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def shop_site(port: int, desk: str, sign: Callable[[str], str | None]) -> Iterator[ShopSite]:
    """Serve a shop whose pages load the widget from `desk` until the block ends."""
    site = ShopSite(port, desk, sign)
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        site.is_quick.set()
        site.shutdown()
        site.server_close()
        thread.join()
