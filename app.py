"""The composition root: settings, engine, providers, edges. `python app.py` starts the desk."""

import gc

# What is imported stays: to look through it for garbage while it comes takes a sixth of the start.
gc.disable()

import asyncio
import getpass
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NoReturn

import click
from pydantic import SecretStr
from sqlalchemy import Engine, make_url
from starlette.routing import Mount
from typing_extensions import override

from agent.desk import Desk, Lane
from agent.domain.deadlines import EXECUTION_LEASE
from agent.domain.errors import InvalidInput
from agent.domain.heartbeats import WATCH, patience_with
from agent.domain.places import Pace
from agent.ports import ChatModel, Notifier, Payments
from agent.providers.demo_shop import seed_demo_shop
from agent.providers.embedded_flags import EmbeddedFlags
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.heads_file import HeadsFile
from agent.providers.ledger_payments import LedgerPayments
from agent.providers.no_rosters import NoRosters
from agent.providers.offline_model import OfflineModel
from agent.providers.system import SharedClock, SystemClock, SystemIds
from agent.steps.announce import announce, next_announcement
from agent.steps.check import check_click
from agent.steps.digest import daily_digest
from agent.steps.execute import execute_due
from agent.steps.heads import Seal, sign_heads
from agent.steps.mail import send_mail
from agent.steps.sweep import sweep
from agent.steps.turn import take_turn
from agent.steps.verify import Witness
from agent.steps.watch import watch
from bot.cli import cli as commands
from bot.cli_world import World
from bot.doctor.examine import Doctor, examine
from bot.findings import Finding
from bot.jobs import Heartbeat, Job, Jobs, Wakeups
from bot.mail_ways import customer_mail_for, mail_words, mailer_for, url_host
from bot.sandbox import world as sandbox
from bot.sandbox.page import demo_page
from bot.sandbox.payments_faults import FaultyPayments
from bot.settings import Settings, load_policy, load_settings, sandbox_refusal
from bot.slack.channels import Channels, SlackNotReady, check_channels, identify
from bot.slack.client import INTERACTIVE_TIMEOUT_S, OUTBOX_TIMEOUT_S, SlackNotifier, web_client
from bot.slack.edge import Edge
from bot.slack.homes import HomeWatch
from bot.slack.listeners import dispatch, slack_app
from bot.slack.people import sync_people
from bot.slack.rosters import SlackRosters
from bot.slack.socket import SocketMode
from bot.web.afar import Afar
from bot.web.application import web_app
from bot.web.chat_keys import ChatKeys
from bot.web.context import SlackDispatch, WebContext
from bot.web.hub import Hub, StoredLogs
from bot.web.metrics import Metrics
from bot.web.server import WebServer
from bot.web.signatures import WebhookKeys
from storage import deliveries, heartbeats, schema
from storage.clock import database_time
from storage.engine import open_engine
from storage.hints import hints_of
from storage.single import AlreadyRunning, hold_file
from storage.transaction import Store

gc.freeze()
gc.enable()

log = logging.getLogger("supportdesk")

# Two looks at the user groups fit into the 60 s that a mirrored role counts (facts/slack.md §1.9).
_PEOPLE_EVERY_S = 20.0
_PEOPLE_RETRY_S = 1.0
_SOCKET_EVERY_S, _SOCKET_RETRY_S = 5.0, 1.0
_CLOCK_EVERY_S = 20.0
# The digest of the day is made once; this is how late it may be.
_DIGEST_EVERY_S = 20.0
# What is newer than the newest head can be cut off unseen; a job is stale after 30 s.
_HEADS_EVERY_S = 20.0
_WATCH_EVERY_S = 5.0
# New objects until the youngest are looked at, and looks until the next older ones are (gc).
_COLLECT_AFTER = (10_000, 20, 50)
# Every worker of the lane may be in the middle of a turn, which asks the model several times.
_TURN_PATIENCE = timedelta(minutes=3)
# The mark that a database leaves in when it has served a real workspace.
_WORKSPACE = "workspace"


class CannotStart(Exception):
    """The desk refuses to start; the sentence says what to change."""


@dataclass(frozen=True, slots=True)
class Core:
    """The desk itself and what stands behind it, without any edge."""

    settings: Settings
    engine: Engine
    desk: Desk
    ids: SystemIds
    shop: EmbeddedShop
    ledger: LedgerPayments
    faults: FaultyPayments | None
    clock: SharedClock


