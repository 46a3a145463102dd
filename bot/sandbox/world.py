"""The sandbox as one thing: the stand-in for Slack, the shop, the page, and fresh secrets."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fastapi import FastAPI
from starlette.routing import Mount

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.ids import ActorId
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant
from agent.ports import Ids
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.steps.receive import token_hash
from bot.manifest import bot_events, bot_scopes, read_manifest
from bot.sandbox.cast import CHANNELS, PEOPLE, USER_GROUPS
from bot.sandbox.guard import SandboxGuard
from bot.sandbox.mail_routes import mail_routes
from bot.sandbox.payments_faults import FaultyPayments
from bot.sandbox.problems import answer_problems
from bot.sandbox.shop_routes import ShopSandbox, shop_routes
from bot.sandbox.shop_session import TOKEN_PATH, session_routes
from bot.sandbox.slack_app import slack_sandbox
from bot.sandbox.slack_config import Person, SlackSandboxConfig
from storage import audit, people
from storage.transaction import Tx

PREFIX = "/sandbox"
TEAM_ID = SlackSandboxConfig.team_id
APPROVALS, ONCALL, REVIEW = (channel.id for channel in CHANNELS)
MAIL_FROM = "ShopStream <support@shopstream.example>"
# Slack lets a channel have a few posts at once before it asks for one a second.
_BURST = 5
# The person at the keyboard is the desk's operator while everything runs on this machine.
_OPERATOR = ActorId("act_operator")
# Customers who are also people of the desk.
_SHOPPERS = MappingProxyType({"ben": "cus_ben"})


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made anew at each start, so a token of yesterday opens nothing."""

    bot_token: str
    signing_secret: str
    jwt_secret: str
    api_tokens: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the desk listens, without a trailing slash, and where the stand-in keeps its book."""

    url: str
    journal: Path


@dataclass(frozen=True, slots=True)
class Parts:
    """What the sandbox shows of the desk's own world."""

    desk: Desk
    shop: EmbeddedShop
    ledger: LedgerPayments
    faults: FaultyPayments


def make_secrets(ids: Ids) -> Secrets:
    """Draw the secrets of one start."""
    return Secrets(
        bot_token=f"xoxb-{ids.secret()}",
        signing_secret=ids.secret(),
        jwt_secret=ids.secret(),
        api_tokens={person.id: ids.secret() for person in PEOPLE},
    )


def seed_people(desk: Desk, secrets: Secrets) -> None:
    """Store the cast with today's tokens; roles come from the stand-in's user groups."""
    with desk.store.transaction() as tx:
        facts = [_seed(tx, desk, person, secrets) for person in PEOPLE]
        audit.append(tx, None, desk.clock.now(), *[fact for fact in facts if fact is not None])


def seed_operator(desk: Desk, os_user: str) -> None:
    """Let the person at this machine's keyboard decide through the command line."""
    identity = Identity("cli", os_user)
    with desk.store.transaction() as tx:
        if people.find(tx, identity) is not None or people.get(tx, _OPERATOR) is not None:
            return
        actor = Actor(
            _OPERATOR,
            f"{os_user} (operator)",
            ActorKind.MEMBER,
            active=True,
            grants=(RoleGrant(Role.REFUND_MANAGER, "fixed", None),),
            identities=(identity,),
        )
        people.add(tx, actor, desk.clock.now())
        audit.append(tx, None, desk.clock.now(), _hired(actor))


def sandbox_mount(parts: Parts, slack: FastAPI, secrets: Secrets) -> Mount:
    """Return everything under /sandbox, kept away from other sites and machines."""
    app = FastAPI(title="Sandbox", docs_url=None, redoc_url=None, openapi_url=None)
    answer_problems(app)
    app.mount("/slack", slack)
    shop = ShopSandbox(
        people=PEOPLE,
        api_tokens=secrets.api_tokens,
        jwt_secret=secrets.jwt_secret,
        shop=parts.shop,
        ledger=parts.ledger,
        faults=parts.faults,
        clock=parts.desk.clock,
    )
    app.include_router(shop_routes(shop))
    app.include_router(session_routes(shop))
    app.include_router(mail_routes(parts.desk.store))
    # The widget asks a shop for a token without a body; a page of another site cannot read it.
    any_body = (f"{PREFIX}/slack/api/", f"{PREFIX}{TOKEN_PATH}")
    return Mount(PREFIX, app=SandboxGuard(app, prefix=PREFIX, any_body=any_body))


def stand_in(secrets: Secrets, ids: Ids, desk: Desk, place: Place) -> FastAPI:
    """Return the stand-in for Slack, reached by the desk under its own address.

    The app is installed there as its manifest says, so what the manifest lacks is lacking here too.
    """
    manifest = read_manifest()
    return slack_sandbox(
        SlackSandboxConfig(
            bot_token=secrets.bot_token,
            signing_secret=secrets.signing_secret,
            events_url=f"{place.url}/slack/events",
            base_url=f"{place.url}{PREFIX}/slack",
            journal=place.journal,
            people=PEOPLE,
            channels=CHANNELS,
            user_groups=USER_GROUPS,
            now=desk.clock.now,
            monotonic=time.monotonic,
            token=ids.secret,
            scopes=bot_scopes(manifest),
            events=bot_events(manifest),
            burst=_BURST,
        )
    )


def api_url(place: Place) -> str:
    """Return the address under which the desk finds the stand-in's Web API."""
    return f"{place.url}{PREFIX}/slack/api/"


def journal_path(database_url: str) -> Path:
    """Return where the stand-in keeps its messages: beside the SQLite file, else under var."""
    _, _, path = database_url.partition("sqlite:///")
    return Path(path).with_suffix(".slack.jsonl") if path else Path("var/sandbox.slack.jsonl")


def _seed(tx: Tx, desk: Desk, person: Person, secrets: Secrets) -> audit.Fact | None:
    actor_id = ActorId(f"act_{person.id}")
    token = Identity("token", token_hash(secrets.api_tokens[person.id]))
    if people.get(tx, actor_id) is not None:
        people.unlink(tx, actor_id, "token")
        people.link(tx, actor_id, token)
        return None
    identities = [Identity("slack", f"{person.team_id or TEAM_ID}:{person.slack_user_id}"), token]
    if person.id in _SHOPPERS:
        identities.append(Identity("customer", _SHOPPERS[person.id]))
    kind = ActorKind.GUEST if person.is_restricted else ActorKind.MEMBER
    actor = Actor(actor_id, person.name, kind, active=True, identities=tuple(identities))
    people.add(tx, actor, desk.clock.now())
    return _hired(actor)


def _hired(actor: Actor) -> audit.Fact:
    return audit.Fact(
        AuditType.ACTOR_CHANGED,
        "sandbox",
        Channel.CLI,
        {"actor_id": actor.id, "change": "added", "name": actor.name, "kind": actor.kind.value},
    )
