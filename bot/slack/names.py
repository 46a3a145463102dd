"""The names that Slack sends back: actions, views, commands and events."""

from enum import StrEnum


class Action(StrEnum):
    """The `action_id` of a button."""

    APPROVE = "approval_approve"
    EDIT = "approval_edit"
    REJECT = "approval_reject"
    REVIEW = "approval_review"
    BREAKER_ACKNOWLEDGE = "breaker_acknowledge"
    BREAKER_RESET = "breaker_reset"


class View(StrEnum):
    """The `callback_id` of a modal; only the first four have something to submit."""

    EDIT = "edit_form"
    REJECT = "reject_form"
    REVIEW = "review"
    BREAKER_RESET = "breaker_reset_form"
    DETAILS = "details"
    NOTICE = "notice"


class Field(StrEnum):
    """The `block_id` of an input of a modal."""

    AMOUNT = "amount"
    REASON = "reason"
    CATEGORY = "category"
    NOTE = "note"


# The `action_id` of the one element of every input block.
INPUT = "value"

COMMAND = "/refunds"
HOME_OPENED = "app_home_opened"
APP_UNINSTALLED, TOKENS_REVOKED = "app_uninstalled", "tokens_revoked"
