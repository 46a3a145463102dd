"""The breaker and the stop switch: their buttons and their forms."""

from dataclasses import dataclass

from slack_bolt import Ack

from agent.domain.breaker import Breaker
from agent.domain.decision import RefusalCode, Refused
from agent.domain.roles import Channel
from agent.steps.alerts import acknowledge_alert
from agent.steps.breaker import is_too_late, reset_breaker
from agent.steps.permission import Order
from agent.steps.stop import lift, stop_all
from bot.slack import answers, forms
from bot.slack.edge import Edge
from bot.slack.intake import read_click, read_form
from bot.slack.modals import notice_modal
from bot.slack.names import Field
from bot.slack.payloads import Body, Form
from bot.slack.targets import read_alert_target, read_breaker_target, read_stop_target
from storage import breaker
from storage.breaker import StopNote


@dataclass(frozen=True, slots=True)
class Switches:
    """The listeners of the alerts' buttons, and of the forms that they open."""

    edge: Edge

    def acknowledge(self, body: Body, ack: Ack) -> None:
        """Let somebody on call say that they look into an alert."""
        if found := read_click(self.edge, body, read_alert_target):
            click, target = found
            told = acknowledge_alert(self.edge.desk, click.identity, target.subject)
            self.edge.tell(click.channel_id, click.user.id, told)
        ack()

    def open_reset(self, body: Body, ack: Ack) -> None:
        """Open the form that asks why the breaker is closed by hand, if it is open still."""
        if found := read_click(self.edge, body, read_breaker_target):
            click, target = found
            with self.edge.desk.store.transaction(write=False) as tx:
                late = is_too_late(breaker.load(tx), target.generation)
            if late is None:
                self.edge.open_view(click, forms.reset_modal(target))
            else:
                self.edge.redraw_alert(click)
                self.edge.open_view(click, notice_modal("Already closed", late.message))
        ack()

    def open_stop(self, body: Body, ack: Ack) -> None:
        """Open the form that stops everything; where it is stopped, say by whom."""
        if found := read_click(self.edge, body, read_stop_target):
            click, _ = found
            note = self._note()
            view = (
                forms.stop_modal()
                if note is None
                else notice_modal("Stopped already", forms.stop_words(note))
            )
            self.edge.open_view(click, view)
        ack()

    def open_lift(self, body: Body, ack: Ack) -> None:
        """Open the form that lifts the stop, with who threw it and why."""
        if found := read_click(self.edge, body, read_stop_target):
            click, _ = found
            note = self._note()
            if note is None:
                self.edge.redraw_alert(click)
                told = "The stop has been lifted since this alert."
                self.edge.open_view(click, notice_modal("Nothing is stopped", told))
            else:
                self.edge.open_view(click, forms.lift_modal(note))
        ack()

    def reset(self, body: Body, ack: Ack) -> None:
        """Close the breaker by a person's word, if it is still the one that was shown."""
        found = read_form(self.edge, body, ack, read_breaker_target)
        if found is None:
            return
        form, target = found
        _show(ack, reset_breaker(self.edge.desk, _order(form), target.generation))

    def stop(self, body: Body, ack: Ack) -> None:
        """Stop everything."""
        if found := read_form(self.edge, body, ack, read_stop_target):
            form, _ = found
            _show(ack, stop_all(self.edge.desk, _order(form)))

    def lift(self, body: Body, ack: Ack) -> None:
        """Lift the stop by a person's word, if it is still the one whose reason was shown."""
        found = read_form(self.edge, body, ack, read_stop_target)
        if found is None:
            return
        form, target = found
        note = self._note()
        if note is None or forms.stop_mark(note) == target.since:
            _show(ack, lift(self.edge.desk, _order(form)))
        else:
            self._too_late(form, {"since": target.since})
            answers.notice(ack, "Stopped once more", forms.stop_words(note))

    def _note(self) -> StopNote | None:
        with self.edge.desk.store.transaction(write=False) as tx:
            return breaker.stop_note(tx)

    def _too_late(self, form: Form, shown: dict[str, int | None]) -> None:
        code = RefusalCode.ALREADY_DECIDED
        self.edge.note_refused(form.identity, code, {**shown, "callback_id": form.view.callback_id})


def _order(form: Form) -> Order:
    return Order(form.identity, Channel.SLACK, form.text(Field.REASON))


def _show(ack: Ack, answer: Breaker | Refused) -> None:
    if isinstance(answer, Refused):
        answers.refuse(ack, answer)
    else:
        answers.close(ack)
