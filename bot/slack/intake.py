"""Reading what somebody did: a click on a button of ours, a form of ours, and what it names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from slack_bolt import Ack

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.decision import RefusalCode
from agent.domain.errors import Corrupt
from agent.domain.payload import Payload
from agent.domain.queue import Standing
from agent.steps.kept import DAMAGED
from agent.steps.queue import take_seat
from bot.slack.answers import notice
from bot.slack.edge import Edge
from bot.slack.home import turned_away
from bot.slack.lookup import slack_users
from bot.slack.parts import People
from bot.slack.payloads import Body, Click, Form, Typing, described, read, sender
from bot.slack.targets import ModalTarget, Target, read_modal_target
from storage import approvals, decisions

_FOREIGN = "Only people of this workspace can act here."
_UNKNOWN_BUTTON = "This button is not one the desk knows. Look at the newest card."
_UNKNOWN_FORM = "This form is not one the desk knows."
_NOT_STORED = "What you saw is not what is stored. Look at the newest card."

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Shown:
    """A request as a form shows it; `waiting` tells whether people can still decide."""

    view: ApprovalView
    users: People
    channel: str
    waiting: bool

    @property
    def status(self) -> Status:
        """Return where the request stands."""
        return self.view.approval.status


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a request cannot be shown, for the trail and for the person.

    `drawn_wrong` is the row where a card, or whoever clicked, says other than what is stored.
    """

    code: RefusalCode
    words: str
    drawn_wrong: Approval | None = None


def read_click(
    edge: Edge, body: Body, read_value: Callable[[str | None], _Read | None]
) -> tuple[Click, _Read] | None:
    """Read a click of this workspace on a button of ours; others are noted and told so."""
    click = read(Click, body)
    if click is None:
        edge.note_unknown(sender(body), {"problem": "malformed", **described(body)})
        return None
    ours = click.team_id == edge.team_id
    target = read_value(click.value) if ours else None
    if target is not None:
        return click, target
    problem, told = ("malformed", _UNKNOWN_BUTTON) if ours else ("other team", _FOREIGN)
    edge.note_unknown(click.identity, {"problem": problem, **described(body)})
    edge.tell(click.channel_id, click.user.id, told)
    return None


def read_form(
    edge: Edge, body: Body, ack: Ack, read_data: Callable[[str | None], _Read | None]
) -> tuple[Form, _Read] | None:
    """Read a form of ours by somebody of this workspace; others are noted and told so."""
    form = read(Form, body)
    target = None if form is None else read_data(form.view.private_metadata)
    if form is None or target is None:
        edge.note_unknown(sender(body), {"problem": "malformed", **described(body)})
        notice(ack, "Not possible", _UNKNOWN_FORM)
        return None
    if form.team_id != edge.team_id:
        edge.note_unknown(form.identity, {"problem": "other team", **described(body)})
        notice(ack, "Not allowed", _FOREIGN)
        return None
    return form, target


def read_typing(edge: Edge, body: Body) -> tuple[Typing, ModalTarget] | None:
    """Read what somebody of this workspace types into a form of ours; others are noted."""
    typing = read(Typing, body)
    target = None if typing is None else read_modal_target(typing.view.private_metadata)
    if typing is None or target is None or typing.team_id != edge.team_id:
        edge.note_unknown(sender(body), {"problem": "malformed", **described(body)})
        return None
    return typing, target


def barred(edge: Edge, click: Click, target: Target) -> str | None:
    """Return why somebody reads nothing of requests, which is written down then; None if they do.

    Every role may read, and it must be proven like any other (http.md).
    """
    desk = edge.desk
    with desk.store.transaction(write=False) as tx:
        seat = take_seat(tx, click.identity, desk.clock.now())
    if seat.standing is Standing.STAFF:
        return None
    unsure = seat.standing is Standing.UNVERIFIED
    code = RefusalCode.ROLE_UNVERIFIED if unsure else RefusalCode.NOT_ALLOWED
    note_click(edge, click, target, code)
    return turned_away(seat)


def look(edge: Edge, click: Click, target: Target) -> Shown | str:
    """Load what a button names, or say why it cannot be shown; that is written down then."""
    shown = load(edge, target, _channel_of(click))
    if isinstance(shown, Shown):
        return shown
    note_click(edge, click, target, shown.code)
    if shown.drawn_wrong is not None:
        edge.redraw(shown.drawn_wrong)
    return shown.words


def load(edge: Edge, target: Target, channel: str) -> Shown | Missing:
    """Load a request as it was shown, or say why it cannot be."""
    desk = edge.desk
    try:
        with desk.store.transaction(write=False) as tx:
            approval = approvals.get(tx, target.approval_id)
            view = None if approval is None else decisions.view(tx, approval)
            users = {} if view is None else slack_users(tx, view)
    except Corrupt:
        return Missing(RefusalCode.PAYLOAD_CHANGED, DAMAGED)
    if view is None:
        return Missing(RefusalCode.NOT_FOUND, "There is no such request.")
    approval = view.approval
    if approval.short_hash() != target.h:
        return Missing(RefusalCode.PAYLOAD_CHANGED, _NOT_STORED, approval)
    return Shown(view, users, channel, approval.is_open(desk.clock.now()))


def _channel_of(click: Click) -> str:
    """Return where the click, or the first of a row of modals, was made; empty for App Home."""
    form = read_modal_target(click.metadata)
    return click.channel_id or ("" if form is None else form.channel)


def note_click(edge: Edge, click: Click, target: Target, code: RefusalCode) -> None:
    """Write down a click that led to nothing, with what it was about."""
    data: Payload = {
        "approval_id": target.id,
        "shown_hash": target.h,
        "action_id": click.actions[0].action_id,
    }
    edge.note_refused(click.identity, code, data)
