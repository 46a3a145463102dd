"""The auditor's command: whole after a story, broken after one changed byte."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DatabaseError

from tests.support.outside import database, write_rows
from tests.support.postgres import fresh_database
from tests.support.process import DeskProcess, running_desk


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeskProcess]:
    """Tell a short story and end the desk in good order; what it left behind stays."""
    with (
        database(request.param, request) as url,
        running_desk(tmp_path_factory.mktemp("desk"), url) as desk,
    ):
        desk.opens_chat("cus_clara").says("refund $5 on ORD-1002")
        approval = desk.opens_chat("cus_david").parks("refund $89 on ORD-1015")
        desk.decides("approve", approval, desk.staff("ana"))
        desk.becomes(approval["id"], "executed")
        desk.opens_chat("cus_clara").parks("refund $160 on ORD-1001")
        desk.stop()
        yield desk


@contextmanager
def copied(
    desk: DeskProcess, request: pytest.FixtureRequest, folder: Path
) -> Iterator[DeskProcess]:
    """Yield the same desk, not running, over a copy of its database."""
    url = make_url(desk.database_url)
    if url.database is not None and url.get_backend_name() == "sqlite":
        with (
            closing(sqlite3.connect(url.database)) as source,
            closing(sqlite3.connect(folder / "desk.db")) as target,
        ):
            source.backup(target)
        yield over(desk, folder, f"sqlite:///{folder / 'desk.db'}")
        return
    admin = request.getfixturevalue("postgres_admin")
    with fresh_database(admin, template=url.database or "") as copy:
        yield over(desk, folder, copy)


def over(desk: DeskProcess, folder: Path, url: str) -> DeskProcess:
    return replace(desk, folder=folder, database_url=url, env={**desk.env, "DATABASE_URL": url})


def test_the_trail_of_a_story_is_whole_and_cannot_be_changed(
    ended: DeskProcess, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with copied(ended, request, tmp_path) as desk:
        for change in ("UPDATE audit SET at = at + 1", "DELETE FROM audit"):
            with pytest.raises(DatabaseError, match="append-only"):
                write_rows(desk.database_url, change)
        said = desk.agent("audit", "verify").split()
        assert (said[0], said[-2:]) == ("ok:", ["3", "approvals"])


CHANGES = {
    "one byte of an event": (
        "UPDATE audit SET body = replace(body, '16000', '16001') WHERE type = 'proposal.parked'",
        "(link)",
    ),
    "one byte of a payload": (
        "UPDATE approvals SET payload = replace(payload, '16000', '16001')",
        "(payload)",
    ),
}


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES)
def test_one_changed_byte_is_found(
    ended: DeskProcess,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    change: str,
    named: str,
) -> None:
    with copied(ended, request, tmp_path) as desk:
        write_rows(desk.database_url, *without_guards(desk), change)
        said = desk.agent("audit", "verify", code=1)
        assert "broken: " in said
        assert named in said


def without_guards(desk: DeskProcess) -> list[str]:
    """Return the statements with which whoever owns the database gets round its triggers."""
    if desk.database_url.startswith("postgresql"):
        return [
            "ALTER TABLE audit DISABLE TRIGGER USER",
            "ALTER TABLE approvals DISABLE TRIGGER USER",
        ]
    names = desk.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    return [f"DROP TRIGGER {row['name']}" for row in names]
