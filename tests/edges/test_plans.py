"""What is looked at often reads along indexes, and nothing of what is finished and old."""

from collections.abc import Iterator
from types import ModuleType

import pytest
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement, TextClause
from sqlalchemy.sql.selectable import Select

from storage import homes, queue, stats
from storage.engine import open_engine

# Tables that grow for as long as the desk lives.
SCANS = tuple(f"SCAN {table}" for table in ("approvals", "decisions", "vote"))


def statements(module: ModuleType) -> Iterator[tuple[str, ClauseElement]]:
    """Yield every reading statement of a module of storage by its name."""
    for name, value in vars(module).items():
        parts = value if isinstance(value, tuple) else (value,)
        for number, part in enumerate(parts):
            reads = isinstance(part, Select) or (
                isinstance(part, TextClause) and part.text.startswith("SELECT")
            )
            if reads:
                yield f"{module.__name__}.{name}[{number}]", part


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_look_walks_through_all_there_ever_was(database_url: str) -> None:
    engine = open_engine(database_url)
    found = [one for module in (queue, stats, homes) for one in statements(module)]
    assert len(found) > 15
    walked = {}
    with engine.connect() as connection:
        for name, statement in found:
            compiled = statement.compile(dialect=engine.dialect)
            assert isinstance(compiled, SQLCompiler)
            # Before anything is known of the rows the planner goes by the indexes alone.
            rows = connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {compiled}", (1,) * len(compiled.positiontup or ())
            )
            steps = [str(row[-1]) for row in rows]
            walked[name] = [step for step in steps if step.startswith(SCANS)]
    assert {name: steps for name, steps in walked.items() if steps} == {}
    engine.dispose()
