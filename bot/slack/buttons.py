"""The buttons by their names; the value of each says what it is about, and the row decides."""

from typing import Literal

from agent.domain.approvals import Approval, ApprovalView, Status
from agent.domain.escalation import Level
from bot.slack.blocks import Block, button, plain
from bot.slack.names import Action, numbered
from bot.slack.targets import (
    AlertTarget,
    BreakerTarget,
    HandOffTarget,
    PingTarget,
    StopTarget,
    Target,
)

Style = Literal["primary", "danger"] | None


def on(
    approval: Approval,
    action: Action,
    label: str,
    style: Style = None,
    *,
    number: int | None = None,
) -> Block:
    """Return a button about an approval; its value is the approval's `Target`.

    `number` tells it apart from others of its kind in the same message.
    """
    found = button(action, label, Target.of(approval).text(), style)
    return found if number is None else found | {"action_id": numbered(action, number)}


def row_id(view: ApprovalView) -> str:
    """Return the block id of a card's row of buttons: a new one whenever the row changes."""
    approval = view.approval
    base = f"act:{approval.id}:{approval.revision}"
    if approval.status is not Status.PENDING:
        return f"{base}:{approval.status}"
    return f"{base}:{len(view.votes)}" if view.votes else base


def edit_button(approval: Approval) -> Block:
    """Return the button that opens the form for changes."""
    return on(approval, Action.EDIT, "Edit")


def ask_button(approval: Approval) -> Block:
    """Return the button that opens the form for a question."""
    return on(approval, Action.ASK, "Ask")


def reject_button(approval: Approval) -> Block:
    """Return the button that asks why a request is turned down."""
    return on(approval, Action.REJECT, "Reject", "danger")


def details_button(approval: Approval) -> Block:
    """Return the button that shows all there is, whatever the request's status."""
    return on(approval, Action.REVIEW, "Details")


def reveal_button(target: Target) -> Block:
    """Return the button that shows what is masked, to those who may decide."""
    return button(Action.REVEAL, "Reveal", target.text())


def review_button(approval: Approval) -> Block:
    """Return the only way to approve what is too long for a card."""
    return on(approval, Action.REVIEW, "Review", "primary")


def break_glass_button(approval: Approval) -> Block:
    """Return the button for people on call who approve alone; it stands in modals only."""
    return on(approval, Action.BREAK_GLASS, "Break glass")


def revoke_button(approval: Approval) -> Block:
    """Return the button that takes an approval back before it is carried out."""
    return on(approval, Action.REVOKE, "Revoke", "danger")


def ask_again_button(approval: Approval) -> Block:
    """Return the button that puts a lapsed request before people once more."""
    return on(approval, Action.ASK_AGAIN, "Ask again")


def settle_button(approval: Approval) -> Block:
    """Return the button that opens the form for what a person has seen of an unknown outcome."""
    return on(approval, Action.SETTLE, "Settle…")


def right_button(approval: Approval) -> Block:
    """Return the answer to a review that finds nothing wrong."""
    return on(approval, Action.REVIEW_RIGHT, "Looks right", "primary")


def flag_button(approval: Approval) -> Block:
    """Return the answer to a review that something is wrong; it asks why."""
    return on(approval, Action.REVIEW_FLAG, "Flag", "danger")


def acknowledge_button(subject: str) -> Block:
    """Return the button of somebody who looks into an alert."""
    target = AlertTarget(subject=subject).text()
    return button(Action.ALERT_ACKNOWLEDGE, "Acknowledge", target, "primary")


def reply_button(target: HandOffTarget) -> Block:
    """Return the button that opens the form for an answer to a customer."""
    return button(Action.HAND_OFF_REPLY, "Reply", target.text())


def reset_button(target: BreakerTarget) -> Block:
    """Return the button that closes an opened breaker by a person's word."""
    found = button(Action.BREAKER_RESET, "Reset", target.text())
    found["confirm"] = {
        "title": plain("Reset the breaker?"),
        "text": plain("Automatic refunds run again at once. You are asked for the reason next."),
        "confirm": plain("Go on"),
        "deny": plain("Cancel"),
        "style": "danger",
    }
    return found


def take_over_button(approval: Approval) -> Block:
    """Return the button of somebody who looks into a request; it gives no right of its own."""
    return on(approval, Action.TAKE_OVER, "Take over")


def seen_button(approval: Approval, level: Level) -> Block:
    """Return the button of somebody who has seen that a request was brought up again."""
    target = PingTarget.model_validate({"id": approval.id, "level": level.key}).text()
    return button(Action.PING_ACKNOWLEDGE, "Acknowledge", target, "primary")


def stop_button() -> Block:
    """Return the button that stops everything."""
    return button(Action.STOP, "Stop all", StopTarget(since=None).text(), "danger")


def lift_button() -> Block:
    """Return the button that lets things run again."""
    return button(Action.LIFT, "Lift the stop", StopTarget(since=None).text())