@dataclass(frozen=True, slots=True)
class SlackSide:
    """What the web edge and the jobs need of Slack."""

    notifier: Notifier
    metrics: Metrics
    dispatch: SlackDispatch | None
    socket: SocketMode | None
    roles: "RoleMirror"
    words: str


class RoleMirror:
    """The job that mirrors user groups, and whether its last look went well."""

    def __init__(self, look: Callable[[], tuple[str, ...]]) -> None:
        """Keep how to look; `look` returns what went wrong."""
        self._look = look
        self.is_fresh = False

    def sync(self) -> bool:
        """Look once; raises SlackNotReady with what went wrong, so that the job tries again."""
        problems = self._look()
        self.is_fresh = not problems
        if problems:
            raise SlackNotReady("; ".join(problems), temporary=True)
        return False


class DeskServer(WebServer):
    """The HTTP server, and the workers that start once it listens and stop before it ends."""

    def __init__(self, context: WebContext, settings: Settings, jobs: Jobs, rest: "Rest") -> None:
        """Keep the workers; nothing starts before `run`."""
        super().__init__(
            web_app(context),
            context.hub,
            host=settings.host,
            port=settings.port,
            trusted_proxies=settings.trusted_proxies,
        )
        self._jobs = jobs
        self._rest = rest

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            await asyncio.to_thread(self._jobs.start)
            click.echo(self._rest.welcome)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._rest.before()
        self.hub.leave()
        # Both are bounded in time: envelopes under way are finished while the workers are.
        await asyncio.gather(
            asyncio.to_thread(self._jobs.stop), asyncio.to_thread(self._rest.hang_up)
        )
        await super().shutdown(sockets)
        self._rest.after()


@dataclass(frozen=True, slots=True)
class Rest:
    """What is said at the start, and what is done around the end."""

    welcome: str
    before: Callable[[], None]
    after: Callable[[], None]
    hang_up: Callable[[], None]


def main() -> None:
    """Start the desk and serve until SIGTERM or SIGINT."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    for noisy in ("alembic", "apscheduler", "httpx", "httpx2", "slack_sdk", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # Bolt reads SLACK_BOT_TOKEN from the environment too, and warns that it is given a client.
    logging.getLogger("slack_bolt").setLevel(logging.ERROR)
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, _end)
    try:
        with ExitStack() as held:
            server = _server(load_settings(), held)
            _leave_in_peace()
            server.run()
    except (CannotStart, AlreadyRunning, InvalidInput, SlackNotReady) as problem:
        click.echo(f"Supportdesk cannot start: {problem}", err=True)
        sys.exit(2)


def _leave_in_peace() -> None:
    """Let the collector of garbage pass over what was built for good, and come less often.

    A look through all of it stops every thread for up to 0.3 s, in the middle of a click.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


def _end(_signal: int, _frame: object) -> NoReturn:
    """End with success: uvicorn raises the signal again when it has stopped in good order."""
    sys.exit(0)


def cli() -> None:
    """Run the `agent` command."""
    try:
        commands(
            obj=World(
                open_desk=_open_cli,
                upgrade=_upgrade,
                os_user=getpass.getuser(),
                witness=_witness,
                public_url=lambda: load_settings().public_url,
                checkup=_checkup,
            )
        )
    except CannotStart as problem:
        click.echo(f"not_possible: {problem}", err=True)
        sys.exit(2)


def _server(settings: Settings, held: ExitStack) -> DeskServer:
    url = settings.database_url.get_secret_value()
    if make_url(url).get_backend_name() == "sqlite":
        held.enter_context(_hold(Path(make_url(url).database or "")))
    wakeups = Wakeups()
    core = _core(
        settings,
        f"srv-{SystemIds().new('rpl')}",
        wakeups.wake,
        _model(settings, settings.offline_pace_ms / 1000),
    )
    # The last SQLite connection to close folds the write-ahead log into the file.
    held.callback(core.desk.store.close)
    if core.desk.store.dialect == "sqlite":
        with core.desk.store.transaction() as tx:
            heartbeats.forget_other_servers(tx, core.desk.replica)
    with core.desk.store.transaction() as tx:
        deliveries.revive(tx, core.desk.clock.now())
    return _sandbox_server(core, wakeups) if settings.is_sandbox else _real_server(core, wakeups)


