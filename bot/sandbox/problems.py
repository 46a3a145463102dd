"""Errors of the sandbox's own routes, as `application/problem+json`."""

import http
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


class Refused(Exception):
    """A request of the page or a tester cannot be carried out; the answer says why."""

    def __init__(self, status: int, code: str, detail: str, **extra: object) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.extra = extra


def problem(status: int, code: str, detail: str, **extra: object) -> JSONResponse:
    """Answer with `type`, `title`, `status`, `detail`, the stable `code`, and `extra` fields."""
    body: dict[str, Any] = {
        "type": f"urn:supportdesk:sandbox:{code}",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **extra,
    }
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


def _refused(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, Refused):
        raise error
    return problem(error.status, error.code, str(error), **error.extra)


def _invalid(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, RequestValidationError):
        raise error
    found = [
        f"{'.'.join(str(part) for part in one['loc'][1:]) or one['loc'][0]}: {one['msg']}"
        for one in error.errors()
    ]
    return problem(422, "invalid", "; ".join(found))


def _http(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    code = http.HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return problem(error.status_code, code, str(error.detail))


def answer_problems(app: FastAPI) -> None:
    """Make every error of `app` an `application/problem+json` answer."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
