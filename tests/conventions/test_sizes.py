"""Nothing grows past what a person can hold."""

from tests.conventions.sizes import (
    FILE_LIMIT,
    FUNCTION_LIMIT,
    Size,
    file_sizes,
    function_sizes,
    over,
)
from tests.conventions.sources import parse, sources


def test_no_function_is_over_the_limit() -> None:
    # A migration is one list of statements that nobody edits later.
    written = [s for s in sources() if not s.under("storage/migrations/versions")]
    assert over(FUNCTION_LIMIT, function_sizes(written)) == []


def test_no_file_is_over_the_limit() -> None:
    assert over(FILE_LIMIT, file_sizes()) == []


def test_a_function_is_measured_from_its_name_to_its_end() -> None:
    source = parse(
        "x.py",
        "@cache\nclass A:\n    @cache\n    def long(self):\n        a = 1\n\n        b = 2\n",
    )
    assert list(function_sizes([source])) == [Size(4, "x.py:4 long")]


def test_over_is_strictly_over_and_longest_first() -> None:
    assert over(2, [Size(3, "a"), Size(2, "b"), Size(9, "c")]) == ["9 c", "3 a"]
