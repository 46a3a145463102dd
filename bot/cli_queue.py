"""`agent pending review`: the queue, one request after the other."""

import click

from agent.domain.approvals import Status
from bot.cli_ask import Left, ask
from bot.cli_words import find, follow, standing
from bot.cli_world import NotDone, World


@click.command()
@click.pass_obj
def review(world: World) -> None:
    """Walk through what waits, one by one, oldest first.

    y approves what is shown, n rejects it, e edits it, Enter leaves it waiting, q ends. Takes the
    role of each request's tier.
    """
    with world.open_desk() as desk:
        queue = standing(desk, Status.PENDING)
        for number, waiting in enumerate(queue, start=1):
            # Somebody else may have decided it while the ones before were looked at.
            sight = find(desk, waiting.approval.id)
            if sight is None or sight.approval.status is not Status.PENDING:
                continue
            click.echo(f"{number} of {len(queue)}")
            try:
                answer = ask(world, desk, sight, may_end=True)
            except UnicodeDecodeError as error:
                raise NotDone("invalid", "What was typed is not text in this encoding.") from error
            if answer is Left.END:
                return
            if not isinstance(answer, Left):
                follow(world, desk, answer.approval)
        click.echo("Nothing else waits." if queue else "Nothing waits.")
