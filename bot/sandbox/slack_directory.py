"""Web API methods about the app, people and user groups."""

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_config import Person, UserGroup
from bot.sandbox.slack_state import Workspace


def auth_test(workspace: Workspace, _: Arguments) -> JsonObject:
    """Say whose token this is."""
    config = workspace.config
    return {
        "url": f"{config.base_url}/",
        "team": config.team_name,
        "user": config.bot_name,
        "team_id": config.team_id,
        "user_id": config.bot_user_id,
        "bot_id": config.bot_id,
        "is_enterprise_install": False,
    }


def _person(workspace: Workspace, person: Person) -> JsonObject:
    return {
        "id": person.slack_user_id,
        "team_id": person.team_id or workspace.config.team_id,
        "name": person.id,
        "deleted": person.deleted,
        "color": person.colour.removeprefix("#"),
        "real_name": person.name,
        "tz": "Europe/Berlin",
        "tz_offset": 3_600,
        "profile": {
            "title": person.title,
            "real_name": person.name,
            "display_name": person.name,
            "email": person.email,
        },
        "is_admin": False,
        "is_owner": False,
        "is_bot": person.is_bot,
        "is_workflow_bot": person.is_workflow_bot,
        "is_app_user": False,
        "is_restricted": person.is_restricted,
        "is_ultra_restricted": person.is_ultra_restricted,
        "is_stranger": person.is_stranger,
        "is_email_confirmed": person.is_email_confirmed,
    }


def _bot(workspace: Workspace) -> JsonObject:
    config = workspace.config
    return {
        "id": config.bot_user_id,
        "team_id": config.team_id,
        "name": config.bot_name,
        "deleted": False,
        "real_name": config.bot_name,
        "profile": {"real_name": config.bot_name, "bot_id": config.bot_id},
        "is_bot": True,
        "is_app_user": False,
        "is_restricted": False,
        "is_ultra_restricted": False,
    }


def users_info(workspace: Workspace, args: Arguments) -> JsonObject:
    """Describe one user."""
    user_id = args.need("user")
    if user_id == workspace.config.bot_user_id:
        return {"user": _bot(workspace)}
    person = workspace.user(user_id)
    if person is None:
        raise ApiError("user_not_found")
    return {"user": _person(workspace, person)}


def users_list(workspace: Workspace, _: Arguments) -> JsonObject:
    """Describe every user."""
    people = [_person(workspace, person) for person in workspace.config.people]
    return {"members": [*people, _bot(workspace)], "response_metadata": {"next_cursor": ""}}


def users_lookup_by_email(workspace: Workspace, args: Arguments) -> JsonObject:
    """Describe the user with this e-mail address."""
    email = args.need("email").lower()
    for person in workspace.config.people:
        if person.email.lower() == email and not person.deleted:
            return {"user": _person(workspace, person)}
    raise ApiError("users_not_found")


def _group(workspace: Workspace, group: UserGroup, *, with_users: bool) -> JsonObject:
    shape: JsonObject = {
        "id": group.id,
        "team_id": workspace.config.team_id,
        "is_usergroup": True,
        "name": group.name,
        "description": "",
        "handle": group.handle,
        "is_external": False,
        "date_delete": 1 if group.is_disabled else 0,
        "user_count": len(group.members),
    }
    return shape | {"users": list(group.members)} if with_users else shape


def usergroups_list(workspace: Workspace, args: Arguments) -> JsonObject:
    """Describe every user group, with `users` when `include_users` asks for them."""
    with_users, all_of_them = args.flag("include_users"), args.flag("include_disabled")
    groups = [group for group in workspace.groups() if all_of_them or not group.is_disabled]
    return {"usergroups": [_group(workspace, g, with_users=with_users) for g in groups]}


def usergroups_users_list(workspace: Workspace, args: Arguments) -> JsonObject:
    """List the user ids of a user group's members."""
    wanted = args.need("usergroup")
    for group in workspace.groups():
        if group.id == wanted and (args.flag("include_disabled") or not group.is_disabled):
            return {"users": list(group.members)}
    raise ApiError("no_such_subteam")
