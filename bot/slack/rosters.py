"""One person's account and user groups, read from Slack the moment a click waits for them."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from slack_sdk import WebClient
from typing_extensions import override

from agent.desk import Desk
from agent.domain.roles import Identity, Role, RoleGrant
from agent.ports import Rosters, Unread
from bot.slack.failures import CALL_ERRORS, failure_of
from bot.slack.people import (
    Member,
    actor_fact,
    change_of,
    member_of,
    source_of,
    store_member,
)
from storage import audit, people
from storage.transaction import retried

# A role and the handle of the user group that it comes from.
_Group: TypeAlias = tuple[Role, str]


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look brought: the account, and of each group whether the person is in it."""

    member: Member
    inside: dict[_Group, bool]
    seen_at: datetime


class SlackRosters(Rosters):
    """Reads with a client that an interaction can afford; safe to share between threads."""

    def __init__(self, desk: Desk, client: WebClient, team_id: str) -> None:
        """Keep the workspace; `desk` is what the mirror is written with."""
        self._desk = desk
        self._client = client
        self._team_id = team_id

    @override
    def refresh(self, identity: Identity) -> Unread | None:
        team_id, _, user_id = identity.subject.partition(":")
        if identity.provider != "slack" or team_id != self._team_id:
            return Unread(f"{identity} is not of this workspace")
        seen_at = self._desk.clock.now()
        try:
            user = self._client.users_info(user=user_id)["user"]
            inside = {group: self._holds(group, user_id) for group in self._groups(identity)}
        except CALL_ERRORS as error:
            failure = failure_of(error)
            return Unread(failure.code, failure.after_s)
        except LookupError as missing:
            return Unread(str(missing))
        look = _Look(member_of(user_id, user, team_id), inside, seen_at)
        retried(lambda: self._store(identity, look))
        return None

    def _groups(self, identity: Identity) -> list[_Group]:
        """Return the groups to read: those that the mirror has the person in, else every one.

        Slack lets a group be read some twenty times a minute, over all who ask.
        """
        named: list[_Group] = [
            (role, source.slack_user_group)
            for role, source in self._desk.policy.roles.items()
            # For a role that decides on nothing no click waits.
            if source.slack_user_group is not None and role is not Role.SUPPORT
        ]
        with self._desk.store.transaction(write=False) as tx:
            actor = people.find(tx, identity)
        held = set() if actor is None else {(g.role, g.source) for g in actor.grants}
        return [(role, g) for role, g in named if (role, source_of(g)) in held] or named

    def _holds(self, group: _Group, user_id: str) -> bool:
        group_id = self._group_id(group)
        users = self._client.usergroups_users_list(usergroup=group_id, team_id=self._team_id)
        return user_id in users["users"]

    def _group_id(self, group: _Group) -> str:
        """Return Slack's id of a group, as the mirror has it or as Slack lists it."""
        role, handle = group
        with self._desk.store.transaction(write=False) as tx:
            known = people.group_id(tx, role, source_of(handle))
        if known is not None:
            return known
        for listed in self._client.usergroups_list(team_id=self._team_id)["usergroups"]:
            if listed["handle"] == handle:
                return str(listed["id"])
        raise LookupError(f"there is no user group @{handle}")

    def _store(self, identity: Identity, look: _Look) -> None:
        with self._desk.store.transaction() as tx:
            actor, changed = store_member(
                tx, self._desk, look.member, identity.subject, look.seen_at
            )
            facts = [] if changed is None else [changed]
            for (role, handle), is_inside in look.inside.items():
                source = source_of(handle)
                had = actor.id in people.members(tx, role, source)
                if is_inside:
                    people.give(tx, actor.id, RoleGrant(role, source, look.seen_at))
                elif had:
                    people.take(tx, actor.id, role, source)
                if is_inside != had:
                    what = change_of("granted" if is_inside else "revoked", role, source)
                    facts.append(actor_fact(actor.id, what))
            audit.append(tx, None, look.seen_at, *facts)
