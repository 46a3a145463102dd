"""Slack's requests, on four threads that nothing else shares."""

import asyncio

from fastapi import APIRouter, Request, Response

from bot.web.bodies import read_body
from bot.web.context import Context
from bot.web.problems import not_found

SLACK_THREADS = 4
# A payload repeats the whole message that was clicked, percent-encoded.
_MAX_BYTES = 1024 * 1024

router = APIRouter(tags=["slack"])


@router.post("/slack/events", response_class=Response)
async def slack_events(request: Request, context: Context) -> Response:
    """Hand the raw body to Bolt, which checks the signature; other work never delays the ack."""
    if context.slack_dispatch is None:
        raise not_found("page")
    body = await read_body(request, _MAX_BYTES)
    status, headers, text = await asyncio.get_running_loop().run_in_executor(
        request.app.state.slack_pool, context.slack_dispatch, body, dict(request.headers)
    )
    return Response(text, status, dict(headers))
