"""What one delivery of Slack is: who did what to which thing, and what makes two of them one."""

import hashlib
import json

from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload
from agent.steps.repeat import Act
from bot.slack import names
from bot.slack.payloads import Body, described, sender, shown
from bot.slack.targets import named


def act_of(body: Body) -> Act | None:
    """Read a payload as an act; None for one without what tells it from the next."""
    parts = _delivery(body)
    if parts is None:
        return None
    told = json.dumps(parts)
    key = hashlib.sha256(told.encode()).hexdigest()
    identity = sender(body)
    if parts[0] == "event":
        return Act(key, identity)
    about = named(_carried(body))
    data: Payload = {"act": key, "identity": str(identity), **described(body), **_place(body)}
    if about is None:
        return Act(key, identity, data)
    data |= {"rev": about.rev, "shown_hash": about.h}
    return Act(key, identity, data, ApprovalId(about.id))


def _delivery(body: Body) -> list[str] | None:
    """Return what is the same whenever this one is delivered, and only then (facts: §1.4).

    A form that was answered with errors stays as it is, hash included, and is submitted again: the
    trigger tells the two apart.
    """
    team, user = str(sender(body)).rpartition(":")[::2]
    match body:
        case {"type": "block_actions", "actions": [{"action_id": names.INPUT}, *_]}:
            # A letter typed into a form is no act: it changes nothing, and the next one follows.
            return None
        case {
            "type": "block_actions",
            "container": {**where},
            "actions": [{"action_id": str(action), "action_ts": str(at)}, *_],
        }:
            place = where.get("message_ts") or where.get("view_id")
            return ["click", team, user, str(place), action, at]
        case {
            "type": "view_submission",
            "view": {"id": str(view), "hash": str(stamp)},
            "trigger_id": str(trigger),
        }:
            return ["form", view, stamp, trigger]
        case {"type": "event_callback", "event_id": str(event)}:
            return ["event", event]
        case {"command": str(), "trigger_id": str(trigger)}:
            return ["command", team, user, trigger]
        case _:
            return None


def _carried(body: Body) -> str | None:
    """Return what the button or the form carries of the thing it is about."""
    match body:
        case {"actions": [{"value": str(value)}, *_]}:
            return value
        case {"view": {"private_metadata": str(metadata)}}:
            return metadata
        case _:
            return None


def _place(body: Body) -> Payload:
    """Return where it happened, and when by Slack's clock."""
    container, channel, actions = body.get("container"), body.get("channel"), body.get("actions")
    where = container if isinstance(container, dict) else {}
    action = actions[0] if isinstance(actions, list) and actions else {}
    found = {
        "channel": channel.get("id") if isinstance(channel, dict) else body.get("channel_id"),
        "message_ts": where.get("message_ts"),
        "view_id": where.get("view_id"),
        "action_ts": action.get("action_ts") if isinstance(action, dict) else None,
    }
    return {name: shown(value) for name, value in found.items() if value is not None}
