"""The web application: every router, and what surrounds them."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext

from fastapi import FastAPI

from bot.web import (
    approvals,
    breaker,
    chat,
    corrections,
    docs,
    hand_offs,
    health,
    integrators,
    reviews,
    runs,
    slack_events,
    webhooks,
    widget_files,
)
from bot.web.beneath import Beneath
from bot.web.context import WebContext
from bot.web.guard import ChatCors, Guard
from bot.web.limits import Limiter
from bot.web.problems import answer_problems

_WORDS = (
    "Approvals for what an AI support agent proposes, the customer's chat, runs, reviews and the "
    "breaker. Errors are application/problem+json with a stable code."
)


def web_app(context: WebContext) -> FastAPI:
    """Make the application. It runs `context.hub` for as long as it is up."""
    app = FastAPI(
        title="Supportdesk",
        version="1",
        description=_WORDS,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.context = context
    app.state.limiters = _limiters(context)
    answer_problems(app)
    app.add_middleware(Guard)
    app.add_middleware(ChatCors, origins=context.origins)
    for router in (
        approvals.router,
        corrections.router,
        runs.router,
        breaker.router,
        reviews.router,
        hand_offs.router,
        chat.router,
        slack_events.router,
        webhooks.router,
        health.router,
        docs.router,
        integrators.router,
        widget_files.router,
    ):
        app.include_router(router)
    above = tuple(app.router.routes)
    app.router.routes.extend(Beneath(mount, above) for mount in context.mounts)
    return app


def _limiters(context: WebContext) -> chat.Limiters:
    now, limits = context.desk.clock.now, context.limits
    return chat.Limiters(
        conversation=Limiter(limits.messages_per_conversation, now),
        customer=Limiter(limits.posts_per_customer, now),
        address=Limiter(limits.posts_per_address, now),
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: WebContext = app.state.context
    hearing = nullcontext() if context.afar is None else context.afar.listening()
    with ThreadPoolExecutor(slack_events.SLACK_THREADS, "slack") as pool, hearing:
        app.state.slack_pool = pool
        looking = asyncio.create_task(context.hub.run())
        try:
            yield
        finally:
            context.hub.close()
            await looking
