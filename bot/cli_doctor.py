"""`agent doctor`: what the desk stands on, and what to do about what is wrong."""

import sys
from collections.abc import Iterator

import click

from bot.cli_text import json_text, visible
from bot.cli_world import NotDone, World
from bot.findings import Finding, State

_LOOKS = {State.OK: "ok", State.WARNING: "warning", State.FAILED: "FAILED", State.SKIPPED: "-"}
_NAME_WIDTH, _STATE_WIDTH = 22, 9


@click.command()
@click.option(
    "--click",
    "wait_s",
    type=click.FloatRange(1, 600),
    metavar="SECONDS",
    help="Post a button to the on-call channel and wait so long for somebody to press it.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@click.pass_obj
def doctor(world: World, wait_s: float | None, *, as_json: bool) -> None:
    """Look at settings, database, Slack, mail, model and more.

    Nothing is changed. The exit code is 1 when something failed; a warning is no failure.
    """
    findings = list(_shown(world.checkup(wait_s), quiet=as_json))
    broken = sum(one.state is State.FAILED for one in findings)
    if as_json:
        rows = [
            {"name": f.name, "state": f.state.value, "says": f.says, "remedy": f.remedy}
            for f in findings
        ]
        click.echo(json_text({"ok": broken == 0, "findings": rows}))
        sys.exit(1 if broken else 0)
    if broken:
        raise NotDone(
            "not_well", f"{broken} of {len(findings)} findings keep the desk from its work"
        )
    click.echo(f"{len(findings)} findings; nothing keeps the desk from its work")


def _shown(findings: Iterator[Finding], *, quiet: bool) -> Iterator[Finding]:
    """Print each finding as soon as it is there: some take seconds."""
    for one in findings:
        if not quiet:
            name, state = visible(one.name), _LOOKS[one.state]
            click.echo(f"{state:<{_STATE_WIDTH}}{name:<{_NAME_WIDTH}}{visible(one.says)}")
            if one.remedy:
                click.echo(f"{'':<{_STATE_WIDTH + _NAME_WIDTH}}-> {visible(one.remedy)}")
        yield one
