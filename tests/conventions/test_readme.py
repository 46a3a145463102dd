"""The README names all that one can set, type, call or read, and draws the real states."""

import re
from collections.abc import Iterator

import click
import pytest
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from agent.domain.approvals import MOVES, state_diagram
from agent.domain.audit import AuditType
from bot.cli import cli
from bot.settings import Settings
from tests.conventions.routes import routes
from tests.conventions.sources import ROOT, parse, product


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text("utf-8")


def _environment_names(name: str, field: FieldInfo) -> list[str]:
    """Return every environment variable that sets the field."""
    match field.validation_alias or field.alias:
        case str(alias):
            return [alias.upper()]
        case AliasChoices(choices=choices):
            return [str(choice).upper() for choice in choices]
        case _:
            return [f"{Settings.model_config.get('env_prefix', '')}{name}".upper()]


def _commands(group: click.Group, path: str) -> Iterator[str]:
    """Yield each command that does something, as it is typed."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}"


def _named(word: str, text: str) -> bool:
    """Return whether `text` has `word` standing alone, not as a part of another."""
    return re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", text) is not None


def test_every_setting_is_named(readme: str) -> None:
    settings = [
        variable
        for name, field in Settings.model_fields.items()
        for variable in _environment_names(name, field)
    ]
    assert settings
    assert [name for name in settings if not _named(name, readme)] == []


def test_every_command_is_named(readme: str) -> None:
    commands = list(_commands(cli, "agent"))
    assert commands
    assert [command for command in commands if not _named(command, readme)] == []


def test_every_route_is_named(readme: str) -> None:
    # What a part of the path is called inside does not matter to the reader.
    text = re.sub(r"\{\w+\}", "{}", readme)
    # The Slack stand-in listens on an address of its own; only the desk's routes are documented.
    found = [
        route
        for source in product()
        for route in routes(source)
        if not source.under("bot/sandbox") or "/sandbox" in route
    ]
    assert found
    assert [route for route in found if not _named(route, text)] == []


def test_the_audit_tags_that_there_are_are_named_and_no_others(readme: str) -> None:
    (told,) = (line for line in readme.splitlines() if line.startswith("- The audit trail's tags:"))
    named = re.findall(r"`([a-z_.]+)`", told)
    assert sorted(named) == sorted(tag.value for tag in AuditType)


def test_the_state_diagram_is_the_table_of_moves(readme: str) -> None:
    drawn = re.findall(r"^```mermaid\n(.*?)\n```$", readme, flags=re.DOTALL | re.MULTILINE)
    assert state_diagram().strip() in [diagram.strip() for diagram in drawn]
    arrows = [line for line in state_diagram().splitlines() if "-->" in line]
    assert len(arrows) == len(MOVES)


@pytest.mark.parametrize(
    ("word", "text", "named"),
    [
        ("PORT", "set `PORT` first", True),
        ("PORT", "set `SMTP_PORT` first", False),
        ("agent runs list", "`agent runs list --status pending`", True),
        ("agent run", "`agent runs list`", False),
        ("GET /runs", "| `GET /runs?status=` |", True),
        ("GET /runs", "| `GET /runs/{}` |", False),
        ("card.posted", "card.posted.", True),
        ("card", "card.posted", False),
    ],
)
def test_a_word_is_named_only_where_it_stands_alone(word: str, text: str, named: bool) -> None:
    assert _named(word, text) is named


def test_a_route_is_read_from_its_decorator() -> None:
    text = """
router = APIRouter(prefix="/approvals")

@router.get("")
def listed(): ...

@router.post("/{approval_id}/approve", status_code=200)
def approve(): ...

def make():
    app = FastAPI()
    app.mount("/widget", files)
    app.add_api_route("/healthz", healthz)

    @app.api_route("/api/{method}", methods=["GET", "POST"])
    def call(): ...
"""
    assert list(routes(parse("x.py", text))) == [
        "/widget",
        "GET /api/{}",
        "GET /approvals",
        "GET /healthz",
        "POST /api/{}",
        "POST /approvals/{}/approve",
    ]
