"""The README's commands do what it says, typed as they stand there."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
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


AGENT = ".venv/bin/agent "
EXPORT, CHECK = (
    next(c for c in COMMANDS if c.startswith(start))
    for start in (f"{AGENT}audit export", ".venv/bin/agentack ")
)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith(AGENT) and c != EXPORT])
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


def test_an_exported_trace_passes_the_checker(desk: DeskProcess) -> None:
    parked = desk.opens_chat("cus_yuki").parks("My cooker arrived broken, I want my money back")
    assert desk.decides("approve", parked, desk.staff("ana")).status_code == httpx.codes.OK
    desk.becomes(parked["id"], "executed")
    desk.agent(*shlex.split(EXPORT)[1:])

    trace = desk.folder / "trace.jsonl"
    assert parked["id"] in trace.read_text("utf-8")
    words = [str(trace) if word == trace.name else word for word in shlex.split(CHECK)[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "agentack.cli", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_is_run() -> None:
    known = ("make", AGENT, "curl", CHECK)
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
