"""The Web API: `POST /api/{method}` with a form or JSON, answered as Slack answers."""

import hmac
from collections.abc import Callable, Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from bot.sandbox import (
    slack_chat,
    slack_conversations,
    slack_directory,
    slack_views,
)
from bot.sandbox.json_shape import JsonObject, parse_json
from bot.sandbox.slack_arguments import ApiError, Arguments, MissingScope, RateLimited
from bot.sandbox.slack_faults import Fault
from bot.sandbox.slack_scopes import NEEDED, lacks
from bot.sandbox.slack_state import Workspace

METHODS: Mapping[str, Callable[[Workspace, Arguments], JsonObject]] = MappingProxyType(
    {
        "auth.test": slack_directory.auth_test,
        "chat.delete": slack_chat.delete,
        "chat.getPermalink": slack_chat.get_permalink,
        "chat.postEphemeral": slack_chat.post_ephemeral,
        "chat.postMessage": slack_chat.post_message,
        "chat.update": slack_chat.update,
        "conversations.history": slack_conversations.history,
        "conversations.info": slack_conversations.info,
        "conversations.list": slack_conversations.list_channels,
        "conversations.members": slack_conversations.members,
        "conversations.open": slack_conversations.open_dm,
        "conversations.replies": slack_conversations.replies,
        "usergroups.list": slack_directory.usergroups_list,
        "usergroups.users.list": slack_directory.usergroups_users_list,
        "users.info": slack_directory.users_info,
        "users.list": slack_directory.users_list,
        "users.lookupByEmail": slack_directory.users_lookup_by_email,
        "views.open": slack_views.open_view,
        "views.publish": slack_views.publish,
        "views.push": slack_views.push,
        "views.update": slack_views.update,
    }
)
_RATE_LIMIT_ERRORS = ("ratelimited", "rate_limited")
_TOO_MANY = 429


async def _arguments(request: Request) -> dict[str, object]:
    """Read query and body; a JSON body must be an object."""
    values: dict[str, object] = dict(request.query_params)
    body = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            given = parse_json(body or b"{}")
        except ValueError:
            raise ApiError("invalid_json") from None
        if not isinstance(given, dict):
            raise ApiError("json_not_object")
        return values | given
    try:
        return values | dict(parse_qsl(body.decode(), keep_blank_values=True))
    except ValueError:
        raise ApiError("invalid_form_data") from None


def _authorize(workspace: Workspace, request: Request, values: Mapping[str, object]) -> None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        token = str(values.get("token", ""))
    if not token:
        raise ApiError("not_authed")
    if not hmac.compare_digest(token.encode(), workspace.config.bot_token.encode()):
        raise ApiError("invalid_auth")
    if workspace.app.error is not None:
        raise ApiError(workspace.app.error)


def _limited(code: str, retry_after_s: int) -> Response:
    headers = {"Retry-After": str(retry_after_s)}
    return JSONResponse({"ok": False, "error": code}, _TOO_MANY, headers)


def _failure(fault: Fault) -> Response:
    if fault.status == _TOO_MANY or fault.error in _RATE_LIMIT_ERRORS:
        return _limited(fault.error or "ratelimited", fault.retry_after or 1)
    if fault.status is not None:
        headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after else {}
        return Response("upstream error", fault.status, headers, media_type="text/plain")
    return JSONResponse({"ok": False, "error": fault.error})


def _carry_out(workspace: Workspace, method: str, args: Arguments) -> Response:
    granted = workspace.app.scopes
    headers = {
        "X-OAuth-Scopes": ",".join(granted),
        "X-Accepted-OAuth-Scopes": ",".join(NEEDED[method]),
    }
    try:
        if lacks(method, granted):
            raise MissingScope(NEEDED[method], granted)
        return JSONResponse({"ok": True, **METHODS[method](workspace, args)}, headers=headers)
    except RateLimited as limited:
        return _limited(limited.code, limited.retry_after_s)
    except ApiError as error:
        return JSONResponse(error.answer(), headers=headers)


async def _call(workspace: Workspace, method: str, request: Request) -> Response:
    values = await _arguments(request)
    _authorize(workspace, request, values)
    if method not in METHODS:
        return JSONResponse({"ok": False, "error": "unknown_method", "req_method": method})
    fault = workspace.faults.take(method)
    if fault is None:
        return _carry_out(workspace, method, Arguments(values))
    answer = None
    if fault.landed or not fault.fails:
        answer = _carry_out(workspace, method, Arguments(values))
    await workspace.config.pause(fault.delay_s)
    return _failure(fault) if fault.fails or answer is None else answer


def web_api(workspace: Workspace) -> APIRouter:
    """Make the routes of the Web API; ordered faults are used by calls with a good token only."""
    router = APIRouter()

    @router.api_route("/api/{method}", methods=["GET", "POST"])
    async def api(method: str, request: Request) -> Response:
        try:
            return await _call(workspace, method, request)
        except ApiError as error:
            return JSONResponse(error.answer())

    return router
