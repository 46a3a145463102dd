"""Errors on the wire: `application/problem+json` with a stable `code`, whatever went wrong."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from agent.domain.errors import Corrupt, InvalidInput
from agent.tools.faults import fault_words
from storage.breaker import BreakerMissing

log = logging.getLogger(__name__)

_MOST_FAULTS = 10
_MOST_NAME = 100
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


class Problem(HTTPException):
    """The request ends here; `code` is stable, `extra` are further members of the answer."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **extra: object,
    ) -> None:
        """Keep what the answer says; `detail` is for people and holds no secret."""
        super().__init__(status, detail, dict(headers or {}))
        self.code = code
        self.extra = extra


def problem_response(problem: Problem) -> JSONResponse:
    """Return the problem as an answer."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": problem.detail,
        "code": problem.code,
        **problem.extra,
    }
    return JSONResponse(
        body, problem.status_code, problem.headers, media_type="application/problem+json"
    )


def not_found(what: str) -> Problem:
    """Return the one answer for what is not there and for what belongs to somebody else."""
    return Problem(404, "not_found", f"There is no such {what}.")


def invalid(field: str, problem: str) -> Problem:
    """Return the answer to one wrong value."""
    return _faulty([(field, problem)])


def unknown_parameters(names: Sequence[str]) -> Problem:
    """Return the answer to query parameters that the route does not take."""
    return _faulty([(_named(name), "is not a known parameter") for name in names[:_MOST_FAULTS]])


def answer_problems(app: FastAPI) -> None:
    """Make every error of `app` a problem answer."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(InvalidInput, _invalid_input)
    app.add_exception_handler(Corrupt, _corrupt)
    app.add_exception_handler(BreakerMissing, _breaker_missing)


def _http(_request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, Problem):
        return problem_response(error)
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == HTTPStatus.BAD_REQUEST:
        # FastAPI says so of a body that is no text at all.
        return problem_response(invalid("body", "cannot be read"))
    phrase = HTTPStatus(error.status_code).phrase
    code = _CODES.get(error.status_code, phrase.lower().replace(" ", "_"))
    return problem_response(Problem(error.status_code, code, f"{phrase}.", headers=error.headers))


def _validation(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    faults = error.errors()[:_MOST_FAULTS]
    return problem_response(_faulty([(_place(one["loc"]), fault_words(one)) for one in faults]))


def _invalid_input(_request: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, InvalidInput):
        raise error
    return problem_response(invalid(error.field, error.problem))


def _corrupt(_request: Request, error: Exception) -> JSONResponse:
    log.error("%s", error)
    words = "What is stored does not validate. It will not be executed; ask on-call."
    return problem_response(Problem(500, "corrupt", words))


def _breaker_missing(_request: Request, error: Exception) -> JSONResponse:
    log.error("%s", error)
    words = "The breaker's row is missing: nothing runs before somebody has looked at the database."
    return problem_response(Problem(503, "breaker_missing", words))


def _faulty(faults: list[tuple[str, str]]) -> Problem:
    return Problem(
        422,
        "invalid",
        "; ".join(f"{field}: {problem}" for field, problem in faults),
        errors=[{"field": field, "problem": problem} for field, problem in faults],
    )


def _place(loc: tuple[int | str, ...]) -> str:
    """Return the dotted name of a field, without the word for the part of the request."""
    return _named(".".join(str(part) for part in loc[1:]) or str(loc[0]))


def _named(name: str) -> str:
    """Return a name of the sender's own: cut, and without what no text can hold."""
    return name.encode(errors="replace").decode()[:_MOST_NAME]
