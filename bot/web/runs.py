"""Runs: which there are, and the checkpoint of one."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BeforeValidator

from agent.domain.conversation import RunState
from agent.steps.checkpoint import checkpoint
from bot.shapes import JsonObject, run_json
from bot.web.bodies import StrictRoute
from bot.web.context import Context
from bot.web.params import Cursor, Limit, RunPath
from bot.web.problems import not_found
from bot.web.staff import Reader
from storage import runs

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)

# What waits is called pending everywhere else.
_PENDING = "pending"


def _state(wanted: str) -> RunState:
    if wanted == _PENDING:
        return RunState.PARKED
    if wanted not in set(RunState):
        raise ValueError(f"is not one of {', '.join([_PENDING, *RunState])}")
    return RunState(wanted)


Wanted = Annotated[RunState, BeforeValidator(_state)]


@router.get("")
def list_runs(
    context: Context,
    _staff: Reader,
    status: Wanted | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JsonObject:
    """List runs of a status, oldest first; `pending` means `parked`. Without one, the newest."""
    with context.desk.store.transaction(write=False) as tx:
        if status is None:
            return {"items": [run_json(run) for run in runs.newest(tx, limit)], "next_cursor": None}
        found = runs.page(tx, status, cursor or "", limit + 1)
    items = [run_json(run) for run in found[:limit]]
    return {"items": items, "next_cursor": items[-1]["run_id"] if len(found) > limit else None}


@router.get("/{run_id}")
def get_run(context: Context, _staff: Reader, run_id: RunPath) -> JsonObject:
    """Show the checkpoint of a run."""
    found = checkpoint(context.desk, run_id)
    if found is None:
        raise not_found("run")
    return {**found}
