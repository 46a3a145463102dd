"""The Slack manifest asks for exactly what the product uses, and offers what it answers."""

import ast
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import reduce
from typing import Any, NoReturn
from urllib.parse import urlsplit

import pytest
import yaml
from click.testing import CliRunner, Result
from slack_sdk import WebClient

from agent.domain.errors import InvalidInput
from bot.cli import World, cli
from bot.manifest import bot_events, for_http, for_socket, read_manifest, written
from bot.slack import listeners
from bot.slack.names import INPUT, NUMBERED_DETAILS, NUMBERED_REPLY, NUMBERED_REVIEW, Action, View
from tests.conventions.sources import Source, dotted, parse, sources
from tests.support.slack_manifest import refused

# Which bot scopes a method of the Web API needs; private channels have scopes of their own.
_READ, _HISTORY = {"channels:read", "groups:read"}, {"channels:history", "groups:history"}
SCOPES: dict[str, set[str]] = {
    # Its scope, connections:write, belongs to the token of the app and not to the bot's.
    "apps_connections_open": set(),
    "auth_test": set(),
    "chat_delete": {"chat:write"},
    "chat_getPermalink": set(),
    "chat_postEphemeral": {"chat:write"},
    "chat_postMessage": {"chat:write"},
    "chat_scheduleMessage": {"chat:write"},
    "chat_update": {"chat:write"},
    "conversations_history": _HISTORY,
    "conversations_info": _READ,
    "conversations_join": {"channels:join"},
    "conversations_list": _READ,
    "conversations_members": _READ,
    "conversations_open": {"im:write"},
    "conversations_replies": _HISTORY,
    "usergroups_list": {"usergroups:read"},
    "usergroups_users_list": {"usergroups:read"},
    "users_info": {"users:read"},
    "users_lookupByEmail": {"users:read.email"},
    "views_open": set(),
    "views_publish": set(),
    "views_push": set(),
    "views_update": set(),
}
_METHOD = re.compile(r"(apps|auth|chat|conversations|im|usergroups|users|views)_[a-zA-Z_]+")
_REGISTERS = {"action", "command", "event", "view"}


def methods(source: Source) -> Iterator[str]:
    """Yield each method of the Web API that the source takes from a client."""
    for node in source.walk():
        match node:
            case ast.Attribute(
                value=ast.Name(id=holder) | ast.Attribute(attr=holder), attr=method
            ) if holder.endswith("client") and _METHOD.fullmatch(method):
                yield method
            case ast.Call(func=ast.Attribute(attr="api_call"), args=[ast.Constant(value=name), *_]):
                yield str(name).replace(".", "_")
            case _:
                pass


def listened(source: Source) -> Iterator[tuple[str, str]]:
    """Yield each registration of a listener: its kind, and the expression of the name.

    In a loop over names the expression is that of all of them with `[*]` behind it.
    """
    loops = {
        node.target.id: f"{dotted(node.iter)}[*]"
        for node in source.walk()
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
    }
    for node in source.walk():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="app"), attr=kind), args=[name]) if (
                kind in _REGISTERS
            ):
                first, _, rest = dotted(name).partition(".")
                yield kind, f"{loops.get(first, first)}.{rest}".rstrip(".")


def _values(expression: str) -> set[str]:
    """Return the names that an expression of the listeners' module stands for."""
    several, loop, rest = expression.rpartition("[*]")
    parts = (several if loop else rest).split(".")
    found = reduce(getattr, parts[1:], getattr(listeners, parts[0]))
    each = found if loop else (found,)
    inner = [part for part in rest.split(".") if part] if loop else []
    return {str(reduce(getattr, inner, one)) for one in each}


def _names(kind: str) -> set[str]:
    """Return the names of one kind that the listeners answer."""
    (source,) = (s for s in sources() if s.path == "bot/slack/listeners.py")
    paths = [path for found, path in listened(source) if found == kind]
    return set[str]().union(*(_values(path) for path in paths))


def _used() -> set[str]:
    ours = [source for source in sources() if source.under("bot/slack", "app.py")]
    return {method for source in ours for method in methods(source)}


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return read_manifest()


def test_every_method_in_use_is_one_of_the_table_and_of_the_library() -> None:
    assert _used() - set(SCOPES) == set()
    assert len(_used()) > 10
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
    # Buttons of a list by their number, and inputs that speak while somebody types.
    lists = {NUMBERED_REVIEW, NUMBERED_REPLY, NUMBERED_DETAILS}
    others = {*map(str, lists), INPUT}
    assert _names("action") == {action.value for action in Action} | others
    silent = {View.DETAILS.value, View.LOOK.value, View.NOTICE.value, View.REVEALED.value}
    assert _names("view") == {view.value for view in View} - silent


