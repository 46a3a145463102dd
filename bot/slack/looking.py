"""Looking: the slash command and the Home tab, both for people with a role at the desk."""

import logging
from dataclasses import dataclass

from slack_bolt import Ack

from agent.domain.approvals import ApprovalView, Status
from agent.domain.payload import Payload
from agent.steps.breaker import breaker_status
from bot.slack.blocks import Block, fallback, section
from bot.slack.edge import Edge
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.forms import stop_words
from bot.slack.home import ROWS, queue_lines, queue_view, stranger_view
from bot.slack.names import COMMAND
from bot.slack.payloads import Body, Opened, Typed, read
from storage import approvals, breaker, decisions
from storage.breaker import StopNote

_LOG = logging.getLogger(__name__)

_LISTED = 10
_HELP = (
    f"`{COMMAND} pending` lists what waits for a person.\n"
    f"`{COMMAND} breaker` shows whether automatic refunds run, and whether all is stopped.\n"
    "Requests are decided on their cards, and in this app's Home tab."
)
_STATES = {"closed": "closed", "half_open": "half-open", "open": "open"}
_STRANGER = "You have no role at this desk. The roles come from Slack user groups: ask your lead."


@dataclass(frozen=True, slots=True)
class Looking:
    """The listeners that only read."""

    edge: Edge

    def command(self, body: Body, ack: Ack) -> None:
        """Answer `/refunds`, for the asking person alone."""
        typed = read(Typed, body)
        if typed is None or not self._is_staff(typed):
            ack(text=_STRANGER, response_type="ephemeral")
            return
        match typed.text.strip().lower():
            case "pending":
                waiting, total = self._waiting(_LISTED)
                told = f"{total} waiting for a person."
                ack(text=told, blocks=queue_lines(waiting, total), response_type="ephemeral")
            case "breaker":
                said = self._switches()
                blocks = [section(line) for line in said]
                ack(text=fallback("\n".join(said)), blocks=blocks, response_type="ephemeral")
            case _:
                ack(text=_HELP, response_type="ephemeral")

    def home(self, body: Body) -> None:
        """Publish the queue when somebody opens the Home tab."""
        opened = read(Opened, body)
        if opened is None or opened.event.tab != "home":
            return
        if self._is_staff(opened):
            waiting, total = self._waiting(ROWS)
            view = queue_view(waiting, total, self.edge.desk.clock.now(), self._stop())
        else:
            view = stranger_view()
        self._publish(opened.event.user, view)

    def _switches(self) -> list[str]:
        """Return how the stop switch and the breaker stand, a sentence or two each."""
        stop = self._stop()
        words = _breaker_words(breaker_status(self.edge.desk))
        return [words] if stop is None else [stop_words(stop), words]

    def _stop(self) -> StopNote | None:
        with self.edge.desk.store.transaction(write=False) as tx:
            return breaker.stop_note(tx)

    def _is_staff(self, asking: Typed | Opened) -> bool:
        ours = asking.team_id == self.edge.team_id
        return ours and self.edge.staff(asking.identity) is not None

    def _publish(self, user_id: str, view: Block) -> None:
        try:
            self.edge.client.views_publish(user_id=user_id, view=view)
        except CALL_ERRORS as error:
            # The next opening of the tab publishes again.
            _LOG.warning("no Home tab for %s: %s", user_id, failure_of(error).code)

    def _waiting(self, limit: int) -> tuple[list[ApprovalView], int]:
        """Return the oldest requests that people can still decide, and how many there are."""
        now = self.edge.desk.clock.now()
        with self.edge.desk.store.transaction(write=False) as tx:
            total, _ = approvals.count(tx, Status.PENDING)
            pending = approvals.page(tx, Status.PENDING, "", limit)
            views = [decisions.view(tx, one) for one in pending if one.is_open(now)]
        # Those past their deadline end with the next sweep.
        return views, total - (len(pending) - len(views))


def _breaker_words(status: Payload) -> str:
    counted = (
        f"{status['admitted_in_window']} of {status['max']} automatic refunds in the last "
        f"{status['window_s']} seconds."
    )
    if status["stopped"]:
        return f"Nothing runs by itself. The breaker is {_STATES[str(status['state'])]}; {counted}"
    match status["state"]:
        case "closed":
            return f"✅ Automatic refunds run. {counted}"
        case "half_open":
            return "🔎 One automatic refund is let through as a trial; the others wait for it."
        case _:
            again = status["opens_again_at"] or "a person resets it"
            return f"🚨 Automatic refunds are paused until {again}."
