"""Whether the process is up, and whether it can do its work; and the numbers about both."""

import logging

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from agent.domain.places import EVERYTHING, Place
from bot.web.context import Context, WebContext
from bot.web.problems import Problem
from storage import heartbeats, places

log = logging.getLogger(__name__)

router = APIRouter(tags=["health"])

_DATABASE = "database"


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Tell that the process is up."""
    return {"status": "up"}


@router.get("/readyz")
def readyz(context: Context) -> dict[str, object]:
    """Tell that the database, the jobs and Slack are there; 503 names what is not.

    A channel that takes no messages has a substitute, so the desk is ready: `trouble` names it.
    """
    missing = [*_database_and_jobs(context)]
    troubled = [] if missing == [_DATABASE] else _troubled_places(context)
    slack = next((one for one in troubled if one.name == EVERYTHING), None)
    if slack is not None:
        missing.append(f"slack: {slack.problem}")
    elif not context.slack_ready():
        missing.append("slack")
    if missing:
        detail = f"Not ready: {', '.join(missing)}."
        raise Problem(503, "not_ready", detail, not_ready=missing)
    trouble = [f"slack {place.name}: {place.problem}" for place in troubled]
    return {"status": "ready", **({"trouble": trouble} if trouble else {})}


@router.get("/metrics", response_class=Response)
def metrics(context: Context) -> Response:
    """Return the numbers in Prometheus's text format."""
    numbers = context.metrics.text(context.hub.open_streams)
    return Response(numbers, media_type=CONTENT_TYPE_LATEST)


def _troubled_places(context: WebContext) -> list[Place]:
    with context.desk.store.transaction(write=False) as tx:
        return [place for place in places.troubled(tx).values() if place.in_trouble]


def _database_and_jobs(context: WebContext) -> list[str]:
    desk = context.desk
    try:
        with desk.store.transaction(write=False) as tx:
            beats = heartbeats.everything(tx)
    except Exception:
        log.exception("the database cannot be read")
        return [_DATABASE]
    since = desk.clock.now() - context.heartbeat_max_age
    fresh = {
        beat.job
        for beat in beats
        if beat.replica == desk.replica and beat.at >= since and beat.problem is None
    }
    return [f"job {job}" for job in context.jobs if job not in fresh]
