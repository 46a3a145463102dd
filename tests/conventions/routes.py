"""The HTTP routes of a file, read from the text: some routers exist only inside a function."""

import ast
import re
from collections.abc import Iterator

from tests.conventions.sources import Source, at, dotted

_VERBS = {"delete", "get", "patch", "post", "put"}
_LISTS = {"add_api_route", "add_route", "api_route", "route"}
_MAKERS = {"APIRouter", "FastAPI", "Starlette"}


def routes(source: Source) -> list[str]:
    """Return `METHOD /path` of each route and the path of each mount, sorted, names in {} left out.

    A prefix belongs to the router that has the routes; one given anywhere else raises ValueError.
    """
    prefixes = dict(_prefixes(source))
    calls = [node for node in source.walk() if isinstance(node, ast.Call)]
    return sorted({route for call in calls for route in _routes(source, call, prefixes)})


def _prefixes(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the name and prefix of each router and application."""
    for node in source.walk():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                pass
            case _:
                continue
        if dotted(call.func).rpartition(".")[2] in _MAKERS:
            yield name, _text(source, call, _keyword(call, "prefix"))


def _routes(source: Source, call: ast.Call, prefixes: dict[str, str]) -> Iterator[str]:
    match call.func:
        case ast.Attribute(attr="include_router") if _keyword(call, "prefix") is not None:
            raise ValueError(f"{at(source, call)}: give the prefix to the router itself")
        case ast.Attribute(value=ast.Name(id=owner), attr=attr) if owner in prefixes:
            pass
        case _:
            return
    if attr not in _VERBS | _LISTS | {"mount", "websocket"}:
        return
    path = _keyword(call, "path") or (call.args[0] if call.args else None)
    written = re.sub(r"\{\w+(:\w+)?\}", "{}", prefixes[owner] + _text(source, call, path))
    if attr == "mount":
        yield written
    elif attr in _LISTS:
        yield from (f"{method} {written}" for method in _methods(call))
    else:
        yield f"{attr.upper()} {written}"


def _methods(call: ast.Call) -> list[str]:
    match _keyword(call, "methods"):
        case ast.List(elts=elements) | ast.Set(elts=elements) | ast.Tuple(elts=elements):
            return [str(e.value).upper() for e in elements if isinstance(e, ast.Constant)]
        case _:
            return ["GET"]


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _text(source: Source, call: ast.Call, value: ast.expr | None) -> str:
    match value:
        case None:
            return ""
        case ast.Constant(value=str(text)):
            return text
        case _:
            raise ValueError(f"{at(source, call)}: write the path out, so that it can be found")
