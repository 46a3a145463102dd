"""Customers who need a person: who they are, and what the team does for them beside Slack."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from agent.domain.conversation import MAX_MESSAGE_CHARACTERS
from agent.domain.decision import Refused
from agent.domain.hand_offs import HandOff, Words
from agent.domain.roles import Channel
from agent.steps.attend import give_back, join, say
from agent.steps.permission import Order
from bot.shapes import JsonObject, hand_off_json
from bot.web.bodies import Body, Nothing, StrictRoute
from bot.web.context import Context, WebContext
from bot.web.params import ConversationPath, Limit
from bot.web.refusals import refusal
from bot.web.staff import Helper, Known, Staff
from storage import hand_offs

router = APIRouter(prefix="/conversations", tags=["hand-offs"], route_class=StrictRoute)


class Reply(Body):
    """Body of `reply`; the same `client_id` again says nothing new."""

    client_id: Annotated[UUID, Field(strict=False)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_MESSAGE_CHARACTERS)]


@router.get("")
def list_hand_offs(context: Context, _staff: Helper, limit: Limit = 50) -> JsonObject:
    """List the conversations that need a person or have one, whoever waits longest first."""
    with context.desk.store.transaction(write=False) as tx:
        found = hand_offs.still_open(tx, limit)
        return {"items": [hand_off_json(one) for one in found], "total": hand_offs.count_open(tx)}


@router.post("/{conversation_id}/reply")
def reply(
    context: Context, staff: Known, conversation_id: ConversationPath, body: Reply
) -> JsonObject:
    """Write to the customer; whoever writes first answers there instead of the agent."""
    words = Words(body.text, str(body.client_id))
    answer = say(context.desk, conversation_id, words, _order(staff))
    if isinstance(answer, Refused):
        raise refusal(answer)
    context.hub.poke()
    shown = hand_off_json(answer.hand_off)
    return {"message_id": answer.message_id, "seq": answer.seq, "hand_off": shown}


@router.post("/{conversation_id}/join")
def join_conversation(
    context: Context, staff: Known, conversation_id: ConversationPath, _body: Nothing | None = None
) -> JsonObject:
    """Answer the customer from now on, instead of the agent or of a colleague."""
    return _shown(context, join(context.desk, conversation_id, _order(staff)))


@router.post("/{conversation_id}/give_back")
def give_conversation_back(
    context: Context, staff: Known, conversation_id: ConversationPath, _body: Nothing | None = None
) -> JsonObject:
    """Let the agent answer again."""
    return _shown(context, give_back(context.desk, conversation_id, _order(staff)))


def _order(staff: Staff) -> Order:
    return Order(staff.identity, Channel.API, "")


def _shown(context: WebContext, answer: HandOff | Refused) -> JsonObject:
    if isinstance(answer, Refused):
        raise refusal(answer)
    context.hub.poke()
    return hand_off_json(answer)
