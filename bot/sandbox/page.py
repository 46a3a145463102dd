"""The demo page: the shop with its chat on the left, Slack on the right."""

import mimetypes
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope
from typing_extensions import override

from bot.manifest import read_manifest
from bot.sandbox.cast import PEOPLE, USER_GROUPS
from bot.sandbox.slack_config import SlackSandboxConfig

_FILES = Path(__file__).parent / "static"
_WORKSPACE = "workspace.json"

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": "; ".join(_POLICY),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        # Kept, but asked about each time: the files belong to this start of the desk.
        "Cache-Control": "no-cache",
    }
)


class _DemoPage(StaticFiles):
    """The page's files, and who is in the workspace, which no route of Slack tells a page."""

    @override
    async def get_response(self, path: str, scope: Scope) -> Response:
        shown = path == _WORKSPACE and scope["method"] in ("GET", "HEAD")
        response = JSONResponse(_workspace()) if shown else await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def demo_page() -> ASGIApp:
    """Return the page and its files, under a policy that lets nothing else in."""
    # Some systems take scripts for plain text, which no browser runs as a module.
    mimetypes.add_type("text/javascript", ".js")
    return _DemoPage(directory=_FILES, html=True)


def _workspace() -> dict[str, object]:
    return {
        "name": SlackSandboxConfig.team_name,
        "app": {"user_id": SlackSandboxConfig.bot_user_id, "name": "Supportdesk"},
        "people": [
            {
                "id": person.id,
                "user_id": person.slack_user_id,
                "name": person.name,
                "title": person.title,
                "initials": person.initials,
                "colour": person.colour,
                "roles": list(person.roles),
                "guest": person.is_restricted or person.is_ultra_restricted,
            }
            for person in PEOPLE
        ],
        "user_groups": [{"id": one.id, "handle": one.handle} for one in USER_GROUPS],
        "commands": [
            {
                "name": command["command"],
                "hint": command.get("usage_hint", ""),
                "about": command["description"],
            }
            for command in read_manifest()["features"]["slash_commands"]
        ],
    }
