"""The sandbox's people, shop and payment book over HTTP."""

from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.ports import Declined, RefundRequest
from agent.providers.demo_shop import seed_demo_shop
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.ledger_payments import LedgerPayments
from agent.providers.shopify_csv import import_orders, read_orders
from bot.sandbox.cast import PEOPLE
from bot.sandbox.payments_faults import FaultyPayments
from bot.sandbox.problems import answer_problems
from bot.sandbox.shop_routes import ShopSandbox, shop_routes
from bot.sandbox.shop_session import session_routes
from storage.transaction import Store
from tests.support.doubles import START, CountingIds, HandClock
from tests.support.order_export import small_export
from tests.support.shared_data import full_export

SECRET = "a secret of the demo shop, 32 bytes or more"
CHAIR = RefundRequest("rd-1", ApprovalId("apr_1"), "ORD-1001", Money(500, "USD"))
HEADPHONES = {"minor": 12900, "currency": "USD", "display": "129.00 USD"}
ZERO = {"minor": 0, "currency": "USD", "display": "0.00 USD"}


@pytest.fixture
def payments(store: Store, clock: HandClock, ids: CountingIds) -> FaultyPayments:
    return FaultyPayments(LedgerPayments(store, clock, ids), lambda _: None)


@pytest.fixture
def client(
    store: Store, clock: HandClock, ids: CountingIds, payments: FaultyPayments
) -> Iterator[TestClient]:
    seed_demo_shop(store, clock.now())
    app = FastAPI()
    answer_problems(app)
    shop = ShopSandbox(
        people=PEOPLE,
        api_tokens={"ana": "token of ana"},
        jwt_secret=SECRET,
        shop=EmbeddedShop(store),
        ledger=LedgerPayments(store, clock, ids),
        faults=payments,
        clock=clock,
    )
    app.include_router(shop_routes(shop))
    app.include_router(session_routes(shop))
    with TestClient(app) as client:
        yield client


def orders_of(client: TestClient, customer_id: str) -> dict[str, Any]:
    (found,) = [c for c in client.get("/shop/customers").json() if c["id"] == customer_id]
    return {order["id"]: order for order in found["orders"]}


def test_people_are_listed_with_roles_and_token(client: TestClient) -> None:
    people = {person["id"]: person for person in client.get("/people").json()}
    assert list(people) == ["ana", "ben", "mia", "max", "olu", "sam", "gus"]
    assert people["ana"] == {
        "id": "ana",
        "name": PEOPLE[0].name,
        "slack_user_id": PEOPLE[0].slack_user_id,
        "roles": ["refund_approver"],
        "api_token": "token of ana",
    }
    assert people["gus"]["roles"] == []
    assert people["gus"]["api_token"] is None


def test_an_order_is_shown_with_its_money(client: TestClient) -> None:
    order = orders_of(client, "cus_ben")["ORD-1008"]
    assert order == {
        "id": "ORD-1008",
        "status": "paid",
        "fulfillment": "fulfilled",
        "placed_at": "2026-11-13T05:00:00+00:00",
        "total": HEADPHONES,
        "refunded": ZERO,
        "remaining": HEADPHONES,
        "final_sale": False,
        "disputed": False,
        "items": [
            {
                "name": "Noise-cancelling headphones in sand",
                "price": HEADPHONES,
                "quantity": 1,
                "final_sale": False,
            }
        ],
    }


def test_every_case_can_be_told_apart(client: TestClient) -> None:
    priya, jonas, yuki = (orders_of(client, f"cus_{name}") for name in ("priya", "jonas", "yuki"))
    assert priya["ORD-1006"]["status"] == "partly_refunded"
    assert priya["ORD-1010"]["final_sale"] is True
    assert [item["final_sale"] for item in priya["ORD-1010"]["items"]] == [False, True]
    assert priya["ORD-1011"]["final_sale"] is True
    assert (jonas["ORD-1014"]["status"], jonas["ORD-1014"]["remaining"]) == ("cancelled", ZERO)
    assert yuki["ORD-1007"]["disputed"] is True
    assert yuki["ORD-1012"]["total"] == {
        "minor": 24800,
        "currency": "JPY",
        "display": "24,800 JPY",
    }


def test_what_was_refunded_and_what_is_left_add_up(
    client: TestClient, payments: FaultyPayments
) -> None:
    payments.refund(CHAIR)
    chair = orders_of(client, "cus_clara")["ORD-1001"]
    assert chair["status"] == "partly_refunded"
    assert (chair["refunded"]["minor"], chair["remaining"]["minor"]) == (500, 15500)


def test_imported_orders_are_shown_and_found(store: Store, client: TestClient) -> None:
    import_orders(store, read_orders(small_export()), START, lambda _: None)
    (found,) = client.get("/shop/customers", params={"q": "#s2003"}).json()
    assert found["name"] == 'Peter "Pete" Grant'
    assert {o["id"]: o["status"] for o in found["orders"]} == {
        "#S2003": "cancelled",
        "#S2004": "unpaid",
    }


