"""Web API methods that read channels: conversations.*."""

from decimal import Decimal

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_chat import api_message, known_channel
from bot.sandbox.slack_config import Channel
from bot.sandbox.slack_state import Workspace, ts_value

_PAGE = 100
_PAGE_MAX = 999


def _shape(workspace: Workspace, channel: Channel) -> JsonObject:
    if channel.is_im:
        return {"id": channel.id, "is_im": True, "user": channel.members[0], "is_archived": False}
    return {
        "id": channel.id,
        "name": channel.name,
        "is_channel": True,
        "is_group": False,
        "is_im": False,
        "is_mpim": False,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_member": channel.is_member,
        "is_general": False,
        "is_shared": channel.is_shared or channel.is_ext_shared,
        "is_ext_shared": channel.is_ext_shared,
        "is_pending_ext_shared": channel.is_pending_ext_shared,
        "is_org_shared": False,
        "context_team_id": workspace.config.team_id,
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def info(workspace: Workspace, args: Arguments) -> JsonObject:
    """Describe a channel."""
    return {"channel": _shape(workspace, known_channel(workspace, args.need("channel")))}


def list_channels(workspace: Workspace, _: Arguments) -> JsonObject:
    """Describe every channel the bot can see."""
    seen = [c for c in workspace.channels() if c.is_member or not c.is_private]
    return {
        "channels": [_shape(workspace, channel) for channel in seen],
        "response_metadata": {"next_cursor": ""},
    }


def members(workspace: Workspace, args: Arguments) -> JsonObject:
    """List the user ids of a channel's members."""
    channel = known_channel(workspace, args.need("channel"))
    bot = [workspace.config.bot_user_id] if channel.is_member else []
    return {"members": [*channel.members, *bot], "response_metadata": {"next_cursor": ""}}


def open_dm(workspace: Workspace, args: Arguments) -> JsonObject:
    """Open the direct message channel with one person."""
    if args.text("channel"):
        channel = known_channel(workspace, args.need("channel"))
        return {"channel": {"id": channel.id}}
    users = args.text("users")
    if not users:
        raise ApiError("users_list_not_supplied")
    person = workspace.user(users)
    if person is None:
        raise ApiError("user_not_found")
    if person.deleted:
        raise ApiError("user_disabled")
    return {"channel": {"id": workspace.dm(person).id}, "no_op": True, "already_open": True}


def _bound(args: Arguments, name: str, default: str) -> Decimal:
    value = ts_value(args.text(name) or default)
    if value is None:
        raise ApiError(f"invalid_ts_{name}")
    return value


def _inside(args: Arguments, messages: list[JsonObject]) -> list[JsonObject]:
    oldest, latest = _bound(args, "oldest", "0"), _bound(args, "latest", "1e12")
    # Without `inclusive`, Slack leaves out a message whose ts is exactly a bound that was given.
    if args.flag("inclusive"):
        return [m for m in messages if oldest <= Decimal(m["ts"]) <= latest]
    return [m for m in messages if oldest < Decimal(m["ts"]) < latest]


def _page(workspace: Workspace, args: Arguments, messages: list[JsonObject]) -> JsonObject:
    """Return one page of `messages`; the cursor is the place where the next one starts."""
    cursor = args.text("cursor") or "0"
    if not (cursor.isascii() and cursor.isdigit()):
        raise ApiError("invalid_cursor")
    start, limit = int(cursor), args.count("limit", _PAGE, _PAGE_MAX)
    more = start + limit < len(messages)
    metadata = args.flag("include_all_metadata")
    return {
        "messages": [
            api_message(workspace, message, metadata=metadata)
            for message in messages[start : start + limit]
        ],
        "has_more": more,
        "response_metadata": {"next_cursor": str(start + limit) if more else ""},
    }


def _readable(workspace: Workspace, args: Arguments) -> tuple[Channel, list[JsonObject]]:
    channel = known_channel(workspace, args.need("channel"))
    if not channel.is_member:
        raise ApiError("not_in_channel")
    return channel, [m for m in workspace.messages(channel.id) if not m["ephemeral_for"]]


def history(workspace: Workspace, args: Arguments) -> JsonObject:
    """List messages of a channel, newest first; thread replies only if they were broadcast."""
    _, posted = _readable(workspace, args)
    top = [m for m in posted if not m["thread_ts"] or m["reply_broadcast"]]
    return _page(workspace, args, list(reversed(_inside(args, top))))


def replies(workspace: Workspace, args: Arguments) -> JsonObject:
    """List a message and the replies in its thread, oldest first."""
    channel, posted = _readable(workspace, args)
    named = workspace.message(channel.id, args.need("ts"))
    if named is None or named["ephemeral_for"]:
        raise ApiError("thread_not_found")
    root = named["thread_ts"] or named["ts"]
    thread = [m for m in posted if m["thread_ts"] == root]
    parent = [m for m in posted if m["ts"] == root]
    return _page(workspace, args, parent + _inside(args, thread))
