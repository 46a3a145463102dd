"""What Slack sends when somebody acts, read once into values; anything else is refused here."""

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.domain.decision import ReplyTo
from agent.domain.payload import Payload
from agent.domain.roles import Identity
from bot.slack.names import INPUT
from bot.slack.names import Field as Input
from bot.slack.text import clip, visible

Body: TypeAlias = dict[str, Any]

_SHOWN = 200
_UNKNOWN = "unknown"


class _Sent(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Ref(_Sent):
    id: Annotated[str, Field(min_length=1, max_length=64)]


class _User(_Ref):
    team_id: str | None = None


class _Action(_Sent):
    action_id: str
    value: str | None = None
    action_ts: str = ""


class _Container(_Sent):
    message_ts: str | None = None


class _ViewRef(_Sent):
    type: str
    id: str = ""
    hash: str = ""
    private_metadata: str = ""


@dataclass(frozen=True, slots=True)
class InView:
    """A modal as it lay open for a person when they acted in it."""

    view_id: str
    hash: str
    user_id: str


class _Acting(_Sent):
    user: _User
    team: _Ref | None = None

    @property
    def team_id(self) -> str:
        """Return the workspace of the person, which in a shared channel is not the bot's."""
        return self.user.team_id or (self.team.id if self.team is not None else "")

    @property
    def identity(self) -> Identity:
        """Return who acts."""
        return Identity("slack", f"{self.team_id}:{self.user.id}")


class Click(_Acting):
    """A click on a button of a message, a modal or App Home."""

    trigger_id: str
    channel: _Ref | None = None
    container: _Container = _Container()
    view: _ViewRef | None = None
    actions: Annotated[list[_Action], Field(min_length=1)]

    @property
    def value(self) -> str | None:
        """Return the value of the button."""
        return self.actions[0].value

    @property
    def channel_id(self) -> str:
        """Return the channel of the message; empty for a modal and App Home."""
        return "" if self.channel is None else self.channel.id

    @property
    def place(self) -> InView:
        """Return the modal that was clicked in."""
        shown = self.view or _ViewRef(type="")
        return InView(shown.id, shown.hash, self.user.id)

    @property
    def metadata(self) -> str:
        """Return the private metadata of the modal; empty elsewhere."""
        return "" if self.view is None else self.view.private_metadata

    @property
    def reply_to(self) -> ReplyTo:
        """Return where the person reads what became of it."""
        return ReplyTo(self.channel_id, self.user.id)

    @property
    def in_modal(self) -> bool:
        """Tell whether the button lies in a modal, so that another one goes on top of it."""
        return self.view is not None and self.view.type == "modal"


class _Option(_Sent):
    value: str


class _State(_Sent):
    value: str | None = None
    selected_option: _Option | None = None


class _Values(_Sent):
    values: dict[str, dict[str, _State]] = {}


class _View(_Sent):
    id: str = ""
    hash: str = ""
    callback_id: str = ""
    private_metadata: str = ""
    state: _Values = _Values()


class Form(_Acting):
    """A submitted modal."""

    view: _View

    def reply_to(self, channel: str) -> ReplyTo:
        """Return where the person reads what became of it: the channel it was opened from."""
        return ReplyTo(channel, self.user.id)

    def text(self, name: Input) -> str:
        """Return what was typed into an input, empty if nothing was."""
        return self._state(name).value or ""

    def choice(self, name: Input) -> str:
        """Return the value of the chosen option, empty without one."""
        chosen = self._state(name).selected_option
        return "" if chosen is None else chosen.value

    def _state(self, name: Input) -> _State:
        return self.view.state.values.get(name, {}).get(INPUT, _State())


class _Keystroke(_Sent):
    action_ts: str = ""


class Typing(Form):
    """A form while somebody types into it."""

    actions: Annotated[list[_Keystroke], Field(min_length=1)]

    @property
    def place(self) -> InView:
        """Return the form that is typed into."""
        return InView(self.view.id, self.view.hash, self.user.id)

    @property
    def at(self) -> str:
        """Return when it was typed, by Slack's clock, as text that sorts."""
        return self.actions[0].action_ts


class Typed(_Sent):
    """A slash command."""

    user_id: str
    team_id: str
    text: str = ""
    trigger_id: str = ""

    @property
    def identity(self) -> Identity:
        """Return who typed it."""
        return Identity("slack", f"{self.team_id}:{self.user_id}")


class _OpenedTab(_Sent):
    user: str
    tab: str


class Opened(_Sent):
    """Somebody opened a tab of the app's own page."""

    team_id: str
    event: _OpenedTab

    @property
    def identity(self) -> Identity:
        """Return who opened it."""
        return Identity("slack", f"{self.team_id}:{self.event.user}")


_Kind = TypeVar("_Kind", bound=_Sent)


def read(kind: type[_Kind], body: Body) -> _Kind | None:
    """Read a payload as one of the kinds above, None when it is none."""
    try:
        return kind.model_validate(body)
    except ValidationError:
        return None


def sender(body: Body) -> Identity:
    """Return who sent a payload of any kind, as well as it says."""
    user, team = body.get("user"), body.get("team")
    of_user = user if isinstance(user, dict) else {"id": body.get("user_id")}
    of_team = team if isinstance(team, dict) else {"id": body.get("team_id")}
    team_id = of_user.get("team_id") or of_team.get("id") or _UNKNOWN
    return Identity("slack", f"{shown(team_id)}:{shown(of_user.get('id') or _UNKNOWN)}")


def described(body: Body) -> Payload:
    """Return what a payload asked for, short and harmless, for the trail."""
    actions, view = body.get("actions"), body.get("view")
    action = actions[0] if isinstance(actions, list) and actions else {}
    found = {
        "kind": body.get("type") or body.get("command"),
        "action_id": action.get("action_id") if isinstance(action, dict) else None,
        "value": action.get("value") if isinstance(action, dict) else None,
        "callback_id": view.get("callback_id") if isinstance(view, dict) else None,
        "text": body.get("text") if "command" in body else None,
    }
    return {name: shown(value) for name, value in found.items() if value is not None}


def shown(value: object) -> str:
    """Return something that was sent, short and harmless."""
    return clip(visible(str(value)), _SHOWN)
