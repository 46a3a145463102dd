"""A look at the people who are to decide: user groups, their members, and what these can see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from slack_sdk import WebClient

from agent.domain.policy import RoleSource
from agent.domain.roles import Role
from bot.findings import Finding, failed, fine, skipped, warning
from bot.slack.failures import CALL_ERRORS, failure_of

_Group: TypeAlias = dict[str, Any]

# users.info takes about a hundred calls a minute; nobody waits longer for a doctor.
_MOST_LOOKED_AT = 30
_NO_PLAN = "plan_upgrade_required"
# Flags of an account that may not decide, and what they say.
_FLAGS = (
    ("deleted", "is deactivated"),
    ("is_bot", "is a bot"),
    ("is_workflow_bot", "is a workflow"),
    ("is_restricted", "is a guest"),
    ("is_ultra_restricted", "is a guest"),
    ("is_stranger", "belongs to another company"),
)


@dataclass(frozen=True, slots=True)
class Sight:
    """Who looks: the bot's client, its workspace, and who is in the approvals channel, if known."""

    client: WebClient
    team_id: str
    members: frozenset[str] | None


def look_at_groups(sight: Sight, roles: Mapping[Role, RoleSource]) -> Iterator[Finding]:
    """Look at the user group and the fixed people of each role."""
    groups = _groups(sight) if any(s.slack_user_group for s in roles.values()) else {}
    for role, source in roles.items():
        name = f"role {role.value}"
        if role is Role.SUPPORT:
            yield _supporting(sight, name, source, {} if isinstance(groups, Exception) else groups)
            continue
        if isinstance(groups, Exception):
            if source.slack_user_group is not None:
                yield _no_groups(name, groups)
            continue
        handle = source.slack_user_group
        yield _judged(sight, name, source, None if handle is None else groups.get(handle))


def _groups(sight: Sight) -> dict[str, _Group] | Exception:
    try:
        found = sight.client.usergroups_list(team_id=sight.team_id, include_users=True)
    except CALL_ERRORS as error:
        return error
    return {str(group["handle"]): dict(group) for group in found["usergroups"]}


def _no_groups(name: str, error: Exception) -> Finding:
    code = failure_of(error).code
    if code.startswith(_NO_PLAN):
        return failed(
            name,
            "this workspace's plan has no user groups",
            "Name the people in the policy file instead (roles, slack_users), or take a paid plan.",
        )
    remedy = "See what the finding about the scopes says, then try again."
    return failed(name, f"Slack answers {code} about user groups", remedy)


def _supporting(
    sight: Sight, name: str, source: RoleSource, groups: Mapping[str, _Group]
) -> Finding:
    """Look at those who answer customers and decide nothing; a workspace may do without them."""
    group = groups.get(source.slack_user_group or "")
    holders = _holders(source, group)
    if not holders:
        return skipped(name, "nobody has it alone: whoever has another role answers customers")
    able, problems = _able(sight, holders)
    if problems:
        remedy = "Put them right, or into the approvals channel, where customers call for people."
        return warning(name, f"{len(able)} may answer customers, but {'; '.join(problems)}", remedy)
    return fine(name, f"{_people(holders)} to answer customers and decide nothing")


def _holders(source: RoleSource, group: _Group | None) -> list[str]:
    fixed = [subject.partition(":")[2] for subject in source.slack_users]
    return list(dict.fromkeys([*(group.get("users", []) if group else []), *fixed]))


def _people(holders: list[str]) -> str:
    return f"{len(holders)} {'person' if len(holders) == 1 else 'people'}"


def _judged(sight: Sight, name: str, source: RoleSource, group: _Group | None) -> Finding:
    handle = source.slack_user_group
    if handle is not None and group is None:
        return failed(
            name,
            f"there is no user group @{handle}",
            f"Make the user group @{handle} in Slack, or name another in the policy file.",
        )
    holders = _holders(source, group)
    where = f"@{handle}" if handle is not None else "the policy file"
    if not holders:
        remedy = f"Put people into @{handle}: nobody can decide as {name} until then."
        return failed(name, f"@{handle} is empty", remedy)
    able, problems = _able(sight, holders)
    if not able:
        remedy = f"Put people into {where} who may decide: members of this workspace, no guests."
        return failed(name, f"nobody of {where} may decide: {'; '.join(problems)}", remedy)
    if problems:
        remedy = f"Take them out of {where}, or into the approvals channel."
        return warning(
            name, f"{len(able)} of {where} may decide, but {'; '.join(problems)}", remedy
        )
    return fine(name, f"{where} has {_people(holders)} who may decide")


def _able(sight: Sight, holders: list[str]) -> tuple[list[str], list[str]]:
    """Return who may decide, and what is wrong with the others or with what they see."""
    able, problems = [], []
    for user_id in holders[:_MOST_LOOKED_AT]:
        problem = _problem(sight, user_id)
        if problem is not None:
            problems.append(f"{user_id} {problem}")
            continue
        able.append(user_id)
        if sight.members is not None and user_id not in sight.members:
            problems.append(f"{user_id} is not in the approvals channel and sees no card")
    return able, problems


def _problem(sight: Sight, user_id: str) -> str | None:
    try:
        user = sight.client.users_info(user=user_id)["user"]
    except CALL_ERRORS as error:
        return f"cannot be looked up ({failure_of(error).code})"
    if user.get("team_id") != sight.team_id:
        return "belongs to another workspace"
    if user.get("is_email_confirmed") is False:
        return "has not confirmed an e-mail address"
    return next((words for flag, words in _FLAGS if user.get(flag)), None)
