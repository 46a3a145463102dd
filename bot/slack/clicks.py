"""Buttons: Approve decides at once; the others open a form, whose submission decides."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from slack_bolt import Ack

from agent.domain.approvals import ApprovalView, Status, Verdict
from agent.domain.deadlines import is_past
from agent.domain.decision import Decision, ReplyTo
from agent.domain.errors import Corrupt
from agent.domain.roles import Channel
from agent.steps.acknowledge import acknowledge
from bot.slack import modals
from bot.slack.blocks import Block
from bot.slack.edge import Edge
from bot.slack.lookup import slack_users
from bot.slack.parts import People
from bot.slack.payloads import Body, Click, described, read, sender
from bot.slack.states import ended_words
from bot.slack.targets import BreakerTarget, Target, read_breaker_target, read_target
from storage import approvals, decisions

_FOREIGN = "Only people of this workspace can act here."
_UNKNOWN_BUTTON = "This button is not one the desk knows. Look at the newest card."

_Read = TypeVar("_Read", Target, BreakerTarget)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A request as a form shows it; `waiting` tells whether people can still decide."""

    view: ApprovalView
    users: People
    channel: str
    waiting: bool


@dataclass(frozen=True, slots=True)
class Clicks:
    """The listeners of all buttons; each acknowledges with an empty body."""

    edge: Edge

    def approve(self, body: Body, ack: Ack) -> None:
        """Decide in the own database, then acknowledge; the card tells the outcome."""
        if found := self._read(body, read_target):
            click, target = found
            self.edge.decide(
                Decision(
                    approval_id=target.approval_id,
                    identity=click.identity,
                    verdict=Verdict.APPROVE,
                    shown_hash=target.h,
                    channel=Channel.SLACK,
                    reply_to=ReplyTo(click.channel_id, click.user.id),
                ),
            )
        ack()

    def edit(self, body: Body, ack: Ack) -> None:
        """Open the form that changes the amount."""
        self._open(body, lambda shown: modals.edit_modal(shown.view, shown.channel))
        ack()

    def reject(self, body: Body, ack: Ack) -> None:
        """Open the form that asks why."""
        self._open(body, lambda shown: modals.reject_modal(shown.view, shown.channel))
        ack()

    def review(self, body: Body, ack: Ack) -> None:
        """Open everything about a request, whether it still waits or not."""
        self._open(
            body,
            lambda shown: modals.review_modal(shown.view, shown.users, shown.channel),
            lambda shown: modals.details_modal(shown.view, shown.users),
        )
        ack()

    def acknowledge_breaker(self, body: Body, ack: Ack) -> None:
        """Let somebody on call say that they look into it."""
        if found := self._read(body, read_breaker_target):
            click, target = found
            thread_ts = click.container.message_ts or ""
            told = acknowledge(self.edge.desk, click.identity, target.generation, thread_ts)
            self.edge.tell(click.channel_id, click.user.id, told)
        ack()

    def reset_breaker(self, body: Body, ack: Ack) -> None:
        """Open the form that asks why the breaker is closed by hand."""
        if found := self._read(body, read_breaker_target):
            click, target = found
            self.edge.open_view(click, modals.reset_modal(target))
        ack()

    def _read(
        self, body: Body, read_value: Callable[[str | None], _Read | None]
    ) -> tuple[Click, _Read] | None:
        """Read a click of this workspace on a button of ours; others are noted and told so."""
        click = read(Click, body)
        if click is None:
            self.edge.note_unknown(sender(body), {"problem": "malformed", **described(body)})
            return None
        target = read_value(click.value) if click.team_id == self.edge.team_id else None
        if target is not None:
            return click, target
        problem, told = (
            ("malformed", _UNKNOWN_BUTTON)
            if click.team_id == self.edge.team_id
            else ("other team", _FOREIGN)
        )
        self.edge.note_unknown(click.identity, {"problem": problem, **described(body)})
        self.edge.tell(click.channel_id, click.user.id, told)
        return None

    def _open(
        self,
        body: Body,
        draw: Callable[[_Shown], Block],
        draw_ended: Callable[[_Shown], Block] | None = None,
    ) -> None:
        found = self._read(body, read_target)
        if found is None:
            return
        click, target = found
        shown = self._look(click, target)
        if isinstance(shown, str):
            view = modals.notice_modal("Not possible", shown)
        elif shown.waiting:
            view = draw(shown)
        elif draw_ended is not None:
            view = draw_ended(shown)
        else:
            view = modals.notice_modal("Already decided", ended_words(shown.view))
        self.edge.open_view(click, view)

    def _look(self, click: Click, target: Target) -> _Shown | str:
        """Load what the button names, or say why it cannot be shown."""
        desk = self.edge.desk
        try:
            with desk.store.transaction(write=False) as tx:
                approval = approvals.get(tx, target.approval_id)
                view = None if approval is None else decisions.view(tx, approval)
                users = {} if view is None else slack_users(tx, view)
        except Corrupt:
            return "The stored request is damaged. Nobody can decide it; tell the people on call."
        if view is None:
            data = {"problem": "no such request", "approval_id": target.id}
            self.edge.note_unknown(
                click.identity, {**data, "action_id": click.actions[0].action_id}
            )
            return "There is no such request."
        approval = view.approval
        if approval.short_hash() != target.h:
            return "What you saw is not what is stored. Look at the newest card."
        waiting = approval.status is Status.PENDING
        open_still = waiting and not is_past(approval.expires_at, desk.clock.now())
        return _Shown(view, users, click.channel_id, open_still)
