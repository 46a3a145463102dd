"""The tests' own PostgreSQL keeps its promises."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.postgres import fresh_database

ROOT = Path(__file__).parents[2]


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    address = make_url(url).set(drivername="postgresql")
    return psycopg.connect(address.render_as_string(hide_password=False))


def test_a_fresh_database_is_empty_and_gone_afterwards(postgres_admin: str) -> None:
    with fresh_database(postgres_admin) as url, _connect(url) as connection:
        connection.execute("CREATE TABLE orders (id text)")
        connection.execute("INSERT INTO orders VALUES ('ORD-1001')")
        connection.commit()
        assert connection.execute("SELECT id FROM orders").fetchall() == [("ORD-1001",)]
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        _connect(url)


def test_a_database_can_be_the_template_of_the_next(postgres_admin: str) -> None:
    with fresh_database(postgres_admin) as first:
        with _connect(first) as connection:
            connection.execute("CREATE TABLE orders (id text)")
        name = make_url(first).database
        assert name is not None
        with (
            fresh_database(postgres_admin, template=name) as second,
            _connect(second) as connection,
        ):
            assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(0,)]


def test_a_connection_left_open_does_not_keep_the_database(postgres_admin: str) -> None:
    with fresh_database(postgres_admin) as url:
        connection = _connect(url)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()


KILLED = """
import sys
from tests.support.postgres import running_postgres

with running_postgres() as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def test_the_server_ends_with_the_tests_even_when_they_are_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as tests:
        assert tests.stdout is not None
        url = tests.stdout.readline().strip()
        connection = _connect(url)
        tests.kill()
    # Blocks until the server is gone and with it the connection.
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT pg_sleep(60)")
    connection.close()
