"""Runs: which there are, and the checkpoint of one."""

from typing import Literal

from fastapi import APIRouter

from agent.domain.conversation import RunState
from agent.steps.checkpoint import checkpoint
from bot.shapes import JsonObject, run_json
from bot.web.context import Context
from bot.web.params import Cursor, Limit, RunPath
from bot.web.problems import not_found
from bot.web.staff import Reader
from storage import runs

router = APIRouter(prefix="/runs", tags=["runs"])


@router.get("")
def list_runs(
    context: Context,
    _staff: Reader,
    status: RunState | Literal["pending"] | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JsonObject:
    """List runs of a status, oldest first; `pending` means `parked`. Without one, the newest."""
    with context.desk.store.transaction(write=False) as tx:
        if status is None:
            return {"items": [run_json(run) for run in runs.newest(tx, limit)], "next_cursor": None}
        state = RunState.PARKED if status == "pending" else status
        found = runs.page(tx, state, cursor or "", limit + 1)
    items = [run_json(run) for run in found[:limit]]
    return {"items": items, "next_cursor": items[-1]["run_id"] if len(found) > limit else None}


@router.get("/{run_id}")
def get_run(context: Context, _staff: Reader, run_id: RunPath) -> JsonObject:
    """Show the checkpoint of a run."""
    found = checkpoint(context.desk, run_id)
    if found is None:
        raise not_found("run")
    return {**found}
