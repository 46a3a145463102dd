"""The API's documentation as one plain page, made from the OpenAPI document."""

import html
import json
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse

# The usual viewers load scripts from somebody else's host onto this origin, and show nothing
# without a network. A page of our own needs neither script nor network.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
h2 { font-size: 1.05rem; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
dt { font-family: ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .4rem; }
"""

router = APIRouter(include_in_schema=False)


@router.get("/docs", response_class=HTMLResponse)
def docs(request: Request) -> HTMLResponse:
    """Show every call with its parameters and body."""
    app: FastAPI = request.app
    return HTMLResponse(_page(app.openapi()), headers={"Content-Security-Policy": _POLICY})


@router.get("/openapi.json")
def openapi(request: Request) -> JSONResponse:
    """Return the OpenAPI document."""
    app: FastAPI = request.app
    return JSONResponse(app.openapi())


def _page(document: dict[str, Any]) -> str:
    info = document["info"]
    calls = "".join(
        _call(method, path, operation, document)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )
    title = html.escape(info["title"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style><h1>{title}</h1>"
        f"<p>{html.escape(info['description'])}</p>"
        '<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>'
        f"<main>{calls}</main></html>"
    )


def _call(method: str, path: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    parts = [
        f"<section><h2>{method.upper()} {html.escape(path)}</h2>",
        f"<p>{html.escape(operation.get('description', ''))}</p>",
    ]
    parameters = operation.get("parameters", ())
    if parameters:
        parts += ["<dl>", *map(_parameter, parameters), "</dl>"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        schema = _resolved(body["schema"], document)
        parts.append(f"<pre>{html.escape(json.dumps(schema, indent=2))}</pre>")
    return "".join([*parts, "</section>"])


def _parameter(parameter: dict[str, Any]) -> str:
    words = parameter.get("description", "")
    return (
        f"<dt>{html.escape(parameter['name'])} ({parameter['in']})</dt>"
        f"<dd>{html.escape(words)}</dd>"
    )


def _resolved(schema: Any, document: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """Return the schema with every reference replaced by what it names."""
    match schema:
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return _resolved(document["components"]["schemas"][name], document)
        case dict():
            return dict(_members(schema, document))
        case list():
            return [_resolved(one, document) for one in schema]
        case _:
            return schema


def _members(schema: dict[str, Any], document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in schema.items():
        yield name, _resolved(value, document)
