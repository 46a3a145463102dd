"""The order in which everything is looked at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from agent.domain.errors import InvalidInput
from agent.ports import Clock, Ids, MessageRef
from agent.steps.try_click import who_clicked
from bot.doctor import database, mail, model, trail, web
from bot.doctor.rest import payments, widget
from bot.findings import Finding, State, failed, fine, skipped
from bot.manifest import bot_scopes, read_manifest
from bot.settings import Settings, load_policy, load_settings
from bot.slack.channels import Channels
from bot.slack.checkup import ChannelFinder, Checkup, look_at_slack, look_at_socket
from bot.slack.click_test import ClickTest, try_click
from bot.slack.client import OUTBOX_TIMEOUT_S, web_client
from bot.slack.names import Action
from storage.engine import open_engine
from storage.transaction import Store

_TIMEOUT_S = 10.0
_APP = "/sandbox/slack/app"
# Who presses the button where no person is there: the stand-in's on-call engineer.
_PRESSED_BY = "olu"


@dataclass(frozen=True, slots=True)
class Doctor:
    """What a look needs besides the settings: this machine's clock, chance, patience.

    `sandbox_channels` are those of the stand-in for Slack; `settings` reads the environment.
    """

    clock: Clock
    ids: Ids
    pause: Callable[[float], None]
    sandbox_channels: Channels
    settings: Callable[[], Settings] = load_settings


@dataclass(frozen=True, slots=True)
class _Slack:
    """How Slack is reached: with a token of one's own, or the running sandbox's."""

    token: str = field(repr=False)
    api_url: str
    channels: Channels
    press: Callable[[MessageRef], None] | None = None


def examine(doctor: Doctor, click_wait_s: float | None) -> Iterator[Finding]:
    """Look at everything, one finding at a time; with `click_wait_s` wait so long for a click.

    Nothing is changed, but for the button that a click is waited for. No secret is in a finding.
    """
    try:
        settings = doctor.settings()
        policy = load_policy(settings)
    except InvalidInput as wrong:
        remedy = "Correct it: nothing else can be looked at before that."
        yield failed("settings", str(wrong), remedy)
        return
    yield fine("settings", f"all can be read; the policy is {policy.version}")
    url = settings.database_url.get_secret_value()
    base = list(database.look(url, doctor.clock.now()))
    yield from base
    running = web.look_at_desk(settings)
    yield running.finding
    yield web.look_at_public_url(settings, over_socket=settings.slack_app_token is not None)
    slack = _reached(doctor, settings, running)
    if isinstance(slack, Finding):
        yield slack
    else:
        client = web_client(slack.token, slack.api_url, timeout_s=OUTBOX_TIMEOUT_S)
        scopes = bot_scopes(read_manifest())
        checkup = Checkup(client, slack.channels, policy.roles, scopes, doctor.clock.now)
        found = list(look_at_slack(checkup))
        yield from found
        if settings.slack_app_token is not None:
            yield look_at_socket(client, settings.slack_app_token.get_secret_value())
        if click_wait_s is not None:
            sick = any(one.state is State.FAILED for one in (base[0], found[0]))
            yield (
                skipped("click", "the database or the token is not well")
                if sick
                else _click(doctor, slack, url, click_wait_s)
            )
    yield mail.look(settings)
    yield model.look(settings)
    yield payments(settings)
    yield trail.look(settings)
    yield widget(settings)


def _reached(doctor: Doctor, settings: Settings, running: web.RunningDesk) -> _Slack | Finding:
    if settings.slack_bot_token is not None:
        channels = Channels(
            settings.slack_approvals_channel or "",
            settings.slack_oncall_channel or "",
            settings.slack_review_channel or settings.slack_approvals_channel or "",
            settings.slack_fallback_channel,
        )
        token = settings.slack_bot_token.get_secret_value()
        return _Slack(token, settings.slack_api_url, channels)
    try:
        answer = httpx.get(f"{running.url}{_APP}", timeout=_TIMEOUT_S, trust_env=False)
        app = answer.raise_for_status().json()
        token, api_url = str(app["bot_token"]), str(app["api_url"])
    except (httpx.HTTPError, ValueError, KeyError):
        return failed(
            "slack",
            f"the sandbox's Slack lives in the running desk, and none answers at {running.url}",
            "Start the desk with make run, or set SLACK_BOT_TOKEN for a real workspace.",
        )

    def press(ref: MessageRef) -> None:
        body = {
            "user": _PRESSED_BY,
            "channel": ref.channel,
            "ts": ref.ts,
            "action_id": Action.DOCTOR.value,
        }
        httpx.post(
            f"{running.url}/sandbox/slack/click", json=body, timeout=_TIMEOUT_S, trust_env=False
        )

    return _Slack(token, api_url, doctor.sandbox_channels, press)


def _click(doctor: Doctor, slack: _Slack, database_url: str, wait_s: float) -> Finding:
    client = web_client(slack.token, slack.api_url, timeout_s=OUTBOX_TIMEOUT_S)
    channel = ChannelFinder(client).find(slack.channels.oncall)
    if not isinstance(channel, dict):
        return skipped("click", "there is no on-call channel to post the button to")
    store = Store(open_engine(database_url))
    try:
        return try_click(
            ClickTest(
                client=client,
                channel=str(channel["id"]),
                nonce=doctor.ids.secret(),
                wait_s=wait_s,
                arrived=lambda nonce: who_clicked(store, nonce),
                pause=doctor.pause,
                press=slack.press,
            )
        )
    finally:
        store.close()
