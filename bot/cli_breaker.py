"""`agent breaker …`: the refund breaker, and the switch that stops everything."""

import click

from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.stop import lift, stop_all
from bot.cli_text import json_text, pairs
from bot.cli_world import WORDS, World, unless_refused

_reason = click.option("--reason", type=WORDS, required=True, help="For people on call.")


@click.group()
def breaker() -> None:
    """Show the refund breaker, reset it; stop all, lift that."""


@breaker.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def status(world: World, *, as_json: bool) -> None:
    """Show whether automatic refunds run.

    And whether everything is stopped, by whom, when and why. Takes no role.
    """
    with world.open_desk() as desk:
        shown = breaker_status(desk)
    if as_json:
        click.echo(json_text(shown))
        return
    stop = shown.pop("stop")
    note = stop if isinstance(stop, dict) else {}
    rows = [*shown.items(), *((f"stopped {name}", value) for name, value in note.items())]
    click.echo(pairs((name, _plain(value)) for name, value in rows))


@breaker.command()
@_reason
@click.pass_obj
def reset(world: World, reason: str) -> None:
    """Let automatic refunds run again.

    What ran before counts no more. Takes the role refund_manager.
    """
    with world.open_desk() as desk:
        closed = unless_refused(reset_breaker(desk, world.order(reason)))
    click.echo(pairs([("state", closed.state.value), ("generation", closed.generation)]))


@breaker.command()
@_reason
@click.pass_obj
def stop(world: World, reason: str) -> None:
    """Stop everything until it is lifted.

    Nothing executes and nothing is sent again; approved requests wait, and use-by goes on. Takes
    the role oncall or refund_manager.
    """
    with world.open_desk() as desk:
        unless_refused(stop_all(desk, world.order(reason)))
    click.echo(pairs([("stopped", "yes")]))


@breaker.command("lift")
@_reason
@click.pass_obj
def lift_stop(world: World, reason: str) -> None:
    """Lift the stop: what was approved and is still usable runs.

    Takes the role refund_manager.
    """
    with world.open_desk() as desk:
        unless_refused(lift(desk, world.order(reason)))
    click.echo(pairs([("stopped", "no")]))


def _plain(value: object) -> object:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case _:
            return value
