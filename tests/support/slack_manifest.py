"""What Slack refuses in an app's manifest (major version 1), as far as the desk's own goes."""

from collections.abc import Iterator
from typing import cast

from bot.sandbox.json_shape import (
    Check,
    JsonObject,
    Problem,
    array,
    boolean,
    every,
    integer,
    record,
    string,
)

_URL = string(1, 3_000, r"https?://\S+")
_SCOPES = array(string(1, 255), 0, 255)
_COMMAND = record(
    {"command": string(2, 32, r"/\S+"), "description": string(1, 2_000)},
    {"url": _URL, "usage_hint": string(1, 1_000), "should_escape": boolean},
)
_MANIFEST = record(
    {
        "display_information": record(
            {"name": string(1, 35)},
            {
                "description": string(1, 140),
                "long_description": string(175, 4_000),
                "background_color": string(4, 7, r"#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?"),
            },
        ),
    },
    {
        "_metadata": record({}, {"major_version": integer(1, 2), "minor_version": integer(0, 99)}),
        "features": record(
            {},
            {
                "app_home": record(
                    {},
                    dict.fromkeys(
                        (
                            "home_tab_enabled",
                            "messages_tab_enabled",
                            "messages_tab_read_only_enabled",
                        ),
                        boolean,
                    ),
                ),
                "bot_user": record({"display_name": string(1, 80)}, {"always_online": boolean}),
                "slash_commands": array(_COMMAND, 1, 50),
            },
        ),
        "oauth_config": record(
            {},
            {
                "redirect_urls": array(_URL, 0, 1_000),
                "scopes": record({}, {"bot": _SCOPES, "user": _SCOPES}),
            },
        ),
        "settings": record(
            {},
            {
                "event_subscriptions": record(
                    {},
                    {
                        "request_url": _URL,
                        "bot_events": array(string(1, 255), 0, 100),
                        "user_events": array(string(1, 255), 0, 100),
                    },
                ),
                "interactivity": record(
                    {"is_enabled": boolean},
                    {"request_url": _URL, "message_menu_options_url": _URL},
                ),
                "org_deploy_enabled": boolean,
                "socket_mode_enabled": boolean,
                "token_rotation_enabled": boolean,
            },
        ),
    },
)


def _arrives(value: object, at: str) -> Iterator[Problem]:
    """Say where Slack would have nowhere to send to: without Socket Mode each needs an address."""
    manifest = cast("JsonObject", value)
    settings = manifest.get("settings", {})
    if settings.get("socket_mode_enabled"):
        return
    for name in ("event_subscriptions", "interactivity"):
        if name in settings and "request_url" not in settings[name]:
            yield Problem(f"{at}/settings/{name}", "needs a request_url")
    for index, command in enumerate(manifest.get("features", {}).get("slash_commands", [])):
        if "url" not in command:
            yield Problem(f"{at}/features/slash_commands/{index}", "needs a url")


MANIFEST: Check = every(_MANIFEST, _arrives)


def refused(manifest: object) -> list[str]:
    """List what Slack would refuse in a manifest."""
    return [f"{problem.pointer}: {problem.reason}" for problem in MANIFEST(manifest, "")]
