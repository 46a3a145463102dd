"""Events of the payment provider: signed, heard once, and never trusted about the refund."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from agent.domain.ids import ApprovalId
from agent.steps.hear import ProviderEvent, hear
from bot.shapes import JsonObject
from bot.web.bodies import read_body
from bot.web.context import Context, WebContext
from bot.web.metrics import WebhookAnswer
from bot.web.params import is_id
from bot.web.problems import Problem, invalid, not_found
from bot.web.signatures import BadSignature, WebhookKeys

# An event holds a whole object of the provider, customer and card and all.
_MAX_BYTES = 256 * 1024
# Whatever such an event says, it only makes the desk look the refund up.
_ABOUT_REFUNDS = frozenset(
    {
        "refund.created",
        "refund.updated",
        "refund.failed",
        "charge.refund.updated",
        "charge.refunded",
    }
)

router = APIRouter(tags=["webhooks"])


class _Part(BaseModel):
    """What the desk reads of an event; the provider adds fields as it likes."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Object(_Part):
    metadata: Any = None


class _Data(_Part):
    object: _Object


class _Event(_Part):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,255}$")]
    type: Annotated[str, Field(pattern=r"^[a-z0-9_.]{1,100}$")]
    data: _Data

    def heard(self) -> ProviderEvent:
        """Return the event as the step takes it."""
        return ProviderEvent(self.id, self.type, self._approval())

    def _approval(self) -> ApprovalId | None:
        # The row's id, written into the refund's metadata: the only link when an answer was lost.
        match self.data.object.metadata:
            case {"desk_refund_id": str(named)} if self.type in _ABOUT_REFUNDS and is_id(named):
                return ApprovalId(named)
            case _:
                return None


@router.post("/webhooks/payments")
async def payments(request: Request, context: Context) -> JsonObject:
    """Hear an event of the payment provider; answers when it is stored."""
    if context.webhook_keys is None:
        raise not_found("page")
    body = await read_body(request, _MAX_BYTES)
    event = _checked(context, context.webhook_keys, request, body)
    is_new = await run_in_threadpool(hear, context.desk, event)
    context.metrics.count_webhook(WebhookAnswer.HEARD if is_new else WebhookAnswer.REPEAT)
    context.hub.poke()
    return {"received": True}


def _checked(
    context: WebContext, keys: WebhookKeys, request: Request, body: bytes
) -> ProviderEvent:
    try:
        header = request.headers.get("stripe-signature", "")
        keys.check(header, body, context.desk.clock.now())
        return _Event.model_validate(json.loads(body)).heard()
    except BadSignature as bad:
        context.metrics.count_webhook(WebhookAnswer.BAD_SIGNATURE)
        raise Problem(400, "bad_signature", str(bad)) from bad
    except (ValidationError, ValueError, RecursionError):
        context.metrics.count_webhook(WebhookAnswer.INVALID)
        raise invalid("body", "is no event of the provider") from None
