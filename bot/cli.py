"""The `agent` command: each sub-command opens the desk, calls one step and prints what came of it.

Plain text goes to standard output, one fact a line; refusals go to standard error as
`code: message` with exit code 1, wrong usage with 2.
"""

import click

from agent.domain.decision import Refused
from agent.domain.roles import Channel
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.verify import verify
from bot.cli_chat import chat
from bot.cli_decide import pending, resume
from bot.cli_people import actor
from bot.cli_runs import runs
from bot.cli_shop import shop
from bot.cli_text import json_text, pairs, visible
from bot.cli_world import WORDS, NotDone, Root, World

__all__ = ["World", "cli"]


@click.group("agent", cls=Root)
def cli() -> None:
    """Work with the support desk from the command line."""


@cli.group()
def breaker() -> None:
    """Show or reset the refund breaker."""


@breaker.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def status(world: World, *, as_json: bool) -> None:
    """Show whether automatic refunds run."""
    with world.open_desk() as desk:
        shown = breaker_status(desk)
    if as_json:
        click.echo(json_text(shown))
        return
    click.echo(pairs((name, _plain(value)) for name, value in shown.items()))


@breaker.command()
@click.option("--reason", type=WORDS, required=True)
@click.pass_obj
def reset(world: World, reason: str) -> None:
    """Let automatic refunds run again.

    Needs the role refund_manager.
    """
    with world.open_desk() as desk:
        answer = reset_breaker(desk, world.identity(), Channel.CLI, reason)
    if isinstance(answer, Refused):
        raise NotDone(answer.code.value, answer.message)
    click.echo(pairs([("state", answer.state.value), ("generation", answer.generation)]))


@cli.group()
def audit() -> None:
    """Check the trail of what happened."""


@audit.command("verify")
@click.pass_obj
def verify_trail(world: World) -> None:
    """Check every hash chain and stored payload.

    Each fault is named with chain and seq; the exit code is then 1.
    """
    with world.open_desk() as desk:
        report = verify(desk)
    for problem in report.problems:
        click.echo(visible(str(problem)))
    read = f"{report.events} events, {report.chains} chains, {report.approvals} approvals"
    if report.problems:
        raise NotDone("broken", f"{len(report.problems)} problems in {read}")
    click.echo(f"ok: {read}")


@cli.group()
def db() -> None:
    """Look after the database."""


@db.command()
@click.pass_obj
def upgrade(world: World) -> None:
    """Bring the database to the newest schema."""
    click.echo(pairs([("revision", world.upgrade())]))


def _plain(value: object) -> object:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case _:
            return value


for _group in (chat, runs, pending, resume, shop, actor):
    cli.add_command(_group)
