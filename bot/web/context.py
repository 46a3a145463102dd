"""What the web edge is given by app.py, and how a route gets hold of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Request
from starlette.routing import Mount

from agent.desk import Desk
from bot.web.afar import Afar
from bot.web.chat_keys import ChatKeys
from bot.web.hub import Hub
from bot.web.limits import RateLimits
from bot.web.metrics import Metrics
from bot.web.signatures import WebhookKeys

# Body and headers of a request in; status, headers and body of the answer out.
SlackDispatch = Callable[[bytes, Mapping[str, str]], tuple[int, Mapping[str, str], str]]


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """How often an idle stream says something, and when it ends so that another may begin."""

    heartbeat_s: float = 15.0
    max_age_s: float = 600.0


@dataclass(frozen=True, slots=True)
class WebContext:
    """Everything the routes may reach.

    `jobs` are the names whose heartbeats readiness asks for, none older than `heartbeat_max_age`;
    `slack_ready` tells whether Slack can be reached; without `webhook_keys` no event of the payment
    provider is heard; `mounts` come after every route of the desk; `afar` hears other replicas.
    """

    desk: Desk
    hub: Hub
    metrics: Metrics
    chat_keys: ChatKeys
    origins: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    heartbeat_max_age: timedelta = timedelta(seconds=30)
    slack_ready: Callable[[], bool] = lambda: True
    slack_dispatch: SlackDispatch | None = None
    webhook_keys: WebhookKeys | None = None
    mounts: tuple[Mount, ...] = ()
    limits: RateLimits = field(default_factory=RateLimits)
    afar: Afar | None = None
    stream: StreamTimes = field(default_factory=StreamTimes)


# Asynchronous, as every dependency that does not block: a plain one would wait for a thread.
async def _context(request: Request) -> WebContext:
    context: WebContext = request.app.state.context
    return context


Context = Annotated[WebContext, Depends(_context)]
