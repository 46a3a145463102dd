"""What people do in the demo workspace: look, click, submit, close, type commands."""

import re
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from bot.sandbox import slack_payloads as payloads
from bot.sandbox.json_shape import JsonObject, parse_json
from bot.sandbox.problems import Refused
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_chat import api_message
from bot.sandbox.slack_config import Channel, Person
from bot.sandbox.slack_delivery import Answer, Delivery
from bot.sandbox.slack_events import send_event
from bot.sandbox.slack_hooks import make_response_url, respond
from bot.sandbox.slack_inputs import (
    InputRefused,
    Values,
    action_on,
    find_element,
    refuse_bad_entries,
    state_values,
)
from bot.sandbox.slack_state import Workspace, dm_id
from bot.sandbox.slack_submissions import CONNECT_ERROR, settle
from bot.sandbox.slack_text import escape

Entry = str | int | float | list[str] | None
Entries = dict[str, Entry | dict[str, Entry]]
_MENTION = re.compile(r"@([a-z][a-z0-9._-]*)")


class Body(BaseModel):
    """A request of the page; `user` is a short name or a Slack user id."""

    model_config = ConfigDict(extra="forbid")

    user: str


class Click(Body):
    """A click on an element of a message (`channel`, `ts`) or of a view (`view_id`).

    `value` is what was chosen or, for a button, sent in place of its own value. An `action_id` that
    is not there is sent all the same, as a button with `value`: forged clicks must be possible.
    """

    action_id: Annotated[str, Field(min_length=1, max_length=255)]
    channel: str | None = None
    ts: str | None = None
    view_id: str | None = None
    block_id: str | None = None
    value: Entry = None
    values: Entries = Field(default_factory=dict)


class Submit(Body):
    """A submission of a modal; `values` per block_id, or per block_id and action_id.

    `force` sends what Slack's client would not let pass.
    """

    view_id: str
    values: Entries = Field(default_factory=dict)
    force: bool = False


class Close(Body):
    """A person closing a modal; `clear` closes the whole stack."""

    view_id: str
    clear: bool = False


class Command(Body):
    """A slash command, typed in `channel` (the first one when not given)."""

    command: Annotated[str, Field(pattern=r"^/\S{1,31}$")]
    text: str = ""
    channel: str | None = None


class Post(Body):
    """A message a person writes."""

    channel: str
    text: Annotated[str, Field(min_length=1, max_length=40_000)]
    thread_ts: str | None = None


def known_person(workspace: Workspace, ref: str) -> Person:
    """Return a person by short name or Slack user id, or refuse with 404."""
    person = workspace.person(ref)
    if person is None:
        raise Refused(404, "user_not_found", f"nobody here is {ref}")
    return person


def known_channel(workspace: Workspace, ref: str) -> Channel:
    """Return a channel by id or name, or refuse with 404."""
    channel = workspace.channel(ref) or workspace.channel_by_name(ref)
    if channel is None:
        raise Refused(404, "channel_not_found", f"there is no channel {ref}")
    return channel


def _joined(workspace: Workspace, person: Person, ref: str) -> Channel:
    channel = known_channel(workspace, ref)
    if person.slack_user_id not in channel.members:
        raise Refused(403, "not_in_channel", f"{person.id} is not in {channel.name}")
    return channel


def _open_channel(workspace: Workspace, person: Person, ref: str) -> Channel:
    """Return a channel that this person can write in."""
    channel = _joined(workspace, person, ref)
    if channel.is_archived:
        raise Refused(409, "is_archived", f"{channel.name} is archived")
    return channel


def _seen_message(
    workspace: Workspace, person: Person, channel: Channel, ts: str | None
) -> JsonObject:
    message = workspace.message(channel.id, ts or "")
    if message is None or message["ephemeral_for"] not in (None, person.slack_user_id):
        raise Refused(404, "message_not_found", f"{person.id} sees no message {ts}")
    return message


