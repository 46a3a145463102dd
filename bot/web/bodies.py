"""Request bodies: small, strict JSON, read the same way by every route."""

import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from typing_extensions import override

from bot.web.problems import Problem, invalid, unknown_parameters

# Room for the longest message with every character escaped twice over.
MAX_BODY_BYTES = 64 * 1024


class Body(BaseModel):
    """Base of every request body: unknown fields are refused, no value is guessed at."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Body):
    """The body `{}`."""


class StrictRoute(APIRoute):
    """A route that refuses query parameters it does not take, and what is no strict JSON."""

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        taken = set(_query_names(self.dependant))

        async def strict(request: Request) -> Response:
            unknown = sorted(set(request.query_params) - taken)
            if unknown:
                raise unknown_parameters(unknown)
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (param.alias for param in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


class _StrictRequest(Request):
    @override
    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await read_body(self, MAX_BODY_BYTES)
        return self._body

    @override
    async def json(self) -> object:
        return parse_body(await self.body())


async def read_body(request: Request, most: int) -> bytes:
    """Return the body; raises Problem 413 as soon as it is known to have more than `most` bytes."""
    too_large = Problem(413, "too_large", f"A body has at most {most} bytes.")
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > most:
        raise too_large
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > most:
            raise too_large
    return bytes(found)


def parse_body(body: bytes) -> object:
    """Read JSON; raises Problem 422 for what is not JSON, or no text that can be stored.

    Refused besides: duplicate keys, NaN and infinities, lone surrogates and NUL.
    """
    try:
        value = json.loads(
            body.decode(), object_pairs_hook=_unique_keys, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        # No words of the reader's own: they would repeat the body.
        raise invalid("body", "is not valid JSON") from None
    _refuse_no_text(value)
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise invalid("body", "a key appears twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise invalid("body", f"{text} is not a number")


def _refuse_no_text(value: object) -> None:
    """Walk without recursion, so that no depth of nesting can exhaust the stack."""
    waiting = [("body", value)]
    while waiting:
        name, one = waiting.pop()
        match one:
            case str() if not _is_text(one):
                raise invalid(name, "holds characters that are no text (NUL or half a pair)")
            case dict():
                if not all(map(_is_text, one)):
                    raise invalid("body", "a name holds characters that are no text")
                waiting.extend((str(key)[:100], inner) for key, inner in one.items())
            case list():
                waiting.extend((name, inner) for inner in one)
            case _:
                pass


def _is_text(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
