"""Actors, the identities that lead to them, and the roles they hold."""

from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, insert, or_, select, text, update

from agent.domain.ids import ActorId
from agent.domain.judgement import Register
from agent.domain.roles import Actor, ActorKind, Identity, Role, RoleGrant, Roster, closure
from storage.tables import actors, identities, role_members, rosters
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
_SAW_CLOCK = (
    update(actors)
    .where(
        actors.c.id == bindparam("actor"),
        or_(actors.c.utc_offset_s.is_(None), actors.c.utc_offset_s != bindparam("ahead")),
    )
    .values(utc_offset_s=bindparam("ahead"))
)
_ABSORBED = select(actors.c.id).where(actors.c.merged_into == bindparam("actor"))
_MERGE = (
    update(actors)
    .where(or_(actors.c.id == bindparam("other"), actors.c.merged_into == bindparam("other")))
    .values(merged_into=bindparam("keeper"), active=0)
)
_MOVE_IDENTITIES = (
    update(identities)
    .where(identities.c.actor_id == bindparam("other"))
    .values(actor_id=bindparam("keeper"))
)
_GRANTS_OF = select(role_members).where(role_members.c.actor_id == bindparam("actor"))
_DROP_GRANTS = delete(role_members).where(role_members.c.actor_id == bindparam("actor"))
_ROSTERS = select(rosters).order_by(rosters.c.role, rosters.c.source)
_SAW_ROSTER = text(
    "INSERT INTO rosters (role, source, read_at, size, problem, group_id) "
    "VALUES (:role, :source, :read_at, :size, NULL, :group_id) "
    "ON CONFLICT (role, source) DO UPDATE SET read_at = excluded.read_at, "
    "size = excluded.size, problem = NULL, group_id = excluded.group_id"
)
_MISSED_ROSTER = text(
    "INSERT INTO rosters (role, source, read_at, size, problem) "
    "VALUES (:role, :source, NULL, 0, :problem) "
    "ON CONFLICT (role, source) DO UPDATE SET problem = excluded.problem"
)
_GROUP_ID = select(rosters.c.group_id).where(
    rosters.c.role == bindparam("which"), rosters.c.source == bindparam("whence")
)
_FORGET_ROSTER = delete(rosters).where(
    rosters.c.role == bindparam("which"), rosters.c.source == bindparam("whence")
)
_HOLDERS = (
    select(role_members.c.actor_id, role_members.c.role)
    .join(actors, actors.c.id == role_members.c.actor_id)
    .where(actors.c.active == 1, actors.c.kind == "member")
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

_SLACK_STAFF = (
    select(identities.c.subject)
    .where(
        identities.c.provider == "slack",
        identities.c.actor_id.in_(select(role_members.c.actor_id)),
    )
    .order_by(identities.c.subject)
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


def slack_staff(tx: Tx) -> tuple[str, ...]:
    """Return the Slack accounts, as `team:user`, of all who hold a role by whatever source."""
    return tuple(row["subject"] for row in tx.all(_SLACK_STAFF))


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


def saw_clock(tx: Tx, actor_id: ActorId, ahead_s: int) -> None:
    """Note how many seconds a person's clock is ahead of UTC."""
    tx.change(_SAW_CLOCK, actor=actor_id, ahead=ahead_s)


def ahead_of_utc(tx: Tx, actor_id: ActorId) -> timedelta:
    """Return how far a person's clock is ahead of UTC, nothing where nobody has said."""
    row = tx.one(_BY_ID, actor=actor_id)
    return timedelta() if row is None else timedelta(seconds=row["utc_offset_s"] or 0)


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


def merge(tx: Tx, keeper: ActorId, other: ActorId) -> None:
    """Make two accounts one person: everything that led to `other` leads to `keeper`.

    What `other` did stays written as it was; it counts as the keeper's from now on. Roles of an
    account that is inactive or no member's end with it.
    """
    account = get(tx, other)
    live = account is not None and account.active and account.kind is ActorKind.MEMBER
    for grant in tx.all(_GRANTS_OF, actor=other) if live else ():
        held = RoleGrant(Role(grant["role"]), grant["source"], time_or_none(grant["verified_at"]))
        give(tx, keeper, held)
    tx.change(_DROP_GRANTS, actor=other)
    tx.change(_MOVE_IDENTITIES, other=other, keeper=keeper)
    tx.change(_MERGE, other=other, keeper=keeper)


def merged_into(tx: Tx, actor_id: ActorId) -> ActorId | None:
    """Return the person that an account turned out to be, None for one of its own."""
    row = tx.one(_BY_ID, actor=actor_id)
    return None if row is None or row["merged_into"] is None else ActorId(row["merged_into"])


def saw_roster(
    tx: Tx, role: Role, source: str, size: int, at: datetime, group_id: str | None = None
) -> None:
    """Note that a source of a role was read, how many people it showed, and Slack's id of it."""
    tx.change(
        _SAW_ROSTER,
        role=role.value,
        source=source,
        read_at=to_micros(at),
        size=size,
        group_id=group_id,
    )


def missed_roster(tx: Tx, role: Role, source: str, problem: str) -> None:
    """Note that a source of a role could not be read."""
    tx.change(_MISSED_ROSTER, role=role.value, source=source, problem=problem[:300])


def forget_roster(tx: Tx, role: Role, source: str) -> None:
    """Forget a source that the policy no longer names."""
    tx.change(_FORGET_ROSTER, which=role.value, whence=source)


def rosters_of(tx: Tx) -> tuple[Roster, ...]:
    """Return every mirrored source as it was last read."""
    return tuple(
        Roster(
            Role(row["role"]),
            row["source"],
            time_or_none(row["read_at"]),
            row["size"],
            row["problem"],
            row["group_id"],
        )
        for row in tx.all(_ROSTERS)
    )


def group_id(tx: Tx, role: Role, source: str) -> str | None:
    """Return Slack's id of the user group behind a source, None where nobody has noted it."""
    row = tx.one(_GROUP_ID, which=role.value, whence=source)
    return None if row is None or row["group_id"] is None else str(row["group_id"])


def register(tx: Tx) -> Register:
    """Return who holds roles at all."""
    held: dict[str, set[Role]] = {}
    for row in tx.all(_HOLDERS):
        held.setdefault(row["actor_id"], set()).update(closure([Role(row["role"])]))
    holders = Counter(role for roles in held.values() for role in roles)
    return Register(rosters_of(tx), holders)


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
        absorbed=frozenset(ActorId(r["id"]) for r in tx.all(_ABSORBED, actor=actor_id)),
    )
