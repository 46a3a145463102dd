"""A look at the workspace before it is needed: token, scopes, clock, channels, groups, socket."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse

from agent.domain.policy import RoleSource
from agent.domain.roles import Role
from bot.findings import Finding, failed, fine, skipped, warning
from bot.slack.channels import CHANNEL_ID, Channels, Workspace, is_shared
from bot.slack.checkup_people import Sight, look_at_groups
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of

_Found: TypeAlias = dict[str, Any]

# Slack's requests are refused when their stamp is further away than this (facts: signing).
SIGNING_WINDOW = timedelta(minutes=5)
_DRIFT_WORTH_TELLING = timedelta(minutes=1)
_PAGE, _PAGES = 200, 50
_REINSTALL = "install the app again (OAuth & Permissions, Reinstall to Workspace)"
_AFRESH = (
    "Install the app again and put its new Bot User OAuth Token into SLACK_BOT_TOKEN "
    "(api.slack.com/apps, OAuth & Permissions)."
)


@dataclass(frozen=True, slots=True)
class Checkup:
    """What is to be looked at; `now` is this machine's own clock, `needed` are scopes."""

    client: WebClient
    channels: Channels
    roles: Mapping[Role, RoleSource]
    needed: tuple[str, ...]
    now: Callable[[], datetime]


def look_at_slack(checkup: Checkup) -> Iterator[Finding]:
    """Look at everything that the bot token shows; without a good token at nothing else."""
    before = checkup.now()
    try:
        answer = checkup.client.auth_test()
    except CALL_ERRORS as error:
        yield _token_problem(checkup.client, error)
        yield skipped("scopes", "the token shows none")
        yield skipped("channels", "nobody may ask without a token")
        yield skipped("user groups", "nobody may ask without a token")
        return
    midway = before + (checkup.now() - before) / 2
    workspace = Workspace(str(answer["team_id"]), str(answer["team"]), str(answer["user_id"]))
    yield fine("token", f"the bot is {answer.get('user')} in the workspace {workspace.name}")
    yield _scopes(answer, checkup.needed)
    yield _clock(answer, midway)
    finder = ChannelFinder(checkup.client)
    members: frozenset[str] | None = None
    named = (
        ("approvals", checkup.channels.approvals),
        ("on-call", checkup.channels.oncall),
        ("review", checkup.channels.review),
        ("fallback", checkup.channels.spare),
    )
    for role, wanted in named:
        if wanted is None:
            continue
        channel = finder.find(wanted)
        yield _judged(f"{role} channel", wanted, channel)
        if role == "approvals" and isinstance(channel, dict):
            members = _members(checkup.client, channel)
    sight = Sight(checkup.client, workspace.team_id, members)
    yield from look_at_groups(sight, checkup.roles)


def look_at_socket(client: WebClient, app_token: str) -> Finding:
    """Ask for a connection of Socket Mode, without taking it up."""
    try:
        client.apps_connections_open(app_token=app_token)
    except CALL_ERRORS as error:
        code = failure_of(error).code
        return failed(
            "socket",
            f"Slack opens no connection: {code}",
            "Turn Socket Mode on and make an app-level token with connections:write for "
            "SLACK_APP_TOKEN (Basic Information, App-Level Tokens).",
        )
    return fine("socket", "Slack offers a connection")


def _token_problem(client: WebClient, error: Exception) -> Finding:
    failure = failure_of(error)
    says = f"Slack answers {failure.code}"
    match failure.meaning:
        case Meaning.NOT_SENT | Meaning.UNCLEAR:
            remedy = f"See that this machine reaches {client.base_url}, then try again."
        case Meaning.LIMITED:
            remedy = "Wait a minute and try again."
        case _:
            remedy = _AFRESH
    return failed("token", says, remedy)


