"""The Slack app's manifest: one file, written for HTTP; an address or Socket Mode change a copy."""

from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import yaml

import bot
from agent.domain.errors import InvalidInput

Manifest: TypeAlias = dict[str, Any]

SLACK_PATH = "/slack/events"
_FILE = Path(bot.__file__).parents[1] / "manifest.yml"


def read_manifest() -> Manifest:
    """Read the manifest as it is written, with an address that stands for the desk's own."""
    document: Manifest = yaml.safe_load(_FILE.read_text("utf-8"))
    return document


def bot_scopes(manifest: Manifest) -> tuple[str, ...]:
    """Return the scopes that the bot asks for."""
    return tuple(manifest["oauth_config"]["scopes"]["bot"])


def bot_events(manifest: Manifest) -> frozenset[str]:
    """Return the events that the bot asks for."""
    return frozenset(manifest["settings"]["event_subscriptions"]["bot_events"])


def for_http(manifest: Manifest, public_url: str) -> Manifest:
    """Return the manifest for requests to the desk's public address, such as https://desk.example.

    Raises InvalidInput for what Slack cannot send to.
    """
    parts = urlsplit(public_url)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment:
        raise InvalidInput("url", "Slack sends to an https address, such as https://desk.example")
    address = public_url.rstrip("/").removesuffix(SLACK_PATH) + SLACK_PATH
    changed = deepcopy(manifest)
    changed["settings"]["interactivity"]["request_url"] = address
    changed["settings"]["event_subscriptions"]["request_url"] = address
    for command in changed["features"]["slash_commands"]:
        command["url"] = address
    return changed


def for_socket(manifest: Manifest) -> Manifest:
    """Return the manifest for Socket Mode: no address, everything else the same."""
    changed = deepcopy(manifest)
    changed["settings"]["socket_mode_enabled"] = True
    del changed["settings"]["interactivity"]["request_url"]
    del changed["settings"]["event_subscriptions"]["request_url"]
    for command in changed["features"]["slash_commands"]:
        del command["url"]
    return changed


def written(manifest: Manifest) -> str:
    """Return a manifest as YAML, in the order of the file."""
    return yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=100)
