"""The Bolt app: every name of the manifest meets its listener, and nothing goes unanswered."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from slack_bolt import Ack, App, BoltRequest, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk import WebClient

from agent.steps.trouble import report_gone
from bot.slack import click_test, names
from bot.slack.attending import Attending
from bot.slack.clicks import Clicks
from bot.slack.edge import Edge
from bot.slack.looking import Looking
from bot.slack.modals import notice_modal
from bot.slack.names import Action, View
from bot.slack.once import Once, StillAtWork, acknowledged
from bot.slack.orders import Orders
from bot.slack.payloads import Body, Click, described, read, sender
from bot.slack.previews import Previews
from bot.slack.questions import Questions
from bot.slack.submissions import Submissions
from bot.slack.switches import Switches
from bot.slack.takes import Takes

_LOG = logging.getLogger(__name__)

_Listener: TypeAlias = Callable[[Body, Ack], None]

_TROUBLE = (
    "Something went wrong on our side. Nothing was decided unless the card says so; please try "
    "again."
)
_STAMP, _SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
# Kinds of payload that a person is behind.
_INTERACTIONS = frozenset(
    {
        "block_actions",
        "view_submission",
        "shortcut",
        "message_action",
        "interactive_message",
        "block_suggestion",
        "dialog_submission",
    }
)


def slack_app(edge: Edge, signing_secret: str | None) -> App:
    """Make the app for one workspace; without a secret no request over HTTP is Slack's.

    `client` has a time-out that an interaction can afford. Who the bot is comes from `team_id`
    and not from a call on the first request: a click must be decided while Slack's API is down.
    """
    client, team_id = edge.client, edge.team_id
    app = App(
        name="supportdesk",
        client=WebClient(base_url=client.base_url, timeout=client.timeout, retry_handlers=[]),
        authorize=lambda: AuthorizeResult(enterprise_id=None, team_id=team_id),
        # Nobody knows the one that takes its place, so that nothing can be signed with it.
        signing_secret=signing_secret or edge.desk.ids.secret(),
        token_verification_enabled=False,
        process_before_response=True,
        raise_error_for_unhandled_request=True,
    )
    # It writes the whole body of a request that nobody signed, line breaks and all.
    logging.getLogger("slack_bolt.RequestVerification").disabled = True
    once = Once(edge.desk)
    _listen(_Heard(app, once), edge)
    app.error(_Troubles(edge, once).answer)
    return app


def dispatch(app: App, body: bytes, headers: Mapping[str, str]) -> tuple[int, dict[str, str], str]:
    """Answer one HTTP request of Slack: status, headers and body; runs until it is decided.

    401 for a signature that is wrong or over five minutes old, 400 for what cannot be read. Signed
    requests get 200, whatever is in them, unless not even the refusal could be written down.
    """
    try:
        request = BoltRequest(body=body.decode(), headers=_plain_headers(headers))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        _LOG.warning("a request to the Slack address cannot be read: %s", error)
        return 400, {"content-type": "text/plain"}, "This request cannot be read."
    try:
        response = app.dispatch(request)
    except Exception:  # noqa: BLE001 - Bolt takes fields of a signed payload for granted
        _LOG.exception("Bolt failed on a request")
        return 200, {}, ""
    return response.status, dict(response.first_headers()), str(response.body)


def _plain_headers(headers: Mapping[str, str]) -> dict[str, str | Sequence[str]]:
    """Return the headers without a stamp or signature that Bolt cannot even compare."""
    known = {name.lower(): value for name, value in headers.items()}
    if not (known.get(_STAMP, "").isascii() and known.get(_STAMP, "").isdigit()):
        known.pop(_STAMP, None)
    if not known.get(_SIGNATURE, "").isascii():
        known.pop(_SIGNATURE, None)
    return dict(known)


class _Heard:
    """The app as the listeners are registered with it: what comes twice reaches them once."""

    def __init__(self, app: App, once: Once) -> None:
        self._app = app
        self._once = once

    def action(self, action_id: str | re.Pattern[str]) -> Callable[[_Listener], None]:
        return lambda listener: self._answered(self._app.action(action_id), listener)

    def view(self, callback_id: str) -> Callable[[_Listener], None]:
        return lambda listener: self._answered(self._app.view(callback_id), listener)

    def command(self, command: str) -> Callable[[_Listener], None]:
        return lambda listener: self._answered(self._app.command(command), listener)

    def event(self, kind: str) -> Callable[[Callable[[Body], None]], None]:
        """Hear an event; Slack wants no more of an answer than that it has arrived."""

        def acknowledge(body: Body, ack: Ack, listener: Callable[[Body], None]) -> None:
            listener(body)
            ack()

        return lambda listener: self._answered(
            self._app.event(kind), partial(acknowledge, listener=listener)
        )

    def _answered(self, register: Callable[..., object], listener: _Listener) -> None:
        # Bolt gives a listener what its parameters are called.
        def listen(body: Body, ack: Ack) -> None:
            ack.response = self._once.answer(body, partial(acknowledged, listener, body))

        register(listen)


def _listen(app: _Heard, edge: Edge) -> None:
    clicks, submissions, orders = Clicks(edge), Submissions(edge), Orders(edge)
    switches, takes = Switches(edge), Takes(edge)
    app.action(names.INPUT)(Previews(edge).typed)

    def gone(body: Body) -> None:
        _gone(edge, body)

    app.action(Action.APPROVE.value)(clicks.approve)
    app.action(Action.EDIT.value)(clicks.edit)
    app.action(Action.REJECT.value)(clicks.reject)
    app.action(Action.REVIEW.value)(clicks.review)
    app.action(names.NUMBERED_REVIEW)(clicks.review)
    app.action(Action.REVEAL.value)(clicks.reveal)
    for page in names.PAGES:
        app.action(page.value)(clicks.page)
    app.action(Action.BREAK_GLASS.value)(clicks.break_glass)
    app.action(Action.ASK.value)(clicks.ask)
    app.action(Action.REVOKE.value)(clicks.revoke)
    app.action(Action.ASK_AGAIN.value)(clicks.ask_again)
    app.action(Action.SETTLE.value)(clicks.settle)
    app.action(Action.REVIEW_RIGHT.value)(clicks.right)
    app.action(Action.REVIEW_FLAG.value)(clicks.flag)
    app.action(Action.ALERT_ACKNOWLEDGE.value)(switches.acknowledge)
    app.action(Action.BREAKER_RESET.value)(switches.open_reset)
    app.action(Action.PING_ACKNOWLEDGE.value)(takes.acknowledge)
    app.action(Action.TAKE_OVER.value)(takes.take_over)
    app.action(Action.STOP.value)(switches.open_stop)
    app.action(Action.LIFT.value)(switches.open_lift)
    app.action(Action.DOCTOR.value)(click_test.heard(edge))
    app.view(View.EDIT.value)(submissions.edit)
    app.view(View.REJECT.value)(submissions.reject)
    app.view(View.REVIEW.value)(submissions.review)
    app.view(View.BREAK_GLASS.value)(submissions.break_glass)
    app.view(View.ASK.value)(Questions(edge).ask)
    app.view(View.REVOKE.value)(orders.revoke)
    app.view(View.SETTLE.value)(orders.settle)
    app.view(View.REVIEW_FLAG.value)(orders.flag)
    app.view(View.BREAKER_RESET.value)(switches.reset)
    app.view(View.STOP.value)(switches.stop)
    app.view(View.LIFT.value)(switches.lift)
    _listen_to_people(app, edge)
    app.event(names.APP_UNINSTALLED)(gone)
    app.event(names.TOKENS_REVOKED)(gone)


def _listen_to_people(app: _Heard, edge: Edge) -> None:
    _listen_to_attending(app, Attending(edge))
    _listen_to_readers(app, Looking(edge))


def _listen_to_attending(app: _Heard, attending: Attending) -> None:
    app.action(Action.HAND_OFF_REPLY.value)(attending.open_reply)
    app.action(names.NUMBERED_REPLY)(attending.open_reply)
    app.action(Action.HAND_OFF_JOIN.value)(attending.join)
    app.action(Action.HAND_OFF_GIVE_BACK.value)(attending.give_back)
    app.action(Action.HAND_OFF_DETAILS.value)(attending.details)
    app.action(names.NUMBERED_DETAILS)(attending.details)
    app.view(View.REPLY.value)(attending.reply)


def _listen_to_readers(app: _Heard, looking: Looking) -> None:
    app.action(Action.HOME_REFRESH.value)(looking.refresh)
    app.action(Action.HOME_BACK.value)(looking.turn)
    app.action(Action.HOME_ON.value)(looking.turn)
    app.action(Action.SHOW_QUEUE.value)(looking.queue)
    app.action(Action.SHOW_MINE.value)(looking.mine)
    app.action(Action.SHOW_STATS.value)(looking.stats)
    app.action(Action.SHOW_BREAKER.value)(looking.switches)
    app.action(Action.SHOW_HAND_OFFS.value)(looking.hand_offs)
    app.action(Action.SHOW_HELP.value)(looking.usage)
    app.action(Action.FIND.value)(looking.find)
    app.view(View.FIND.value)(looking.found)
    app.command(names.COMMAND)(looking.command)
    app.event(names.HOME_OPENED)(looking.opened)


def _gone(edge: Edge, body: Body) -> None:
    """Let nothing leave any more, and reach people on call by other ways than Slack."""
    event = body["event"]
    tokens = event.get("tokens")
    # Tokens of users alone are none of the bot's.
    if event["type"] == names.TOKENS_REVOKED and isinstance(tokens, dict) and not tokens.get("bot"):
        _LOG.warning("Slack reports that tokens of users were revoked")
        return
    report_gone(edge.desk, str(event["type"]))


class _Troubles:
    """Answers what no listener knows, and what a listener failed on."""

    def __init__(self, edge: Edge, once: Once) -> None:
        self._edge = edge
        self._once = once

    def answer(self, error: Exception, body: Body) -> BoltResponse:
        """Note an unknown interaction, log anything else, and let the person see something."""
        if isinstance(error, BoltUnhandledRequestError):
            return self._once.answer(body, partial(self._unknown, body))
        if isinstance(error, StillAtWork):
            # Without an ack it comes again; the person has nothing to read about it.
            return BoltResponse(status=503)
        _LOG.error("a request of Slack failed", exc_info=error)
        if body.get("type") == "view_submission":
            return _update("Something went wrong", _TROUBLE)
        if "command" in body:
            return BoltResponse(status=200, body=_TROUBLE)
        told = body.get("type") == "block_actions" and self._tell(body, _TROUBLE)
        # Without an ack, Slack marks the button; an event comes again.
        return BoltResponse(status=200 if told else 500, body="")

    def _unknown(self, body: Body) -> BoltResponse:
        kind = str(body.get("type") or "")
        if kind in _INTERACTIONS or "command" in body:
            self._edge.note_unknown(sender(body), described(body))
        if kind == "view_submission":
            return _update("Not possible", "This form is not one the desk knows.")
        if kind == "block_actions":
            self._tell(body, "This button is not one the desk knows. Look at the newest card.")
        return BoltResponse(status=200, body="Unknown command." if "command" in body else "")

    def _tell(self, body: Body, text: str) -> bool:
        """Answer the clicker through the outbox; false when even that cannot be written."""
        click = read(Click, body)
        if click is None:
            return True
        try:
            self._edge.tell(click.channel_id, click.user.id, text)
        except Exception:  # noqa: BLE001 - the database may be what has just failed
            _LOG.exception("nobody could be told")
            return False
        return True


def _update(heading: str, text: str) -> BoltResponse:
    return BoltResponse(
        status=200,
        body={"response_action": "update", "view": notice_modal(heading, text)},
    )
