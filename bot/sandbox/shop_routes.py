"""The sandbox's people, shop and payment book, for the demo page and for testers (http.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

import jwt
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from agent.domain.ids import CustomerId
from agent.domain.money import Money, money_json
from agent.ports import Clock, Customer, PaymentView, ProviderRefund, ShopOrder
from agent.providers.embedded_shop import CustomerOrders, EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.tools.orders import order_status
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from bot.sandbox.problems import Refused
from bot.sandbox.slack_config import Person

AUDIENCE = "supportdesk"
TOKEN_LIFE = timedelta(minutes=15)

# As many as a person looks through; `q` and `limit` reach the others.
_SHOWN = 500
_MOST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class ShopSandbox:
    """What the routes show and do.

    `api_tokens` holds each person's bearer token by `Person.id`; whoever has none shows null.
    `jwt_secret` signs customers' tokens with HS256, so it has at least 32 bytes.
    """

    people: tuple[Person, ...]
    api_tokens: Mapping[str, str] = field(repr=False)
    jwt_secret: str = field(repr=False)
    shop: EmbeddedShop
    ledger: LedgerPayments
    faults: FaultyPayments
    clock: Clock


class TokenRequest(BaseModel):
    """Body of `POST /shop/token`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    customer_id: Annotated[str, Field(min_length=1, max_length=200)]


class FaultRequest(BaseModel):
    """Body of `POST /payments/faults`: the next `times` refunds go wrong so."""

    model_config = ConfigDict(extra="forbid")

    kind: FaultKind
    times: Annotated[int, Field(ge=1, le=1000, strict=True)] = 1


def shop_routes(sandbox: ShopSandbox) -> APIRouter:
    """Make the routes, for an application whose errors are problem answers."""
    router = APIRouter()

    @router.get("/people")
    def people() -> list[dict[str, object]]:
        return [_person(one, sandbox.api_tokens.get(one.id)) for one in sandbox.people]

    @router.get("/shop/customers")
    def customers(
        q: Annotated[str, Query(max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=_MOST_SHOWN)] = _SHOWN,
    ) -> list[dict[str, object]]:
        found = sandbox.shop.directory(q, limit)
        views = sandbox.ledger.views([order.id for one in found for order in one.orders])
        return [_customer(one, views) for one in found]

    @router.post("/shop/token")
    def token(body: TokenRequest) -> dict[str, str]:
        customer = sandbox.shop.customer(CustomerId(body.customer_id))
        if customer is None:
            raise Refused(404, "not_found", f"there is no customer {body.customer_id}")
        return {"token": sign(customer, sandbox)}

    @router.get("/payments")
    def payments() -> list[dict[str, object]]:
        return [_refund(one) for one in sandbox.ledger.book()]

    @router.post("/payments/faults", status_code=204)
    def faults(body: FaultRequest) -> None:
        sandbox.faults.plan(body.kind, body.times)

    return router


def _person(person: Person, api_token: str | None) -> dict[str, object]:
    return {
        "id": person.id,
        "name": person.name,
        "slack_user_id": person.slack_user_id,
        "roles": list(person.roles),
        "api_token": api_token,
    }


def _customer(found: CustomerOrders, views: Mapping[str, PaymentView]) -> dict[str, object]:
    return {
        "id": found.customer.id,
        "name": found.customer.name,
        "email": found.customer.email,
        "orders": [_order(order, views.get(order.id)) for order in found.orders],
    }


def _order(order: ShopOrder, view: PaymentView | None) -> dict[str, object]:
    currency = order.total.currency
    captured = Money(0, currency) if view is None else view.captured
    returned = () if view is None else view.refunds
    refunded = Money(sum(one.amount.minor for one in returned), currency)
    items = [
        {
            "name": line.name,
            "price": money_json(line.price),
            "quantity": line.quantity,
            "final_sale": line.final_sale,
        }
        for line in order.lines
    ]
    return {
        "id": order.id,
        "status": order_status(order, captured, refunded),
        "fulfillment": order.fulfillment,
        "placed_at": order.placed_at.isoformat(),
        "total": money_json(order.total),
        "refunded": money_json(refunded),
        "remaining": money_json(captured.minus(refunded)),
        "final_sale": any(line.final_sale for line in order.lines),
        "disputed": view is not None and view.disputed,
        "items": items,
    }


def _refund(refund: ProviderRefund) -> dict[str, object]:
    return {
        "id": refund.id,
        "key": refund.key,
        "order_id": refund.order_id,
        "amount": money_json(refund.amount),
        "status": refund.status.value,
        "at": refund.at.isoformat(),
    }


def sign(customer: Customer, sandbox: ShopSandbox) -> str:
    """Return the shop's token for a customer, good for 15 minutes."""
    now = sandbox.clock.now()
    claims = {
        "sub": customer.id,
        "name": customer.name,
        "email": customer.email,
        "aud": AUDIENCE,
        "iat": now,
        "exp": now + TOKEN_LIFE,
    }
    return jwt.encode(claims, sandbox.jwt_secret, algorithm="HS256")
