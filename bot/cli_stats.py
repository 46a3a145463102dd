"""`agent stats`: how requests ended and how long they waited, today and in seven days."""

import click

from agent.domain.payload import Json, Payload
from agent.domain.stats import Outcome, Tally, Waits
from agent.steps.queue import Numbers, numbers
from bot.cli_text import json_text, pairs, table
from bot.cli_world import World


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.pass_obj
def stats(world: World, *, as_json: bool) -> None:
    """Show how requests ended and how long they waited.

    Today and in the last seven days. A time-out is no denial, and `unseen` counts those that
    nobody could have seen. Takes no role; who decided how much is shown to refund managers.
    """
    with world.open_desk() as desk:
        found = numbers(desk, world.identity())
    if as_json:
        click.echo(json_text(_json(found)))
        return
    click.echo(table(("", "today", "7 days"), _rows(found.today, found.week)))
    click.echo(pairs([("waiting now", found.pending), ("being checked", found.unknown)]))
    if found.people:
        click.echo(table(("who, in 7 days", "did", "times"), _people(found)))


def _rows(today: Tally, week: Tally) -> list[tuple[str, object, object]]:
    outcomes = [
        (outcome.value, today.outcomes[outcome], week.outcomes[outcome]) for outcome in Outcome
    ]
    return [
        *outcomes,
        ("ran without a person", today.ran.done, week.ran.done),
        ("ran without, failed", today.ran.failed, week.ran.failed),
        ("wait, median", _seconds(today.waits, "median"), _seconds(week.waits, "median")),
        ("wait, nine of ten", _seconds(today.waits, "p90"), _seconds(week.waits, "p90")),
    ]


def _seconds(waits: Waits | None, length: str) -> str:
    return "-" if waits is None else f"{getattr(waits, length).total_seconds():.0f} s"


def _people(found: Numbers) -> list[tuple[str, str, int]]:
    return [(act.name, act.verdict, act.number) for act in found.people or ()]


def _json(found: Numbers) -> Payload:
    people: list[Json] | None = None
    if found.people is not None:
        people = [
            {"name": act.name, "verdict": act.verdict, "number": act.number} for act in found.people
        ]
    return {
        "today": _tally(found.today),
        "week": _tally(found.week),
        "pending": found.pending,
        "unknown": found.unknown,
        "people": people,
    }


def _tally(tally: Tally) -> Payload:
    waits = tally.waits
    return {
        "since": tally.since.isoformat().replace("+00:00", "Z"),
        "outcomes": {outcome.value: tally.outcomes[outcome] for outcome in Outcome},
        "ran": tally.ran.done,
        "ran_failed": tally.ran.failed,
        "waits": None
        if waits is None
        else {
            "number": waits.number,
            "median_s": round(waits.median.total_seconds()),
            "p90_s": round(waits.p90.total_seconds()),
        },
    }
