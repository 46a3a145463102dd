"""`make bench`: the first budgets of the design, measured; nothing here passes or fails."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from os import getloadavg
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

import click

from tests.bench.bubble import first_words
from tests.bench.chat import answers, crowd, reads, returns
from tests.bench.clicks import PER_S, STREAMS, run_load
from tests.bench.cycle import Bench, Written, bench_over
from tests.bench.raw import Raw, raw_over, timed
from tests.support.chromium import has_chromium
from tests.support.postgres import fresh_database, running_postgres
from tests.support.process import DeskProcess, made_desk

ROUNDS, CYCLES = 15, 6
CHATS, WATCHERS = 1_000, 100
# The goal and what is never to be exceeded, as multiples of raw (design.md §19, four commits).
WHOLE = {"SQLite": ("2.3x", "2.8x"), "PostgreSQL": ("3.0x", "3.6x")}
CLICK = {"SQLite": ("2x", "3x"), "PostgreSQL": ("2.7x", "3x")}


class Line(NamedTuple):
    """One line of the table."""

    what: str
    measured: str
    goal: str = ""
    limit: str = ""


class Pair(NamedTuple):
    """Medians of one round, in seconds: the desk's, and those of plain SQL beside it."""

    desk: float
    raw: float


@click.command()
@click.option("--seconds", default=60, help="How long people click in Slack.")
@click.option("--clicks", "only_clicks", is_flag=True, help="Measure nothing but that.")
@click.option("--chat", "only_chat", is_flag=True, help="Measure nothing but the chat.")
def main(seconds: int, *, only_clicks: bool, only_chat: bool) -> None:
    """Measure and print the table."""
    if only_clicks or only_chat:
        with tempfile.TemporaryDirectory(prefix="desk-bench-") as name:
            chosen = click_lines(Path(name), seconds) if only_clicks else chat_lines(Path(name))
            show([*chosen])
        return
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="desk-bench-")))
        lines = [*database_lines("SQLite", f"sqlite:///{folder / 'bench.db'}")]
        admin = held.enter_context(running_postgres(durable=True))
        lines += database_lines("PostgreSQL", held.enter_context(fresh_database(admin)))
        desk = held.enter_context(made_desk(folder / "desk"))
        lines += process_lines(desk)
        lines += chat_lines(folder / "chat")
        lines += click_lines(folder / "clicks", seconds)
    show(lines)


def show(lines: list[Line]) -> None:
    """Print the table."""
    table = [Line("WHAT", "MEASURED", "GOAL", "LIMIT"), *lines]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def database_lines(kind: str, url: str) -> Iterator[Line]:
    """Measure the cycle over a new database."""
    with bench_over(url) as bench, raw_over(url) as raw:
        written = bench.rows_written(bench.case())
        case, before = bench.case(), bench.store.commits
        bench.runs(case)
        commits = bench.store.commits - before
        rounds = [one_round(bench, raw, written) for _ in range(ROUNDS)]
    whole, clicked = [one[0] for one in rounds], [one[1] for one in rounds]
    what = f"{kind}: park, approve, execute, resume ({commits} commits)"
    yield Line(what, times(whole), *WHOLE[kind])
    yield Line(f"{kind}: click to committed outcome", times(clicked), *CLICK[kind])


def one_round(bench: Bench, raw: Raw, written: Written) -> tuple[Pair, Pair]:
    """Run some cycles, each followed by the same bytes in plain SQL."""
    last = [*written.settle, *written.resume]
    desk, whole, clicked = [], [], []
    for case in [bench.case() for _ in range(CYCLES)]:
        desk.append(bench.runs(case))
        whole.append(timed(raw, written.park, written.decide, last))
        clicked.append(timed(raw, written.decide, written.settle))
    return (
        Pair(median(one.whole for one in desk), median(whole)),
        Pair(median(one.click for one in desk), median(clicked)),
    )


def times(rounds: Sequence[Pair]) -> str:
    """Return the median ratio over the rounds, its quartiles, and the milliseconds behind it."""
    ratios = [one.desk / one.raw for one in rounds]
    low, _, high = quantiles(ratios, n=4)
    desk, raw = median(one.desk for one in rounds), median(one.raw for one in rounds)
    return (
        f"{median(ratios):.1f}x raw ({low:.1f} to {high:.1f}; "
        f"{desk * 1e3:.1f} against {raw * 1e3:.2f} ms)"
    )


def process_lines(desk: DeskProcess) -> Iterator[Line]:
    """Measure a whole desk: how soon it is ready, and how fast it acknowledges clicks."""
    started = perf_counter()
    desk.start()
    yield Line("desk ready", f"{perf_counter() - started:.1f} s", "2 s")
    yield Line("memory", f"{desk.resident_mib:.0f} MiB", "150 MiB")
    desk.stop()


def chat_lines(folder: Path) -> Iterator[Line]:
    """Measure what customers feel of the chat, and what watching it costs."""
    told = answers(folder / "answers", ROUNDS)
    yield Line("chat: sent to first word on the stream", spread(told.first))
    yield Line("chat: sent to stored answer", spread(told.whole))
    what = "chat: first word of the model to its bubble in Chromium"
    if has_chromium():
        yield Line(what, spread(first_words(folder / "bubble", ROUNDS)))
    else:
        yield Line(what, "not measured: there is no Chromium here")
    yield Line(
        "chat: back after a cut, to the missed line", spread(returns(folder / "cuts", ROUNDS))
    )
    many = crowd(folder / "crowd", CHATS)
    yield Line(f"chat: memory of a stream, {CHATS} open", f"{many.kib_each:.0f} KiB", "", "100 KiB")
    yield Line("chat: the desk ends with all of them open", f"{many.stop_s:.1f} s", "", "3 s")
    asked = reads(WATCHERS, ROUNDS)
    what = f"chat: reads of the log for an event, {WATCHERS} clients"
    yield Line(what, f"{asked.pages:.2f}, and {asked.looks:.2f} looks for news", "1")
    yield Line("  until all of them have it", spread(asked.took))


def spread(took: Sequence[float]) -> str:
    """Return the middle and the slowest of some times, in milliseconds."""
    return f"p50 {median(took) * 1e3:.0f} ms, slowest of {len(took)} {max(took) * 1e3:.0f} ms"


def click_lines(folder: Path, seconds: int) -> Iterator[Line]:
    """Measure how fast a whole desk acknowledges clicks, and whether it answered each right."""
    load = run_load(folder, seconds)
    what = f"Slack ack, {PER_S} clicks/s for {seconds} s, {STREAMS} streams"
    yield Line(what, load.spread(), "p99 20 ms", "500 ms")
    mix = ", ".join(f"{number} x {kind}" for kind, number in load.kinds.items())
    yield Line("  clicked", mix)
    right = f"all of them; {load.events} events reached the chats"
    yield Line("  answered right", right if not load.wrong else f"NOT {len(load.wrong)} of them")
    yield from (Line("  wrong", one) for one in load.wrong[:20])
    one, five, fifteen = getloadavg()
    around = f"{load.busy:.2f} of a processor; load average {one:.1f}, {five:.1f}, {fifteen:.1f}"
    yield Line("  the desk used", around)


if __name__ == "__main__":
    main()
