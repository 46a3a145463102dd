"""What the Slack stand-in is told when it is made: its workspace, its secrets, its sources."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bot.sandbox.slack_scopes import ALL_SCOPES


@dataclass(frozen=True)
class Person:
    """A member of the workspace, with the account flags Slack reports.

    `id` is the short name used on the demo page, `slack_user_id` the id the bot sees. `roles` are
    the desk's role names; their Slack user groups are in `UserGroup`.
    """

    id: str
    name: str
    slack_user_id: str
    email: str
    title: str = ""
    initials: str = ""
    colour: str = "#616061"
    roles: tuple[str, ...] = ()
    team_id: str | None = None
    deleted: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    is_email_confirmed: bool = True
    is_bot: bool = False
    is_workflow_bot: bool = False


@dataclass(frozen=True)
class Channel:
    """A conversation; `members` are Slack user ids, `is_member` says whether the bot is in it."""

    id: str
    name: str
    members: tuple[str, ...]
    topic: str = ""
    is_member: bool = True
    is_private: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False
    is_pending_ext_shared: bool = False
    is_shared: bool = False
    is_deleted: bool = False
    is_im: bool = False


@dataclass(frozen=True)
class UserGroup:
    """A Slack user group; `members` are Slack user ids."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...]
    is_disabled: bool = False


@dataclass(frozen=True)
class SlackSandboxConfig:
    """One workspace with one installed app.

    `base_url` is where the stand-in is reached (no trailing slash), `events_url` where the bot
    takes its signed requests. `monotonic` counts seconds, `token` gives a fresh unguessable
    URL-safe string of at least 16 characters, `pause` waits a number of seconds. `scopes` are what
    the app was installed with, `events` what it asked for (None: everything), `burst` how many
    posts a channel takes at once before it asks for one a second (None: any number), `lacking`
    which kinds of block have not reached this workspace.
    """

    bot_token: str = field(repr=False)
    signing_secret: str = field(repr=False)
    events_url: str
    base_url: str
    journal: Path
    people: tuple[Person, ...]
    channels: tuple[Channel, ...]
    user_groups: tuple[UserGroup, ...]
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    token: Callable[[], str]
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    team_id: str = "T07SHOPSTRM"
    team_name: str = "ShopStream"
    team_domain: str = "shopstream"
    bot_user_id: str = "U07SUPPDESK"
    bot_id: str = "B07SUPPDESK"
    bot_name: str = "supportdesk"
    app_id: str = "A07SUPPDESK"
    page_url: str = "/"
    ack_timeout_s: float = 3.0
    scopes: tuple[str, ...] = ALL_SCOPES
    events: frozenset[str] | None = None
    burst: int | None = None
    lacking: frozenset[str] = frozenset()
