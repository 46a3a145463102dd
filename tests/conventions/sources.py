"""The repository's own files, found without git: a copy from an archive has none."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("agent", "bot", "storage")

_FOLDERS = (*PACKAGES, "tests", ".ci")
_LOOSE = ("*.lock", "*.md", "*.py", "*.toml", "*.yml", ".editorconfig", ".gitignore", "Makefile")


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the root, and its parsed text."""

    path: str
    lines: int
    tree: ast.Module

    def under(self, *places: str) -> bool:
        """Return whether the file is, or lies in, one of `places`."""
        return any(self.path == place or self.path.startswith(f"{place}/") for place in places)

    def walk(self) -> Iterator[ast.AST]:
        """Yield every node of the file."""
        return ast.walk(self.tree)


def parse(path: str, text: str) -> Source:
    """Return `text` as the source found at `path`."""
    return Source(path, len(text.splitlines()), ast.parse(text))


@cache
def files() -> tuple[Path, ...]:
    """Return every file of the repository, caches and the environment left out."""
    found = [path for pattern in _LOOSE for path in ROOT.glob(pattern)]
    found += [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]
    return tuple(sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts))


@cache
def sources() -> tuple[Source, ...]:
    """Return every Python file of the repository."""
    return tuple(
        parse(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in files()
        if path.suffix == ".py"
    )


def product() -> tuple[Source, ...]:
    """Return the Python files that are shipped."""
    return tuple(source for source in sources() if not source.under("tests"))


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for such an expression, with `?` for whatever it starts from otherwise."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
        case _:
            return "?"


def at(source: Source, node: ast.expr | ast.stmt) -> str:
    """Return where `node` is, as editors read it."""
    return f"{source.path}:{node.lineno}"
