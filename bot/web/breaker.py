"""The refund breaker and the stop switch: how they stand, and what people do to them."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from agent.domain.breaker import Breaker
from agent.domain.decision import Refused
from agent.domain.roles import Channel
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.permission import Order
from agent.steps.stop import lift, stop_all
from bot.shapes import JsonObject
from bot.web.bodies import Body, StrictRoute
from bot.web.context import Context, WebContext
from bot.web.refusals import refusal
from bot.web.staff import Known, Reader, Staff

router = APIRouter(prefix="/breaker", tags=["breaker"], route_class=StrictRoute)


class Why(Body):
    """Body of `reset`, `stop` and `lift`."""

    reason: Annotated[str, Field(max_length=1000)] = ""


@router.get("")
def status(context: Context, _staff: Reader) -> JsonObject:
    """Show the breaker: state, admissions in the window, next trial, and who stopped everything."""
    return {**breaker_status(context.desk)}


@router.post("/reset")
def reset(context: Context, staff: Known, body: Why) -> JsonObject:
    """Close the breaker, with a reason, and show it."""
    return _shown(context, reset_breaker(context.desk, _order(staff, body)))


@router.post("/stop")
def stop(context: Context, staff: Known, body: Why) -> JsonObject:
    """Stop everything, with a reason: nothing executes until it is lifted."""
    return _shown(context, stop_all(context.desk, _order(staff, body)))


@router.post("/lift")
def lift_stop(context: Context, staff: Known, body: Why) -> JsonObject:
    """Lift the stop, with a reason: what was approved and is still usable runs."""
    return _shown(context, lift(context.desk, _order(staff, body)))


def _order(staff: Staff, body: Why) -> Order:
    return Order(staff.identity, Channel.API, body.reason)


def _shown(context: WebContext, answer: Breaker | Refused) -> JsonObject:
    context.hub.poke()
    if isinstance(answer, Refused):
        raise refusal(answer)
    return {**breaker_status(context.desk)}
