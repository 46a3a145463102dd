"""Signing in at the demo shop, and the token endpoint that a shop gives its pages."""

from typing import Annotated

from fastapi import APIRouter, Cookie, Response
from fastapi.responses import JSONResponse

from agent.domain.ids import CustomerId
from agent.ports import Customer
from bot.sandbox.problems import Refused
from bot.sandbox.shop_routes import ShopSandbox, TokenRequest, sign

TOKEN_PATH = "/shop/desk-token"  # noqa: S105 - a path
_COOKIE = "shopstream_customer"
_COOKIE_PATH = "/sandbox/shop"

Session = Annotated[str | None, Cookie(alias=_COOKIE, max_length=200)]


def session_routes(sandbox: ShopSandbox) -> APIRouter:
    """Make the routes, for an application whose errors are problem answers.

    The cookie is the whole session: in this shop everybody may be anybody.
    """
    router = APIRouter()

    @router.get("/shop/session")
    def session(customer_id: Session = None) -> dict[str, object]:
        customer = _customer(sandbox, customer_id)
        return {"customer": None if customer is None else _shown(customer)}

    @router.post("/shop/sign-in")
    def sign_in(body: TokenRequest, response: Response) -> dict[str, object]:
        customer = _customer(sandbox, body.customer_id)
        if customer is None:
            raise Refused(404, "not_found", f"there is no customer {body.customer_id}")
        response.set_cookie(
            _COOKIE, customer.id, path=_COOKIE_PATH, httponly=True, samesite="strict"
        )
        return {"customer": _shown(customer)}

    @router.post("/shop/sign-out", status_code=204)
    def sign_out(response: Response) -> None:
        response.delete_cookie(_COOKIE, path=_COOKIE_PATH, httponly=True, samesite="strict")

    @router.post("/shop/desk-token")
    def desk_token(customer_id: Session = None) -> Response:
        customer = _customer(sandbox, customer_id)
        if customer is None:
            return Response(status_code=204)
        return JSONResponse({"token": sign(customer, sandbox)})

    return router


def _customer(sandbox: ShopSandbox, customer_id: str | None) -> Customer | None:
    return None if customer_id is None else sandbox.shop.customer(CustomerId(customer_id))


def _shown(customer: Customer) -> dict[str, object]:
    return {"id": customer.id, "name": customer.name, "email": customer.email}
