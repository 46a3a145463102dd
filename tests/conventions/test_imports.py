"""Each import contract holds, and breaks when somebody breaks it."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conventions.sources import PACKAGES, ROOT

_CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}


class Planted(NamedTuple):
    """One import where it may not be, and the contract that forbids it."""

    contract: str
    file: str
    imports: str


PLANTED = [
    Planted("layers", "storage/tables.py", "agent.steps"),
    Planted("layers", "agent/domain/money.py", "agent.ports"),
    Planted("layers", "agent/providers/__init__.py", "agent.steps"),
    Planted("layers", "agent/steps/__init__.py", "bot.settings"),
    Planted("pure-domain", "agent/domain/money.py", "sqlalchemy"),
    Planted("pure-domain", "agent/domain/deadlines.py", "time"),
    Planted("sql-in-storage", "agent/steps/decide.py", "sqlalchemy"),
    Planted("sql-in-storage", "bot/web/__init__.py", "psycopg"),
    Planted("slack-in-one-place", "bot/web/__init__.py", "slack_sdk"),
    Planted("slack-in-one-place", "agent/steps/announce.py", "slack_bolt"),
    Planted("openai-in-one-place", "agent/steps/turn.py", "openai"),
    Planted("edges-apart", "bot/web/__init__.py", "bot.slack"),
    Planted("edges-apart", "bot/jobs.py", "bot.sandbox"),
]


def _copy(to: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, to / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    return to


def _lint(tree: Path, contract: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--contract", contract],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("contract", _CONTRACTS)
def test_the_contract_is_kept(contract: str, tmp_path: Path) -> None:
    result = _lint(_copy(tmp_path), contract)
    assert result.returncode == 0, result.stdout
    assert "1 kept, 0 broken" in result.stdout


@pytest.mark.parametrize("planted", PLANTED, ids=lambda p: f"{p.file} imports {p.imports}")
def test_a_planted_import_breaks_the_contract(planted: Planted, tmp_path: Path) -> None:
    tree = _copy(tmp_path)
    with (tree / planted.file).open("a") as file:
        file.write(f"\nimport {planted.imports}\n")
    result = _lint(tree, planted.contract)
    assert result.returncode == 1
    # The report is wrapped to a width of its own.
    report = " ".join(result.stdout.split())
    assert f"{_CONTRACTS[planted.contract]['name']} BROKEN" in report
    module = planted.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert f"{module} -> {planted.imports}" in report


def test_every_contract_is_tried() -> None:
    assert {planted.contract for planted in PLANTED} == set(_CONTRACTS)


def test_every_part_of_the_agent_has_its_layer() -> None:
    layered = {
        module.strip() for layer in _CONTRACTS["layers"]["layers"] for module in layer.split("|")
    }
    parts = {
        f"agent.{path.stem}"
        for path in (ROOT / "agent").iterdir()
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    assert parts == {module for module in layered if module.startswith("agent.")}
