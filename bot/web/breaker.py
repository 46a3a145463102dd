"""The refund breaker: how it stands, and its reset by a person."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from agent.domain.decision import Refused
from agent.domain.roles import Channel
from agent.steps.breaker import breaker_status, reset_breaker
from bot.shapes import JsonObject
from bot.web.bodies import Body, StrictRoute
from bot.web.context import Context
from bot.web.refusals import refusal
from bot.web.staff import Known, Reader

router = APIRouter(prefix="/breaker", tags=["breaker"], route_class=StrictRoute)


class Reset(Body):
    """Body of `reset`."""

    reason: Annotated[str, Field(max_length=1000)] = ""


@router.get("")
def status(context: Context, _staff: Reader) -> JsonObject:
    """Show the breaker: state, admissions in the window, and when it lets a trial through."""
    return {**breaker_status(context.desk)}


@router.post("/reset")
def reset(context: Context, staff: Known, body: Reset) -> JsonObject:
    """Close the breaker, with a reason, and show it."""
    answer = reset_breaker(context.desk, staff.identity, Channel.API, body.reason)
    if isinstance(answer, Refused):
        raise refusal(answer)
    return {**breaker_status(context.desk)}
