"""Who of the customers is asking, and which conversations are theirs."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from agent.domain.conversation import Conversation
from agent.domain.ids import ConversationId, CustomerId
from agent.steps.receive import token_hash
from bot.web.chat_keys import BadToken
from bot.web.context import Context, WebContext
from bot.web.params import is_id
from bot.web.problems import Problem, not_found
from bot.web.staff import unauthenticated
from storage import conversations

# The parts of a JWT; an anonymous token has no dot.
_JWT_DOTS = 2

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="Customer",
    description="The shop's JWT for the customer, or the anonymous token of this browser.",
)


@dataclass(frozen=True, slots=True)
class Shopper:
    """A customer whom the shop has signed in."""

    customer_id: CustomerId


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who holds the token of one anonymous conversation."""

    conversation_id: ConversationId


Caller = Shopper | Visitor


def _caller_if_any(
    request: Request,
    context: Context,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller | None:
    if credentials is not None:
        return _identify(context, credentials.credentials)
    if "authorization" in request.headers:
        raise unauthenticated("Send a token: Authorization: Bearer …")
    return None


CallerIfAny = Annotated[Caller | None, Depends(_caller_if_any)]


async def _caller(caller: CallerIfAny) -> Caller:
    if caller is None:
        raise unauthenticated("Send the shop's token, or the anonymous one of this browser.")
    return caller


KnownCaller = Annotated[Caller, Depends(_caller)]


async def _shopper(caller: KnownCaller) -> Shopper:
    if isinstance(caller, Visitor):
        raise Problem(403, "not_allowed", "Please sign in to the shop first.")
    return caller


SignedIn = Annotated[Shopper, Depends(_shopper)]


def _own(context: Context, caller: KnownCaller, conversation_id: str) -> Conversation:
    """Return the conversation if it is the caller's; somebody else's looks like none at all."""
    if is_id(conversation_id):
        with context.desk.store.transaction(write=False) as tx:
            found = conversations.get(tx, ConversationId(conversation_id))
        if found is not None and is_owner(caller, found):
            return found
    raise not_found("conversation")


OwnConversation = Annotated[Conversation, Depends(_own)]


def is_owner(caller: Caller, conversation: Conversation) -> bool:
    """Tell whether the conversation is the caller's."""
    match caller:
        case Shopper(customer_id):
            return conversation.customer_id == customer_id
        case Visitor(conversation_id):
            return conversation.id == conversation_id


def _identify(context: WebContext, token: str) -> Caller:
    if token.count(".") == _JWT_DOTS:
        try:
            return Shopper(context.chat_keys.customer_of(token, context.desk.clock.now()))
        except BadToken as bad:
            raise unauthenticated(str(bad)) from None
    with context.desk.store.transaction(write=False) as tx:
        found = conversations.by_token(tx, token_hash(token))
    if found is None:
        raise unauthenticated("The desk does not know this token.")
    return Visitor(found.id)
