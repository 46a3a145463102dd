"""The widget's files as the shop's pages load them: from any origin, packed, kept for a while."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from fastapi import APIRouter, Request, Response

from bot.web.problems import not_found
from bot.web.widget_scripts import served_texts

# The address that shops paste: it always serves the files of the desk that runs.
VERSION = "v1"

_TYPES = {"js": "text/javascript; charset=utf-8", "json": "application/json; charset=utf-8"}
_BRIEFLY = "public, max-age=300"
_FOR_GOOD = "public, max-age=31536000, immutable"
_HASH_CHARACTERS = 16

# Files are no part of the API, and one function that answers GET and HEAD would be in it twice.
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class WidgetFile:
    """One file as it goes out; `packed` is its gzip, `digest` names its content."""

    content: bytes
    packed: bytes
    digest: str
    media_type: str


@cache
def widget_files() -> Mapping[str, WidgetFile]:
    """Make the files once, by their paths below `/widget/v1/`."""
    return MappingProxyType({name: _file(name, text) for name, text in served_texts().items()})


@cache
def content_hash() -> str:
    """Return what names these very files, for shops that pin what they load."""
    named = (f"{name}\0{file.digest}\n" for name, file in widget_files().items())
    return hashlib.sha256("".join(named).encode()).hexdigest()[:_HASH_CHARACTERS]


@router.api_route("/widget/{version}/{name:path}", methods=["GET", "HEAD"], response_class=Response)
async def widget_file(request: Request, version: str, name: str) -> Response:
    """Return a file of the widget: `v1` is kept for minutes, the path with its hash for good."""
    file = widget_files().get(name)
    if file is None or version not in (VERSION, content_hash()):
        raise not_found("file")
    is_packed = "gzip" in request.headers.get("accept-encoding", "").lower()
    tags = {packed: f'"{file.digest}{"-gz" if packed else ""}"' for packed in (True, False)}
    headers = {
        "ETag": tags[is_packed],
        "Cache-Control": _BRIEFLY if version == VERSION else _FOR_GOOD,
        "Vary": "Accept-Encoding",
        # Where the very same file stays, whatever the desk becomes.
        "Content-Location": f"/widget/{content_hash()}/{name}",
        # The pages that load it are other people's.
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    if any(tag in request.headers.get("if-none-match", "") for tag in tags.values()):
        return Response(status_code=304, headers=headers)
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    body = file.packed if is_packed else file.content
    return Response(body, headers=headers, media_type=file.media_type)


def _file(name: str, text: str) -> WidgetFile:
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()[:_HASH_CHARACTERS]
    packed = gzip.compress(content, 9, mtime=0)
    return WidgetFile(content, packed, digest, _TYPES[name.rpartition(".")[2]])
