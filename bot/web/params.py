"""Parameters that several routes take."""

import re
from typing import Annotated

from fastapi import Depends, Query
from pydantic import AfterValidator

from agent.domain.ids import ApprovalId, ConversationId, RunId, ulid_of
from bot.web.problems import not_found

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

Limit = Annotated[int, Query(ge=1, le=100, description="Most items of the answer.")]


def _cursor(text: str) -> str:
    try:
        ulid_of(text)
    except ValueError:
        raise ValueError("is not the next_cursor of a page") from None
    return text


Cursor = Annotated[
    str | None,
    AfterValidator(lambda text: None if text is None else _cursor(text)),
    Query(description="The `next_cursor` of the page before."),
]


def is_id(text: str) -> bool:
    """Return whether the text may be the id of anything; the database sees no other."""
    return _ID.fullmatch(text) is not None


async def _approval(approval_id: str) -> ApprovalId:
    if not is_id(approval_id):
        raise not_found("approval")
    return ApprovalId(approval_id)


async def _run(run_id: str) -> RunId:
    if not is_id(run_id):
        raise not_found("run")
    return RunId(run_id)


async def _conversation(conversation_id: str) -> ConversationId:
    if not is_id(conversation_id):
        raise not_found("conversation")
    return ConversationId(conversation_id)


ApprovalPath = Annotated[ApprovalId, Depends(_approval)]
ConversationPath = Annotated[ConversationId, Depends(_conversation)]
RunPath = Annotated[RunId, Depends(_run)]
