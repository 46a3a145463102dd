"""A look at the database: is it there, of this code's schema, and can it be written."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.findings import Finding, failed, fine, skipped, warning
from storage.checkup import DatabaseLook, look_at_database

_DRIFT_WORTH_TELLING = timedelta(minutes=1)
_UPGRADE = "Start the desk once, or run agent db upgrade."


def look(url: str, now: datetime) -> Iterator[Finding]:
    """Look at the database without changing it; `now` is this machine's own clock."""
    found = look_at_database(url, now)
    if found.problem is not None:
        remedy = "See that DATABASE_URL is right and that the server or the file can be reached."
        yield failed("database", f"{found.name}: {found.problem}", remedy)
        return
    yield _schema(found)
    if found.ahead is None:
        yield skipped("database clock", "SQLite has none of its own")
    elif abs(found.ahead) >= _DRIFT_WORTH_TELLING:
        seconds = int(found.ahead.total_seconds())
        says = (
            f"the database's clock is {seconds:+d} s from this machine's, and deadlines follow it"
        )
        yield warning("database clock", says, "Let both clocks be set by NTP.")
    else:
        yield fine("database clock", "it agrees with this machine's")


def _schema(found: DatabaseLook) -> Finding:
    if found.revision is None:
        return failed("database", f"{found.name} is empty", _UPGRADE)
    if found.revision not in found.known:
        says = f"{found.name} has the schema {found.revision}, which this code does not know"
        return failed("database", says, "Run the version of the desk that made it, or a newer one.")
    if found.revision != found.newest:
        says = f"{found.name} has the schema {found.revision}, this code needs {found.newest}"
        return failed("database", says, _UPGRADE)
    if found.unwritable is not None:
        says = f"{found.name} cannot be written: {found.unwritable}"
        return failed("database", says, "Give the desk's user the right to write to it.")
    return fine("database", f"{found.name} has the schema {found.revision} and can be written")
