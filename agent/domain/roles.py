"""Who a person is to the desk, and what a tier asks for."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from typing_extensions import override

from agent.domain.ids import ActorId

# facts/slack.md §1.9: a mirrored user group counts for at most 60 s.
ROLE_MAX_AGE = timedelta(seconds=60)


class Role(StrEnum):
    """What a person may do at the desk; every role may read."""

    REFUND_APPROVER = "refund_approver"
    REFUND_MANAGER = "refund_manager"
    ONCALL = "oncall"
    SUPPORT = "support_agent"


# Stopping is safe, so whoever is on call may; letting money move again is a manager's word.
MAY_STOP = (Role.ONCALL, Role.REFUND_MANAGER)
MAY_LIFT = (Role.REFUND_MANAGER,)
MAY_RESET = (Role.REFUND_MANAGER,)
MAY_ACKNOWLEDGE = (Role.ONCALL, Role.REFUND_MANAGER)

# A manager may do all that an approver may.
_IMPLIED: dict[Role, frozenset[Role]] = {
    Role.REFUND_MANAGER: frozenset({Role.REFUND_APPROVER}),
}


class ActorKind(StrEnum):
    """What kind of account stands behind an actor."""

    MEMBER = "member"
    GUEST = "guest"
    BOT = "bot"
    POLICY = "policy"
    TIMER = "timer"


class Channel(StrEnum):
    """The door a decision came through."""

    SLACK = "slack"
    WEB = "web"
    EMAIL = "email"
    API = "api"
    CLI = "cli"
    CHAT = "chat"
    POLICY = "policy"
    TIMER = "timer"


@dataclass(frozen=True, slots=True)
class Identity:
    """One way in which a person is known: `provider` (slack, token, cli, customer) and subject."""

    provider: str
    subject: str

    @override
    def __str__(self) -> str:
        """Return `provider:subject`."""
        return f"{self.provider}:{self.subject}"


@dataclass(frozen=True, slots=True)
class RoleGrant:
    """One role of one actor; `verified_at` is None for a fixed grant, else the mirror's time."""

    role: Role
    source: str
    verified_at: datetime | None


@dataclass(frozen=True, slots=True)
class Actor:
    """A person, with every identity and grant that leads to them."""

    id: ActorId
    name: str
    kind: ActorKind
    active: bool
    grants: tuple[RoleGrant, ...] = ()
    identities: tuple[Identity, ...] = ()
    # Actors that turned out to be this same person: what they did, this person did.
    absorbed: frozenset[ActorId] = frozenset()

    def roles(self) -> frozenset[Role]:
        """Return every role granted, implied ones included, however old the proof."""
        return closure(grant.role for grant in self.grants)

    def did(self, actors: Iterable[ActorId]) -> bool:
        """Tell whether one of the actors is this person, under whatever id."""
        return not ({self.id} | self.absorbed).isdisjoint(actors)

    def customer_ids(self) -> frozenset[str]:
        """Return the shop customers that are this same person."""
        return frozenset(i.subject for i in self.identities if i.provider == "customer")

    def slack_subject(self) -> str | None:
        """Return `team:user` of the person's Slack account, if there is one."""
        return next((i.subject for i in self.identities if i.provider == "slack"), None)


@dataclass(frozen=True, slots=True)
class Tier:
    """Who may decide: `approvals_needed` distinct people, at least one of whom holds `role`.

    Every voter holds at least `floor`; for one person it equals `role`. With `fresh_role` only a
    role that was read after the click counts, or one that is granted by name.
    """

    role: Role
    approvals_needed: int = 1
    fresh_role: bool = False

    def floor(self) -> Role:
        """Return the role that each single voter needs."""
        return self.role if self.approvals_needed == 1 else Role.REFUND_APPROVER


class RoleProof(StrEnum):
    """The three answers to "does this person hold the role?"."""

    HELD = "held"
    ABSENT = "absent"
    UNVERIFIED = "unverified"


def prove_role(
    actor: Actor, role: Role, now: datetime, since: datetime | None = None
) -> tuple[RoleProof, str]:
    """Tell whether the actor holds the role now, and the evidence for the audit.

    A grant mirrored more than `ROLE_MAX_AGE` ago is no proof, nor is one mirrored before `since`:
    the answer is UNVERIFIED unless another grant proves the role.
    """
    matching = [g for g in actor.grants if role in closure([g.role])]
    for grant in matching:
        if _proves(grant, now, since):
            read = "" if since is None or grant.verified_at is None else ", read since the click"
            return RoleProof.HELD, f"{grant.role} by {grant.source}{read}"
    if matching:
        missing = "for over 60 s" if since is None else "since the click"
        return RoleProof.UNVERIFIED, f"{matching[0].source} not read {missing}"
    return RoleProof.ABSENT, "no grant"


def _proves(grant: RoleGrant, now: datetime, since: datetime | None) -> bool:
    """Tell whether a grant is proof now: one by name always, a mirrored one while it is new."""
    if grant.verified_at is None:
        return True
    return now - grant.verified_at <= ROLE_MAX_AGE and (since is None or grant.verified_at >= since)


@dataclass(frozen=True, slots=True)
class Roster:
    """One source of a role as it was last read: how many people it shows, and what went wrong.

    `read_at` is the last look that succeeded, None when none has; `problem` is of the newest
    look, None when it succeeded. `group_id` is Slack's id of a user group.
    """

    role: Role
    source: str
    read_at: datetime | None
    size: int
    problem: str | None
    group_id: str | None = None


def unread(role: Role, rosters: Iterable[Roster], now: datetime) -> str | None:
    """Return which source of a role could not be read lately, and why; None when all were.

    Until it is, nobody can say that a person lacks the role: that is "could not verify".
    """
    for roster in rosters:
        if role not in closure([roster.role]):
            continue
        if roster.read_at is None or now - roster.read_at > ROLE_MAX_AGE:
            return f"{roster.source}: {roster.problem or 'not read for over 60 s'}"
    return None


def proven_roles(actor: Actor, now: datetime, since: datetime | None = None) -> frozenset[Role]:
    """Return every role that the actor provably holds now, implied ones included."""
    return closure(grant.role for grant in actor.grants if _proves(grant, now, since))


def closure(roles: Iterable[Role]) -> frozenset[Role]:
    """Return the roles with all that they imply."""
    held: set[Role] = set()
    for role in roles:
        held |= {role} | _IMPLIED.get(role, frozenset())
    return frozenset(held)


def quorum_reached(tier: Tier, votes: tuple[tuple[ActorId, frozenset[Role]], ...]) -> bool:
    """Tell whether the approving actors, with the roles they held, satisfy the tier."""
    people = {actor for actor, _ in votes}
    return len(people) >= tier.approvals_needed and any(tier.role in roles for _, roles in votes)


# Support decides on nothing: whatever else is asked for asks for more.
_RANK = {Role.SUPPORT: -1, Role.ONCALL: 0, Role.REFUND_APPROVER: 1, Role.REFUND_MANAGER: 2}


def higher_tier(one: Tier, other: Tier) -> Tier:
    """Return a tier that asks for no less than either."""
    role = max(one.role, other.role, key=_RANK.__getitem__)
    fresh = one.fresh_role or other.fresh_role
    return Tier(role, max(one.approvals_needed, other.approvals_needed), fresh)
