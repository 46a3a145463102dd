"""The `agent` command: each sub-command opens the desk, calls one step and prints what came of it.

Plain text goes to standard output, one fact a line; refusals go to standard error as
`code: message` with exit code 1, wrong usage with 2.
"""

import click

from bot.cli_audit import audit
from bot.cli_breaker import breaker
from bot.cli_chat import chat
from bot.cli_conversations import conversations
from bot.cli_decide import pending, resume
from bot.cli_doctor import doctor
from bot.cli_manifest import manifest
from bot.cli_people import actor
from bot.cli_policy import policy
from bot.cli_reviews import customers, reviews
from bot.cli_runs import runs
from bot.cli_shop import shop
from bot.cli_stats import stats
from bot.cli_text import pairs
from bot.cli_world import Root, World

__all__ = ["World", "cli"]


@click.group("agent", cls=Root)
def cli() -> None:
    """Work with the support desk from the command line."""


@cli.group()
def db() -> None:
    """Look after the database."""


@db.command()
@click.pass_obj
def upgrade(world: World) -> None:
    """Bring the database to the newest schema.

    Takes no role: it is for whoever runs the desk.
    """
    click.echo(pairs([("revision", world.upgrade())]))


for _group in (
    audit,
    chat,
    runs,
    pending,
    resume,
    breaker,
    reviews,
    stats,
    customers,
    conversations,
    shop,
    actor,
    policy,
    manifest,
    doctor,
):
    cli.add_command(_group)
