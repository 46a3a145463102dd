"""What changes around the bot: channels, user groups, its own installation, and calls that fail."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.problems import Refused
from bot.sandbox.slack_config import Channel, UserGroup
from bot.sandbox.slack_delivery import Delivery
from bot.sandbox.slack_events import send_event
from bot.sandbox.slack_faults import Fault
from bot.sandbox.slack_person import known_channel, known_person
from bot.sandbox.slack_scopes import ALL_SCOPES
from bot.sandbox.slack_state import Workspace
from bot.sandbox.slack_web_api import METHODS

# What a change of a channel is called when it becomes true, and when it becomes false.
_CHANNEL_EVENTS: tuple[tuple[str, str | None, str | None], ...] = (
    ("is_archived", "archive", "unarchive"),
    ("is_deleted", "deleted", None),
    ("is_member", None, "left"),
    ("is_ext_shared", "shared", "unshared"),
)
_GONE = ("account_inactive", "token_revoked")


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FaultOrder(_Order):
    """The next `times` calls of `method` fail with `error` or `status`, or answer late.

    With `landed` a failing call takes effect all the same.
    """

    method: str
    error: Annotated[str, Field(min_length=1)] | None = None
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    times: Annotated[int, Field(ge=1)] = 1
    retry_after: Annotated[int, Field(ge=0)] | None = None
    delay_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    landed: bool = False

    @model_validator(mode="after")
    def _does_something(self) -> "FaultOrder":
        if self.error is not None and self.status is not None:
            raise ValueError("give error or status, not both")
        if self.error is None and self.status is None and not self.delay_s:
            raise ValueError("give error, status or delay_s")
        return self


class ChannelChange(_Order):
    """What becomes of a channel, named by id or name; the last word counts after a restart too."""

    channel: str
    is_archived: bool | None = None
    is_deleted: bool | None = None
    is_member: bool | None = None
    is_ext_shared: bool | None = None


class GroupChange(_Order):
    """Who is in a user group, named by id or handle, and whether it is switched off."""

    group: str
    members: list[str] | None = None
    is_disabled: bool | None = None


class AppChange(_Order):
    """What the app may do: its scopes, why its token opens nothing (`""`: it does), its pace."""

    scopes: list[str] | None = None
    error: str | None = None
    burst: Annotated[int, Field(ge=0)] | None = None


def _app(workspace: Workspace) -> JsonObject:
    config, app = workspace.config, workspace.app
    return {
        "app_id": config.app_id,
        "bot_token": config.bot_token,
        "api_url": f"{config.base_url}/api/",
        "scopes": list(app.scopes),
        "error": app.error,
        "burst": workspace.pace.burst,
        "too_soon": workspace.pace.refused,
    }


def _group(workspace: Workspace, group: UserGroup) -> JsonObject:
    people = [workspace.user(user_id) for user_id in group.members]
    return {
        "id": group.id,
        "handle": group.handle,
        "name": group.name,
        "members": [person.id for person in people if person is not None],
        "is_disabled": group.is_disabled,
    }


def _known_group(workspace: Workspace, ref: str) -> UserGroup:
    wanted = ref.removeprefix("@")
    for group in workspace.groups():
        if wanted in (group.id, group.handle):
            return group
    raise Refused(404, "no_such_subteam", f"there is no user group {ref}")


def _changeable(workspace: Workspace, ref: str) -> Channel:
    """Return a channel, a deleted one too: what a tester has broken, a tester can mend."""
    for channel in workspace.channels(deleted_too=True):
        if ref.removeprefix("#") in (channel.id, channel.name):
            return channel
    direct = known_channel(workspace, ref)
    raise Refused(
        422, "method_not_supported", f"{direct.name} is a direct message: nothing changes"
    )


def _told(before: Channel, changes: JsonObject) -> Iterator[str]:
    family = "group" if before.is_private else "channel"
    for name, when_true, when_false in _CHANNEL_EVENTS:
        if name in changes and changes[name] != getattr(before, name):
            word = when_true if changes[name] else when_false
            if word is not None:
                yield f"{family}_{word}"


def _given(order: _Order, *names: str) -> JsonObject:
    return order.model_dump(include=set(names), exclude_none=True)


def _places(workspace: Workspace, delivery: Delivery) -> APIRouter:
    router = APIRouter()

    @router.post("/channels", status_code=204)
    async def change_channel(order: ChannelChange) -> Response:
        channel = _changeable(workspace, order.channel)
        changes = _given(order, *(name for name, _, _ in _CHANNEL_EVENTS))
        before = workspace.journal.table("channels").get(channel.id, {})
        workspace.journal.write(("channels", channel.id, {**before, **changes}))
        for kind in _told(channel, changes):
            await send_event(workspace, delivery, {"type": kind, "channel": channel.id})
        return Response(status_code=204)

    @router.get("/groups")
    async def groups() -> list[JsonObject]:
        return [_group(workspace, group) for group in workspace.groups()]

    @router.post("/groups", status_code=204)
    async def change_group(order: GroupChange) -> Response:
        group = _known_group(workspace, order.group)
        changes = _given(order, "is_disabled")
        if order.members is not None:
            people = [known_person(workspace, ref) for ref in order.members]
            changes["members"] = [person.slack_user_id for person in people]
        before = workspace.journal.table("groups").get(group.id, {})
        workspace.journal.write(("groups", group.id, {**before, **changes}))
        return Response(status_code=204)

    return router


def _installation(workspace: Workspace, delivery: Delivery) -> APIRouter:
    router = APIRouter()

    @router.get("/app")
    async def app() -> JsonObject:
        return _app(workspace)

    @router.post("/app")
    async def change_app(order: AppChange) -> JsonObject:
        if order.scopes is not None:
            workspace.app.scopes = tuple(order.scopes)
        if "burst" in order.model_fields_set:
            workspace.pace.burst = order.burst
        if order.error is not None:
            workspace.app.error = order.error or None
            bot = [workspace.config.bot_user_id]
            if order.error in _GONE:
                tokens = {"oauth": [], "bot": bot}
                await send_event(workspace, delivery, {"type": "tokens_revoked", "tokens": tokens})
            if order.error == _GONE[0]:
                await send_event(workspace, delivery, {"type": "app_uninstalled"})
        return _app(workspace)

    return router


def _faults(workspace: Workspace) -> APIRouter:
    router = APIRouter()

    @router.get("/faults")
    async def ordered() -> list[JsonObject]:
        return [{"method": name, **asdict(fault)} for name, fault in workspace.faults.waiting()]

    @router.post("/faults", status_code=204)
    async def order_fault(order: FaultOrder) -> Response:
        if order.method not in METHODS:
            raise Refused(422, "unknown_method", f"there is no method {order.method}")
        fault = Fault(**order.model_dump(exclude={"method"}))
        workspace.faults.order(order.method, fault)
        return Response(status_code=204)

    @router.post("/faults/clear", status_code=204)
    async def clear() -> Response:
        workspace.faults.forget()
        return Response(status_code=204)

    @router.get("/methods")
    async def methods() -> JsonObject:
        return {"methods": sorted(METHODS), "scopes": list(ALL_SCOPES)}

    return router


def changes(workspace: Workspace, delivery: Delivery) -> APIRouter:
    """Make the routes by which a tester changes the workspace around the bot."""
    router = APIRouter()
    router.include_router(_places(workspace, delivery))
    router.include_router(_installation(workspace, delivery))
    router.include_router(_faults(workspace))
    return router
