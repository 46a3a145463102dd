"""What the code may not do, and which linters do not know."""

import ast
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.conventions.sources import Source, at, dotted, parse, product, sources

Check = Callable[[Source], Iterator[str]]

_TRANSACTION_CALLS = {"begin", "begin_nested", "commit", "rollback"}
_SLEEPS = {"sleep", "wait_for_timeout"}
_PATCHES = {"delattr", "delitem", "setattr", "setitem"}
_SKIPS = {
    "pytest.importorskip",
    "pytest.mark.skip",
    "pytest.mark.skipif",
    "pytest.mark.xfail",
    "pytest.skip",
    "pytest.xfail",
}


def _called_methods(source: Source, names: set[str]) -> Iterator[str]:
    for node in source.walk():
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in names:
                yield f"{at(source, node)} {attr}"


def transactions(source: Source) -> Iterator[str]:
    """Yield each call that begins or ends a transaction."""
    return _called_methods(source, _TRANSACTION_CALLS)


def coroutines(source: Source) -> Iterator[str]:
    """Yield each coroutine."""
    for node in source.walk():
        if isinstance(node, ast.AsyncFunctionDef):
            yield f"{at(source, node)} {node.name}"


def sleeps(source: Source) -> Iterator[str]:
    """Yield each call that lets time pass, and each import of one."""
    yield from _called_methods(source, _SLEEPS)
    for node in source.walk():
        if isinstance(node, ast.ImportFrom) and any(alias.name in _SLEEPS for alias in node.names):
            yield f"{at(source, node)} import"


def patches(source: Source) -> Iterator[str]:
    """Yield each replacement of somebody else's attribute, and each import of a mock."""
    yield from _called_methods(source, _PATCHES)
    for node in source.walk():
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                modules = [f"{module}.{alias.name}" for alias in names]
            case _:
                continue
        if any(name.startswith(("unittest.mock", "mock", "pytest_mock")) for name in modules):
            assert isinstance(node, ast.stmt)
            yield f"{at(source, node)} import"


def skips(source: Source) -> Iterator[str]:
    """Yield each way for a test not to run."""
    for node in source.walk():
        if isinstance(node, ast.Attribute) and dotted(node) in _SKIPS:
            yield f"{at(source, node)} {dotted(node)}"


def _found(check: Check, where: Iterable[Source]) -> list[str]:
    return [offence for source in where for offence in check(source)]


def test_only_the_one_helper_begins_and_ends_transactions() -> None:
    # schema.py runs the migrations, each in a transaction of its own.
    helper = ("storage/transaction.py", "storage/schema.py", "storage/migrations")
    assert _found(transactions, [s for s in product() if not s.under(*helper)]) == []


def test_the_core_is_synchronous() -> None:
    assert _found(coroutines, [s for s in product() if s.under("agent", "storage")]) == []


def test_no_test_waits_for_time_to_pass() -> None:
    assert _found(sleeps, [s for s in sources() if s.under("tests")]) == []


def test_nothing_is_patched() -> None:
    assert _found(patches, [s for s in sources() if s.under("tests")]) == []


def test_no_test_is_skipped_except_by_the_one_helper() -> None:
    assert (
        _found(skips, [s for s in sources() if s.under("tests") and not s.under("tests/support")])
        == []
    )


@pytest.mark.parametrize(
    ("check", "text", "offence"),
    [
        (transactions, "with engine.begin() as c:\n    pass", "x.py:1 begin"),
        (transactions, "\nconnection.commit()", "x.py:2 commit"),
        (coroutines, "class A:\n    async def go(self): ...", "x.py:2 go"),
        (sleeps, "import time\ntime.sleep(1)", "x.py:2 sleep"),
        (sleeps, "from time import sleep", "x.py:1 import"),
        (sleeps, "page.wait_for_timeout(100)", "x.py:1 wait_for_timeout"),
        (patches, "monkeypatch.setattr(desk, 'pay', None)", "x.py:1 setattr"),
        (patches, "from unittest import mock", "x.py:1 import"),
        (patches, "from unittest.mock import Mock", "x.py:1 import"),
        (patches, "import unittest.mock", "x.py:1 import"),
        (skips, "pytest.skip('later')", "x.py:1 pytest.skip"),
        (skips, "@pytest.mark.skipif(True)\ndef test(): ...", "x.py:1 pytest.mark.skipif"),
    ],
)
def test_each_check_sees_what_it_is_for(check: Check, text: str, offence: str) -> None:
    assert list(check(parse("x.py", text))) == [offence]
