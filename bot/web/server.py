"""The HTTP server: uvicorn, which ends open streams before it waits for their connections."""

import resource
import socket
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from bot.web.hub import Hub

# facts/widget-and-mail.md §2.3: without it a stream that does not end keeps the process up.
_GRACEFUL_S = 3
# A client that takes nothing for so long while there is something to take is gone for the desk. It
# comes back by itself, and what it lacks is in the log.
_STUCK_S = 30.0
# Each open stream is an open file, and many a shell allows 1,024.
_FILES = 65_536


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
        stuck_s: float = _STUCK_S,
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
        self.hub = hub
        self._stuck_s = stuck_s

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        allow_files(_FILES)
        await super().startup(sockets)
        for server in self.servers:
            for listener in server.sockets:
                leave_stuck(listener, self._stuck_s)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.hub.close()
        await super().shutdown(sockets)


def allow_files(wanted: int) -> None:
    """Let the process have so many files open, or as many as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def leave_stuck(listener: socket.socket, after_s: float) -> None:
    """Let the system end connections of this listener whose other end takes nothing; on Linux.

    The server itself would wait for such a client without end, with what it has buffered for it.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None and listener.family in {socket.AF_INET, socket.AF_INET6}:
        listener.setsockopt(socket.IPPROTO_TCP, option, int(after_s * 1000))
