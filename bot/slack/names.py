"""The names that Slack sends back: actions, views, commands and events."""

import re
from enum import StrEnum


class Action(StrEnum):
    """The `action_id` of a button."""

    APPROVE = "approval_approve"
    EDIT = "approval_edit"
    REJECT = "approval_reject"
    REVIEW = "approval_review"
    REVEAL = "approval_reveal"
    DETAILS_REQUEST = "details_request"
    DETAILS_CONVERSATION = "details_conversation"
    DETAILS_HISTORY = "details_history"
    DETAILS_ATTEMPTS = "details_attempts"
    DETAILS_NEXT = "details_next"
    DETAILS_PREVIOUS = "details_previous"
    ALERT_ACKNOWLEDGE = "alert_acknowledge"
    BREAK_GLASS = "approval_break_glass"
    REVOKE = "approval_revoke"
    ASK = "approval_ask"
    ASK_AGAIN = "approval_ask_again"
    SETTLE = "approval_settle"
    STOP = "desk_stop"
    LIFT = "desk_lift"
    REVIEW_RIGHT = "review_right"
    REVIEW_FLAG = "review_flag"
    BREAKER_RESET = "breaker_reset"
    DOCTOR = "doctor_click"
    PING_ACKNOWLEDGE = "ping_acknowledge"
    TAKE_OVER = "approval_take_over"
    HOME_REFRESH = "home_refresh"
    HOME_BACK = "home_back"
    HOME_ON = "home_on"
    SHOW_QUEUE = "show_queue"
    SHOW_MINE = "show_mine"
    SHOW_STATS = "show_stats"
    SHOW_BREAKER = "show_breaker"
    SHOW_HELP = "show_help"
    FIND = "find_request"
    HAND_OFF_REPLY = "hand_off_reply"
    HAND_OFF_JOIN = "hand_off_join"
    HAND_OFF_DETAILS = "hand_off_details"
    HAND_OFF_GIVE_BACK = "hand_off_give_back"
    SHOW_HAND_OFFS = "show_hand_offs"


class View(StrEnum):
    """The `callback_id` of a modal; the last four have nothing to submit."""

    EDIT = "edit_form"
    REJECT = "reject_form"
    REVIEW = "review"
    BREAK_GLASS = "break_glass_form"
    ASK = "ask_form"
    REVOKE = "revoke_form"
    SETTLE = "settle_form"
    STOP = "stop_form"
    LIFT = "lift_form"
    REVIEW_FLAG = "review_flag_form"
    BREAKER_RESET = "breaker_reset_form"
    FIND = "find_form"
    REPLY = "reply_form"
    LOOK = "look"
    DETAILS = "details"
    REVEALED = "revealed"
    NOTICE = "notice"


class Field(StrEnum):
    """The `block_id` of an input of a modal."""

    AMOUNT = "amount"
    REASON = "reason"
    CATEGORY = "category"
    NOTE = "note"
    ORDER = "order"
    TO = "to"
    CC = "cc"
    BCC = "bcc"
    SUBJECT = "subject"
    BODY = "body"
    OUTCOME = "outcome"
    EVIDENCE = "evidence"
    REFERENCE = "reference"
    ASKED_OF = "asked_of"
    QUESTION = "question"
    REQUEST = "request"
    TEXT = "text"


# A list of requests numbers the buttons of its rows: in a message each has a name of its own.
NUMBERED_REVIEW = re.compile(rf"^{re.escape(Action.REVIEW)}\.[0-9]{{1,3}}\Z")
NUMBERED_DETAILS = re.compile(rf"^{re.escape(Action.HAND_OFF_DETAILS)}\.[0-9]{{1,3}}\Z")
NUMBERED_REPLY = re.compile(rf"^{re.escape(Action.HAND_OFF_REPLY)}\.[0-9]{{1,3}}\Z")


def numbered(action: Action, number: int) -> str:
    """Return the `action_id` of one of several buttons of a kind in the same message."""
    return f"{action}.{number}"


# The buttons that turn the pages of Details.
PAGES = tuple(action for action in Action if action.startswith("details_"))

# The `action_id` of the one element of every input block.
INPUT = "value"

COMMAND = "/refunds"
HOME_OPENED = "app_home_opened"
APP_UNINSTALLED, TOKENS_REVOKED = "app_uninstalled", "tokens_revoked"
