"""The customer's chat: open, send, read, stop, withdraw, and the log as JSON or as a stream."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field

from agent.domain.conversation import (
    CHIP,
    MAX_MESSAGE_CHARACTERS,
    MAX_RATING,
    MAX_RATING_COMMENT,
    MIN_RATING,
    Conversation,
)
from agent.domain.decision import Refused
from agent.domain.ids import ConversationId
from agent.domain.languages import MAX_TAG, language_of
from agent.domain.wording import chip_text
from agent.steps import receive
from agent.steps.decide import withdraw
from agent.steps.rate import rate
from agent.steps.receive import token_hash
from bot.shapes import JsonObject, event_json, rfc3339
from bot.web import stream
from bot.web.bodies import Body, Nothing, StrictRoute
from bot.web.chat_auth import (
    CallerIfAny,
    KnownCaller,
    OwnConversation,
    Shopper,
    SignedIn,
    is_owner,
)
from bot.web.context import Context, WebContext
from bot.web.limits import Limiter, household
from bot.web.params import ApprovalPath, is_id
from bot.web.problems import Problem, not_found
from bot.web.refusals import refusal
from storage import approvals, conversations

# The column's own limit on PostgreSQL.
_MAX_SEQ = 2**31 - 1

router = APIRouter(prefix="/chat/conversations", tags=["chat"], route_class=StrictRoute)

Seq = Annotated[int, Field(ge=0, le=_MAX_SEQ)]
LanguageTag = Annotated[str, Field(min_length=1, max_length=MAX_TAG)]


@dataclass(frozen=True, slots=True)
class Limiters:
    """The buckets of one application."""

    conversation: Limiter
    customer: Limiter
    address: Limiter


class OpenConversation(Body):
    """Body of a new conversation; `language` is the page's, such as `de-AT`."""

    language: LanguageTag | None = None


class SendMessage(Body):
    """Body of a message; the same `client_id` again gets the first answer again.

    `language` is the page's, where the customer has changed it since.
    """

    client_id: Annotated[UUID, Field(strict=False)]
    text: Annotated[str, Field(min_length=1)]
    language: LanguageTag | None = None


class MarkRead(Body):
    """Body of `read`."""

    seq: Seq


class Rate(Body):
    """Body of `rating`; a comment is for the team."""

    score: Annotated[int, Field(ge=MIN_RATING, le=MAX_RATING)]
    comment: Annotated[str, Field(max_length=MAX_RATING_COMMENT)] = ""


class Attach(Body):
    """Body of `attach`."""

    anonymous_token: Annotated[str, Field(min_length=1, max_length=200)]


async def _from_address(request: Request) -> None:
    limiters: Limiters = request.app.state.limiters
    limiters.address.take("" if request.client is None else household(request.client.host))


async def _of_customer(request: Request, caller: CallerIfAny) -> None:
    limiters: Limiters = request.app.state.limiters
    if isinstance(caller, Shopper):
        limiters.customer.take(caller.customer_id)


async def _in_conversation(request: Request, conversation: OwnConversation) -> None:
    limiters: Limiters = request.app.state.limiters
    limiters.conversation.take(conversation.id)


_limited = Depends(_from_address)
# What makes a row is limited per customer, too, whatever addresses they come from.
_making = [_limited, Depends(_of_customer)]


@router.post("", status_code=201, dependencies=_making)
def open_conversation(
    context: Context, caller: CallerIfAny, body: OpenConversation | None = None
) -> JsonObject:
    """Start a conversation of the signed-in customer, or of a new anonymous visitor."""
    customer = caller.customer_id if isinstance(caller, Shopper) else None
    tag = None if body is None else body.language
    opened = receive.open_conversation(context.desk, customer, language_of(tag))
    answer: JsonObject = {"conversation_id": opened.conversation_id}
    if opened.anonymous_token is not None:
        answer["anonymous_token"] = opened.anonymous_token
    return answer


@router.get("")
def list_conversations(context: Context, caller: KnownCaller) -> JsonObject:
    """List the caller's conversations, newest first."""
    with context.desk.store.transaction(write=False) as tx:
        if isinstance(caller, Shopper):
            found = conversations.of_customer(tx, caller.customer_id)
        else:
            one = conversations.get(tx, caller.conversation_id)
            found = () if one is None else (one,)
    return {"items": [_conversation(one) for one in found]}


@router.post(
    "/{conversation_id}/messages",
    status_code=202,
    dependencies=[*_making, Depends(_in_conversation)],
)
def send_message(context: Context, conversation: OwnConversation, body: SendMessage) -> JsonObject:
    """Store a message and queue its run; the answer comes as events."""
    if len(body.text) > MAX_MESSAGE_CHARACTERS:
        words = f"A message holds at most {MAX_MESSAGE_CHARACTERS} characters."
        raise Problem(413, "too_large", words)
    language = None if body.language is None else language_of(body.language)
    sent = receive.receive(
        context.desk,
        conversation.id,
        str(body.client_id),
        body.text,
        language,
        by_visitor=conversation.customer_id is None,
    )
    context.hub.poke()
    return {"message_id": sent.message_id, "run_id": sent.run_id, "seq": sent.seq}


