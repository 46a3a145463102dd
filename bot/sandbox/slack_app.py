"""The local Slack stand-in: a workspace with a Web API, and people who click."""

from typing import Annotated

from fastapi import APIRouter, FastAPI, Query
from fastapi.responses import RedirectResponse

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.problems import Refused, answer_problems
from bot.sandbox.slack_changes import changes
from bot.sandbox.slack_config import Channel, SlackSandboxConfig
from bot.sandbox.slack_delivery import Delivery
from bot.sandbox.slack_hooks import response_urls
from bot.sandbox.slack_person import known_channel, known_person, open_home, person_actions
from bot.sandbox.slack_state import Workspace
from bot.sandbox.slack_web_api import web_api

_CHANGES_WAIT_MAX = 25.0


def _channel(workspace: Workspace, channel: Channel) -> JsonObject:
    return {
        "id": channel.id,
        "name": channel.name,
        "topic": channel.topic,
        "is_im": channel.is_im,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_member": channel.is_member,
        "is_ext_shared": channel.is_ext_shared,
        "members": list(channel.members),
        "messages": len(workspace.messages(channel.id)),
    }


def _looks(workspace: Workspace, delivery: Delivery) -> APIRouter:
    router = APIRouter()
    greeted: set[str] = set()

    @router.get("/channels")
    async def channels() -> list[JsonObject]:
        dms = [workspace.dm(person) for person in workspace.config.people]
        spoken = [dm for dm in dms if workspace.messages(dm.id)]
        return [_channel(workspace, c) for c in (*workspace.channels(), *spoken)]

    @router.get("/messages")
    async def messages(channel: str, user: str | None = None) -> list[JsonObject]:
        posted = workspace.messages(known_channel(workspace, channel).id)
        if user is None:
            return posted
        visible = (None, known_person(workspace, user).slack_user_id)
        return [message for message in posted if message["ephemeral_for"] in visible]

    @router.get("/home")
    async def home(user: str) -> JsonObject:
        person = known_person(workspace, user)
        # The first look opens the tab, as in Slack; later ones must not, or a page that looks
        # after every change would make the bot publish for ever.
        if workspace.home(person.slack_user_id) is None and person.id not in greeted:
            greeted.add(person.id)
            await open_home(workspace, delivery, person)
        view = workspace.home(person.slack_user_id) or {"id": None, "hash": None, "blocks": []}
        return {"user": person.slack_user_id, **view}

    @router.get("/views")
    async def views(user: str) -> list[JsonObject]:
        return workspace.stack(known_person(workspace, user).slack_user_id)

    @router.get("/changes")
    async def version(
        after: int = -1,
        wait: Annotated[float, Query(ge=0, le=_CHANGES_WAIT_MAX)] = _CHANGES_WAIT_MAX,
    ) -> JsonObject:
        return {"version": await workspace.journal.changed(after, wait)}

    @router.get("/archives/{channel_id}/{mark}")
    async def archives(channel_id: str, mark: str) -> RedirectResponse:
        digits = mark.removeprefix("p")
        ts = f"{digits[:-6]}.{digits[-6:]}"
        channel = known_channel(workspace, channel_id)
        if workspace.message(channel.id, ts) is None:
            raise Refused(404, "message_not_found", f"there is no message {ts}")
        return RedirectResponse(f"{workspace.config.page_url}#slack/{channel.id}/{ts}", 303)

    return router


def slack_sandbox(config: SlackSandboxConfig) -> FastAPI:
    """Make the stand-in, to be mounted at `config.base_url`.

    Everything runs on the event loop and nothing blocks it. Before the server stops, call
    `app.state.release()`, which ends all waiting for changes; after it has, `app.state.close()`.
    """
    workspace = Workspace(config)
    delivery = Delivery(config)
    app = FastAPI(title="Slack stand-in", docs_url=None, redoc_url=None, openapi_url=None)
    answer_problems(app)
    app.include_router(web_api(workspace))
    app.include_router(response_urls(workspace))
    app.include_router(_looks(workspace, delivery))
    app.include_router(person_actions(workspace, delivery))
    app.include_router(changes(workspace, delivery))
    app.state.release = workspace.journal.release
    app.state.close = workspace.journal.close
    return app