def _core(settings: Settings, replica: str, wake: Callable[[Lane], None], model: ChatModel) -> Core:
    _refuse_sandbox(settings)
    engine = open_engine(settings.database_url.get_secret_value())
    schema.upgrade(engine)
    _check_mark(settings, Store(engine))
    store, ids = Store(engine), SystemIds()
    clock = SharedClock(SystemClock(), partial(database_time, store))
    clock.measure()
    shop, ledger = EmbeddedShop(store), LedgerPayments(store, clock, ids)
    faults = FaultyPayments(ledger, wait=time.sleep) if settings.is_sandbox else None
    payments: Payments = ledger if faults is None else faults
    desk = Desk(
        store=store,
        clock=clock,
        ids=ids,
        policy=load_policy(settings),
        shop=shop,
        payments=payments,
        mailer=mailer_for(settings, store, clock),
        flags=EmbeddedFlags(store, clock, ids),
        model=model,
        rosters=NoRosters(),
        replica=replica,
        wake=wake,
        oncall_mail=settings.oncall_mail,
        customer_mail=customer_mail_for(settings),
    )
    if settings.is_sandbox:
        seed_demo_shop(store, clock.now())
        sandbox.seed_operator(desk, getpass.getuser())
    return Core(settings, engine, desk, ids, shop, ledger, faults, clock)


def _model(settings: Settings, pace_s: float = 0.0) -> ChatModel:
    if settings.is_offline:
        return OfflineModel(pace_s)
    # Loading the SDK takes a third of the start; without a model server nobody needs it.
    from agent.providers.openai_chat import open_ai_chat  # noqa: PLC0415

    return open_ai_chat(
        _plain(settings.openai_api_key) or "",
        settings.openai_base_url or "",
        settings.openai_model,
    )


def _sandbox_server(core: Core, wakeups: Wakeups) -> DeskServer:
    settings, faults = core.settings, core.faults
    if faults is None:
        raise CannotStart("the sandbox has no payment provider")
    secrets = sandbox.make_secrets(core.ids)
    journal = sandbox.journal_path(settings.database_url.get_secret_value())
    place = sandbox.Place(f"http://{url_host(settings.host)}:{settings.port}", journal)
    keys = _Keys(secrets.bot_token, sandbox.api_url(place), secrets.signing_secret)
    core = _with_rosters(core, keys, sandbox.TEAM_ID)
    desk = core.desk
    sandbox.seed_people(desk, secrets)
    slack = sandbox.stand_in(secrets, core.ids, desk, place)
    side = _slack_side(
        desk,
        keys,
        sandbox.TEAM_ID,
        Channels(sandbox.APPROVALS, sandbox.ONCALL, sandbox.REVIEW),
    )
    parts = sandbox.Parts(desk, core.shop, core.ledger, faults)
    mounts = (sandbox.sandbox_mount(parts, slack, secrets), Mount("/", app=demo_page()))
    chat_keys = ChatKeys(secret=secrets.jwt_secret)
    welcome = _welcome(core, side, f"{place.url}  (sandbox: everything stays on this machine)")
    rest = Rest(welcome, slack.state.release, slack.state.close, hang_up=_nothing)
    return _assemble(core, side, wakeups, chat_keys, (mounts, rest))


def _real_server(core: Core, wakeups: Wakeups) -> DeskServer:
    settings = core.settings
    keys = _keys(settings)
    client = web_client(keys.token, keys.api_url, timeout_s=OUTBOX_TIMEOUT_S)
    workspace = identify(client)
    wanted = Channels(
        approvals=settings.slack_approvals_channel or "",
        oncall=settings.slack_oncall_channel or "",
        review=settings.slack_review_channel or settings.slack_approvals_channel or "",
        spare=settings.slack_fallback_channel,
    )
    core = _with_rosters(core, keys, workspace.team_id)
    side = _slack_side(core.desk, keys, workspace.team_id, check_channels(client, wanted))
    with core.desk.store.transaction() as tx:
        heartbeats.set_setting(tx, _WORKSPACE, workspace.team_id)
    chat_keys = ChatKeys(
        secret=_plain(settings.widget_jwt_secret),
        public_key=_plain(settings.widget_jwt_public_key),
    )
    where = f"http://{url_host(settings.host)}:{settings.port}  (Slack: {workspace.name})"
    hang_up = _nothing if side.socket is None else side.socket.close
    rest = Rest(_welcome(core, side, where), _nothing, _nothing, hang_up)
    return _assemble(core, side, wakeups, chat_keys, ((), rest))


@dataclass(frozen=True, slots=True)
class _Keys:
    token: str
    api_url: str
    signing_secret: str | None = None
    app_token: str | None = None


