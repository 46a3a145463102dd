"""How long functions and files are; run as a module, it lists what is over the aim."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

import click

from tests.conventions.sources import ROOT, Source, at, files, sources

FUNCTION_AIM, FUNCTION_LIMIT = 40, 80
FILE_AIM, FILE_LIMIT = 400, 600

_WRITTEN = {".css", ".html", ".js", ".mjs", ".py"}


@dataclass(frozen=True, order=True)
class Size:
    """The lines of one function or file."""

    lines: int
    where: str


def function_sizes(of: Iterable[Source]) -> Iterator[Size]:
    """Yield the size of each function, decorators left out."""
    for source in of:
        for node in source.walk():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield Size(node.end_lineno - node.lineno + 1, f"{at(source, node)} {node.name}")


def file_sizes() -> Iterator[Size]:
    """Yield the size of each file that people write and read as code."""
    for path in files():
        if path.suffix in _WRITTEN:
            lines = len(path.read_text("utf-8").splitlines())
            yield Size(lines, path.relative_to(ROOT).as_posix())


def over(limit: int, sizes: Iterable[Size]) -> list[str]:
    """Return what is longer than `limit`, longest first."""
    return [f"{s.lines} {s.where}" for s in sorted(sizes, reverse=True) if s.lines > limit]


def main() -> None:
    """List what is over the aim, and the medians."""
    for what, aim, sizes in (
        ("functions", FUNCTION_AIM, list(function_sizes(sources()))),
        ("files", FILE_AIM, list(file_sizes())),
    ):
        click.echo(f"{what}: {len(sizes)}, median {median(s.lines for s in sizes):.0f}, aim {aim}")
        for line in over(aim, sizes):
            click.echo(f"  {line}")


if __name__ == "__main__":
    main()
