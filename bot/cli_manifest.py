"""`agent manifest`: the Slack app's manifest, ready to be pasted where Slack asks for it."""

import click

from bot.cli_world import World
from bot.manifest import for_http, for_socket, read_manifest, written


@click.command()
@click.option(
    "--url",
    metavar="ADDRESS",
    help="Where Slack reaches the desk, such as https://desk.example; PUBLIC_URL if not given.",
)
@click.option("--socket", is_flag=True, help="For Socket Mode, which needs no address.")
@click.pass_obj
def manifest(world: World, url: str | None, *, socket: bool) -> None:
    """Print the manifest of the Slack app.

    Paste it at api.slack.com/apps, "Create New App", "From a manifest".
    """
    if socket and url:
        raise click.UsageError(
            "--socket needs no --url: Slack sends over the desk's own connection"
        )
    document = read_manifest()
    if socket:
        document = for_socket(document)
    else:
        address = url or world.public_url()
        if address is None:
            raise click.UsageError("say where Slack reaches the desk: --url ADDRESS, or --socket")
        document = for_http(document, address)
    click.echo(written(document), nl=False)
