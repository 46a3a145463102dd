"""Submitted forms: the same step as every door, answered inside the form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from slack_bolt import Ack
from typing_extensions import Unpack

from agent.domain.approvals import RejectCategory, Verdict
from agent.domain.decision import DecideAnswer, Decision, RefusalCode, Refused
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ApprovalId
from agent.domain.money import Money, parse_money
from agent.domain.roles import Channel
from agent.steps.breaker import reset_breaker
from bot.slack.edge import Edge
from bot.slack.modals import notice_modal, reject_category
from bot.slack.names import Field
from bot.slack.payloads import Body, Form, described, read, sender
from bot.slack.targets import (
    BreakerTarget,
    ModalTarget,
    read_breaker_target,
    read_modal_target,
)
from storage import approvals, breaker

_HEADINGS: dict[RefusalCode, str] = {
    RefusalCode.ALREADY_DECIDED: "Already decided",
    RefusalCode.ALREADY_VOTED: "Already voted",
    RefusalCode.EXPIRED: "Too late",
    RefusalCode.NOT_ALLOWED: "Not allowed",
    RefusalCode.SELF_APPROVAL: "Not allowed",
    RefusalCode.ROLE_UNVERIFIED: "Could not verify",
    RefusalCode.PAYLOAD_CHANGED: "It has changed",
    RefusalCode.SUPERSEDED: "Replaced by an edit",
}
_ERROR_MAX = 1_900

_Read = TypeVar("_Read", ModalTarget, BreakerTarget)


class _More(TypedDict, total=False):
    amount: Money | None
    reason: str
    category: RejectCategory | None
    note: str


@dataclass(frozen=True, slots=True)
class Submissions:
    """The listeners of all forms; each decides, then acknowledges with what the form shows next."""

    edge: Edge

    def edit(self, body: Body, ack: Ack) -> None:
        """Replace the request by one with another amount."""
        found = self._read(body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        try:
            amount = self._amount(target.approval_id, form.text(Field.AMOUNT))
        except InvalidInput as invalid:
            _errors(ack, Field.AMOUNT, invalid.problem)
            return
        answer = self._decide(
            form, target, Verdict.EDIT, amount=amount, reason=form.text(Field.REASON)
        )
        _show(ack, answer, Field.AMOUNT)

    def reject(self, body: Body, ack: Ack) -> None:
        """Turn the request down, with a reason the customer reads."""
        found = self._read(body, ack, read_modal_target)
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
        found = self._read(body, ack, read_modal_target)
        if found is None:
            return
        form, target = found
        _show(ack, self._decide(form, target, Verdict.APPROVE), None)

    def reset_breaker(self, body: Body, ack: Ack) -> None:
        """Close the breaker by a person's word, if it is still the one that was shown."""
        found = self._read(body, ack, read_breaker_target)
        if found is None:
            return
        form, target = found
        with self.edge.desk.store.transaction(write=False) as tx:
            current = breaker.load(tx)
        if current.generation != target.generation:
            _notice(ack, "Already closed", "The breaker has been closed since this alert.")
            return
        reason = form.text(Field.REASON)
        answer = reset_breaker(self.edge.desk, form.identity, Channel.SLACK, reason)
        if isinstance(answer, Refused):
            _show(ack, answer, None)
        else:
            ack(response_action="clear")

    def _read(
        self, body: Body, ack: Ack, read_data: Callable[[str | None], _Read | None]
    ) -> tuple[Form, _Read] | None:
        """Read a form of ours by somebody of this workspace; others are noted and told so."""
        form = read(Form, body)
        target = None if form is None else read_data(form.view.private_metadata)
        if form is None or target is None:
            self.edge.note_unknown(sender(body), {"problem": "malformed", **described(body)})
            _notice(ack, "Not possible", "This form is not one the desk knows.")
            return None
        if form.team_id != self.edge.team_id:
            self.edge.note_unknown(form.identity, {"problem": "other team", **described(body)})
            _notice(ack, "Not allowed", "Only people of this workspace can act here.")
            return None
        return form, target

    def _amount(self, approval_id: ApprovalId, text: str) -> Money | None:
        """Read the amount in the currency of the request; None leaves the refusal to the step."""
        try:
            with self.edge.desk.store.transaction(write=False) as tx:
                approval = approvals.get(tx, approval_id)
        except Corrupt:
            return None
        if approval is None or approval.amount is None:
            return None
        return parse_money(text, approval.amount.currency)

    def _decide(
        self, form: Form, target: ModalTarget, verdict: Verdict, **more: Unpack[_More]
    ) -> DecideAnswer:
        return self.edge.decide(
            Decision(
                approval_id=target.approval_id,
                identity=form.identity,
                verdict=verdict,
                shown_hash=target.h,
                channel=Channel.SLACK,
                **more,
            ),
        )


def _show(ack: Ack, answer: DecideAnswer, otherwise: Field | None) -> None:
    """Close the form, mark the input that must change, or say why the word did not count.

    `otherwise` is the input that a refusal is about when it names none.
    """
    if not isinstance(answer, Refused):
        ack(response_action="clear")
        return
    match answer.code:
        case RefusalCode.REASON_REQUIRED:
            _errors(ack, Field.REASON, answer.message)
        case RefusalCode.INVALID if otherwise is not None:
            _errors(ack, otherwise, answer.message.removeprefix(f"{otherwise}: "))
        case code:
            _notice(ack, _HEADINGS.get(code, "Not possible"), answer.message)


def _errors(ack: Ack, field: Field, text: str) -> None:
    ack(response_action="errors", errors={field.value: text[:_ERROR_MAX]})


def _notice(ack: Ack, heading: str, text: str) -> None:
    ack(response_action="update", view=notice_modal(heading, text))
