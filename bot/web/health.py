"""Whether the process is up, and whether it can do its work; and the numbers about both."""

import logging

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from bot.web.context import Context, WebContext
from bot.web.problems import Problem
from storage import heartbeats

log = logging.getLogger(__name__)

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Tell that the process is up."""
    return {"status": "up"}


@router.get("/readyz")
def readyz(context: Context) -> dict[str, str]:
    """Tell that the database, the jobs and Slack are there; 503 names what is not."""
    missing = [*_database_and_jobs(context)]
    if not context.slack_ready():
        missing.append("slack")
    if missing:
        detail = f"Not ready: {', '.join(missing)}."
        raise Problem(503, "not_ready", detail, not_ready=missing)
    return {"status": "ready"}


@router.get("/metrics", response_class=Response)
def metrics(context: Context) -> Response:
    """Return the numbers in Prometheus's text format."""
    return Response(context.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _database_and_jobs(context: WebContext) -> list[str]:
    desk = context.desk
    try:
        with desk.store.transaction(write=False) as tx:
            beats = heartbeats.everything(tx)
    except Exception:
        log.exception("the database cannot be read")
        return ["database"]
    since = desk.clock.now() - context.heartbeat_max_age
    fresh = {
        beat.job
        for beat in beats
        if beat.replica == desk.replica and beat.at >= since and beat.problem is None
    }
    return [f"job {job}" for job in context.jobs if job not in fresh]
