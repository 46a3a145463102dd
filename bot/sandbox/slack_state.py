"""The workspace: who and what is in it, and what the bot has posted so far."""

import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from bot.sandbox.block_limits import elements_of, flat
from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_config import Channel, Person, SlackSandboxConfig, UserGroup
from bot.sandbox.slack_faults import Faults
from bot.sandbox.slack_journal import Change, Journal
from bot.sandbox.slack_pace import Pace
from bot.sandbox.slack_text import stored_text
from bot.sandbox.slack_triggers import Triggers

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(now: datetime) -> int:
    """Count microseconds since 1970."""
    return (now - _EPOCH) // _MICROSECOND


def ts_value(ts: str) -> Decimal | None:
    """Return a message timestamp as a number of seconds, None if it is none."""
    try:
        value = Decimal(ts)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def dm_id(slack_user_id: str) -> str:
    """Return the id of the bot's direct message channel with a person."""
    return f"D{slack_user_id[1:]}"


@dataclass
class App:
    """The installed app: the scopes it has, and why its token opens nothing any more, if so."""

    scopes: tuple[str, ...]
    error: str | None = None


def _changed_group(group: UserGroup, change: JsonObject) -> UserGroup:
    given = {**change, "members": tuple(change.get("members", group.members))}
    return replace(group, **given)


class Workspace:
    """The stand-in's state, kept in its journal; all of it belongs to one event loop."""

    def __init__(self, config: SlackSandboxConfig) -> None:
        self.config = config
        self.journal = Journal(config.journal)
        self.triggers = Triggers(config.monotonic, config.token)
        self.faults = Faults()
        self.pace = Pace(config.burst, config.monotonic)
        self.app = App(config.scopes)
        self._people = {person.slack_user_id: person for person in config.people}
        self._by_name = {person.id: person for person in config.people}
        self._channels = {channel.id: channel for channel in config.channels}
        self._groups = config.user_groups
        posted = self.journal.table("messages").values()
        self._last_ts = max((int(row["ts"].replace(".", "")) for row in posted), default=0)

    def user(self, slack_user_id: str) -> Person | None:
        """Return the person with this Slack user id."""
        return self._people.get(slack_user_id)

    def person(self, ref: str) -> Person | None:
        """Return the person with this Slack user id or short name."""
        return self._people.get(ref) or self._by_name.get(ref)

    def channels(self, *, deleted_too: bool = False) -> list[Channel]:
        """List the channels as they are now; direct messages are not among them."""
        changes = self.journal.table("channels")
        now = [replace(c, **changes.get(c.id, {})) for c in self._channels.values()]
        return [channel for channel in now if deleted_too or not channel.is_deleted]

    def groups(self) -> list[UserGroup]:
        """List the user groups as they are now."""
        changes = self.journal.table("groups")
        return [_changed_group(group, changes.get(group.id, {})) for group in self._groups]

    def channel(self, channel_id: str) -> Channel | None:
        """Return the channel with this id; every person has a direct message channel."""
        dms = (self.dm(p) for p in self._people.values() if dm_id(p.slack_user_id) == channel_id)
        return next((c for c in self.channels() if c.id == channel_id), None) or next(dms, None)

    def channel_by_name(self, name: str) -> Channel | None:
        """Return the channel with this name, with or without `#`."""
        wanted = name.removeprefix("#")
        return next((c for c in self.channels() if c.name == wanted), None)

    def dm(self, person: Person) -> Channel:
        """Return the bot's direct message channel with a person."""
        members = (person.slack_user_id,)
        return Channel(dm_id(person.slack_user_id), person.id, members, is_private=True, is_im=True)

    def next_ts(self) -> str:
        """Return a message timestamp later than every one before."""
        self._last_ts = max(microseconds(self.config.now()), self._last_ts + 1)
        seconds, fraction = divmod(self._last_ts, 1_000_000)
        return f"{seconds}.{fraction:06d}"

    def message(self, channel_id: str, ts: str) -> JsonObject | None:
        """Return a message, also one that only one person sees."""
        return self.journal.table("messages").get(f"{channel_id}/{ts}")

    def messages(self, channel_id: str) -> list[JsonObject]:
        """List a channel's messages, oldest first, with those that only one person sees."""
        rows = self.journal.table("messages").values()
        return sorted(
            (row for row in rows if row["channel"] == channel_id),
            key=lambda row: Decimal(row["ts"]),
        )

    def save_message(self, message: JsonObject) -> None:
        """Store a message under its channel and ts."""
        self.journal.write(("messages", f"{message['channel']}/{message['ts']}", message))

    def delete_message(self, message: JsonObject) -> None:
        """Forget a message."""
        self.journal.write(("messages", f"{message['channel']}/{message['ts']}", None))

    def stored_blocks(self, blocks: list[JsonObject]) -> list[JsonObject]:
        """Return blocks as Slack keeps them: text escaped, missing ids made up."""
        kept = copy.deepcopy(blocks)
        for block in flat(kept):
            block.setdefault("block_id", self._short_id())
            for _, element in elements_of(block):
                element.setdefault("action_id", self._short_id())
        self._escape(kept)
        return kept

    def stored_text_object(self, text: JsonObject | None) -> JsonObject | None:
        """Return a text object as Slack keeps it."""
        return text and {**text, "text": stored_text(text["text"], text["type"])}

    def _short_id(self) -> str:
        return self.config.token()[-8:]

    def _escape(self, value: object) -> None:
        if isinstance(value, list):
            for item in value:
                self._escape(item)
        elif isinstance(value, dict):
            kind = value.get("type")
            if kind in ("plain_text", "mrkdwn"):
                value["text"] = stored_text(value["text"], kind)
            for item in value.values():
                self._escape(item)

    def new_message(
        self,
        channel: Channel,
        content: JsonObject,
        *,
        thread_ts: str | None = None,
        ephemeral_for: str | None = None,
        user: str | None = None,
    ) -> JsonObject:
        """Make a message with `text`, `blocks`, `metadata` of `content`, by the bot or a person."""
        config = self.config
        return {
            "type": "message",
            "ts": self.next_ts(),
            "thread_ts": thread_ts,
            "channel": channel.id,
            "user": user or config.bot_user_id,
            "bot_id": None if user else config.bot_id,
            "text": content["text"],
            "blocks": content["blocks"],
            "metadata": content.get("metadata"),
            "edited": None,
            "ephemeral_for": ephemeral_for,
            "reply_broadcast": False,
        }

    def home(self, user_id: str) -> JsonObject | None:
        """Return the App Home view published for a person."""
        return self.journal.table("homes").get(user_id)

    def view(self, view_id: str) -> JsonObject | None:
        """Return an open modal's row: `user` and `view`."""
        return self.journal.table("views").get(view_id)

    def stack(self, user_id: str) -> list[JsonObject]:
        """List the views of a person's open modal, the root first."""
        ids = self.journal.table("stacks").get(user_id, {"views": []})["views"]
        return [self.journal.table("views")[view_id]["view"] for view_id in ids]

    def stack_changes(self, user_id: str, views: list[JsonObject]) -> list[Change]:
        """Return the changes that make `views` the person's open modal, the root first."""
        ids = [view["id"] for view in views]
        closed = [old["id"] for old in self.stack(user_id) if old["id"] not in ids]
        return [
            *(("views", view_id, None) for view_id in closed),
            *(("views", view["id"], {"user": user_id, "view": view}) for view in views),
            ("stacks", user_id, {"views": ids} if ids else None),
        ]
