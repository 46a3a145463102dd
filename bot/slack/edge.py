"""What every listener is given: the desk, a client that does not wait long, and the workspace."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from slack_sdk import WebClient

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval
from agent.domain.decision import DecideAnswer, Decision, RefusalCode, Refused, ReplyTo
from agent.domain.errors import Corrupt
from agent.domain.payload import Payload
from agent.domain.roles import Actor, ActorKind, Channel, Identity
from agent.ports import DeliveryKind, MessageRef
from agent.steps.alerts import redraw_alert
from agent.steps.check import Checking, submit
from agent.steps.decide import Unproven, note_unknown_click
from agent.steps.execute import report_corrupt
from agent.steps.kept import (
    DAMAGED,
    Wish,
    WishAnswer,
    carry_out,
    finish,
    hand_over,
    keep,
    whisper,
    words,
)
from agent.steps.outcomes import slack_message
from bot.slack.blocks import Block
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.payloads import Click, InView
from bot.slack.prompt import Prompt
from storage import outbox, people
from storage.outbox import Message

_LOG = logging.getLogger(__name__)

CountDecision = Callable[[Decision, DecideAnswer], None]

# The view was closed, or has changed since.
_GONE_ON = frozenset({"not_found", "hash_conflict"})

# Three seconds from the click on, and the way here is part of it.
_TRIGGER_LIVES = timedelta(seconds=2.5)

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Edge:
    """The desk and the workspace; `client` has a time-out that an interaction can afford."""

    desk: Desk
    client: WebClient
    team_id: str
    count: CountDecision
    prompt: Prompt = field(default_factory=Prompt)

    def decide(self, decision: Decision, reply_to: ReplyTo) -> DecideAnswer | Checking:
        """Decide by the own database; where the role is read first, the person is told later."""
        answer = submit(self.desk, decision, reply_to)
        if not isinstance(answer, Checking):
            self.count(decision, answer)
        self.desk.wake(Lane.HOME)
        return answer

    def in_time(self, wish: Wish, reply_to: ReplyTo) -> DecideAnswer | Approval | Checking:
        """Do what asks the outside on the way; one that is slow is answered when it is done.

        What is wanted lies in a row meanwhile, so that the end of the process loses none of it.
        """
        kept = wish
        if isinstance(wish, Decision):
            kept = replace(wish, clicked_at=self.desk.clock.now())
        row_id = keep(self.desk, kept, reply_to)

        def late(answer: WishAnswer) -> None:
            if isinstance(answer, Unproven):
                hand_over(self.desk, row_id)
            else:
                finish(self.desk, row_id, reply_to, words(kept, answer))
                self._count(kept, answer)

        try:
            answer = self.prompt.run(partial(carry_out, self.desk, kept), late)
        except Exception:
            # The person reads that it failed, and may try again.
            finish(self.desk, row_id, None)
            raise
        if answer is None:
            return Checking()
        if isinstance(answer, Unproven):
            hand_over(self.desk, row_id)
            return Checking()
        finish(self.desk, row_id, None)
        self._count(kept, answer)
        return answer

    def _count(self, wish: Wish, answer: DecideAnswer | Approval) -> None:
        if isinstance(wish, Decision) and not isinstance(answer, Approval):
            self.count(wish, answer)
        self.desk.wake(Lane.HOME)

    def order(self, identity: Identity, work: Callable[[], _Answer]) -> _Answer | Refused:
        """Carry out what a person wants beside deciding; a damaged row is reported and refused."""
        try:
            answer = work()
        except Corrupt as corrupt:
            report_corrupt(self.desk, corrupt)
            code = RefusalCode.PAYLOAD_CHANGED
            self.note_refused(identity, code, {"approval_id": corrupt.approval_id})
            return Refused(code, DAMAGED)
        self.desk.wake(Lane.HOME)
        return answer

    def tell(self, channel: str, user: str, text: str) -> None:
        """Let one person read something, through the outbox; without a channel directly."""
        self._send(whisper(self.desk, ReplyTo(channel, user), text))

    def answer(self, click: Click, text: str, redraw: DeliveryKind, approval: Approval) -> None:
        """Let the clicker read why nothing came of it, and draw anew what they clicked on."""
        key = f"{redraw}_redraw:{approval.id}"
        self._send(
            whisper(self.desk, ReplyTo(click.channel_id, click.user.id), text),
            slack_message(self.desk, redraw, key, {}, approval),
        )

    def redraw(self, approval: Approval) -> None:
        """Draw the cards of a request anew, as the row is now."""
        kind = DeliveryKind.CARD_UPDATE
        self._send(slack_message(self.desk, kind, f"card_redraw:{approval.id}", {}, approval))

    def redraw_alert(self, click: Click) -> None:
        """Draw the alert anew that somebody clicked on, if it was one."""
        ts = click.container.message_ts
        if ts is not None:
            redraw_alert(self.desk, MessageRef(click.channel_id, ts))

    def _send(self, *messages: Message) -> None:
        with self.desk.store.transaction() as tx:
            outbox.add(tx, self.desk.clock.now(), *messages)
        self.desk.wake(Lane.SLACK)

    def note_unknown(self, identity: Identity, data: Payload) -> None:
        """Write down an interaction that does not count."""
        note_unknown_click(self.desk, identity, Channel.SLACK, data)

    def note_refused(self, identity: Identity, code: RefusalCode, data: Payload) -> None:
        """Write down a click on something of ours that comes too late or shows something else."""
        self.note_unknown(identity, {**data, "code": code.value})

    def staff(self, identity: Identity) -> Actor | None:
        """Return the active member behind an identity, None for anybody without a role."""
        with self.desk.store.transaction(write=False) as tx:
            actor = people.find(tx, identity)
        if actor is None or not actor.active or actor.kind is not ActorKind.MEMBER:
            return None
        return actor if actor.grants else None

    def open_view(self, click: Click, view: Block) -> None:
        """Open a modal over the click's place; where Slack fails, the person is told so.

        Beside the answer to the click, which Slack must not have to wait for. It is lost with the
        process, as the trigger is that opens it.
        """
        self.prompt.call(partial(self._open, click, view, self.desk.clock.now()))

    def _open(self, click: Click, view: Block, clicked_at: datetime) -> None:
        open_call = self.client.views_push if click.in_modal else self.client.views_open
        try:
            if self.desk.clock.now() - clicked_at < _TRIGGER_LIVES:
                open_call(trigger_id=click.trigger_id, view=view)
                return
            problem = "it has taken too long"
        except CALL_ERRORS as error:
            problem = failure_of(error).code
        _LOG.warning("no form for %s: %s", click.identity, problem)
        self.tell(click.channel_id, click.user.id, "Slack did not open the form. Click again.")

    def replace_view(self, form: InView, view: Block, missed: str = "") -> None:
        """Let another view take the place of the one acted in, beside the answer to Slack.

        One that was closed or drawn anew meanwhile stays as it is: the person has gone on. What
        they should know all the same is `missed`, which they then read in private.
        """
        self.prompt.call(partial(self.replace_view_now, form, view, missed))

    def replace_view_now(self, form: InView, view: Block, missed: str = "") -> str:
        """Do the same before anything else; return the view's new hash, empty where it is not new.

        Only for work that nobody waits for.
        """
        try:
            drawn = self.client.views_update(view_id=form.view_id, hash=form.hash, view=view)
            return str(drawn["view"]["hash"])
        except CALL_ERRORS as error:
            code = failure_of(error).code
            _LOG.info("no new view for %s: %s", form.user_id, code)
            told = missed if code in _GONE_ON else "Slack did not draw the form anew. Click again."
            if told:
                self.tell("", form.user_id, told)
            return ""