def _keys(settings: Settings) -> _Keys:
    token = _plain(settings.slack_bot_token)
    if token is None:
        raise CannotStart("no SLACK_BOT_TOKEN is set")
    secret, app_token = settings.slack_signing_secret, settings.slack_app_token
    return _Keys(token, settings.slack_api_url, _plain(secret), _plain(app_token))


def _with_rosters(core: Core, keys: _Keys, team_id: str) -> Core:
    """Let the desk read somebody's roles from Slack the moment a click waits for them."""
    quick = web_client(keys.token, keys.api_url, timeout_s=INTERACTIVE_TIMEOUT_S)
    rosters = SlackRosters(core.desk, quick, team_id)
    return replace(core, desk=replace(core.desk, rosters=rosters))


def _slack_side(desk: Desk, keys: _Keys, team_id: str, channels: Channels) -> SlackSide:
    metrics = Metrics(desk)
    patient = web_client(keys.token, keys.api_url, timeout_s=OUTBOX_TIMEOUT_S)
    quick = web_client(keys.token, keys.api_url, timeout_s=INTERACTIVE_TIMEOUT_S)
    app = slack_app(Edge(desk, quick, team_id, metrics.count_decision), keys.signing_secret)
    return SlackSide(
        metrics=metrics,
        notifier=SlackNotifier(patient, quick, channels, desk.store, desk.clock),
        dispatch=None if keys.signing_secret is None else partial(dispatch, app),
        socket=None if keys.app_token is None else SocketMode(app, keys.app_token, keys.api_url),
        roles=RoleMirror(lambda: sync_people(desk, patient, team_id).problems),
        words=f"Slack at {keys.api_url}{_heard_over(keys)}",
    )


def _heard_over(keys: _Keys) -> str:
    if keys.app_token is None:
        return ", heard over HTTP"
    return ", heard in Socket Mode" + (", over HTTP too" if keys.signing_secret else "")


def _assemble(
    core: Core,
    side: SlackSide,
    wakeups: Wakeups,
    chat_keys: ChatKeys,
    ends: tuple[tuple[Mount, ...], Rest],
) -> DeskServer:
    mounts, rest = ends
    hub = Hub(StoredLogs(core.desk.store))
    hints = hints_of(core.desk.store, core.engine)
    afar = None if hints is None else Afar(hub, hints, core.desk.replica)
    desk = replace(core.desk, live=hub if afar is None else afar)
    lanes: dict[Lane, Callable[[], object]] = {
        Lane.TURN: partial(take_turn, desk),
        Lane.EXECUTE: partial(execute_due, desk),
        Lane.SLACK: partial(announce, desk, side.notifier, Pace()),
        Lane.CLICK: partial(check_click, desk, side.metrics.count_decision),
        Lane.HOME: HomeWatch(desk).refresh,
        Lane.MAIL: partial(send_mail, desk),
    }
    scheduled: tuple[Job, ...] = (
        Job("sweep", core.settings.sweep_interval_s, partial(sweep, desk)),
        Job("digest", _DIGEST_EVERY_S, partial(daily_digest, desk)),
        Job("clock", _CLOCK_EVERY_S, partial(_measure, core.clock)),
        Job("people", _PEOPLE_EVERY_S, side.roles.sync, retry_s=_PEOPLE_RETRY_S),
    )
    if side.socket is not None:
        watch_socket = Job("socket", _SOCKET_EVERY_S, side.socket.watch, retry_s=_SOCKET_RETRY_S)
        scheduled = (*scheduled, watch_socket)
    seal = _seal(core.settings)
    if seal is not None:
        sign = partial(sign_heads, desk, seal)
        scheduled = (*scheduled, Job("heads", _HEADS_EVERY_S, sign))
        # What the last workers wrote is signed too.
        rest = replace(rest, after=partial(_in_turn, sign, rest.after))
    patience = {job.name: patience_with(timedelta(seconds=job.every_s)) for job in scheduled}
    patience |= {Lane.TURN.value: _TURN_PATIENCE, Lane.EXECUTE.value: EXECUTION_LEASE}
    scheduled = (*scheduled, Job(WATCH, _WATCH_EVERY_S, partial(watch, desk, patience)))
    due = {Lane.SLACK: partial(next_announcement, desk)}
    jobs = Jobs(desk, wakeups, lanes, scheduled, hub.poke, due)
    secrets = core.settings.webhook_secrets
    context = WebContext(
        desk=desk,
        hub=hub,
        metrics=side.metrics,
        chat_keys=chat_keys,
        origins=core.settings.widget_origins,
        jobs=("scheduler", *(lane.value for lane in lanes), *(job.name for job in scheduled)),
        slack_ready=lambda: side.roles.is_fresh,
        slack_dispatch=side.dispatch,
        webhook_keys=WebhookKeys(secrets) if secrets else None,
        mounts=mounts,
        afar=afar,
    )
    return DeskServer(context, core.settings, jobs, rest)


