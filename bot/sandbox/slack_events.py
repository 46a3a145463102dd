"""Events API deliveries: what the workspace tells the bot without being asked."""

from bot.sandbox.json_shape import JsonObject
from bot.sandbox.slack_delivery import Answer, Delivery
from bot.sandbox.slack_payloads import event_callback
from bot.sandbox.slack_state import Workspace


async def send_event(workspace: Workspace, delivery: Delivery, event: JsonObject) -> Answer | None:
    """Send an event once; None when the app did not ask for events of this type."""
    wanted = workspace.config.events
    if wanted is not None and event["type"] not in wanted:
        return None
    stamped = {**event, "event_ts": workspace.next_ts()}
    event_id = f"Ev{workspace.config.token().upper()}"
    return await delivery.event(event_callback(workspace.config, stamped, event_id))
