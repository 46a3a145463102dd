"""The channels the desk posts to, verified before the first message leaves."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from slack_sdk import WebClient

from agent.domain.places import APPROVALS, ONCALL, REVIEW, SPARE
from bot.slack.failures import CALL_ERRORS, Meaning, failure_of

CHANNEL_ID = re.compile(r"[CG][A-Z0-9]{6,30}")
_PAGE, _PAGES = 200, 50
# A pending invitation is one that somebody accepts at any time.
_SHARED = ("is_ext_shared", "is_pending_ext_shared", "is_shared", "is_org_shared")
_WORDS = {
    "is_archived": "is archived",
    "not_in_channel": "does not have the bot in it: invite it there",
}


class SlackNotReady(Exception):
    """The desk cannot work with this workspace; `temporary` tells whether waiting may help."""

    def __init__(self, problem: str, *, temporary: bool) -> None:
        """Say what is wrong in a sentence for the operator."""
        super().__init__(problem)
        self.temporary = temporary


@dataclass(frozen=True, slots=True)
class Channels:
    """Where each kind of message goes: ids, or names with or without `#` before the check.

    `spare` takes the messages of a channel that refuses them; without it they go to another one.
    """

    approvals: str
    oncall: str
    review: str
    spare: str | None = None

    def by_place(self) -> dict[str, str]:
        """Return the channel of each place of `agent.domain.places`."""
        named = {APPROVALS: self.approvals, ONCALL: self.oncall, REVIEW: self.review}
        return named if self.spare is None else {**named, SPARE: self.spare}


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace behind the bot token, and who the bot is in it."""

    team_id: str
    name: str
    bot_user_id: str


def identify(client: WebClient) -> Workspace:
    """Ask Slack whose token this is; raises SlackNotReady."""
    try:
        found = client.auth_test()
    except CALL_ERRORS as error:
        raise _not_ready("the bot token", error) from error
    return Workspace(str(found["team_id"]), str(found["team"]), str(found["user_id"]))


def check_channels(client: WebClient, wanted: Channels) -> Channels:
    """Resolve and verify the channels and return their ids; raises SlackNotReady.

    Refused are unknown and archived channels, those that the bot is not in, and channels shared
    with another company or workspace: its people would see cards and could click.
    """
    return Channels(
        approvals=_checked(client, wanted.approvals),
        oncall=_checked(client, wanted.oncall),
        review=_checked(client, wanted.review),
        spare=None if wanted.spare is None else _checked(client, wanted.spare),
    )


def trouble_with(channel: Mapping[str, object]) -> str | None:
    """Return Slack's code for why a channel as `conversations.info` shows it takes no messages."""
    if channel.get("is_archived"):
        return "is_archived"
    return None if channel.get("is_member") else "not_in_channel"


def is_shared(channel: Mapping[str, object]) -> bool:
    """Tell whether people of elsewhere see, or are about to see, what is posted to a channel."""
    return any(channel.get(flag) for flag in _SHARED)


def _checked(client: WebClient, wanted: str) -> str:
    channel_id = (
        wanted if CHANNEL_ID.fullmatch(wanted) else _resolve(client, wanted.removeprefix("#"))
    )
    try:
        channel = client.conversations_info(channel=channel_id)["channel"]
    except CALL_ERRORS as error:
        raise _not_ready(f"the channel {wanted}", error) from error
    problem = _WORDS.get(trouble_with(channel) or "")
    if is_shared(channel):
        problem = "is shared with another company or workspace"
    if problem is not None:
        raise SlackNotReady(f"the channel {wanted} {problem}", temporary=False)
    return str(channel["id"])


def _resolve(client: WebClient, name: str) -> str:
    cursor = None
    for _ in range(_PAGES):
        try:
            page = client.conversations_list(
                types="public_channel,private_channel",
                exclude_archived=True,
                limit=_PAGE,
                cursor=cursor,
            )
        except CALL_ERRORS as error:
            raise _not_ready(f"the channel #{name}", error) from error
        for channel in page["channels"]:
            if channel.get("name") == name:
                return str(channel["id"])
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
    raise SlackNotReady(f"the bot sees no channel #{name}", temporary=False)


def _not_ready(what: str, error: Exception) -> SlackNotReady:
    failure = failure_of(error)
    temporary = failure.is_silence or failure.meaning is Meaning.LIMITED
    return SlackNotReady(f"Slack answers {failure.code} about {what}", temporary=temporary)
