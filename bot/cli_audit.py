"""`agent audit …`: whether the trail holds, and the trail for others to see for themselves."""

import json
from datetime import datetime
from pathlib import Path
from typing import IO

import click
from typing_extensions import override

from agent.desk import Desk
from agent.domain.ids import RunId
from agent.providers.heads_file import HeadsFile
from agent.steps.export import export_events, export_trace
from agent.steps.verify import VerifyReport, Witness, verify
from bot.cli_text import visible
from bot.cli_world import CODE, NotDone, World
from storage.audit import Span

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Moment(click.ParamType[datetime]):
    """A time with its zone, as RFC 3339 writes it."""

    name = "time"

    @override
    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the aware time."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"'{visible(value[:64])}' is not a time such as 2026-11-29T12:00:00Z")
        if moment.tzinfo is None:
            self.fail(f"'{visible(value[:64])}' has no zone: end it with Z or +01:00")
        return moment


@click.group()
def audit() -> None:
    """Check the trail of what happened, or take it along."""


@audit.command("verify")
@click.option(
    "--heads",
    metavar="FILE",
    type=_FILE,
    help="Compare the signed heads with this copy instead of the desk's own.",
)
@click.pass_obj
def verify_trail(world: World, heads: Path | None) -> None:
    """Check chains, signed heads, payloads and tables.

    Each fault is named with its place; the exit code is then 1. Signatures are checked where
    AUDIT_KEY is set.
    """
    witness = world.witness()
    if heads is not None:
        witness = Witness(witness.key, HeadsFile(heads))
    try:
        with world.open_desk() as desk:
            report = verify(desk, witness)
    except OSError as error:
        raise NotDone("unreadable", f"the copy of the heads: {error.strerror}") from error
    for problem in report.problems:
        click.echo(visible(str(problem)))
    read = _read(report, witness)
    if report.problems:
        raise NotDone("broken", f"{len(report.problems)} problems in {read}")
    click.echo(f"ok: {read}")


@audit.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "agentack"]),
    required=True,
    help="Every event as it is hashed, or a trace for the checker agentack.",
)
@click.option("--since", type=Moment(), help="Leave out what is older.")
@click.option("--until", type=Moment(), help="Leave out this moment and what is newer.")
@click.option("--run", "run_id", metavar="RUN", type=CODE, help="One run only.")
@click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=False, atomic=True),
    default="-",
    metavar="FILE",
    help="Write there instead of standard output.",
)
@click.pass_obj
def export(
    world: World,
    form: str,
    since: datetime | None,
    until: datetime | None,
    run_id: str | None,
    output: IO[str],
) -> None:
    """Write the trail, one JSON object a line.

    In an agentack trace times choose by when a request was proposed, and requests that are
    still open are left out; their number goes to standard error.
    """
    span = Span(since, until, None if run_id is None else RunId(run_id))
    with world.open_desk() as desk:
        if form == "jsonl":
            for line in export_events(desk.store, span):
                click.echo(line, file=output)
        else:
            _write_trace(desk, span, output)


def _write_trace(desk: Desk, span: Span, output: IO[str]) -> None:
    trace = export_trace(desk.store, span, desk.clock.now())
    for line in trace.lines:
        click.echo(json.dumps(line), file=output)
    if trace.still_open:
        click.echo(f"left out: {trace.still_open} requests that are still open", err=True)


def _read(report: VerifyReport, witness: Witness) -> str:
    read = f"{report.events} events, {report.chains} chains, {report.approvals} approvals"
    if not report.heads:
        return read
    unsure = "" if witness.key is not None else " (signatures not checked: no AUDIT_KEY)"
    return f"{read}, {report.heads} signed heads{unsure}"
