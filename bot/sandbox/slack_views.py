"""Web API methods for modals and App Home: views.*."""

from collections.abc import Mapping

from bot.sandbox.block_limits import check_view
from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_arguments import ApiError, Arguments
from bot.sandbox.slack_state import Workspace, microseconds
from bot.sandbox.slack_triggers import TriggerRefused

STACK_MAX = 3


def make_view(workspace: Workspace, given: JsonObject, base: Mapping[str, object]) -> JsonObject:
    """Return a checked view as Slack keeps it; `base` gives id, root and previous view."""
    config = workspace.config
    view: JsonObject = {
        "team_id": config.team_id,
        "app_id": config.app_id,
        "app_installed_team_id": config.team_id,
        "bot_id": config.bot_id,
        "private_metadata": "",
        "callback_id": "",
        "external_id": "",
        "title": None,
        "submit": None,
        "close": None,
        "clear_on_close": False,
        "notify_on_close": False,
        "submit_disabled": False,
        "state": {"values": {}},
        **given,
        **base,
        "hash": f"{microseconds(config.now()) // 1_000_000}.{config.token()[-8:]}",
    }
    for name in ("title", "submit", "close"):
        view[name] = workspace.stored_text_object(view[name])
    view["blocks"] = workspace.stored_blocks(given["blocks"])
    return view


def open_fresh(workspace: Workspace, given: JsonObject, below: list[JsonObject]) -> JsonObject:
    """Return a new modal view that lies on top of the views `below`."""
    view_id = f"V{workspace.config.token().upper()}"
    base = {
        "id": view_id,
        "root_view_id": below[0]["id"] if below else view_id,
        "previous_view_id": below[-1]["id"] if below else None,
    }
    return make_view(workspace, given, base)


def replaced(workspace: Workspace, given: JsonObject, old: JsonObject) -> JsonObject:
    """Return the view that takes the place of `old`, with a new hash."""
    kept = ("id", "root_view_id", "previous_view_id")
    return make_view(workspace, given, {name: old[name] for name in kept})


def _read_view(workspace: Workspace, args: Arguments, kind: str) -> JsonObject:
    view = args.structure("view")
    if view is None:
        raise ApiError("invalid_arguments", ["[ERROR] missing required field: view"])
    problems = check_view(view, kind, lacking=workspace.config.lacking)
    if problems or not isinstance(view, dict):
        raise ApiError.of_problems(problems)
    return view


def _refuse_taken_external_id(
    workspace: Workspace, given: JsonObject, own_id: str | None = None
) -> None:
    external_id = given.get("external_id")
    views = [row["view"] for row in workspace.journal.table("views").values()]
    if external_id and any(v["external_id"] == external_id and v["id"] != own_id for v in views):
        raise ApiError("duplicate_external_id")


def _trigger_owner(workspace: Workspace, trigger_id: str) -> str:
    try:
        return workspace.triggers.owner(trigger_id)
    except TriggerRefused as refused:
        raise ApiError(refused.code) from None


def open_view(workspace: Workspace, args: Arguments) -> JsonObject:
    """Open a modal for the person of the trigger; it takes the place of one that is open."""
    trigger_id = args.need("trigger_id")
    given = _read_view(workspace, args, "modal")
    user_id = _trigger_owner(workspace, trigger_id)
    _refuse_taken_external_id(workspace, given)
    workspace.triggers.spend(trigger_id)
    view = open_fresh(workspace, given, [])
    workspace.journal.write(*workspace.stack_changes(user_id, [view]))
    return {"view": view}


def push(workspace: Workspace, args: Arguments) -> JsonObject:
    """Lay a view on top of the open modal of the person of the trigger."""
    trigger_id = args.need("trigger_id")
    given = _read_view(workspace, args, "modal")
    user_id = _trigger_owner(workspace, trigger_id)
    below = workspace.stack(user_id)
    if not below:
        raise ApiError("not_found")
    if len(below) >= STACK_MAX:
        raise ApiError("push_limit_reached")
    _refuse_taken_external_id(workspace, given)
    workspace.triggers.spend(trigger_id)
    view = open_fresh(workspace, given, below)
    workspace.journal.write(*workspace.stack_changes(user_id, [*below, view]))
    return {"view": view}


def _named_row(workspace: Workspace, args: Arguments) -> JsonObject:
    view_id, external_id = args.text("view_id"), args.text("external_id")
    if not view_id and not external_id:
        raise ApiError("invalid_arguments", ["[ERROR] missing required field: view_id"])
    for row in workspace.journal.table("views").values():
        if view_id == row["view"]["id"] or (
            not view_id and external_id == row["view"]["external_id"]
        ):
            return row
    raise ApiError("not_found")


def update(workspace: Workspace, args: Arguments) -> JsonObject:
    """Replace an open view, if `hash` is not given or is still the view's own."""
    given = _read_view(workspace, args, "modal")
    row = _named_row(workspace, args)
    expected = args.text("hash")
    if expected and expected != row["view"]["hash"]:
        raise ApiError("hash_conflict")
    _refuse_taken_external_id(workspace, given, row["view"]["id"])
    view = replaced(workspace, given, row["view"])
    workspace.journal.write(("views", view["id"], {**row, "view": view}))
    return {"view": view}


def publish(workspace: Workspace, args: Arguments) -> JsonObject:
    """Set the App Home of one person, if `hash` is not given or is still the home's own."""
    person = workspace.user(args.need("user_id"))
    given = _read_view(workspace, args, "home")
    if person is None:
        raise ApiError("user_not_found")
    old = workspace.home(person.slack_user_id)
    expected = args.text("hash")
    if expected and (old is None or expected != old["hash"]):
        raise ApiError("hash_conflict")
    view = replaced(workspace, given, old) if old else open_fresh(workspace, given, [])
    workspace.journal.write(("homes", person.slack_user_id, view))
    return {"view": view}