def own_view(workspace: Workspace, person: Person, view_id: str) -> JsonObject:
    """Return a modal or App Home of this person, or refuse with 404."""
    row = workspace.view(view_id)
    if row and row["user"] == person.slack_user_id:
        return dict(row["view"])
    home = workspace.home(person.slack_user_id)
    if home and home["id"] == view_id:
        return home
    raise Refused(404, "view_not_found", f"{person.id} sees no view {view_id}")


def _top_view(workspace: Workspace, person: Person, view_id: str) -> JsonObject:
    view = own_view(workspace, person, view_id)
    stack = workspace.stack(person.slack_user_id)
    if view["type"] != "modal" or stack[-1]["id"] != view_id:
        raise Refused(409, "view_not_on_top", "another view lies on top of this one")
    return view


def _state(blocks: list[JsonObject], values: Values) -> JsonObject:
    try:
        return state_values(blocks, values)
    except InputRefused as refused:
        raise Refused(422, "invalid_input", str(refused), errors=refused.errors) from None


def _action(workspace: Workspace, click: Click, blocks: list[JsonObject]) -> JsonObject:
    found = find_element(blocks, click.action_id, click.block_id, click.value)
    block_id, element = found or (
        click.block_id or workspace.config.token()[-8:],
        {"type": "button", "action_id": click.action_id},
    )
    return action_on(element, block_id, click.value, workspace.next_ts())


def _answered(answer: Answer) -> JsonObject:
    problem = None if answer.acknowledged else CONNECT_ERROR
    return {"status": answer.status, "body": answer.body, "ms": answer.ms, "problem": problem}


async def click_message(
    workspace: Workspace, delivery: Delivery, person: Person, click: Click
) -> Answer:
    """Send a click on an element of a message."""
    channel = _joined(workspace, person, click.channel or "")
    message = _seen_message(workspace, person, channel, click.ts)
    rest: JsonObject = {
        "actions": [_action(workspace, click, message["blocks"])],
        "state": {"values": _state(message["blocks"], click.values)},
        "response_url": make_response_url(workspace, person, channel, message),
        "trigger_id": workspace.triggers.give(person.slack_user_id),
    }
    if message["ephemeral_for"] is None:
        rest["message"] = api_message(workspace, message)
    payload = payloads.message_action(workspace.config, person, channel, message, rest)
    return await delivery.interaction(payload)


async def click_view(
    workspace: Workspace, delivery: Delivery, person: Person, click: Click
) -> Answer:
    """Send a click on an element of a modal or of App Home."""
    view = own_view(workspace, person, click.view_id or "")
    values = _state(view["blocks"], click.values)
    rest = {
        "actions": [_action(workspace, click, view["blocks"])],
        "trigger_id": workspace.triggers.give(person.slack_user_id),
    }
    shown = {**view, "state": {"values": values}}
    return await delivery.interaction(payloads.view_action(workspace.config, person, shown, rest))


async def submit_view(workspace: Workspace, delivery: Delivery, body: Submit) -> JsonObject:
    """Send a submission, and close, keep or change the modal as the bot answers."""
    person = known_person(workspace, body.user)
    view = _top_view(workspace, person, body.view_id)
    state = _state(view["blocks"], body.values)
    if not body.force:
        try:
            refuse_bad_entries(view["blocks"], state)
        except InputRefused as refused:
            raise Refused(422, "invalid_input", str(refused), errors=refused.errors) from None
    filled = {**view, "state": {"values": state}}
    trigger_id = workspace.triggers.give(person.slack_user_id)
    payload = payloads.view_submission(workspace.config, person, filled, trigger_id)
    answer = await delivery.interaction(payload)
    return _answered(answer) | settle(workspace, person.slack_user_id, view, answer)


