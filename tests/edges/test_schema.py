"""The schema on both databases: migrations lead to the tables, and the guards hold."""

import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, literal, select, text
from sqlalchemy import table as sql_table

from agent.domain.audit import AuditType
from storage import audit, schema
from storage.engine import open_engine
from storage.single import AlreadyRunning, hold_file
from storage.tables import metadata
from storage.times import from_micros, time_or_none, to_micros
from storage.transaction import Conflict, Store
from tests.support.doubles import START

# However a database puts it when a guard of its own stands in the way.
REFUSED = (Conflict, sqlite3.Error, psycopg.Error)


def test_the_migrations_lead_to_the_tables(database_url: str) -> None:
    engine = open_engine(database_url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert schema.current(connection) == schema.newest()
    engine.dispose()


def test_the_migrations_lead_back_and_forth(database_url: str) -> None:
    engine = open_engine(database_url)
    with engine.begin() as connection:
        command.downgrade(schema.configuration(connection), "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    assert schema.upgrade(engine) == schema.newest()
    assert schema.upgrade(engine) == schema.newest()
    engine.dispose()


def test_the_way_back_leaves_nothing_that_the_version_before_cannot_read(
    database_url: str,
) -> None:
    engine = open_engine(database_url)
    with engine.begin() as connection:
        for table, values in (
            (
                "actors",
                {"id": "act_1", "name": "Sam", "kind": "member", "active": 1, "created_at": 1},
            ),
            ("role_members", {"actor_id": "act_1", "role": "support_agent", "source": "fixed"}),
            (
                "conversations",
                {"id": "cnv_1", "created_at": 1, "language": "de", "rating": 5, "rated_at": 2},
            ),
            (
                "events",
                {"conversation_id": "cnv_1", "seq": 1, "id": "msg_1", "type": "rating"}
                | {"data": '{"score":5}', "at": 2},
            ),
            (
                "alerts",
                {"subject": "unattended:cnv_1:1", "kind": "unattended", "body": "{}"}
                | {"opened_at": 1},
            ),
        ):
            connection.execute(metadata.tables[table].insert(), values)
        for number, kind in enumerate(("message", "customer_mail", "hand_off_line")):
            row = {"id": f"out_{number}", "lane": "mail", "kind": kind, "key": f"k{number}"}
            row |= {"body": "{}", "created_at": 1, "next_at": 1}  # type: ignore[dict-item]
            connection.execute(metadata.tables["outbox"].insert(), row)
        command.downgrade(schema.configuration(connection), "0004")
        left = {
            table: len(connection.execute(select(literal(1)).select_from(sql_table(table))).all())
            for table in ("role_members", "conversations", "events", "alerts", "outbox")
        }
    assert left == {
        "role_members": 0,
        "conversations": 1,
        "events": 0,
        "alerts": 0,
        "outbox": 1,
    }
    assert schema.upgrade(engine) == schema.newest()
    engine.dispose()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE audit SET body = 'x'", "DELETE FROM audit"],
)
def test_the_trail_cannot_be_changed(store: Store, statement: str) -> None:
    fact = audit.Fact(AuditType.SHOP_IMPORTED, "somebody", "cli", {})
    with store.transaction() as tx:
        audit.append(tx, None, START, fact)
    with pytest.raises(REFUSED, match="append-only"), store.transaction() as tx:
        tx.change(text(statement))
    with store.transaction(write=False) as tx:
        assert [fact.type for fact in audit.walk(tx)] == ["shop.imported"]


def test_the_trail_cannot_be_emptied(store: Store) -> None:
    # SQLite does not know the statement at all; PostgreSQL needs a guard of its own for it.
    why = "syntax error" if store.dialect == "sqlite" else "append-only"
    with pytest.raises(REFUSED, match=why), store.transaction() as tx:
        tx.change(text("TRUNCATE audit"))


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("breaker", "(id, state, generation, stopped) VALUES (2, 'closed', 0, 0)"),
        ("breaker", "(id, state, generation, stopped) VALUES (1, 'ajar', 0, 0)"),
        (
            "outbox",
            (
                "(id, lane, kind, key, body, attempts, ambiguous, created_at) "
                "VALUES ('o', 'pigeon', 'k', 'k', '{}', 0, 0, 0)"
            ),
        ),
    ],
)
def test_the_database_refuses_what_the_code_would_never_write(
    store: Store, table: str, row: str
) -> None:
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.change(text(f"INSERT INTO {table} {row}"))


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    fact = audit.Fact(AuditType.SHOP_IMPORTED, "somebody", "cli", {})

    def fail() -> None:
        with store.transaction() as tx:
            audit.append(tx, None, START, fact)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with store.transaction(write=False) as tx:
        assert list(audit.walk(tx)) == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://x/y"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite"):
        open_engine(url)


def test_a_database_file_serves_one_desk(tmp_path: Path) -> None:
    database = tmp_path / "desk.db"
    with hold_file(database), pytest.raises(AlreadyRunning, match="PostgreSQL"):
        hold_file(database)
    hold_file(database).close()


@pytest.mark.parametrize(
    "moment",
    [
        START,
        START + timedelta(microseconds=1),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 7, 1, 12, 0, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_times_keep_their_microseconds(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ValueError, match="naive"):
        to_micros(START.replace(tzinfo=None))
    assert time_or_none(None) is None
