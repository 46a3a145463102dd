"""A desk that runs with a key signs its trail, to the last event before it ends."""

import json
from pathlib import Path

import pytest

from tests.support.outside import database, eventually
from tests.support.process import made_desk, running_desk

KEY = "a-key-that-is-long-enough-for-a-head"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_desk_with_a_key_signs_its_trail(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with (
        database(kind, request) as url,
        running_desk(tmp_path, url, AUDIT_KEY=KEY, AUDIT_HEADS_FILE="heads/here.jsonl") as desk,
    ):
        file = tmp_path / "heads" / "here.jsonl"
        assert "heads are signed, and copied to heads/here.jsonl" in desk.log
        eventually(file.exists, "copy of the heads")
        before = len(file.read_text("utf-8").splitlines())
        desk.opens_chat("cus_clara").parks("refund $160 on ORD-1001")
        desk.stop()
        assert desk.rows("SELECT * FROM audit_grown") == []
        heads = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert len(heads) > before
        assert [head["number"] for head in heads] == list(range(1, len(heads) + 1))
        said = desk.agent("audit", "verify")
        assert said.startswith("ok: ")
        assert said.endswith(f", {len(heads)} signed heads\n")


def test_a_desk_without_a_key_says_so_and_signs_nothing(tmp_path: Path) -> None:
    with running_desk(tmp_path) as desk:
        assert "audit     no signed heads (no AUDIT_KEY)" in desk.log
        desk.stop()
        assert desk.rows("SELECT * FROM audit_heads") == []
        assert not (tmp_path / "var").exists()


def test_a_key_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with made_desk(tmp_path, AUDIT_KEY="short") as desk:
        process = desk.launch()
        eventually(lambda: process.poll() is not None, "end of the desk")
        assert process.returncode == 2
        assert "AUDIT_KEY: is shorter than 32 bytes" in desk.log
        assert "'short'" not in desk.log