def _welcome(core: Core, side: SlackSide, where: str) -> str:
    settings = core.settings
    model = (
        "the offline model answers (no OPENAI_API_KEY)"
        if settings.is_offline
        else (f"{settings.openai_model} answers")
    )
    database = make_url(settings.database_url.get_secret_value()).render_as_string()
    return "\n".join(
        (
            f"Supportdesk is at {where}",
            f"  model     {model}",
            f"  slack     {side.words}",
            f"  mail      {mail_words(settings)}",
            f"  database  {database}",
            f"  policy    {core.desk.policy.version}",
            f"  audit     {_seal_words(settings)}",
        )
    )


def _refuse_sandbox(settings: Settings) -> None:
    """Keep the sandbox away from real money, real mail and other machines."""
    refusal = sandbox_refusal(settings) if settings.is_sandbox else None
    if refusal is not None:
        raise CannotStart(f"no SLACK_BOT_TOKEN is set, and {refusal}")


def _check_mark(settings: Settings, store: Store) -> None:
    """Keep the sandbox away from a database that has served a real workspace."""
    if not settings.is_sandbox:
        return
    with store.transaction(write=False) as tx:
        workspace = heartbeats.setting(tx, _WORKSPACE)
    if workspace is not None:
        raise CannotStart(
            f"no SLACK_BOT_TOKEN is set, and this database belongs to workspace {workspace}: "
            "the sandbox needs a database of its own"
        )


@contextmanager
def _hold(database: Path) -> Iterator[None]:
    database.parent.mkdir(parents=True, exist_ok=True)
    with hold_file(database):
        yield


@contextmanager
def _open_cli() -> Iterator[Desk]:
    """Yield a desk for one command, with a heartbeat of its own while it lasts."""
    settings = load_settings()
    core = _cli_core(settings)
    try:
        with Heartbeat(core.desk):
            yield core.desk
    finally:
        core.desk.store.close()


def _cli_core(settings: Settings) -> Core:
    """Make the desk of a command; it asks Slack itself where the server has met a workspace."""
    replica, model = f"cli-{SystemIds().new('rpl')}", _model(settings)
    core = _core(settings, replica, lambda _lane: None, model)
    if settings.is_sandbox:
        return core
    with core.desk.store.transaction(write=False) as tx:
        team_id = heartbeats.setting(tx, _WORKSPACE)
    if team_id is None:
        return core
    return _with_rosters(core, _keys(settings), team_id)


def _upgrade() -> str:
    return schema.upgrade(open_engine(load_settings().database_url.get_secret_value()))


def _checkup(click_wait_s: float | None) -> Iterator[Finding]:
    # Slack's own client warns of every answer that is not 200; the findings say it better.
    logging.getLogger("slack_sdk").setLevel(logging.CRITICAL)
    doctor = Doctor(
        clock=SystemClock(),
        ids=SystemIds(),
        pause=time.sleep,
        sandbox_channels=Channels(sandbox.APPROVALS, sandbox.ONCALL, sandbox.REVIEW),
    )
    return examine(doctor, click_wait_s)


def _seal(settings: Settings) -> Seal | None:
    key = _plain(settings.audit_key)
    return None if key is None else Seal(key.encode(), HeadsFile(settings.audit_heads_file))


def _seal_words(settings: Settings) -> str:
    if settings.audit_key is None:
        return "no signed heads (no AUDIT_KEY)"
    return f"heads are signed, and copied to {settings.audit_heads_file}"


def _witness() -> Witness:
    settings = load_settings()
    key = _plain(settings.audit_key)
    copy = HeadsFile(settings.audit_heads_file)
    return Witness(None if key is None else key.encode(), copy)


def _in_turn(*things: Callable[[], object]) -> None:
    for do in things:
        do()


def _measure(clock: SharedClock) -> bool:
    clock.measure()
    return False


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _nothing() -> None:
    """Do nothing: a real Slack needs no help to end."""


if __name__ == "__main__":
    main()
