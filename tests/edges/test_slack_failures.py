"""What exceptions of the Slack client mean for a message."""

from http.client import RemoteDisconnected
from socket import gaierror
from typing import Any
from urllib.error import URLError

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web import SlackResponse

from bot.slack.failures import CALL_ERRORS, Failure, Meaning, failure_of


def refused(
    data: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
) -> SlackApiError:
    response = SlackResponse(
        client=WebClient(),
        http_verb="POST",
        api_url="chat.postMessage",
        req_args={},
        data=data,
        headers=headers or {},
        status_code=status,
    )
    return SlackApiError("refused", response)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (TimeoutError("read timed out"), Meaning.UNCLEAR),
        (URLError(TimeoutError()), Meaning.UNCLEAR),
        (ConnectionResetError(), Meaning.UNCLEAR),
        (RemoteDisconnected("closed"), Meaning.UNCLEAR),
        (SlackRequestError("odd"), Meaning.UNCLEAR),
        (URLError(ConnectionRefusedError()), Meaning.NOT_SENT),
        (URLError(gaierror(-2, "unknown host")), Meaning.NOT_SENT),
    ],
)
def test_only_a_connection_that_never_was_proves_that_nothing_left(
    error: Exception, meaning: Meaning
) -> None:
    assert isinstance(error, CALL_ERRORS)
    assert failure_of(error).meaning is meaning


@pytest.mark.parametrize("name", ["Retry-After", "retry-after"])
def test_slacks_own_wait_is_kept(name: str) -> None:
    error = refused({"ok": False, "error": "ratelimited"}, 429, {name: "12"})
    assert failure_of(error) == Failure(Meaning.LIMITED, "ratelimited", 12.0)


def test_a_wait_that_is_no_number_is_left_to_the_back_off() -> None:
    error = refused({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": "soon"})
    assert failure_of(error).after_s is None


def test_a_page_of_something_in_between_is_no_answer_of_slack() -> None:
    error = refused({"ok": False, "error": "Received a response in a non-JSON format: <html>"})
    assert failure_of(error).meaning is Meaning.UNCLEAR


def test_the_details_of_a_refused_block_are_kept_for_the_log() -> None:
    told = {"messages": ["[ERROR] unsupported type: table [json-pointer:/blocks/5/type]"]}
    failure = failure_of(
        refused({"ok": False, "error": "invalid_blocks", "response_metadata": told})
    )
    assert failure.meaning is Meaning.BLOCKS
    assert failure.code.startswith("invalid_blocks; [ERROR] unsupported type: table")
