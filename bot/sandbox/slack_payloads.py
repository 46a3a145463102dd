"""The bodies Slack sends to a bot: interactions, slash commands and events."""

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_config import Channel, Person, SlackSandboxConfig

# The old verification token; bots check the signature instead.
VERIFICATION_TOKEN = "verification-token-not-used"  # noqa: S105 - public by design


def _envelope(config: SlackSandboxConfig, kind: str, person: Person) -> JsonObject:
    team_id = person.team_id or config.team_id
    return {
        "type": kind,
        "team": {"id": config.team_id, "domain": config.team_domain},
        "user": {
            "id": person.slack_user_id,
            "username": person.id,
            "name": person.id,
            "team_id": team_id,
        },
        "api_app_id": config.app_id,
        "token": VERIFICATION_TOKEN,
        "enterprise": None,
        "is_enterprise_install": False,
    }


def message_action(
    config: SlackSandboxConfig,
    person: Person,
    channel: Channel,
    message: JsonObject,
    rest: JsonObject,
) -> JsonObject:
    """Return block_actions from a message; `rest` holds what belongs to this one click.

    That is actions, state, trigger_id, response_url, and `message` unless only this person sees it:
    such a message Slack does not keep, it is named in `container` alone.
    """
    ephemeral = message["ephemeral_for"] is not None
    container: JsonObject = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel.id,
        "is_ephemeral": ephemeral,
    }
    if message["thread_ts"]:
        container["thread_ts"] = message["thread_ts"]
    name = "directmessage" if channel.is_im else channel.name
    return {
        **_envelope(config, "block_actions", person),
        "container": container,
        "channel": {"id": channel.id, "name": name},
        **rest,
    }


def view_action(
    config: SlackSandboxConfig, person: Person, view: JsonObject, rest: JsonObject
) -> JsonObject:
    """Return block_actions from a modal or App Home; `rest` holds actions and trigger_id."""
    return {
        **_envelope(config, "block_actions", person),
        "container": {"type": "view", "view_id": view["id"]},
        "view": view,
        **rest,
    }


def view_submission(
    config: SlackSandboxConfig, person: Person, view: JsonObject, trigger_id: str
) -> JsonObject:
    """Return the submission of a modal whose `state` holds what was entered."""
    return {
        **_envelope(config, "view_submission", person),
        "trigger_id": trigger_id,
        "view": view,
        "response_urls": [],
    }


def view_closed(
    config: SlackSandboxConfig, person: Person, view: JsonObject, *, cleared: bool
) -> JsonObject:
    """Return the closing of a modal; `cleared` when the whole stack went."""
    return {
        **_envelope(config, "view_closed", person),
        "view": view,
        "is_cleared": cleared,
    }


def slash_command(
    config: SlackSandboxConfig, person: Person, channel: Channel, rest: JsonObject
) -> JsonObject:
    """Return the form of a slash command; `rest` holds command, text, trigger_id, response_url."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": person.team_id or config.team_id,
        "team_domain": config.team_domain,
        "channel_id": channel.id,
        "channel_name": "directmessage" if channel.is_im else channel.name,
        "user_id": person.slack_user_id,
        "user_name": person.id,
        "api_app_id": config.app_id,
        "is_enterprise_install": "false",
        **rest,
    }


def event_callback(config: SlackSandboxConfig, event: JsonObject, event_id: str) -> JsonObject:
    """Return an Events API delivery of `event`, which has an `event_ts`."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": config.team_id,
        "api_app_id": config.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(event["event_ts"].partition(".")[0]),
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": config.team_id,
                "user_id": config.bot_user_id,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
    }
