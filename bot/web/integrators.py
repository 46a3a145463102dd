"""The page for whoever puts the chat into a shop: plain HTML without a script."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

_PAGE = Path(__file__).with_name("integrators.html")

router = APIRouter(include_in_schema=False)


@router.get("/widget/")
def integrators() -> HTMLResponse:
    """Show how the chat gets into a page."""
    return HTMLResponse(_page(), headers={"Content-Security-Policy": _policy()})


@cache
def _page() -> str:
    return _PAGE.read_text("utf-8")


@cache
def _policy() -> str:
    """Return a policy under which the page's own styles apply, and nothing else."""
    style = _page().partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
