"""The mirror of Slack's user groups: who holds which role, and when that was last seen."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from slack_sdk import WebClient

from agent.desk import Desk
from agent.domain.audit import AuditType
from agent.domain.ids import ActorId
from agent.domain.payload import Json, Payload
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant
from bot.slack.failures import CALL_ERRORS, failure_of
from storage import audit, people
from storage.transaction import Conflict, Tx

# Named in the policy file itself: they count for as long as they are named there.
POLICY = "policy"
_NAME = 200
_DAY_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a look at Slack brought: the people seen, what changed, what could not be read."""

    seen_at: datetime
    people: int
    changes: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A Slack account as users.info describes it."""

    user_id: str
    name: str
    kind: ActorKind
    active: bool
    # Seconds that the person's clock is ahead of UTC.
    ahead_s: int


@dataclass(frozen=True, slots=True)
class _Roster:
    """Who holds a role by one source; `group_id` is Slack's id of it, None for the policy."""

    role: Role
    source: str
    user_ids: frozenset[str]
    group_id: str | None = None


@dataclass(slots=True)
class _Seen:
    """Everything one look brought, before anything is written."""

    rosters: list[_Roster] = field(default_factory=list)
    members: dict[str, Member] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    # Sources of a role that could not be read, and why.
    missed: list[tuple[Role, str, str]] = field(default_factory=list)

    def miss(self, role: Role, handle: str, problem: str) -> None:
        """Note that the user group of a role could not be read."""
        self.problems.append(f"user group @{handle}: {problem}")
        self.missed.append((role, source_of(handle), problem))


def sync_people(desk: Desk, client: WebClient, team_id: str) -> SyncReport:
    """Read every role's user group and write actors and grants, dated before the first call.

    What could not be read is not written: its grants grow too old to prove anything, and nobody
    decides by them. No transaction is open while Slack is asked.
    """
    seen_at = desk.clock.now()
    seen = _look(desk, client, team_id)
    changes = 0
    try:
        with desk.store.transaction() as tx:
            facts = list(_write(tx, desk, seen, team_id, seen_at))
            audit.append(tx, None, seen_at, *facts)
            changes = len(facts)
    except Conflict as conflict:
        # Another replica has just written the same newcomer; the next look finds nothing to do.
        seen.problems.append(f"another replica was first: {conflict}")
    return SyncReport(seen_at, len(seen.members), changes, tuple(seen.problems))


def _look(desk: Desk, client: WebClient, team_id: str) -> _Seen:
    seen = _Seen()
    groups = _groups(desk, client, team_id, seen)
    for role, source in desk.policy.roles.items():
        handle = source.slack_user_group
        if handle is not None and isinstance(groups, str):
            seen.missed.append((role, source_of(handle), groups))
        elif handle is not None and not isinstance(groups, str):
            _look_at_group(client, team_id, seen, role, (handle, groups.get(handle)))
        fixed = frozenset(_fixed_ids(source.slack_users, team_id, seen))
        seen.rosters.append(_Roster(role, POLICY, fixed))
    named = {user for roster in seen.rosters for user in roster.user_ids}
    # Whom an operator gave a role stands on no roster, but may leave or become a guest.
    for user_id in sorted(named | _staff(desk, team_id)):
        try:
            user = client.users_info(user=user_id)["user"]
        except CALL_ERRORS as error:
            seen.problems.append(f"user {user_id}: {failure_of(error).code}")
        else:
            seen.members[user_id] = member_of(user_id, user, team_id)
    return seen


def _staff(desk: Desk, team_id: str) -> set[str]:
    """Return the accounts of this workspace that hold a role already."""
    with desk.store.transaction(write=False) as tx:
        subjects = [subject.partition(":") for subject in people.slack_staff(tx)]
    return {user_id for team, _, user_id in subjects if team == team_id and user_id}


def source_of(handle: str) -> str:
    """Return the name under which a user group's grants are stored."""
    return f"slack:{handle}"


def _groups(desk: Desk, client: WebClient, team_id: str, seen: _Seen) -> dict[str, str] | str:
    """Return the ids of all user groups by handle, or why they could not be read."""
    if all(source.slack_user_group is None for source in desk.policy.roles.values()):
        return {}
    try:
        found = client.usergroups_list(team_id=team_id)["usergroups"]
    except CALL_ERRORS as error:
        problem = failure_of(error).code
        seen.problems.append(f"user groups: {problem}")
        return problem
    return {group["handle"]: group["id"] for group in found}


def _look_at_group(
    client: WebClient, team_id: str, seen: _Seen, role: Role, group: tuple[str, str | None]
) -> None:
    handle, group_id = group
    if group_id is None and role is Role.SUPPORT:
        # A workspace may do without: whoever has another role answers customers as well.
        seen.rosters.append(_Roster(role, source_of(handle), frozenset()))
        return
    if group_id is None:
        seen.miss(role, handle, "there is none")
        return
    try:
        users = client.usergroups_users_list(usergroup=group_id, team_id=team_id)["users"]
    except CALL_ERRORS as error:
        seen.miss(role, handle, failure_of(error).code)
        return
    seen.rosters.append(_Roster(role, source_of(handle), frozenset(users), group_id))


