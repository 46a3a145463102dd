"""Response URLs: each lets the bot answer an interaction five times within thirty minutes."""

import itertools
from datetime import timedelta
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from bot.sandbox.json_shape import JsonObject, parse_json
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_config import Channel, Person
from bot.sandbox.slack_content import read_content
from bot.sandbox.slack_journal import Change
from bot.sandbox.slack_state import Workspace, microseconds

HOOK_USES = 5
HOOK_LIFE = timedelta(minutes=30)


def make_response_url(
    workspace: Workspace, person: Person, channel: Channel, message: JsonObject | None
) -> str:
    """Return a URL that answers this interaction; `message` is the one it came from, if any."""
    now = microseconds(workspace.config.now())
    token = workspace.config.token()
    hook: JsonObject = {
        "user": person.slack_user_id,
        "channel": channel.id,
        "ts": message["ts"] if message else None,
        "expires": now + HOOK_LIFE // timedelta(microseconds=1),
        "uses": 0,
    }
    # Rows are in the order of their making, so all that have expired are in front.
    rows = workspace.journal.table("hooks").items()
    old = itertools.takewhile(lambda item: item[1]["expires"] <= now, rows)
    gone: list[Change] = [("hooks", key, None) for key, _ in old]
    workspace.journal.write(*gone, ("hooks", token, hook))
    return f"{workspace.config.base_url}/response/{token}"


def respond(
    workspace: Workspace, person: Person, channel: Channel, ts: str | None, args: Arguments
) -> None:
    """Carry out an answer: delete or replace the source message, or post a new one.

    A new one is for the person alone unless `response_type` is in_channel.
    """
    source = workspace.message(channel.id, ts) if ts else None
    if args.flag("delete_original"):
        if source:
            workspace.delete_message(source)
        return
    if args.flag("replace_original") and source:
        content = read_content(workspace, args, total=False)
        content["metadata"] = content["metadata"] or source["metadata"]
        edited = {"user": workspace.config.bot_user_id, "ts": workspace.next_ts()}
        workspace.save_message({**source, **content, "edited": edited})
        return
    public = args.text("response_type") == "in_channel"
    message = workspace.new_message(
        channel,
        read_content(workspace, args, total=False),
        thread_ts=args.text("thread_ts"),
        ephemeral_for=None if public else person.slack_user_id,
    )
    workspace.save_message(message)


def _use(workspace: Workspace, token: str, args: Arguments) -> None:
    hook = workspace.journal.table("hooks").get(token)
    if hook is None or hook["expires"] <= microseconds(workspace.config.now()):
        raise ApiError("expired_url")
    if hook["uses"] >= HOOK_USES:
        raise ApiError("used_url")
    person, channel = workspace.user(hook["user"]), workspace.channel(hook["channel"])
    if person is None or channel is None:
        raise ApiError("expired_url")
    respond(workspace, person, channel, hook["ts"], args)
    workspace.journal.write(("hooks", token, {**hook, "uses": hook["uses"] + 1}))


def response_urls(workspace: Workspace) -> APIRouter:
    """Make the route behind every response URL: `ok`, or 404 or 400 with Slack's error code."""
    router = APIRouter()

    @router.post("/response/{token}")
    async def response(token: str, request: Request) -> Response:
        try:
            given = parse_json(await request.body())
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return JSONResponse(ApiError("invalid_payload").answer(), HTTPStatus.BAD_REQUEST)
        try:
            _use(workspace, token, Arguments(given))
        except ApiError as error:
            gone = error.code in ("expired_url", "used_url")
            status = HTTPStatus.NOT_FOUND if gone else HTTPStatus.BAD_REQUEST
            return JSONResponse(error.answer(), status)
        return PlainTextResponse("ok")

    return router
