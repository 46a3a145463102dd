"""Looking: the Home tab, the slash command, and the buttons that show the same things."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias, assert_never

from slack_bolt import Ack

from agent.domain.decision import RefusalCode, Refused
from agent.domain.hand_offs import Words
from agent.domain.queue import Seat, Standing
from agent.domain.roles import Channel, Identity
from agent.steps.attend import Said, find_conversation, say
from agent.steps.home import open_home
from agent.steps.permission import Order
from agent.steps.queue import find_requests, take_seat
from bot.slack import answers, commands, shows
from bot.slack.blocks import Block, fallback, section
from bot.slack.edge import Edge
from bot.slack.home import turned_away
from bot.slack.inputs import field, modal, typed
from bot.slack.intake import read_click, read_form
from bot.slack.names import Field, View
from bot.slack.payloads import Body, Opened, Typed, read
from bot.slack.shows import Shown
from bot.slack.targets import ShowTarget, read_show_target, read_turn_target
from storage.transaction import Tx

# A message holds fifty blocks and a modal a hundred: three a request.
_LISTED, _IN_MODAL = 10, 30
_REFERENCE = 100

_Draw: TypeAlias = Callable[[Tx, Seat, datetime], Shown]


@dataclass(frozen=True, slots=True)
class Looking:
    """The listeners that only show; each answers the person who looks, and nobody else."""

    edge: Edge

    # --- the Home tab

    def opened(self, body: Body) -> None:
        """Publish somebody's Home tab soon: what Slack waits for is that the desk knows of it."""
        opened = read(Opened, body)
        if opened is not None and opened.event.tab == "home" and self._is_ours(opened.team_id):
            open_home(self.edge.desk, opened.identity)

    def refresh(self, body: Body, ack: Ack) -> None:
        """Publish the reader's tab anew."""
        if found := read_click(self.edge, body, read_show_target):
            click, _ = found
            open_home(self.edge.desk, click.identity)
        ack()

    def turn(self, body: Body, ack: Ack) -> None:
        """Show another page of the reader's queue."""
        if found := read_click(self.edge, body, read_turn_target):
            click, target = found
            open_home(self.edge.desk, click.identity, target.page)
        ack()

    # --- the command

    def command(self, body: Body, ack: Ack) -> None:
        """Answer `/refunds`, for the asking person alone."""
        command = read(Typed, body)
        if command is None or not self._is_ours(command.team_id):
            ack(text=turned_away(Seat(Standing.STRANGER)), response_type="ephemeral")
            return
        meant = commands.read_command(command.text)
        if isinstance(meant, commands.Reply):
            shown = self._reply(command, meant)
        else:
            shown = self._look(command.identity, partial(self._answer, meant))
        ack(text=fallback(shown.text), blocks=shown.blocks, response_type="ephemeral")

    def _reply(self, command: Typed, meant: commands.Reply) -> Shown:
        """Write to a customer; what was not sent is given back to whoever typed it."""
        desk, order = self.edge.desk, Order(command.identity, Channel.SLACK, "")
        # Slack may deliver a command twice: one trigger is one message.
        words = Words(meant.text, command.trigger_id)

        def answer() -> Said | Refused:
            found = find_conversation(desk, meant.reference, order)
            if isinstance(found, Refused):
                return found
            return say(desk, found.conversation_id, words, order)

        told = self.edge.order(command.identity, answer)
        return shows.replied(told.message if isinstance(told, Refused) else None, meant.text)

    def _answer(self, meant: commands.Look, tx: Tx, seat: Seat, now: datetime) -> Shown:
        match meant:
            case commands.HandOffs():
                return shows.hand_offs(tx, _LISTED)
            case commands.Pending():
                return shows.pending(tx, seat, now, _LISTED)
            case commands.Show(reference):
                found = find_requests(tx, reference, now, _LISTED)
                return shows.requests(tx, found, reference, now)
            case commands.Mine():
                return shows.mine(tx, seat, now)
            case commands.Stats():
                return shows.stats(tx, seat, now)
            case commands.BreakerState():
                return shows.switches(tx, seat, now, self.edge.desk.policy)
            case commands.Help(unknown):
                return shows.usage(unknown)
            case _ as missing:
                assert_never(missing)

    # --- the same by buttons

    def queue(self, body: Body, ack: Ack) -> None:
        """Open what waits for anybody."""
        self._open(body, lambda tx, seat, now: shows.pending(tx, seat, now, _IN_MODAL))
        ack()

    def mine(self, body: Body, ack: Ack) -> None:
        """Open what waits for the reader, and what they decided today."""
        self._open(body, shows.mine)
        ack()

    def stats(self, body: Body, ack: Ack) -> None:
        """Open the numbers."""
        self._open(body, shows.stats)
        ack()

    def switches(self, body: Body, ack: Ack) -> None:
        """Open how the breaker and the stop switch stand."""
        policy = self.edge.desk.policy
        self._open(body, lambda tx, seat, now: shows.switches(tx, seat, now, policy))
        ack()

    def hand_offs(self, body: Body, ack: Ack) -> None:
        """Open who needs a person, or has one."""
        self._open(body, lambda tx, _seat, _now: shows.hand_offs(tx, _IN_MODAL))
        ack()

    def usage(self, body: Body, ack: Ack) -> None:
        """Open what there is to look at."""
        self._open(body, lambda _tx, _seat, _now: shows.usage())
        ack()

    def find(self, body: Body, ack: Ack) -> None:
        """Open the form that asks for a request."""
        if found := read_click(self.edge, body, read_show_target):
            self.edge.open_view(found[0], find_modal())
        ack()

    def found(self, body: Body, ack: Ack) -> None:
        """Show the requests that were meant, or keep the form open where there is none."""
        read_in = read_form(self.edge, body, ack, read_show_target)
        if read_in is None:
            return
        form, _ = read_in
        meant = form.text(Field.REQUEST)

        def draw(tx: Tx, _seat: Seat, now: datetime) -> Shown:
            return shows.found(tx, find_requests(tx, meant, now, _IN_MODAL), meant)

        shown = self._look(form.identity, draw)
        if shown.is_empty:
            answers.mark(ack, Field.REQUEST, shown.text)
        else:
            ack(response_action="update", view=_modal(shown))

    def _open(self, body: Body, draw: _Draw) -> None:
        if found := read_click(self.edge, body, read_show_target):
            click, _ = found
            self.edge.open_view(click, _modal(self._look(click.identity, draw)))

    def _look(self, identity: Identity, draw: _Draw) -> Shown:
        """Draw something for a member of staff; others read why it is not for them."""
        desk = self.edge.desk
        now = desk.clock.now()
        with desk.store.transaction(write=False) as tx:
            seat = take_seat(tx, identity, now)
            if seat.standing is Standing.STAFF:
                return draw(tx, seat, now)
        told = turned_away(seat)
        unsure = seat.standing is Standing.UNVERIFIED
        code = RefusalCode.ROLE_UNVERIFIED if unsure else RefusalCode.NOT_ALLOWED
        self.edge.note_refused(identity, code, {"verdict": "look"})
        heading = "Could not verify" if unsure else "Not allowed"
        return Shown(heading, told, [section(told)])

    def _is_ours(self, team_id: str) -> bool:
        return team_id == self.edge.team_id


def find_modal() -> Block:
    """Return the form that asks for a request."""
    hint = "Its id, the last six characters of it, or an order such as ORD-1001."
    return modal(
        View.FIND,
        "Find a request",
        [field(Field.REQUEST, "Request", typed(_REFERENCE, lines=False, focus=True), hint)],
        submit="Find",
        metadata=ShowTarget(v=1).text(),
    )


def _modal(shown: Shown) -> Block:
    return modal(View.LOOK, shown.heading, shown.blocks)
