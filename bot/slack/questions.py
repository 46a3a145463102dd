"""Ask: the form for a question about a request that waits, and its submission."""

from dataclasses import dataclass
from functools import partial

from slack_bolt import Ack

from agent.domain.approvals import ApprovalView
from agent.domain.asking import MAX_QUESTION, MIN_QUESTION, Question
from agent.domain.asks import AskedOf
from agent.domain.decision import Refused
from agent.domain.roles import Channel
from agent.domain.wording import is_for_customer
from agent.steps.ask import ask
from agent.steps.permission import Order
from bot.slack import answers, parts
from bot.slack.blocks import Block, context, fields, header, moment_token, ours, section
from bot.slack.edge import Edge
from bot.slack.inputs import about, field, modal, radio, typed
from bot.slack.intake import read_form
from bot.slack.names import Field, View
from bot.slack.payloads import Body, Form
from bot.slack.states import title
from bot.slack.targets import read_modal_target

_PICK = "Pick one."
_CUSTOMER, _AGENT = AskedOf.CUSTOMER.value, AskedOf.AGENT.value
_OPTIONS = {
    _CUSTOMER: "The customer, in their chat",
    _AGENT: "The agent; the customer does not see it",
}
_HINT = "The answer comes back here, into the thread of the card."


def ask_modal(view: ApprovalView, channel: str) -> Block:
    """Return the form for a question; of what the customer must not hear only the agent is asked.

    The deadline stands in the reader's own time zone.
    """
    approval = view.approval
    whom = radio(_OPTIONS if is_for_customer(approval) else {_AGENT: _OPTIONS[_AGENT]})
    if len(whom["options"]) == 1:
        whom["initial_option"] = whom["options"][0]
    text = typed(MAX_QUESTION, at_least=MIN_QUESTION, focus=True)
    until = moment_token(approval.expires_at)
    return modal(
        View.ASK,
        "Ask a question",
        [
            header(title(approval)),
            fields(parts.facts(view)),
            field(Field.ASKED_OF, "Whom do you ask?", whom),
            field(Field.QUESTION, "Question", text, _HINT),
            section("Nothing else changes: it waits as before, and can be decided at any time."),
            context(ours(f"⏳ Decide by {until}. The customer is told this time, too.")),
        ],
        submit="Ask",
        metadata=about(approval, channel),
    )


@dataclass(frozen=True, slots=True)
class Questions:
    """The listener of the form."""

    edge: Edge

    def ask(self, body: Body, ack: Ack) -> None:
        """Put the question; what must be mended is marked in the form."""
        found = read_form(self.edge, body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        asked_of = _asked_of(form)
        if asked_of is None:
            answers.mark(ack, Field.ASKED_OF, _PICK)
            return
        # Slack may deliver a form twice, and people press twice: one form is one question.
        question = Question(asked_of, form.text(Field.QUESTION), form.view.id or None)
        order = Order(form.identity, Channel.SLACK, "")
        step = partial(ask, self.edge.desk, target.approval_id, question, order)
        answer = self.edge.order(form.identity, step)
        if isinstance(answer, Refused):
            answers.refuse(ack, answer, _at_fault(answer))
        else:
            answers.close(ack)


def _asked_of(form: Form) -> AskedOf | None:
    """Return who was chosen, None for nobody that is offered."""
    chosen = form.choice(Field.ASKED_OF)
    return next((one for one in AskedOf if one.value == chosen), None)


def _at_fault(refused: Refused) -> Field:
    """Return the input that a refusal names first."""
    named = refused.message.partition(":")[0]
    return Field.ASKED_OF if named == Field.ASKED_OF else Field.QUESTION
