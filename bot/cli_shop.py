"""`agent shop import`: orders out of Shopify's export, with every row that had to be left out."""

import sys
from pathlib import Path

import click

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.providers.shopify_csv import ImportReport, count_lines, import_orders, read_orders
from bot.cli_text import pairs, table, visible
from bot.cli_world import NotDone, World
from storage import audit


class Unreadable(NotDone):
    """The file is no order export at all."""

    exit_code = 2


@click.group()
def shop() -> None:
    """Fill the shop that the desk keeps."""


@shop.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def import_file(world: World, file: Path) -> None:
    """Import a Shopify order export (CSV).

    Bad rows are listed and their orders left out. The same file again changes nothing. Exit code
    0: something was imported, or there was nothing to do; 1: every order was bad; 2: the file
    cannot be read. Takes no role: it is for whoever runs the desk.
    """
    with world.open_desk() as desk:
        report = _import(desk, file)
        header = next((bad for bad in report.bad if bad.field == "header"), None)
        if header is not None:
            raise Unreadable("unreadable", str(header))
        _note(desk, world, file, report)
    _print(report)
    if report.bad and not (report.added or report.updated or report.unchanged):
        raise NotDone("nothing_imported", "No order of the file could be imported.")


def _import(desk: Desk, file: Path) -> ImportReport:
    try:
        with file.open("rb") as lines:
            total = count_lines(lines)
            lines.seek(0)
            label = f"Importing {visible(file.name)}"
            with click.progressbar(length=max(total, 1), label=label, file=sys.stderr) as bar:
                return import_orders(
                    desk.store,
                    read_orders(lines),
                    desk.clock.now(),
                    lambda done: bar.update(done - bar.pos),
                )
    except OSError as error:
        raise Unreadable("unreadable", f"{file} cannot be read: {error.strerror}") from error


def _note(desk: Desk, world: World, file: Path, report: ImportReport) -> None:
    data: Payload = {
        "file": visible(file.name),
        "added": report.added,
        "unchanged": report.unchanged,
        "updated": report.updated,
        "bad_rows": len(report.bad),
    }
    fact = audit.Fact(AuditType.SHOP_IMPORTED, str(world.identity()), Channel.CLI, data)
    with desk.store.transaction() as tx:
        audit.append(tx, None, desk.clock.now(), fact)


def _print(report: ImportReport) -> None:
    click.echo(
        pairs(
            [
                ("added", report.added),
                ("unchanged", report.unchanged),
                ("updated", report.updated),
                ("bad rows", len(report.bad)),
            ]
        )
    )
    if report.bad:
        rows = [(bad.row_number, bad.order_name, bad.field, bad.problem) for bad in report.bad]
        click.echo(table(("ROW", "ORDER", "FIELD", "PROBLEM"), rows))