async def close_view(workspace: Workspace, delivery: Delivery, body: Close) -> JsonObject:
    """Close a modal and tell the bot about each view that asked to hear of it."""
    person = known_person(workspace, body.user)
    view = _top_view(workspace, person, body.view_id)
    stack = workspace.stack(person.slack_user_id)
    whole = body.clear or view["clear_on_close"]
    gone, left = (stack, []) if whole else (stack[-1:], stack[:-1])
    workspace.journal.write(*workspace.stack_changes(person.slack_user_id, left))
    answers = []
    for closed in reversed([one for one in gone if one["notify_on_close"]]):
        payload = payloads.view_closed(workspace.config, person, closed, cleared=whole)
        answers.append(_answered(await delivery.interaction(payload)))
    return {"closed": [one["id"] for one in gone], "answers": answers}


def _mentions(workspace: Workspace, text: str) -> str:
    def mention(match: re.Match[str]) -> str:
        person = workspace.person(match[1])
        return f"<@{person.slack_user_id}|{person.id}>" if person else match[0]

    return _MENTION.sub(mention, escape(text))


def _show_command_answer(
    workspace: Workspace, person: Person, channel: Channel, answer: Answer
) -> str | None:
    """Post what the bot answered to a command; return what is wrong with it."""
    if not answer.acknowledged or not answer.body.strip():
        return None
    try:
        given = parse_json(answer.body)
    except ValueError:
        given = None
    shown = given if isinstance(given, dict) else {"text": answer.body}
    try:
        respond(workspace, person, channel, None, Arguments(shown))
    except ApiError as error:
        return f"{error.code}: {'; '.join(error.messages)}"
    return None


async def run_command(workspace: Workspace, delivery: Delivery, body: Command) -> JsonObject:
    """Send a slash command, and show the person what the bot answers."""
    person = known_person(workspace, body.user)
    first = workspace.channels()[0].id
    channel = _open_channel(workspace, person, body.channel or first)
    rest = {
        "command": body.command,
        "text": _mentions(workspace, body.text),
        "response_url": make_response_url(workspace, person, channel, None),
        "trigger_id": workspace.triggers.give(person.slack_user_id),
    }
    fields = payloads.slash_command(workspace.config, person, channel, rest)
    answer = await delivery.command(fields)
    shown = _show_command_answer(workspace, person, channel, answer)
    result = _answered(answer)
    return result | {"problem": result["problem"] or shown}


async def open_home(workspace: Workspace, delivery: Delivery, person: Person) -> Answer:
    """Tell the bot that a person opened its Home tab."""
    event: JsonObject = {
        "type": "app_home_opened",
        "user": person.slack_user_id,
        "channel": dm_id(person.slack_user_id),
        "tab": "home",
    }
    home = workspace.home(person.slack_user_id)
    if home:
        event["view"] = home
    return await send_event(workspace, delivery, event) or Answer(200, "", 0.0)


def person_actions(workspace: Workspace, delivery: Delivery) -> APIRouter:
    """Make the routes by which people act; each waits for the bot's answer."""
    router = APIRouter()

    @router.post("/click")
    async def click(body: Click) -> JsonObject:
        person = known_person(workspace, body.user)
        send = click_view if body.view_id else click_message
        return _answered(await send(workspace, delivery, person, body))

    @router.post("/submit")
    async def submit(body: Submit) -> JsonObject:
        return await submit_view(workspace, delivery, body)

    @router.post("/close")
    async def close(body: Close) -> JsonObject:
        return await close_view(workspace, delivery, body)

    @router.post("/command")
    async def command(body: Command) -> JsonObject:
        return await run_command(workspace, delivery, body)

    @router.post("/home")
    async def home(body: Body) -> JsonObject:
        person = known_person(workspace, body.user)
        return _answered(await open_home(workspace, delivery, person))

    @router.post("/messages")
    async def post(body: Post) -> JsonObject:
        person = known_person(workspace, body.user)
        channel = _open_channel(workspace, person, body.channel)
        content = {"text": escape(body.text), "blocks": []}
        message = workspace.new_message(
            channel, content, thread_ts=body.thread_ts, user=person.slack_user_id
        )
        workspace.save_message(message)
        return {"ts": message["ts"]}

    return router
