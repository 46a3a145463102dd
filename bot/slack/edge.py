"""What every listener is given: the desk, a client that does not wait long, and the workspace."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from slack_sdk import WebClient

from agent.desk import Desk, Lane
from agent.domain.decision import DecideAnswer, Decision
from agent.domain.payload import Payload
from agent.domain.roles import Actor, ActorKind, Channel, Identity
from agent.ports import DeliveryKind
from agent.steps.decide import decide, note_unknown_click
from agent.steps.outcomes import slack_message
from bot.slack.blocks import Block
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.payloads import Click
from storage import outbox, people

_LOG = logging.getLogger(__name__)

CountDecision = Callable[[Decision, DecideAnswer], None]


@dataclass(frozen=True, slots=True)
class Edge:
    """The desk and the workspace; `client` has a time-out that an interaction can afford."""

    desk: Desk
    client: WebClient
    team_id: str
    count: CountDecision

    def decide(self, decision: Decision) -> DecideAnswer:
        """Decide and count the answer for the metrics."""
        answer = decide(self.desk, decision)
        self.count(decision, answer)
        return answer

    def tell(self, channel: str, user: str, text: str) -> None:
        """Let one person read something, through the outbox; without a channel directly."""
        body: Payload = {"channel": channel, "user": user, "text": text}
        message = slack_message(
            self.desk, DeliveryKind.EPHEMERAL, f"ephemeral:{self.desk.ids.new('out')}", body
        )
        with self.desk.store.transaction() as tx:
            outbox.add(tx, self.desk.clock.now(), message)
        self.desk.wake(Lane.SLACK)

    def note_unknown(self, identity: Identity, data: Payload) -> None:
        """Write down an interaction that does not count."""
        note_unknown_click(self.desk, identity, Channel.SLACK, data)

    def staff(self, identity: Identity) -> Actor | None:
        """Return the active member behind an identity, None for anybody without a role."""
        with self.desk.store.transaction(write=False) as tx:
            actor = people.find(tx, identity)
        if actor is None or not actor.active or actor.kind is not ActorKind.MEMBER:
            return None
        return actor if actor.grants else None

    def open_view(self, click: Click, view: Block) -> None:
        """Open a modal over the click's place; where Slack fails, the person is told so."""
        open_call = self.client.views_push if click.in_modal else self.client.views_open
        try:
            open_call(trigger_id=click.trigger_id, view=view)
        except CALL_ERRORS as error:
            _LOG.warning("no form for %s: %s", click.identity, failure_of(error).code)
            self.tell(click.channel_id, click.user.id, "Slack did not open the form. Click again.")
