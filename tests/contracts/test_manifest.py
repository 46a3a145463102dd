"""The Slack manifest asks for exactly what the product uses, and offers what it answers."""

import ast
import re
from collections.abc import Iterator
from functools import reduce
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from slack_sdk import WebClient

from bot.slack import listeners
from bot.slack.names import Action, View
from tests.conventions.sources import ROOT, Source, dotted, parse, sources

# Which bot scopes a method of the Web API needs; private channels have scopes of their own.
SCOPES: dict[str, set[str]] = {
    "auth_test": set(),
    "chat_getPermalink": set(),
    "chat_postEphemeral": {"chat:write"},
    "chat_postMessage": {"chat:write"},
    "chat_update": {"chat:write"},
    "conversations_history": {"channels:history", "groups:history"},
    "conversations_info": {"channels:read", "groups:read"},
    "conversations_list": {"channels:read", "groups:read"},
    "conversations_replies": {"channels:history", "groups:history"},
    "usergroups_list": {"usergroups:read"},
    "usergroups_users_list": {"usergroups:read"},
    "users_info": {"users:read"},
    "views_open": set(),
    "views_publish": set(),
    "views_push": set(),
}
_METHOD = re.compile(r"(api|apps|auth|chat|conversations|im|usergroups|users|views)_[a-zA-Z_]+")
_REGISTERS = {"action", "command", "event", "view"}


def methods(source: Source) -> Iterator[str]:
    """Yield each method of the Web API that the source takes from a client."""
    for node in source.walk():
        match node:
            case ast.Attribute(
                value=ast.Name(id=holder) | ast.Attribute(attr=holder), attr=method
            ) if holder.endswith("client") and _METHOD.fullmatch(method):
                yield method


def listened(source: Source) -> Iterator[tuple[str, str]]:
    """Yield each registration of a listener: its kind, and the expression of the name."""
    for node in source.walk():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="app"), attr=kind), args=[name]) if (
                kind in _REGISTERS
            ):
                yield kind, dotted(name)


def _names(kind: str) -> set[str]:
    """Return the names of one kind that the listeners answer."""
    (source,) = (s for s in sources() if s.path == "bot/slack/listeners.py")
    paths = [path.split(".") for found, path in listened(source) if found == kind]
    return {str(reduce(getattr, rest, getattr(listeners, first))) for first, *rest in paths}


def _used() -> set[str]:
    ours = [source for source in sources() if source.under("bot/slack", "app.py")]
    return {method for source in ours for method in methods(source)}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
    return document


def test_every_method_in_use_is_one_of_the_table_and_of_the_library() -> None:
    assert _used() == set(SCOPES)
    assert [method for method in SCOPES if not hasattr(WebClient, method)] == []


def test_the_scopes_are_those_of_the_methods_and_the_command(manifest: dict[str, Any]) -> None:
    needed = set[str]().union(*(SCOPES[method] for method in _used())) | {"commands"}
    assert manifest["oauth_config"]["scopes"]["bot"] == sorted(needed)


def test_every_event_asked_for_has_a_listener_and_the_other_way_round(
    manifest: dict[str, Any],
) -> None:
    asked = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert set(asked) == _names("event")
    assert "app_home_opened" in asked
    assert manifest["features"]["app_home"]["home_tab_enabled"] is True


def test_every_command_offered_has_a_listener_and_the_other_way_round(
    manifest: dict[str, Any],
) -> None:
    offered = manifest["features"]["slash_commands"]
    assert {command["command"] for command in offered} == _names("command")
    assert all(command["should_escape"] is True for command in offered)


def test_every_button_and_form_has_a_listener(manifest: dict[str, Any]) -> None:
    assert manifest["settings"]["interactivity"]["is_enabled"] is True
    assert _names("action") == {action.value for action in Action}
    silent = {View.DETAILS.value, View.NOTICE.value}
    assert _names("view") == {view.value for view in View} - silent


def test_slack_is_sent_to_one_address(manifest: dict[str, Any]) -> None:
    addresses = {
        manifest["settings"]["interactivity"]["request_url"],
        manifest["settings"]["event_subscriptions"]["request_url"],
        *(command["url"] for command in manifest["features"]["slash_commands"]),
    }
    (address,) = addresses
    assert urlsplit(address).path == "/slack/events"


def test_slack_takes_the_lengths(manifest: dict[str, Any]) -> None:
    about = manifest["display_information"]
    assert len(about["name"]) <= 35
    assert len(about["description"]) <= 140
    assert 175 <= len(about["long_description"]) <= 4_000
    assert len(manifest["features"]["bot_user"]["display_name"]) <= 80
    assert all(len(c["usage_hint"]) <= 1_000 for c in manifest["features"]["slash_commands"])


def test_methods_and_listeners_are_read_from_the_source() -> None:
    text = """
app.event(names.OPENED)(asks.home)
app.action(Action.APPROVE.value)(clicks.approve)
self._client.chat_update(channel=channel)
call = client.views_push if modal else edge.client.views_open
client.timeout
"""
    source = parse("x.py", text)
    assert list(listened(source)) == [
        ("event", "names.OPENED"),
        ("action", "Action.APPROVE.value"),
    ]
    assert sorted(methods(source)) == ["chat_update", "views_open", "views_push"]