def _fixed_ids(named: list[str], team_id: str, seen: _Seen) -> Iterator[str]:
    for subject in named:
        team, _, user_id = subject.partition(":")
        if team == team_id and user_id:
            yield user_id
        else:
            seen.problems.append(f"fixed user {subject}: is not of this workspace")


def member_of(user_id: str, user: dict[str, Json], team_id: str) -> Member:
    """Read an account of users.info: who must never decide is a guest, a bot, or not active."""
    if user.get("is_bot") or user.get("is_workflow_bot"):
        kind = ActorKind.BOT
    elif user.get("is_restricted") or user.get("is_ultra_restricted"):
        kind = ActorKind.GUEST
    else:
        kind = ActorKind.MEMBER
    outsider = bool(user.get("is_stranger")) or user.get("team_id") != team_id
    unproven = user.get("is_email_confirmed") is False
    profile = user.get("profile")
    own = profile.get("real_name") if isinstance(profile, dict) else None
    name = own or user.get("real_name") or user_id
    active = not (user.get("deleted") or outsider or unproven)
    ahead = user.get("tz_offset")
    ahead_s = ahead if isinstance(ahead, int) and abs(ahead) < _DAY_S else 0
    return Member(user_id, str(name)[:_NAME], kind, active, ahead_s)


def _write(
    tx: Tx, desk: Desk, seen: _Seen, team_id: str, seen_at: datetime
) -> Iterator[audit.Fact]:
    known: dict[str, Actor] = {}
    for member in seen.members.values():
        actor, fact = store_member(tx, desk, member, f"{team_id}:{member.user_id}", seen_at)
        known[member.user_id] = actor
        people.saw_clock(tx, actor.id, member.ahead_s)
        if fact is not None:
            yield fact
    for roster in seen.rosters:
        yield from _grant(tx, roster, known, seen_at)
        yield from _revoke(tx, roster, team_id)
        if roster.source != POLICY:
            size = len(roster.user_ids)
            people.saw_roster(tx, roster.role, roster.source, size, seen_at, roster.group_id)
    for role, source, problem in seen.missed:
        people.missed_roster(tx, role, source, problem)
    _forget(tx, desk)


def _forget(tx: Tx, desk: Desk) -> None:
    """Forget sources that the policy no longer names: they must not stand in anybody's way."""
    named = {
        (role, source_of(rules.slack_user_group))
        for role, rules in desk.policy.roles.items()
        if rules.slack_user_group is not None
    }
    for roster in people.rosters_of(tx):
        if (roster.role, roster.source) not in named:
            people.forget_roster(tx, roster.role, roster.source)


def store_member(
    tx: Tx, desk: Desk, member: Member, subject: str, at: datetime
) -> tuple[Actor, audit.Fact | None]:
    """Store an account as it was read; a fact is returned when anything about it is new."""
    identity = Identity("slack", subject)
    before = people.find(tx, identity)
    if before is None:
        actor_id = ActorId(desk.ids.new("act"))
        actor = Actor(actor_id, member.name, member.kind, member.active, (), (identity,))
        people.add(tx, actor, at)
    else:
        actor = replace(before, name=member.name, kind=member.kind, active=member.active)
        if actor == before:
            return actor, None
        people.change(tx, actor)
    account: Payload = {
        "change": "added" if before is None else "changed",
        "identity": str(identity),
        "name": actor.name,
        "kind": actor.kind.value,
        "active": actor.active,
    }
    return actor, actor_fact(actor.id, account)


def _grant(
    tx: Tx, roster: _Roster, known: dict[str, Actor], seen_at: datetime
) -> Iterator[audit.Fact]:
    held = people.members(tx, roster.role, roster.source)
    verified_at = None if roster.source == POLICY else seen_at
    for user_id in sorted(roster.user_ids & known.keys()):
        actor = known[user_id]
        people.give(tx, actor.id, RoleGrant(roster.role, roster.source, verified_at))
        if actor.id not in held:
            yield actor_fact(actor.id, change_of("granted", roster.role, roster.source))


def _revoke(tx: Tx, roster: _Roster, team_id: str) -> Iterator[audit.Fact]:
    """Take the role from those of this workspace whom the source no longer names."""
    for actor_id in sorted(people.members(tx, roster.role, roster.source)):
        actor = people.get(tx, actor_id)
        subject = None if actor is None else actor.slack_subject()
        team, _, user_id = (subject or "").partition(":")
        if team == team_id and user_id not in roster.user_ids:
            people.take(tx, actor_id, roster.role, roster.source)
            yield actor_fact(actor_id, change_of("revoked", roster.role, roster.source))


def change_of(what: str, role: Role, source: str) -> Payload:
    """Return what the trail keeps of a role given or taken."""
    return {"change": what, "role": role.value, "source": source}


def actor_fact(actor_id: ActorId, data: Payload) -> audit.Fact:
    """Return the fact that something about a person has changed."""
    return audit.Fact(
        AuditType.ACTOR_CHANGED, "slack", Channel.SLACK, {"actor_id": actor_id, **data}
    )
