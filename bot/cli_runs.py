"""`agent runs …`: runs and their checkpoints."""

import click

from agent.desk import Desk
from agent.domain.conversation import Run, RunState
from agent.domain.ids import RunId
from agent.steps.checkpoint import checkpoint
from bot.cli_text import json_text, table
from bot.cli_world import CODE, NotDone, World
from bot.shapes import rfc3339, run_json
from storage import runs as stored

_STATES = {state.value: state for state in RunState} | {"pending": RunState.PARKED}


@click.group()
def runs() -> None:
    """Look at agent turns and what follows from them."""


@runs.command("list")
@click.option("--status", type=click.Choice(list(_STATES)), help="pending means parked.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def list_runs(world: World, status: str | None, limit: int, *, as_json: bool) -> None:
    """List the newest runs, or those of one status, oldest first.

    Takes no role.
    """
    with world.open_desk() as desk:
        found = _read(desk, status, limit)
    if as_json:
        click.echo(json_text([run_json(run) for run in found]))
        return
    header = ("RUN", "STATUS", "STEP", "CREATED", "UPDATED", "CONVERSATION", "ERROR")
    click.echo(table(header, [_line(run) for run in found]))


@runs.command()
@click.argument("run_id", metavar="RUN", type=CODE)
@click.pass_obj
def show(world: World, run_id: str) -> None:
    """Print a run's checkpoint as JSON.

    Takes no role.
    """
    with world.open_desk() as desk:
        found = checkpoint(desk, RunId(run_id))
    if found is None:
        raise NotDone("not_found", f"There is no run {run_id}.")
    click.echo(json_text(found))


def _read(desk: Desk, status: str | None, limit: int) -> tuple[Run, ...]:
    with desk.store.transaction(write=False) as tx:
        if status is None:
            return stored.newest(tx, limit)
        return stored.page(tx, _STATES[status], "", limit)


def _line(run: Run) -> tuple[object, ...]:
    return (
        run.id,
        run.state.value,
        run.step,
        rfc3339(run.created_at),
        rfc3339(run.updated_at),
        run.conversation_id,
        run.error or "",
    )
