"""The README's commands do what it says, typed as they stand there."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import unavailable
from tests.support.process import DeskProcess, running_desk

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = [
    line
    for block in _BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run a desk beside an order export."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copyfile(ROOT / "tests/data/orders_export_small.csv", folder / "orders_export.csv")
    with running_desk(folder) as desk:
        yield desk


@pytest.fixture(scope="module")
def waiting(desk: DeskProcess) -> dict[str, str]:
    """Return the request that waits."""
    return desk.opens_chat("cus_clara").parks("refund $60 on ORD-1001")


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_knows_the_target(command: str) -> None:
    make = shutil.which("make")
    if make is None:
        unavailable("make")
    target = command.rsplit(maxsplit=1)[-1]
    done = subprocess.run(
        [make, "-n", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith(".venv/bin/agent")])
def test_the_agent_command_runs_as_it_stands(
    desk: DeskProcess, waiting: dict[str, str], command: str
) -> None:
    assert desk.agent(*filled_in(desk, waiting, command)[1:])


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("curl")])
def test_a_call_runs_as_it_stands(desk: DeskProcess, waiting: dict[str, str], command: str) -> None:
    if shutil.which("curl") is None:
        unavailable("curl")
    words = [*filled_in(desk, waiting, command), "--fail-with-body"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)


def test_every_command_is_run() -> None:
    known = ("make", ".venv/bin/agent", "curl")
    assert [c for c in COMMANDS if not c.startswith(known)] == []


def filled_in(desk: DeskProcess, waiting: dict[str, str], command: str) -> list[str]:
    """Return the command's words, for the request that waits and a person who may decide."""
    typed = (
        command.replace("APPROVAL_ID", waiting["id"])
        .replace("RUN_ID", waiting["run_id"])
        .replace("PAYLOAD_HASH", waiting["payload_hash"])
        .replace("http://localhost:3000", desk.url)
        .replace("$TOKEN", desk.person("ana")["api_token"])
    )
    return shlex.split(typed)
