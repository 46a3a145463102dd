"""Submitted forms that decide: the same step as every door, answered inside the form."""

from dataclasses import dataclass
from typing import TypedDict

from slack_bolt import Ack
from typing_extensions import Unpack

from agent.domain.approvals import Approval, RejectCategory, Verdict
from agent.domain.decision import DecideAnswer, Decision, Edits, RefusalCode, Refused
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.roles import Channel
from agent.steps.check import Checking
from bot.slack import answers
from bot.slack.edge import Edge
from bot.slack.edits import Problem, problem_of, read_edits
from bot.slack.intake import read_form
from bot.slack.modals import reject_category
from bot.slack.names import Field
from bot.slack.payloads import Body, Form
from bot.slack.targets import ModalTarget, read_modal_target
from storage import approvals


class _More(TypedDict, total=False):
    edits: Edits
    reason: str
    category: RejectCategory | None
    note: str
    break_glass: bool


@dataclass(frozen=True, slots=True)
class Submissions:
    """The listeners of the forms that decide; each acknowledges with what the form shows next."""

    edge: Edge

    def edit(self, body: Body, ack: Ack) -> None:
        """Replace the request by one that says what was entered."""
        found = read_form(self.edge, body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        approval = self._stored(target.approval_id)
        try:
            # Without a row that can be read the step says what is wrong.
            wanted = Edits() if approval is None else read_edits(approval, form)
        except InvalidInput as invalid:
            _mark(ack, problem_of(approval, str(invalid)))
            return
        reason = form.text(Field.REASON)
        word = _word(form, target, Verdict.EDIT, edits=wanted, reason=reason)
        answer = self.edge.in_time(word, form.reply_to(target.channel))
        if isinstance(answer, Refused) and answer.code is RefusalCode.INVALID:
            _mark(ack, problem_of(approval, answer.message))
        else:
            _show(ack, answer)

    def reject(self, body: Body, ack: Ack) -> None:
        """Turn the request down, with a reason the customer reads."""
        found = read_form(self.edge, body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        answer = self._decide(
            form,
            target,
            Verdict.REJECT,
            reason=form.text(Field.REASON),
            category=reject_category(form.choice(Field.CATEGORY)),
            note=form.text(Field.NOTE),
        )
        _show(ack, answer, Field.CATEGORY)

    def review(self, body: Body, ack: Ack) -> None:
        """Approve what the form has shown in full."""
        if found := read_form(self.edge, body, ack, read_modal_target):
            form, target = found
            _show(ack, self._decide(form, target, Verdict.APPROVE))

    def break_glass(self, body: Body, ack: Ack) -> None:
        """Approve alone, above the tier, with a reason for the people on call."""
        if found := read_form(self.edge, body, ack, read_modal_target):
            form, target = found
            reason = form.text(Field.REASON)
            _show(ack, self._decide(form, target, Verdict.APPROVE, reason=reason, break_glass=True))

    def _stored(self, approval_id: ApprovalId) -> Approval | None:
        """Return the row as it is, None for one that is damaged or not there."""
        try:
            with self.edge.desk.store.transaction(write=False) as tx:
                return approvals.get(tx, approval_id)
        except Corrupt:
            return None

    def _decide(
        self, form: Form, target: ModalTarget, verdict: Verdict, **more: Unpack[_More]
    ) -> DecideAnswer | Checking:
        word = _word(form, target, verdict, **more)
        return self.edge.decide(word, form.reply_to(target.channel))


def _mark(ack: Ack, problem: Problem) -> None:
    answers.mark(ack, problem.where, problem.words)


def _word(form: Form, target: ModalTarget, verdict: Verdict, **more: Unpack[_More]) -> Decision:
    return Decision(
        approval_id=target.approval_id,
        identity=form.identity,
        verdict=verdict,
        shown_hash=target.h,
        channel=Channel.SLACK,
        act={"view_id": form.view.id, "rev": target.rev},
        **more,
    )


def _show(
    ack: Ack, answer: DecideAnswer | Approval | Checking, invalid: Field | None = None
) -> None:
    match answer:
        case Checking():
            answers.checking(ack)
        case Refused():
            answers.refuse(ack, answer, invalid)
        case _:
            answers.close(ack)
