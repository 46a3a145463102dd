"""What becomes of a modal after the bot has answered its submission."""

from bot.sandbox.block_limits import check_view
from bot.sandbox.json_shape import JsonObject, parse_json
from bot.sandbox.slack_delivery import Answer
from bot.sandbox.slack_state import Workspace
from bot.sandbox.slack_views import STACK_MAX, open_fresh, replaced

CONNECT_ERROR = "We had some trouble connecting. Try again?"


def _result(action: str | None = None, **extra: object) -> JsonObject:
    return {"response_action": action, "problem": None, **extra}


def _trouble(reason: str, action: str | None = None) -> JsonObject:
    return _result(action, problem=f"{CONNECT_ERROR} ({reason})")


def _close(workspace: Workspace, user_id: str, view: JsonObject) -> JsonObject:
    left = [other for other in workspace.stack(user_id) if other["id"] != view["id"]]
    workspace.journal.write(*workspace.stack_changes(user_id, left))
    return _result()


def _show_errors(view: JsonObject, errors: object) -> JsonObject:
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not errors.keys() <= inputs:
        return _trouble("errors must name input blocks of the view", "errors")
    if not all(isinstance(text, str) and text for text in errors.values()):
        return _trouble("errors must be texts", "errors")
    return _result("errors", errors=errors)


def _show_view(
    workspace: Workspace, user_id: str, view: JsonObject, action: str, given: object
) -> JsonObject:
    problems = check_view(given, "modal", lacking=workspace.config.lacking)
    if problems or not isinstance(given, dict):
        return _trouble("; ".join(str(problem) for problem in problems), action)
    views = workspace.stack(user_id)
    places = [index for index, other in enumerate(views) if other["id"] == view["id"]]
    if not places:
        return _trouble("the view was closed meanwhile", action)
    if action == "update":
        views[places[0]] = replaced(workspace, given, views[places[0]])
    elif len(views) >= STACK_MAX:
        return _trouble(f"no more than {STACK_MAX} views lie on each other", action)
    else:
        views.append(open_fresh(workspace, given, views))
    workspace.journal.write(*workspace.stack_changes(user_id, views))
    return _result(action)


def settle(workspace: Workspace, user_id: str, view: JsonObject, answer: Answer) -> JsonObject:
    """Close, keep or change the submitted modal as the answer says.

    Returns `response_action` (None for a plain ack), `errors` the person sees beside the inputs,
    and `problem`, the text of Slack's own error banner, None when all went well.
    """
    if not answer.acknowledged:
        return _trouble("no acknowledgement")
    if not answer.body.strip():
        return _close(workspace, user_id, view)
    try:
        body = parse_json(answer.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return _trouble("the body must be empty or an object")
    match body.get("response_action"):
        case "errors":
            return _show_errors(view, body.get("errors"))
        case "update" | "push" as action:
            return _show_view(workspace, user_id, view, action, body.get("view"))
        case "clear":
            workspace.journal.write(*workspace.stack_changes(user_id, []))
            return _result("clear")
        case None if not body:
            return _close(workspace, user_id, view)
        case _:
            return _trouble("unknown response_action")
