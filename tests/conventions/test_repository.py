"""The files speak of the product, not of the machines it was written on."""

import re

import pytest

from tests.conventions.sources import ROOT, files

# A folder of one machine: whoever clones the repository has it somewhere else.
_MACHINE_PATH = re.compile(r"(?<![\w.}/-])/(?:work|root|home/\w+|Users/\w+)/")
# Where packages come from is the business of each machine's own settings.
_REGISTRY = re.compile(
    r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|npmjs\.com|deb\.debian\.org|proxy\.golang\.org)\b"
)


def _offences(text: str) -> list[str]:
    return [
        f"{number} {match[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in [*_MACHINE_PATH.finditer(line), *_REGISTRY.finditer(line)]
    ]


def _text(content: bytes) -> str:
    """Return `content` as text, and pictures and fonts as none."""
    return "" if b"\0" in content else content.decode("utf-8")


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): offences
        for path in files()
        if (offences := _offences(_text(path.read_bytes())))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    ["cd /" + "work/main", "'/" + "root/.cache'", "https://pypi" + ".org/simple"],
)
def test_such_a_line_would_be_seen(line: str) -> None:
    assert _offences(f"first\n{line}")[0].startswith("2 ")


@pytest.mark.parametrize(
    "line",
    ["GET /sandbox/slack/home?user=U1", "docs/work/notes", "{base}/work/", "the PyPI package"],
)
def test_ordinary_words_are_fine(line: str) -> None:
    assert _offences(line) == []
