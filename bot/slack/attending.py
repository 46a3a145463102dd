"""The buttons and the form of people who answer a customer themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from slack_bolt import Ack

from agent.desk import Desk
from agent.domain.decision import Refused
from agent.domain.hand_offs import HandOff, Words
from agent.domain.ids import ConversationId
from agent.domain.roles import Channel
from agent.steps.attend import WHOLE, give_back, join, look_in, say
from agent.steps.permission import Order
from bot.slack import answers, hand_offs
from bot.slack.blocks import Block
from bot.slack.chats import chat_entry, words_of
from bot.slack.edge import Edge
from bot.slack.intake import read_click, read_form
from bot.slack.names import Field
from bot.slack.paging import Entry, Reel, Spot
from bot.slack.payloads import Body, Click
from bot.slack.targets import HandOffTarget, read_hand_off_target
from storage import conversations

_LAST, _WINDOW = 5, 50
_JOINED = "You answer there now, and the agent is silent. Write with Reply."
_GIVEN_BACK = "The agent answers there again."
_Step: TypeAlias = Callable[[Desk, ConversationId, Order], HandOff | Refused]


@dataclass(frozen=True, slots=True)
class Attending:
    """The listeners; each refusal is read by the person alone."""

    edge: Edge

    def open_reply(self, body: Body, ack: Ack) -> None:
        """Open the form for an answer, over what was said last."""
        if found := read_click(self.edge, body, read_hand_off_target):
            click, target = found
            hand_off = self._look(click, target, "reply")
            if hand_off is not None:
                self.edge.open_view(click, hand_offs.reply_view(hand_off, self._last(hand_off)))
        ack()

    def reply(self, body: Body, ack: Ack) -> None:
        """Write to the customer; a form that was refused keeps what was typed."""
        found = read_form(self.edge, body, ack, read_hand_off_target)
        if found is None:
            return
        form, target = found
        # Slack may deliver a form twice, and people press twice: one form is one message.
        words = Words(form.text(Field.TEXT), form.view.id)
        order = Order(form.identity, Channel.SLACK, "")
        step = partial(say, self.edge.desk, target.conversation_id, words, order)
        answer = self.edge.order(form.identity, step)
        if isinstance(answer, Refused):
            # The words would be gone with the form.
            answers.mark(ack, Field.TEXT, answer.message.removeprefix(f"{Field.TEXT}: "))
        else:
            answers.close(ack)

    def join(self, body: Body, ack: Ack) -> None:
        """Let somebody take the conversation over without a word."""
        self._act(body, join, _JOINED)
        ack()

    def give_back(self, body: Body, ack: Ack) -> None:
        """Let the agent answer again."""
        self._act(body, give_back, _GIVEN_BACK)
        ack()

    def details(self, body: Body, ack: Ack) -> None:
        """Open the whole conversation, unmasked, for those who may answer in it."""
        if found := read_click(self.edge, body, read_hand_off_target):
            click, target = found
            hand_off = self._look(click, target, WHOLE)
            if hand_off is not None:
                view = self._page(hand_off, Spot(target.entry, target.piece))
                if click.in_modal:
                    self.edge.replace_view(click.place, view)
                else:
                    self.edge.open_view(click, view)
        ack()

    def _act(self, body: Body, step: _Step, thanks: str) -> None:
        if found := read_click(self.edge, body, read_hand_off_target):
            click, target = found
            order = Order(click.identity, Channel.SLACK, "")
            answer = self.edge.order(
                click.identity, partial(step, self.edge.desk, target.conversation_id, order)
            )
            told = answer.message if isinstance(answer, Refused) else thanks
            self.edge.tell(click.channel_id, click.user.id, told)

    def _look(self, click: Click, target: HandOffTarget, verdict: str) -> HandOff | None:
        """Return the hand-off for somebody who may answer in it; others read why not."""
        order = Order(click.identity, Channel.SLACK, "")
        step = partial(look_in, self.edge.desk, target.conversation_id, target.number)
        answer = self.edge.order(click.identity, partial(step, order, verdict))
        if isinstance(answer, Refused):
            self.edge.tell(click.channel_id, click.user.id, answer.message)
            return None
        return answer

    def _last(self, hand_off: HandOff) -> list[Entry]:
        with self.edge.desk.store.transaction(write=False) as tx:
            said = conversations.last_messages(tx, hand_off.conversation_id, _LAST)
        return [
            hand_offs.said_entry(
                hand_off, str(one.data["role"]), one.data.get("by"), str(one.data["text"])
            )
            for one in said
        ]

    def _page(self, hand_off: HandOff, spot: Spot) -> Block:
        where, first = hand_off.conversation_id, max(spot.entry - _WINDOW, 1)
        with self.edge.desk.store.transaction(write=False) as tx:
            conversation = conversations.get(tx, where)
            events = conversations.events_after(tx, where, first - 1, 2 * _WINDOW)
        total = 0 if conversation is None else conversation.last_seq
        reel = Reel([chat_entry(event, words_of(event)) for event in events], first, total)
        return hand_offs.conversation_view(hand_off, reel, spot)
