"""What a command does for the desk itself, so that it needs no server beside it."""

from agent.desk import Desk
from agent.domain.approvals import Status
from agent.domain.conversation import RunState
from agent.domain.ids import RunId
from agent.steps.execute import execute_due
from agent.steps.turn import take_turn
from bot.cli_world import World
from storage import approvals, breaker, runs

_PAUSE_S = 0.25
# About 20 s for a desk running elsewhere, or for a model that is tried again.
_MOST_PAUSES = 80
_MOST_TURNS = 50
_UNDER_WAY = frozenset({Status.APPROVED, Status.EXECUTING})
_WAITING = frozenset({Status.PENDING, Status.UNKNOWN})
_WHILE_STOPPED = {Status.APPROVED: Status.PENDING}


def carry_on(world: World, desk: Desk, run_id: RunId) -> bool:
    """Do what is due until the run rests; False if it does not within a bounded time.

    Beside a running desk either of them does the work: each claim is had by one.
    """
    for _ in range(_MOST_PAUSES):
        _work(desk)
        if _rests(desk, run_id):
            return True
        world.pause(_PAUSE_S)
    return False


def _work(desk: Desk) -> None:
    """Carry out what is approved, then take the turns that follow from it."""
    for _ in range(_MOST_TURNS):
        execute_due(desk)
        if not take_turn(desk):
            return


def _rests(desk: Desk, run_id: RunId) -> bool:
    """Tell whether the run has ended, or waits for people or the provider."""
    with desk.store.transaction(write=False) as tx:
        run = runs.get(tx, run_id)
        statuses = {approval.status for approval in approvals.of_run(tx, run_id)}
        if breaker.is_stopped(tx):
            # What is approved waits for a person to lift the stop.
            statuses = {_WHILE_STOPPED.get(status, status) for status in statuses}
    if run is None:
        return True
    if statuses & _UNDER_WAY:
        return False
    match run.state:
        case RunState.QUEUED | RunState.RUNNING:
            return False
        case RunState.PARKED:
            # With nothing open any more, the outcome is on its way to the run.
            return bool(statuses & _WAITING)
        case RunState.DONE | RunState.FAILED | RunState.ESCALATED:
            return True