@router.post("/{conversation_id}/stop", status_code=202, dependencies=[_limited])
def stop(
    context: Context, conversation: OwnConversation, _body: Nothing | None = None
) -> JsonObject:
    """Stop the answer under way; requests that wait for the team are untouched."""
    receive.stop(context.desk, conversation.id)
    return {}


@router.get("/{conversation_id}/events", response_model=None)
def events(
    context: Context,
    conversation: OwnConversation,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ)] = 0,
    accept: Annotated[str, Header()] = "",
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Return the events after a seq; with `Accept: text/event-stream` the live stream."""
    if stream.MEDIA_TYPE in accept.lower():
        start = stream.resume_after(last_event_id, after, conversation.last_seq)
        chunks = stream.event_stream(context, conversation.id, start)
        return StreamingResponse(chunks, headers=stream.HEADERS, media_type=stream.MEDIA_TYPE)
    return JSONResponse(_events(context, conversation, after))


@router.post("/{conversation_id}/read", status_code=204)
def mark_read(context: Context, conversation: OwnConversation, body: MarkRead) -> None:
    """Note how far the customer has read; what is no news costs no write."""
    if body.seq <= conversation.read_seq:
        return
    with context.desk.store.transaction() as tx:
        conversations.mark_read(tx, conversation.id, body.seq)


@router.post(
    "/{conversation_id}/rating",
    status_code=204,
    dependencies=[*_making, Depends(_in_conversation)],
)
def rate_help(context: Context, conversation: OwnConversation, body: Rate) -> None:
    """Keep what the customer says of the help, 1 to 5; a later word replaces an earlier one."""
    rate(context.desk, conversation.id, body.score, body.comment)
    context.hub.poke()


@router.post("/{conversation_id}/approvals/{approval_id}/withdraw", dependencies=[_limited])
def withdraw_request(
    context: Context,
    caller: KnownCaller,
    conversation: OwnConversation,
    approval_id: ApprovalPath,
    _body: Nothing | None = None,
) -> JsonObject:
    """Withdraw a request that still waits for the team."""
    with context.desk.store.transaction(write=False) as tx:
        asked = approvals.get(tx, approval_id)
    if asked is None or asked.conversation_id != conversation.id or not isinstance(caller, Shopper):
        raise not_found("request")
    answer = withdraw(context.desk, approval_id, caller.customer_id)
    if isinstance(answer, Refused):
        raise refusal(answer)
    context.hub.poke()
    return {
        "approval_id": answer.id,
        "status": CHIP[answer.status],
        "text": chip_text(answer, language=conversation.language),
    }


@router.post("/{conversation_id}/attach", dependencies=[_limited])
def attach(context: Context, caller: SignedIn, conversation_id: str, body: Attach) -> JsonObject:
    """Give the visitor's conversation to the customer they turn out to be; the token dies."""
    if not _attached(context, caller, conversation_id, body.anonymous_token):
        raise not_found("conversation")
    return {"conversation_id": conversation_id}


def _attached(context: WebContext, caller: Shopper, conversation_id: str, token: str) -> bool:
    if not is_id(conversation_id):
        return False
    wanted = ConversationId(conversation_id)
    with context.desk.store.transaction(write=False) as tx:
        by_token = conversations.by_token(tx, token_hash(token))
    if by_token is not None and by_token.id == wanted:
        receive.attach(context.desk, token, caller.customer_id)
    # Asked again after a lost answer, the conversation is there already.
    with context.desk.store.transaction(write=False) as tx:
        now = conversations.get(tx, wanted)
    return now is not None and is_owner(caller, now)


def _events(context: WebContext, conversation: Conversation, after: int) -> JsonObject:
    """Return a page; `last_seq` is where the next one goes on."""
    with context.desk.store.transaction(write=False) as tx:
        found = conversations.events_after(tx, conversation.id, after)
    # The log may have grown since the conversation was read, and a page is not all of it.
    last = found[-1].seq if found else conversation.last_seq
    return {"events": [event_json(event) for event in found], "last_seq": last}


def _conversation(conversation: Conversation) -> JsonObject:
    return {
        "conversation_id": conversation.id,
        "created_at": rfc3339(conversation.created_at),
        "last_seq": conversation.last_seq,
        "read_seq": conversation.read_seq,
        "handed_off": conversation.handed_off,
        "attended_by": conversation.attended_name,
        "language": conversation.language,
        "rating": conversation.rating,
    }
