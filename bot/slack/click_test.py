"""A button to click on: proof that what people do in Slack reaches the running desk."""

from collections.abc import Callable
from dataclasses import dataclass

from slack_bolt import Ack
from slack_sdk import WebClient

from agent.ports import MessageRef
from agent.steps.try_click import note_test_click, read_nonce
from bot.findings import Finding, failed, fine
from bot.slack.blocks import actions, button, plain, section
from bot.slack.edge import Edge
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.intake import read_click
from bot.slack.names import Action
from bot.slack.payloads import Body

_ASKS = (
    "The doctor asks whether clicks reach the desk. Anybody may press the button; it does nothing."
)
_EVERY_S = 0.25
_NAME = "click"


@dataclass(frozen=True, slots=True)
class ClickTest:
    """One try: where the button is posted, how long it is waited for, and who else may press it.

    `arrived` returns who pressed the button of this try, once the desk has heard of it. `press`
    presses it where no person is there to do so.
    """

    client: WebClient
    channel: str
    nonce: str
    wait_s: float
    arrived: Callable[[str], str | None]
    pause: Callable[[float], None]
    press: Callable[[MessageRef], None] | None = None


def try_click(test: ClickTest) -> Finding:
    """Post the button, wait until the running desk has heard of a click, and say so beneath it."""
    try:
        ref = _post(test)
    except CALL_ERRORS as error:
        says = f"the button cannot be posted: {failure_of(error).code}"
        return failed(_NAME, says, "See what the finding about the on-call channel says.")
    if test.press is not None:
        test.press(ref)
    who = _wait(test)
    told = "no click came" if who is None else "the click has reached the desk"
    _amend(test.client, ref, f"The doctor asked whether clicks reach the desk: {told}.")
    if who is None:
        return failed(
            _NAME,
            f"no click reached the desk within {test.wait_s:g} s",
            "See that the desk runs, that the manifest's request URL (or Socket Mode) leads to it, "
            "and that SLACK_SIGNING_SECRET is this app's.",
        )
    return fine(_NAME, f"a click of {who} went from Slack to the running desk")


def heard(edge: Edge) -> Callable[[Body, Ack], None]:
    """Return the listener that writes a click down; it decides nothing."""

    def listen(body: Body, ack: Ack) -> None:
        found = read_click(edge, body, read_nonce)
        if found is not None:
            click, nonce = found
            note_test_click(edge.desk, click.identity, nonce)
        ack()

    return listen


def _post(test: ClickTest) -> MessageRef:
    press = button(Action.DOCTOR, "Click to test", test.nonce)
    blocks = [section(_ASKS), actions(f"doctor:{test.nonce}", press)]
    posted = test.client.chat_postMessage(
        channel=test.channel, blocks=blocks, text=_ASKS, parse="none", link_names=False
    )
    return MessageRef(str(posted["channel"]), str(posted["ts"]))


def _wait(test: ClickTest) -> str | None:
    for _ in range(int(test.wait_s / _EVERY_S) + 1):
        who = test.arrived(test.nonce)
        if who is not None:
            return who
        test.pause(_EVERY_S)
    return None


def _amend(client: WebClient, ref: MessageRef, words: str) -> None:
    """Take the button away; where Slack has the message no more, nothing is left to press."""
    blocks = [{"type": "context", "elements": [plain(words)]}]
    try:
        client.chat_update(channel=ref.channel, ts=ref.ts, blocks=blocks, text=words, parse="none")
    except CALL_ERRORS:
        return
