"""The lock files pin everything and name no place to fetch it from."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.conventions.sources import ROOT

RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"

_PINNED = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9-]*)(\[[a-z0-9,-]+\])?==(?P<version>[^\s;]+)( ; [^\\#@]+)?"
    r"(?P<hashes>( --hash=sha256:[0-9a-f]{64})+)"
)


def _entries(text: str) -> list[str]:
    """Return one line a requirement, continuation lines joined."""
    joined = re.sub(r" *\\\n\s*", " ", text)
    return [line for line in joined.splitlines() if line]


def _pins(lock: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Return name -> (version, hashes)."""
    pins = {}
    for entry in _entries((ROOT / lock).read_text("utf-8")):
        if match := _PINNED.fullmatch(entry):
            pins[match["name"]] = match["version"], frozenset(match["hashes"].split())
    return pins


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_every_line_is_one_version_with_its_hashes_and_nothing_else(lock: str) -> None:
    entries = _entries((ROOT / lock).read_text("utf-8"))
    assert len(entries) > 20
    assert [entry for entry in entries if not _PINNED.fullmatch(entry)] == []


@pytest.mark.parametrize(
    "line",
    [
        "click>=8.5 --hash=sha256:" + "0" * 64,
        "click==8.5.1",
        "click==8.5.1 --hash=md5:" + "0" * 32,
        "click @ file:///wheels/click.whl --hash=sha256:" + "0" * 64,
        "--index-url somewhere",
        "# made by",
    ],
)
def test_anything_else_would_be_seen(line: str) -> None:
    assert not _PINNED.fullmatch(line)


def test_the_development_lock_holds_the_runtime_lock() -> None:
    assert _pins(RUNTIME).items() <= _pins(DEVELOPMENT).items()


def test_the_locks_answer_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    asked = {
        RUNTIME: [*project["project"]["dependencies"], *extras["build"]],
        DEVELOPMENT: extras["dev"],
    }
    # The environment installs the project itself without a build environment of its own.
    asked[RUNTIME] += project["build-system"]["requires"]
    unanswered = [
        f"{lock}: {requirement}"
        for lock, requirements in asked.items()
        for requirement in map(Requirement, requirements)
        if (pin := _pins(lock).get(requirement.name)) is None or pin[0] not in requirement.specifier
    ]
    assert unanswered == []
