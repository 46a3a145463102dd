"""The demo page: the shop with its chat on the left, Slack on the right."""

from pathlib import Path

from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

_FILES = Path(__file__).parent / "static"


def demo_page() -> ASGIApp:
    """Return the page and its files."""
    return StaticFiles(directory=_FILES, html=True)
