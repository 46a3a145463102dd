"""The buttons of somebody who has seen a request, or looks into it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from slack_bolt import Ack

from agent.domain.approvals import Approval
from agent.domain.decision import Refused
from agent.domain.escalation import Level
from agent.domain.roles import Channel
from agent.steps.permission import Order
from agent.steps.take import acknowledge_ping, take_over
from bot.slack.edge import Edge
from bot.slack.intake import look, read_click
from bot.slack.payloads import Body, Click
from bot.slack.targets import read_ping_target, read_target

_SEEN = "Thank you. The message says that you have seen it."
_TAKEN = "Everybody can see that you look into it. Others may still decide."


@dataclass(frozen=True, slots=True)
class Takes:
    """The listeners of Acknowledge and Take over; each answers in private."""

    edge: Edge

    def acknowledge(self, body: Body, ack: Ack) -> None:
        """Let somebody say that they have seen it."""
        if found := read_click(self.edge, body, read_ping_target):
            click, target = found
            level = Level.named(target.level)
            step = partial(acknowledge_ping, self.edge.desk, target.approval_id, level)
            self._say(click, step, _SEEN)
        ack()

    def take_over(self, body: Body, ack: Ack) -> None:
        """Let somebody say that they look into it."""
        if found := read_click(self.edge, body, read_target):
            click, target = found
            shown = look(self.edge, click, target)
            if isinstance(shown, str):
                self.edge.tell(click.channel_id, click.user.id, shown)
            else:
                self._say(click, partial(take_over, self.edge.desk, target.approval_id), _TAKEN)
        ack()

    def _say(self, click: Click, step: Callable[[Order], Approval | Refused], thanks: str) -> None:
        order = Order(click.identity, Channel.SLACK, "")
        answer = self.edge.order(click.identity, partial(step, order))
        told = answer.message if isinstance(answer, Refused) else thanks
        self.edge.tell(click.channel_id, click.user.id, told)