def _scopes(answer: SlackResponse, needed: tuple[str, ...]) -> Finding:
    given = _header(answer, "x-oauth-scopes")
    if given is None:
        says = "the answer does not name them"
        return warning("scopes", says, "See that nothing between here and Slack takes headers off.")
    granted = {scope.strip() for scope in given.split(",") if scope.strip()}
    missing = sorted(set(needed) - granted)
    if missing:
        return failed(
            "scopes",
            f"the app lacks {', '.join(missing)}",
            f"Add what the manifest has (agent manifest) and {_REINSTALL}: until then these calls "
            "fail.",
        )
    extra = sorted(granted - set(needed))
    if extra:
        return warning(
            "scopes",
            f"the app may do more than it needs: {', '.join(extra)}",
            f"Take them out of the app's settings and {_REINSTALL}.",
        )
    return fine("scopes", f"all {len(needed)} are there, and no other")


def _clock(answer: SlackResponse, midway: datetime) -> Finding:
    stamp = _header(answer, "date")
    try:
        theirs = None if stamp is None else parsedate_to_datetime(stamp)
    except ValueError:
        theirs = None
    if theirs is None:
        says = "Slack's answer has no date"
        return warning("clock", says, "Compare this machine's clock with another one's.")
    drift = abs(theirs - midway)
    says = f"this machine and Slack are {_seconds(drift)} apart"
    remedy = "Let the machine's clock be set by NTP."
    if drift >= SIGNING_WINDOW:
        says += ", so every click is refused: their stamps count for 5 minutes"
        return failed("clock", says, remedy)
    return warning("clock", says, remedy) if drift >= _DRIFT_WORTH_TELLING else fine("clock", says)


def _seconds(drift: timedelta) -> str:
    # The header counts whole seconds.
    seconds = int(drift.total_seconds())
    return f"{seconds} s" if seconds else "less than a second"


def _header(answer: SlackResponse, name: str) -> str | None:
    found = [value for key, value in answer.headers.items() if key.lower() == name]
    return str(found[0]) if found else None


class ChannelFinder:
    """Finds channels by id or name; the list of all is read once, and only if a name is asked."""

    def __init__(self, client: WebClient) -> None:
        """Keep who asks."""
        self._client = client
        self._listed: dict[str, _Found] | None = None

    def find(self, wanted: str) -> _Found | Exception | None:
        """Return a channel as Slack describes it, None when there is none, or why nobody knows."""
        try:
            if CHANNEL_ID.fullmatch(wanted):
                return dict(self._client.conversations_info(channel=wanted)["channel"])
            if self._listed is None:
                self._listed = dict(self._list())
        except CALL_ERRORS as error:
            return None if failure_of(error).code.startswith("channel_not_found") else error
        return self._listed.get(wanted.removeprefix("#"))

    def _list(self) -> Iterator[tuple[str, _Found]]:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = self._client.conversations_list(
                types="public_channel,private_channel", limit=_PAGE, cursor=cursor
            )
            yield from ((str(channel.get("name")), dict(channel)) for channel in page["channels"])
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return


def _judged(name: str, wanted: str, channel: _Found | Exception | None) -> Finding:
    if isinstance(channel, Exception):
        code = failure_of(channel).code
        remedy = "See what the finding about the scopes says, then try again."
        return failed(name, f"Slack answers {code} about {wanted}", remedy)
    if channel is None:
        return failed(
            name,
            f"the bot sees no channel {wanted}",
            "Correct the name, or invite the bot: a private channel does not exist for who is not "
            "in it.",
        )
    shown = f"#{channel.get('name')}"
    if is_shared(channel):
        remedy = "Take another channel: another company's people would see the cards and click."
        return failed(name, f"{shown} is shared with another company or workspace", remedy)
    if channel.get("is_archived"):
        return failed(name, f"{shown} is archived", f"Unarchive {shown} or name another channel.")
    if not channel.get("is_member"):
        remedy = f"Type /invite @Supportdesk in {shown}."
        return failed(name, f"the bot is not in {shown}", remedy)
    return fine(name, f"{shown} is there, and the bot is in it")


def _members(client: WebClient, channel: _Found) -> frozenset[str] | None:
    """Return who is in a channel; None where that cannot be known or is too many to ask for."""
    try:
        found = client.conversations_members(channel=channel["id"], limit=999)
    except CALL_ERRORS:
        return None
    more = (found.get("response_metadata") or {}).get("next_cursor")
    return None if more else frozenset(found["members"])
