"""SQLite has one host and one server: a second one is refused at start."""

import fcntl
from pathlib import Path
from typing import IO


class AlreadyRunning(Exception):
    """Another server holds this database file."""


def hold_file(database: Path) -> IO[str]:
    """Hold `<database>.lock` until the returned file is closed or the process ends.

    Raises AlreadyRunning. The system lets go of it at a crash, so no stale lock is left behind.
    """
    lock = database.with_name(f"{database.name}.lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise AlreadyRunning(
            f"another desk runs on {database}; SQLite serves one, use PostgreSQL for more"
        ) from error
    return lock
