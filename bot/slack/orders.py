"""Submitted forms beside deciding: revoke, settle, flag; each order is one step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from slack_bolt import Ack

from agent.domain.approvals import Approval
from agent.domain.decision import Refused
from agent.domain.roles import Channel
from agent.steps.check import Checking
from agent.steps.kept import Settling
from agent.steps.permission import Order
from agent.steps.review import answer_review
from agent.steps.revoke import revoke
from agent.steps.settlement import Settlement
from bot.slack import answers
from bot.slack.edge import Edge
from bot.slack.forms import DONE, NOT_DONE, evidence_kind
from bot.slack.intake import read_form
from bot.slack.names import Field
from bot.slack.payloads import Body, Form
from bot.slack.states import is_settled, look_of, outcome
from bot.slack.targets import read_modal_target

_PICK = "Pick one."

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Orders:
    """The listeners of the forms about one request that is decided already."""

    edge: Edge

    def revoke(self, body: Body, ack: Ack) -> None:
        """Take an approval back before it is carried out."""
        if found := read_form(self.edge, body, ack, read_modal_target):
            form, target = found
            order = Order(form.identity, Channel.SLACK, form.text(Field.REASON))
            self._carry_out(ack, form, partial(revoke, self.edge.desk, target.approval_id, order))

    def flag(self, body: Body, ack: Ack) -> None:
        """Note what was wrong about an automatic effect."""
        if found := read_form(self.edge, body, ack, read_modal_target):
            form, target = found
            order = Order(form.identity, Channel.SLACK, form.text(Field.REASON))
            step = partial(answer_review, self.edge.desk, target.approval_id, order, right=False)
            self._carry_out(ack, form, step)

    def settle(self, body: Body, ack: Ack) -> None:
        """Settle an unknown outcome by what a person has seen; the outside is asked once more."""
        found = read_form(self.edge, body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        settlement = _settlement(form)
        if isinstance(settlement, Field):
            answers.mark(ack, settlement, _PICK)
            return
        order = Order(form.identity, Channel.SLACK, form.text(Field.NOTE))
        wish = Settling(target.approval_id, settlement, order)
        answer = self.edge.in_time(wish, form.reply_to(target.channel))
        match answer:
            case Checking():
                answers.checking(ack)
            case Refused():
                answers.refuse(ack, answer, Field.REFERENCE)
            case Approval() if not is_settled(answer):
                answers.notice(ack, "Found out meanwhile", _found_out(answer))
            case _:
                answers.close(ack)

    def _carry_out(self, ack: Ack, form: Form, step: Callable[[], _Answer | Refused]) -> None:
        answer = self.edge.order(form.identity, step)
        if isinstance(answer, Refused):
            answers.refuse(ack, answer)
        else:
            answers.close(ack)


def _settlement(form: Form) -> Settlement | Field:
    """Return what was entered, or the input that holds no choice of ours."""
    kind, done = evidence_kind(form.choice(Field.EVIDENCE)), form.choice(Field.OUTCOME)
    if done not in {DONE, NOT_DONE}:
        return Field.OUTCOME
    if kind is None:
        return Field.EVIDENCE
    return Settlement(done == DONE, kind, form.text(Field.REFERENCE))


def _found_out(approval: Approval) -> str:
    """Return what the outside's own record says, which wins over a person's word."""
    found = f"{look_of(approval).verdict}. {outcome(approval)}".strip()
    return f"The other side was asked once more and has a record of its own. {found}"