def addresses(node: object) -> list[str]:
    """Return every address that Slack would send to."""
    match node:
        case dict():
            own = [node[name] for name in ("url", "request_url") if name in node]
            return [*own, *(one for value in node.values() for one in addresses(value))]
        case list():
            return [one for value in node for one in addresses(value)]
        case _:
            return []


def test_slack_takes_the_manifest_and_both_of_its_variants(manifest: dict[str, Any]) -> None:
    assert refused(manifest) == []
    over_http = for_http(manifest, "https://help.shop.example/desk/")
    assert refused(over_http) == []
    assert set(addresses(over_http)) == {"https://help.shop.example/desk/slack/events"}
    assert len(addresses(over_http)) == len(addresses(manifest))
    assert {urlsplit(one).path for one in addresses(manifest)} == {"/slack/events"}

    over_a_socket = for_socket(manifest)
    assert refused(over_a_socket) == []
    assert addresses(over_a_socket) == []
    settings = over_a_socket["settings"]
    assert (settings["socket_mode_enabled"], settings["interactivity"]) == (
        True,
        {"is_enabled": True},
    )
    # What the app may do and hear is the same either way.
    for one in (over_http, over_a_socket):
        assert one["oauth_config"] == manifest["oauth_config"]
        assert bot_events(one) == bot_events(manifest)
        assert yaml.safe_load(written(one)) == one


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m.update(shortcuts=[]), "/shortcuts: unknown field"),
        (lambda m: m["settings"].update(socket_mode_enable=True), "unknown field: socket_mode_en"),
        (lambda m: m["settings"].update(interactivity={}), "missing required field: is_enabled"),
        (lambda m: m["display_information"].update(name="x" * 36), "less than 36"),
        (lambda m: m["display_information"].update(long_description="x" * 174), "more than 174"),
        (lambda m: m["features"]["bot_user"].update(display_name="x" * 81), "less than 81"),
        (lambda m: m["features"]["slash_commands"][0].update(command="refunds"), "not match /"),
        (lambda m: m["settings"]["interactivity"].pop("request_url"), "needs a request_url"),
        (lambda m: m["features"]["slash_commands"][0].pop("url"), "needs a url"),
        (lambda m: m["settings"]["event_subscriptions"].update(bot_events=["x"] * 101), "than 100"),
    ],
)
def test_slack_refuses_a_manifest_with_a_slip(
    manifest: dict[str, Any], change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    wrong = deepcopy(manifest)
    change(wrong)
    assert [one for one in refused(wrong) if problem in one], refused(wrong)


@pytest.mark.parametrize("url", ["http://desk.example", "desk.example", "https://", "https://a?b"])
def test_an_address_that_slack_cannot_send_to_is_refused(
    manifest: dict[str, Any], url: str
) -> None:
    with pytest.raises(InvalidInput, match="Slack sends to an https address"):
        for_http(manifest, url)


def test_the_command_prints_what_is_to_be_pasted(manifest: dict[str, Any]) -> None:
    told = ("--url", "https://desk.shop.example")
    assert yaml.safe_load(printed(*told).output) == for_http(manifest, told[1])
    assert yaml.safe_load(printed("--socket").output) == for_socket(manifest)
    assert yaml.safe_load(printed(public_url=told[1]).output) == for_http(manifest, told[1])
    for words in ((), ("--socket", *told)):
        assert printed(*words).exit_code == 2
    refusal = printed("--url", "http://desk.shop.example")
    assert (refusal.exit_code, refusal.output.partition(":")[0]) == (1, "invalid")


def printed(*words: str, public_url: str | None = None) -> Result:
    """Run `agent manifest …` where no desk can be opened."""
    world = World(
        open_desk=_no_desk, upgrade=lambda: "", os_user="ana", public_url=lambda: public_url
    )
    return CliRunner().invoke(cli, ["manifest", *words], obj=world)


def _no_desk() -> NoReturn:
    raise AssertionError("a manifest needs no desk")


def test_methods_and_listeners_are_read_from_the_source() -> None:
    text = """
app.event(names.OPENED)(asks.home)
app.action(Action.APPROVE.value)(clicks.approve)
for page in names.PAGES:
    app.action(page.value)(clicks.page)
self._client.chat_update(channel=channel)
call = client.views_push if modal else edge.client.views_open
client.api_call("chat.delete", json={})
client.timeout
"""
    source = parse("x.py", text)
    assert list(listened(source)) == [
        ("event", "names.OPENED"),
        ("action", "Action.APPROVE.value"),
        ("action", "names.PAGES[*].value"),
    ]
    found = ["chat_delete", "chat_update", "views_open", "views_push"]
    assert sorted(methods(source)) == found
