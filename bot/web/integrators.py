"""The page for whoever puts the chat into a shop: plain HTML without a script."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from bot.web.widget_files import content_hash, widget_files
from bot.web.widget_scripts import PAGE, PANEL

_PAGE = Path(__file__).with_name("integrators.html")

router = APIRouter(include_in_schema=False)


@router.get("/widget/")
def integrators() -> HTMLResponse:
    """Show how the chat gets into a page."""
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _policy()})


@cache
def _page() -> str:
    """Return the page, with the addresses and checksums of the files that this desk serves."""
    page = _PAGE.read_text("utf-8").replace("{{hash}}", content_hash())
    for name in (PAGE, PANEL):
        page = page.replace(f"{{{{{name}}}}}", f"sha384-{_sha384(name)}")
    return page


def _sha384(name: str) -> str:
    return base64.b64encode(hashlib.sha384(widget_files()[name].content).digest()).decode()


@cache
def _policy() -> str:
    """Return a policy under which the page's own styles apply, and nothing else."""
    style = _page().partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