def test_of_many_customers_all_are_listed_and_the_demo_comes_first(
    store: Store, client: TestClient
) -> None:
    with full_export().open("rb") as lines:
        import_orders(store, read_orders(lines), START, lambda _: None)
    listed = client.get("/shop/customers").json()
    assert len(listed) == 445
    assert listed[0]["name"] == "Clara Nguyen"
    assert len(client.get("/shop/customers", params={"limit": 50}).json()) == 50
    (found,) = client.get("/shop/customers", params={"q": "W2611340"}).json()
    assert "#W2611340" in [order["id"] for order in found["orders"]]


def test_a_token_names_the_customer_for_a_quarter_of_an_hour(client: TestClient) -> None:
    answer = client.post("/shop/token", json={"customer_id": "cus_clara"})
    assert answer.status_code == 200
    assert list(answer.json()) == ["token"]
    token = answer.json()["token"]
    assert jwt.get_unverified_header(token)["alg"] == "HS256"
    # The demo's clock stands still; the signature and the audience are what is checked here.
    claims = jwt.decode(
        token,
        SECRET,
        algorithms=["HS256"],
        audience="supportdesk",
        options={"verify_exp": False, "verify_iat": False},
    )
    assert claims == {
        "sub": "cus_clara",
        "name": "Clara Nguyen",
        "email": "clara.nguyen@example.com",
        "aud": "supportdesk",
        "iat": int(START.timestamp()),
        "exp": int(START.timestamp()) + 900,
    }


def test_the_book_lists_every_refund(client: TestClient, payments: FaultyPayments) -> None:
    payments.refund(CHAIR)
    imported, paid = client.get("/payments").json()
    assert imported["key"] == "import-ORD-1006-3000"
    assert paid.pop("id").startswith("rf_")
    assert paid == {
        "key": "rd-1",
        "order_id": "ORD-1001",
        "amount": {"minor": 500, "currency": "USD", "display": "5.00 USD"},
        "status": "succeeded",
        "at": "2026-11-29T12:00:00+00:00",
    }


def test_ordered_faults_reach_the_provider(client: TestClient, payments: FaultyPayments) -> None:
    answer = client.post("/payments/faults", json={"kind": "declined", "times": 1})
    assert (answer.status_code, answer.content) == (204, b"")
    assert isinstance(payments.refund(CHAIR), Declined)


@pytest.mark.parametrize("customer_id", ["cus_nobody", "cus\x00"])
def test_an_unknown_customer_gets_no_token(client: TestClient, customer_id: str) -> None:
    answer = client.post("/shop/token", json={"customer_id": customer_id})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (404, "not_found")
    assert customer_id in problem["detail"]


# The shape of a request is judged before any database is asked.
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/shop/token", {}, "customer_id"),
        ("/shop/token", {"customer_id": 7}, "customer_id"),
        ("/shop/token", {"customer_id": "cus_ben", "email": "x"}, "email"),
        ("/payments/faults", {"kind": "explode", "times": 1}, "kind"),
        ("/payments/faults", {"kind": "slow", "times": 0}, "times"),
        ("/payments/faults", {"kind": "slow", "times": 1001}, "times"),
        ("/payments/faults", {"kind": "slow", "times": "1"}, "times"),
        ("/payments/faults", {"kind": "slow", "often": 1}, "often"),
        ("/payments/faults", [], "body"),
    ],
)
def test_a_bad_request_is_answered_with_what_is_wrong(
    client: TestClient, path: str, body: object, named: str
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (422, "invalid")
    assert named in problem["detail"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=many", f"q={'x' * 201}"])
def test_a_bad_search_is_refused(client: TestClient, query: str) -> None:
    answer = client.get(f"/shop/customers?{query}")
    assert answer.status_code == 422
    assert query.partition("=")[0] in answer.json()["detail"]


def test_the_shop_gives_its_pages_a_token_for_whoever_is_signed_in(client: TestClient) -> None:
    assert client.get("/shop/session").json() == {"customer": None}
    assert client.post("/shop/desk-token").status_code == 204
    nobody = client.post("/shop/sign-in", json={"customer_id": "cus_nobody"})
    assert nobody.status_code == 404

    signed_in = client.post("/shop/sign-in", json={"customer_id": "cus_clara"})
    assert signed_in.json()["customer"]["name"] == "Clara Nguyen"
    for trait in ("HttpOnly", "SameSite=strict", "Path=/sandbox/shop"):
        assert trait in signed_in.headers["set-cookie"]
    # The cookie's path is the one under which the sandbox has these routes.
    cookie = {"cookie": f"shopstream_customer={signed_in.cookies['shopstream_customer']}"}
    assert client.get("/shop/session", headers=cookie).json() == signed_in.json()
    token = client.post("/shop/desk-token", headers=cookie).json()["token"]
    claims = jwt.decode(token, SECRET, ["HS256"], {"verify_exp": False}, audience="supportdesk")
    assert claims["sub"] == "cus_clara"

    assert "Max-Age=0" in client.post("/shop/sign-out", json={}).headers["set-cookie"]
