"""Web API methods that write messages: chat.*."""

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_arguments import ApiError, Arguments, RateLimited
from bot.sandbox.slack_config import Channel
from bot.sandbox.slack_content import read_changes, read_content
from bot.sandbox.slack_state import Workspace


def api_message(workspace: Workspace, message: JsonObject, *, metadata: bool = False) -> JsonObject:
    """Return a message as the Web API and block_actions show it; metadata only when asked for."""
    shown: JsonObject = {"type": "message", "user": message["user"], "ts": message["ts"]}
    if message["bot_id"]:
        shown |= {"bot_id": message["bot_id"], "app_id": workspace.config.app_id}
    shown |= {"team": workspace.config.team_id, "text": message["text"]}
    if message["blocks"]:
        shown["blocks"] = message["blocks"]
    for name in ("thread_ts", "edited"):
        if message[name]:
            shown[name] = message[name]
    if message["reply_broadcast"]:
        shown["subtype"] = "thread_broadcast"
    if metadata and message["metadata"]:
        shown["metadata"] = message["metadata"]
    return shown


def known_channel(workspace: Workspace, channel_id: str) -> Channel:
    """Return the channel with this id that the bot can see."""
    channel = workspace.channel(channel_id)
    if channel is None or (channel.is_private and not channel.is_member):
        raise ApiError("channel_not_found")
    return channel


def _writable(channel: Channel) -> Channel:
    # An archived channel has no members, the bot is none of them either.
    if channel.is_archived:
        raise ApiError("is_archived")
    if not channel.is_member:
        raise ApiError("not_in_channel")
    return channel


def _target(workspace: Workspace, ref: str) -> Channel:
    # A post, unlike everything else, may name its channel, or a person for a direct message.
    named = workspace.channel_by_name(ref)
    if named:
        return _writable(known_channel(workspace, named.id))
    person = workspace.user(ref)
    if person:
        return workspace.dm(person)
    return _writable(known_channel(workspace, ref))


def _thread(workspace: Workspace, channel: Channel, args: Arguments) -> str | None:
    thread_ts = args.text("thread_ts")
    if not thread_ts:
        return None
    parent = workspace.message(channel.id, thread_ts)
    if parent is None or parent["ephemeral_for"]:
        raise ApiError("cannot_reply_to_message")
    return str(parent["thread_ts"] or parent["ts"])


def post_message(workspace: Workspace, args: Arguments) -> JsonObject:
    """Post to a channel, a thread or a person."""
    channel = _target(workspace, args.need("channel"))
    content = read_content(workspace, args)
    thread_ts = _thread(workspace, channel, args)
    too_soon_s = workspace.pace.take(channel.id)
    if too_soon_s is not None:
        raise RateLimited(too_soon_s)
    message = workspace.new_message(channel, content, thread_ts=thread_ts)
    message["reply_broadcast"] = thread_ts is not None and args.flag("reply_broadcast")
    workspace.save_message(message)
    shown = api_message(workspace, message, metadata=True)
    return {"channel": channel.id, "ts": message["ts"], "message": shown}


def post_ephemeral(workspace: Workspace, args: Arguments) -> JsonObject:
    """Post to one member of a channel."""
    channel = _writable(known_channel(workspace, args.need("channel")))
    person = workspace.user(args.need("user"))
    if person is None or person.slack_user_id not in channel.members:
        raise ApiError("user_not_in_channel")
    content = read_content(workspace, args)
    message = workspace.new_message(
        channel,
        content,
        thread_ts=_thread(workspace, channel, args),
        ephemeral_for=person.slack_user_id,
    )
    workspace.save_message(message)
    return {"message_ts": message["ts"]}


def _posted(workspace: Workspace, channel: Channel, ts: str) -> JsonObject:
    message = workspace.message(channel.id, ts)
    if message is None or message["ephemeral_for"]:
        raise ApiError("message_not_found")
    return message


def update(workspace: Workspace, args: Arguments) -> JsonObject:
    """Replace text, blocks and metadata of a message of the bot."""
    channel = known_channel(workspace, args.need("channel"))
    message = _posted(workspace, channel, args.need("ts"))
    if message["user"] != workspace.config.bot_user_id:
        raise ApiError("cant_update_message")
    changes = read_changes(workspace, args, message)
    edited = {"user": workspace.config.bot_user_id, "ts": workspace.next_ts()}
    message = {**message, **changes, "edited": edited}
    workspace.save_message(message)
    return {
        "channel": channel.id,
        "ts": message["ts"],
        "text": message["text"],
        "message": api_message(workspace, message, metadata=True),
    }


def delete(workspace: Workspace, args: Arguments) -> JsonObject:
    """Delete a message of the bot."""
    channel = known_channel(workspace, args.need("channel"))
    message = _posted(workspace, channel, args.need("ts"))
    if message["user"] != workspace.config.bot_user_id:
        raise ApiError("cant_delete_message")
    workspace.delete_message(message)
    return {"channel": channel.id, "ts": message["ts"]}


def get_permalink(workspace: Workspace, args: Arguments) -> JsonObject:
    """Link to a message."""
    channel = known_channel(workspace, args.need("channel"))
    message = _posted(workspace, channel, args.need("message_ts"))
    mark = f"p{message['ts'].replace('.', '')}"
    link = f"{workspace.config.base_url}/archives/{channel.id}/{mark}"
    return {"channel": channel.id, "permalink": link}
