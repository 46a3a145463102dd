"""Bringing a database to the newest schema, and asking which one it has."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

# Two replicas that start together must not migrate at once; any number serves as the lock's name.
_MIGRATION_LOCK = 7_203_411


def upgrade(engine: Engine) -> str:
    """Run every missing migration in one transaction and return the revision reached."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(:lock)")
            connection.execute(lock, {"lock": _MIGRATION_LOCK})
        command.upgrade(configuration(connection), "head")
        return current(connection) or ""


def current(connection: Connection) -> str | None:
    """Return the database's revision, None for an empty database."""
    return MigrationContext.configure(connection).get_current_revision()


def newest() -> str:
    """Return the newest revision that this code knows."""
    return ScriptDirectory(str(_folder())).get_current_head() or ""


def known() -> frozenset[str]:
    """Return every revision that this code knows."""
    scripts = ScriptDirectory(str(_folder()))
    return frozenset(script.revision for script in scripts.walk_revisions())


def _folder() -> Path:
    return Path(__file__).parent / "migrations"


def configuration(connection: Connection) -> Config:
    """Return Alembic's configuration for a connection, with the desk's migrations."""
    config = Config()
    config.set_main_option("script_location", str(_folder()))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
