"""What a failed call to Slack means for the message on its way (facts: errors of posting)."""

from dataclasses import dataclass
from enum import Enum, auto
from http.client import HTTPException
from socket import gaierror
from urllib.error import URLError

from slack_sdk.errors import SlackApiError, SlackClientError

# Everything that a call of the Web API can raise.
CALL_ERRORS = (SlackClientError, OSError, HTTPException)

_TOO_MANY, _SERVER_ERROR, _OK = 429, 500, 200
_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_SERVER = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable"})
_BLOCKS = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_arguments",
        "msg_blocks_too_long",
        "msg_too_long",
        "no_text",
        "metadata_too_large",
    }
)
_GONE = frozenset(
    {
        "message_not_found",
        "cant_update_message",
        "edit_window_closed",
        # A line for the thread of a message that is there no more.
        "cannot_reply_to_message",
        "thread_not_found",
    }
)
_CONFIG = frozenset(
    {
        "missing_scope",
        "not_authed",
        "invalid_auth",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "not_allowed_token_type",
        "team_access_not_granted",
    }
)
_CHANNEL = frozenset(
    {"not_in_channel", "channel_not_found", "is_archived", "is_inactive", "ekm_access_denied"}
)
# There are more of them than are listed anywhere, and all mean the policy of an admin.
_RESTRICTED = "restricted_action"
# A thread that an admin has locked; the channel around it still takes messages.
_LOCKED = "restricted_action_thread_locked"
_PERSON = frozenset({"user_not_found", "user_disabled", "cannot_dm_bot", "messages_tab_disabled"})


class Meaning(Enum):
    """What to do about a failure."""

    LIMITED = auto()
    UNCLEAR = auto()
    NOT_SENT = auto()
    BLOCKS = auto()
    GONE = auto()
    ABSENT_USER = auto()
    CHANNEL = auto()
    PERSON = auto()
    CONFIG = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call: Slack's code or the exception, and how long Slack asks to wait."""

    meaning: Meaning
    code: str
    after_s: float | None = None

    @property
    def permanent(self) -> bool:
        """Tell whether only a person can mend it."""
        return self.meaning in {Meaning.BLOCKS, Meaning.CHANNEL, Meaning.PERSON, Meaning.CONFIG}

    @property
    def is_silence(self) -> bool:
        """Tell whether nobody answered, or nobody in their right mind."""
        return self.meaning in {Meaning.UNCLEAR, Meaning.NOT_SENT}


def failure_of(error: Exception) -> Failure:
    """Return what an exception of `CALL_ERRORS` means."""
    if isinstance(error, SlackApiError):
        return _refusal(error)
    return Failure(_of_network(error), f"{type(error).__name__}: {error}"[:300])


def _refusal(error: SlackApiError) -> Failure:
    status, code = error.response.status_code, str(error.response.get("error", ""))
    if status == _TOO_MANY or code in _LIMITED:
        return Failure(Meaning.LIMITED, code or "ratelimited", _retry_after(error))
    detail = error.response.get("response_metadata", {}).get("messages", [])
    told = "; ".join([code, *(str(message) for message in detail)])[:300]
    # A success whose body is no JSON comes from something between us and Slack.
    unreadable = status == _OK and " " in code
    if status >= _SERVER_ERROR or code in _SERVER or unreadable:
        return Failure(Meaning.UNCLEAR, told)
    return Failure(_meaning(code), told or f"HTTP {status}")


def _meaning(code: str) -> Meaning:
    for meaning, codes in (
        (Meaning.BLOCKS, _BLOCKS),
        (Meaning.GONE, _GONE | {_LOCKED}),
        (Meaning.CONFIG, _CONFIG),
        (Meaning.CHANNEL, _CHANNEL),
        (Meaning.PERSON, _PERSON),
        (Meaning.ABSENT_USER, {"user_not_in_channel"}),
    ):
        if code in codes:
            return meaning
    return Meaning.CHANNEL if code.startswith(_RESTRICTED) else Meaning.OTHER


def _retry_after(error: SlackApiError) -> float | None:
    for name, value in error.response.headers.items():
        if name.lower() == "retry-after":
            try:
                return max(0.0, float(value))
            except ValueError:
                return None
    return None


def _of_network(error: Exception) -> Meaning:
    cause = error.reason if isinstance(error, URLError) else error
    never_left = isinstance(cause, ConnectionRefusedError | gaierror)
    return Meaning.NOT_SENT if never_left else Meaning.UNCLEAR
