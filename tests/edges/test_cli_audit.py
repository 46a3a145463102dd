"""`agent audit`: the trail is verified with its heads, and taken along for others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.domain.approvals import Status
from agent.domain.roles import Role
from agent.providers.heads_file import HeadsFile
from agent.steps.heads import Seal, sign_heads
from agent.steps.verify import Witness
from storage.transaction import Store
from tests.support.agentack import check_by_command
from tests.support.desk import Story, tell_story
from tests.support.doubles import CountingIds, HandClock
from tests.support.intruder import intrude
from tests.support.terminal import Terminal

KEY = b"k" * 32


@pytest.fixture
def story(store: Store, clock: HandClock, ids: CountingIds) -> Story:
    """Tell of a refund that was approved and paid, and one that waits."""
    story = tell_story(store, clock, ids)
    ana = story.hire("ana", Role.REFUND_APPROVER)
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    story.approves(ana, story.only(Status.PENDING))
    story.model.says("It is paid.")
    story.rests()
    clock.advance(hours=1)
    story.asks_refund(story.opens_chat("cus_david"), "89.00", order="ORD-1015")
    return story


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heads.jsonl"


@pytest.fixture
def terminal(story: Story, file: Path) -> Terminal:
    return Terminal(story, witness=Witness(KEY, HeadsFile(file)))


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


# --- verify ---------------------------------------------------------------------------------------


def test_signed_heads_are_verified(story: Story, terminal: Terminal, file: Path) -> None:
    sign_heads(story.desk, Seal(KEY, HeadsFile(file)))
    said = terminal.run("audit", "verify").stdout
    assert said.startswith("ok: ")
    assert said.endswith(", 2 approvals, 1 signed heads\n")
    without = replace(terminal, witness=Witness(None, HeadsFile(file)))
    assert without.run("audit", "verify").stdout.endswith(
        ", 1 signed heads (signatures not checked: no AUDIT_KEY)\n"
    )
    forged = replace(terminal, witness=Witness(b"another" * 8))
    assert forged.run("audit", "verify", code=1).stdout == (
        "head 1: the signature is not made with this key over this text (signature)\n"
    )


def test_a_tail_that_was_cut_is_named(story: Story, terminal: Terminal, file: Path) -> None:
    sign_heads(story.desk, Seal(KEY, HeadsFile(file)))
    run = story.only(Status.PENDING).run_id
    events = sum(line["chain"] == run for line in exported(terminal))
    store = story.desk.store
    intrude(store, "DELETE FROM audit WHERE chain = :run AND seq = :seq", run=run, seq=events)
    broken = terminal.run("audit", "verify", code=1)
    assert broken.stdout == (
        f"chain {run} seq {events}: the end is cut off: head 1 covers seq {events} (cut)\n"
    )
    assert broken.stderr.startswith("broken: 1 problems in ")


def test_an_auditor_brings_their_own_copy(
    story: Story, terminal: Terminal, file: Path, tmp_path: Path
) -> None:
    sign_heads(story.desk, Seal(KEY, HeadsFile(file)))
    mine = tmp_path / "mine.jsonl"
    mine.write_bytes(file.read_bytes())
    file.unlink()
    intrude(story.desk.store, "DELETE FROM audit_heads")
    terminal.run("audit", "verify", code=1)
    found = terminal.run("audit", "verify", "--heads", str(mine), code=1)
    assert found.stdout == "head 1: is in the copy and not in the table (copy)\n"
    terminal.run("audit", "verify", "--heads", str(tmp_path / "none.jsonl"), code=2)


def test_a_copy_that_cannot_be_read(terminal: Terminal) -> None:
    unreadable = replace(terminal, witness=Witness(KEY, HeadsFile(Path("/proc/self/mem"))))
    assert unreadable.run("audit", "verify", code=1).stderr.startswith("unreadable: the copy")


# --- export ---------------------------------------------------------------------------------------


def exported(terminal: Terminal, *words: str) -> list[dict[str, object]]:
    return lines(terminal.run("audit", "export", "--format", "jsonl", *words).stdout)


def test_events_are_exported_as_they_are_hashed(story: Story, terminal: Terminal) -> None:
    every = exported(terminal)
    assert len(every) == len(story.trail())
    run = story.only(Status.EXECUTED).run_id
    of_run = exported(terminal, "--run", run)
    assert of_run == [line for line in every if line["chain"] == run]
    early = exported(terminal, "--until", "2026-11-29T13:00:00+01:00")
    assert early == []
    late = exported(terminal, "--since", "2026-11-29T12:30:00Z")
    assert late == [line for line in every if line["chain"] != run]


def test_an_export_goes_to_a_file(terminal: Terminal, tmp_path: Path) -> None:
    target = tmp_path / "trail.jsonl"
    words = ("audit", "export", "--format", "jsonl")
    assert terminal.run(*words, "--output", str(target)).stdout == ""
    assert target.read_text("utf-8") == terminal.run(*words).stdout
    terminal.run(*words, "--output", str(tmp_path / "none" / "trail.jsonl"), code=2)


def test_a_trace_passes_the_checker(terminal: Terminal, tmp_path: Path) -> None:
    said = terminal.run("audit", "export", "--format", "agentack")
    assert said.stderr == "left out: 1 requests that are still open\n"
    code, verdict = check_by_command(said.stdout, tmp_path)
    assert (code, "PASS" in verdict) == (0, True)
    later = ("--since", "2026-11-29T12:30:00Z")
    (end,) = lines(terminal.run("audit", "export", "--format", "agentack", *later).stdout)
    assert end["type"] == "session_end"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--format", "csv"),
        ("--format", "jsonl", "--since", "yesterday"),
        ("--format", "jsonl", "--since", "2026-11-29T12:00:00"),
        ("--format", "jsonl", "--run", "a b"),
    ],
)
def test_wrong_words_are_refused(terminal: Terminal, words: tuple[str, ...]) -> None:
    terminal.run("audit", "export", *words, code=2)
