"""Who may do what at the desk: people, the ways in which they are known, their roles and tokens."""

import re
from dataclasses import dataclass

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.errors import InvalidInput
from agent.domain.ids import ActorId, CustomerId
from agent.domain.payload import Json, Payload
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant
from agent.steps.receive import token_hash
from storage import audit, people
from storage.transaction import Conflict, Tx

# The source of a role that an operator grants, beside those mirrored from Slack's user groups.
FIXED = "fixed"
_MAX_NAME = 100
_SLACK_SUBJECT = re.compile(r"[A-Z0-9]{2,32}:[A-Z0-9]{2,32}")
_CLI_SUBJECT = re.compile(r"[\w.@\\-]{1,64}")


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A person to be known at the desk. Identities are of slack, cli and customer."""

    name: str
    roles: frozenset[Role]
    identities: tuple[Identity, ...]


def add_actor(desk: Desk, newcomer: Newcomer, by: Identity) -> Actor:
    """Store a person with roles and identities; `by` is the operator, for the trail.

    Raises InvalidInput for a name or an identity that cannot be, or that leads to somebody already.
    """
    name = newcomer.name.strip()
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise InvalidInput("name", f"is 1 to {_MAX_NAME} characters that can be seen")
    for identity in newcomer.identities:
        _check(desk, identity)
    roles = sorted(newcomer.roles)
    actor = Actor(
        id=ActorId(desk.ids.new("act")),
        name=name,
        kind=ActorKind.MEMBER,
        active=True,
        grants=tuple(RoleGrant(role, FIXED, None) for role in roles),
        identities=newcomer.identities,
    )
    granted: list[Json] = [role.value for role in roles]
    known_as: list[Json] = [str(identity) for identity in newcomer.identities]
    added: Payload = {"change": "added", "name": name, "roles": granted, "identities": known_as}
    try:
        with desk.store.transaction() as tx:
            people.add(tx, actor, desk.clock.now())
            _note(tx, desk, actor.id, by, added)
    except Conflict as taken:
        named = ", ".join(str(identity) for identity in newcomer.identities)
        raise InvalidInput("identity", f"{named}: leads to somebody already") from taken
    return actor


def grant(desk: Desk, actor_id: ActorId, role: Role, by: Identity) -> bool:
    """Give a role for good; False when it was given so before.

    Raises InvalidInput when there is no such actor.
    """
    with desk.store.transaction() as tx:
        actor = _get(tx, actor_id)
        if any(held.role is role and held.source == FIXED for held in actor.grants):
            return False
        people.give(tx, actor_id, RoleGrant(role, FIXED, None))
        _note(tx, desk, actor_id, by, {"change": "granted", "role": role.value})
        return True


def revoke(desk: Desk, actor_id: ActorId, role: Role, by: Identity) -> bool:
    """Take a role away that an operator gave; False when there was no such grant.

    A role that comes from a Slack user group ends there. Raises InvalidInput when there is no
    such actor.
    """
    with desk.store.transaction() as tx:
        _get(tx, actor_id)
        if not people.take(tx, actor_id, role, FIXED):
            return False
        _note(tx, desk, actor_id, by, {"change": "revoked", "role": role.value})
        return True


def link(desk: Desk, actor_id: ActorId, identity: Identity, by: Identity) -> Actor:
    """Let an identity lead to the person too; an account it led to before becomes this person.

    So everything one person does counts once, whichever door it comes through. Raises
    InvalidInput when there is no such actor, or for an identity that cannot be.
    """
    _check(desk, identity)
    with desk.store.transaction() as tx:
        keeper = _get(tx, actor_id)
        other = people.find(tx, identity)
        if other is None:
            people.link(tx, keeper.id, identity)
            _note(tx, desk, keeper.id, by, {"change": "linked", "identity": str(identity)})
        elif other.id != keeper.id:
            people.merge(tx, keeper.id, other.id)
            merged: Payload = {
                "change": "merged",
                "identity": str(identity),
                "other": other.id,
                "name": other.name,
            }
            _note(tx, desk, keeper.id, by, merged)
        return people.get(tx, keeper.id) or keeper


def new_token(desk: Desk, actor_id: ActorId, by: Identity) -> str:
    """Return a new API token of the actor, whose earlier tokens end; only its hash is stored.

    Raises InvalidInput when there is no such actor.
    """
    token = desk.ids.secret()
    with desk.store.transaction() as tx:
        _get(tx, actor_id)
        people.unlink(tx, actor_id, "token")
        people.link(tx, actor_id, Identity("token", token_hash(token)))
        _note(tx, desk, actor_id, by, {"change": "token"})
    return token


def _check(desk: Desk, identity: Identity) -> None:
    match identity.provider:
        case "slack":
            if not _SLACK_SUBJECT.fullmatch(identity.subject):
                raise InvalidInput("slack", f"{identity.subject!r} is not TEAM:USER")
        case "cli":
            if not _CLI_SUBJECT.fullmatch(identity.subject):
                raise InvalidInput("cli", f"{identity.subject!r} is not a user's name")
        case "customer":
            # A slip here would let somebody decide on their own refund.
            if desk.shop.customer(CustomerId(identity.subject)) is None:
                raise InvalidInput("customer", f"the shop knows no {identity.subject!r}")
        case other:
            raise InvalidInput("identity", f"{other!r} is not slack, cli or customer")


def _get(tx: Tx, actor_id: ActorId) -> Actor:
    actor = people.get(tx, actor_id)
    if actor is None:
        raise InvalidInput("actor", "there is nobody of that id")
    if people.merged_into(tx, actor_id) is not None:
        raise InvalidInput("actor", f"is {people.merged_into(tx, actor_id)} by another account")
    return actor


def _note(tx: Tx, desk: Desk, actor_id: ActorId, by: Identity, change: Payload) -> None:
    data: Payload = {"actor_id": actor_id, **change}
    fact = audit.Fact(AuditType.ACTOR_CHANGED, str(by), Channel.CLI, data)
    audit.append(tx, None, desk.clock.now(), fact)
