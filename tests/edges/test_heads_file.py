"""The copy of the signed heads: appended to, whole lines only, never in doubt about its end."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent.domain.errors import InvalidInput
from agent.domain.heads import Head, Tip, make_head, to_line
from agent.providers.heads_file import HeadsFile


def heads(count: int) -> list[Head]:
    made: list[Head] = []
    for number in range(1, count + 1):
        tip = Tip("run_1", number, "a" * 64)
        made.append(make_head(made[-1] if made else None, [tip], number, b"k" * 32))
    return made


def table(stored: Sequence[Head], page: int = 2) -> Callable[[int], Sequence[Head]]:
    """Return what the database has behind a number, a page at a time."""
    return lambda number: [head for head in stored if head.number > number][:page]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "var" / "heads.jsonl"


def test_it_catches_up_with_all_that_is_new(file: Path) -> None:
    copy, stored = HeadsFile(file), heads(5)
    assert list(copy.lines()) == []
    assert copy.catch_up(table(stored[:3])) == 3
    assert copy.catch_up(table(stored[:3])) == 0
    assert HeadsFile(file).catch_up(table(stored)) == 2
    assert list(copy.lines()) == [to_line(head) for head in stored]


def test_a_line_torn_by_a_crash_is_written_anew(file: Path) -> None:
    copy, stored = HeadsFile(file), heads(3)
    copy.catch_up(table(stored))
    whole = file.read_bytes()
    for length in (len(whole) - 1, len(whole) - 40, 40):
        file.write_bytes(whole[:length])
        assert all(line in map(to_line, stored) for line in copy.lines())
        assert copy.catch_up(table(stored)) > 0
        assert file.read_bytes() == whole


@pytest.mark.parametrize("end", [b"no head\n", b"\xff\n", b"\n", b"x" * 300_000, b"\nx" * 150_000])
def test_an_end_that_is_no_head_is_not_written_behind(file: Path, end: bytes) -> None:
    copy, stored = HeadsFile(file), heads(3)
    copy.catch_up(table(stored[:2]))
    file.write_bytes(file.read_bytes() + end)
    before = file.read_bytes()
    with pytest.raises(InvalidInput, match="last line is not a signed head"):
        copy.catch_up(table(stored))
    # Of a torn line nothing is kept; whatever else stands there stays for people to look at.
    assert before.startswith(file.read_bytes())
    assert file.read_bytes().count(b"\n") == before.count(b"\n")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        HeadsFile(tmp_path).catch_up(table(heads(1)))
