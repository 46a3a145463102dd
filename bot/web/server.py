"""The HTTP server: uvicorn, which ends open streams before it waits for their connections."""

import socket
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from bot.web.hub import Hub

# facts/widget-and-mail.md §2.3: without it a stream that does not end keeps the process up.
_GRACEFUL_S = 3


class WebServer(uvicorn.Server):
    """A server for one application; `run` blocks until SIGTERM, SIGINT or `should_exit`."""

    def __init__(
        self,
        app: ASGIApp,
        hub: Hub,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        """Set up; nothing listens before `run`. X-Forwarded-For counts from trusted proxies."""
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            # Nobody is served over one, whatever library there happens to be.
            ws="none",
            # In words: without any, uvicorn would read the environment.
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
            timeout_graceful_shutdown=_GRACEFUL_S,
        )
        super().__init__(config)
        self._hub = hub

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._hub.close()
        await super().shutdown(sockets)
