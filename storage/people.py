"""Actors, the identities that lead to them, and the roles they hold."""

from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select, text, update

from agent.domain.ids import ActorId
from agent.domain.roles import Actor, ActorKind, Identity, Role, RoleGrant
from storage.tables import actors, identities, role_members
from storage.times import micros_or_none, time_or_none, to_micros
from storage.transaction import Row, Tx

_BY_IDENTITY = (
    select(actors)
    .join(identities, identities.c.actor_id == actors.c.id)
    .where(
        identities.c.provider == bindparam("provider"),
        identities.c.subject == bindparam("subject"),
    )
)
_BY_ID = select(actors).where(actors.c.id == bindparam("actor"))
_ALL = select(actors).order_by(actors.c.id)
_GRANTS = select(role_members).where(role_members.c.actor_id == bindparam("actor"))
_IDENTITIES = select(identities).where(identities.c.actor_id == bindparam("actor"))
_INSERT = insert(actors)
_UPDATE = (
    update(actors)
    .where(actors.c.id == bindparam("actor"))
    .values(name=bindparam("new_name"), kind=bindparam("new_kind"), active=bindparam("new_active"))
)
_LINK = insert(identities)
_UNLINK = delete(identities).where(
    identities.c.actor_id == bindparam("actor"), identities.c.provider == bindparam("provider")
)
_GRANT = text(
    "INSERT INTO role_members (actor_id, role, source, verified_at) "
    "VALUES (:actor, :role, :source, :verified_at) "
    "ON CONFLICT (actor_id, role, source) DO UPDATE SET verified_at = excluded.verified_at"
)
_REVOKE = delete(role_members).where(
    role_members.c.actor_id == bindparam("actor"),
    role_members.c.role == bindparam("which"),
    role_members.c.source == bindparam("whence"),
)
_MEMBERS = select(role_members.c.actor_id).where(
    role_members.c.role == bindparam("which"), role_members.c.source == bindparam("whence")
)


def find(tx: Tx, identity: Identity) -> Actor | None:
    """Return the person behind an identity, None for a stranger."""
    row = tx.one(_BY_IDENTITY, provider=identity.provider, subject=identity.subject)
    return None if row is None else _read(tx, row)


def get(tx: Tx, actor_id: ActorId) -> Actor | None:
    """Return the actor of an id."""
    row = tx.one(_BY_ID, actor=actor_id)
    return None if row is None else _read(tx, row)


def everyone(tx: Tx) -> tuple[Actor, ...]:
    """Return all actors, oldest first."""
    return tuple(_read(tx, row) for row in tx.all(_ALL))


def add(tx: Tx, actor: Actor, at: datetime) -> None:
    """Store a new actor with identities and grants; raises Conflict for a taken identity."""
    tx.put(
        _INSERT,
        {
            "id": actor.id,
            "name": actor.name,
            "kind": actor.kind.value,
            "active": int(actor.active),
            "created_at": to_micros(at),
        },
    )
    for identity in actor.identities:
        link(tx, actor.id, identity)
    for grant in actor.grants:
        give(tx, actor.id, grant)


def change(tx: Tx, actor: Actor) -> None:
    """Store an actor's name, kind and whether the account is active."""
    tx.change(
        _UPDATE,
        actor=actor.id,
        new_name=actor.name,
        new_kind=actor.kind.value,
        new_active=int(actor.active),
    )


def link(tx: Tx, actor_id: ActorId, identity: Identity) -> None:
    """Let an identity lead to the actor; raises Conflict when it leads to somebody."""
    tx.put(
        _LINK,
        {"provider": identity.provider, "subject": identity.subject, "actor_id": actor_id},
    )


def unlink(tx: Tx, actor_id: ActorId, provider: str) -> None:
    """Drop the actor's identities of a provider, e.g. old tokens."""
    tx.change(_UNLINK, actor=actor_id, provider=provider)


def give(tx: Tx, actor_id: ActorId, grant: RoleGrant) -> None:
    """Grant a role, or note that the mirror has just seen it again."""
    tx.change(
        _GRANT,
        actor=actor_id,
        role=grant.role.value,
        source=grant.source,
        verified_at=micros_or_none(grant.verified_at),
    )


def take(tx: Tx, actor_id: ActorId, role: Role, source: str) -> bool:
    """Take a grant away; returns whether there was one."""
    return tx.change(_REVOKE, actor=actor_id, which=role.value, whence=source) == 1


def members(tx: Tx, role: Role, source: str) -> frozenset[ActorId]:
    """Return who holds a role by a source."""
    rows = tx.all(_MEMBERS, which=role.value, whence=source)
    return frozenset(ActorId(row["actor_id"]) for row in rows)


def _read(tx: Tx, row: Row) -> Actor:
    actor_id = row["id"]
    return Actor(
        id=ActorId(actor_id),
        name=row["name"],
        kind=ActorKind(row["kind"]),
        active=bool(row["active"]),
        grants=tuple(
            RoleGrant(Role(g["role"]), g["source"], time_or_none(g["verified_at"]))
            for g in tx.all(_GRANTS, actor=actor_id)
        ),
        identities=tuple(
            Identity(i["provider"], i["subject"]) for i in tx.all(_IDENTITIES, actor=actor_id)
        ),
    )
