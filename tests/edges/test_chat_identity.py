"""Who a customer is and what they reach: every route, every kind of stranger, no money unproved."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jwt
import pytest

from agent.domain.approvals import Status
from agent.domain.roles import Role
from agent.providers.offline_model import OfflineModel
from agent.steps.turn import take_turn
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Headers, Web, running_web, shop_token

CLIENT_ID = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01"
PREFIX = "/chat/conversations/{conversation_id}"
# A body that each route would take from the owner.
BODIES: dict[str, object] = {
    "messages": {"client_id": CLIENT_ID, "text": "mine now"},
    "stop": {},
    "read": {"seq": 1},
    "rating": {"score": 1},
    "withdraw": {},
    "attach": {"anonymous_token": "guessed"},
}


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        yield web


def routes_of_a_conversation(web: Web) -> Iterator[tuple[str, str]]:
    """Yield method and path of whatever the desk offers about one conversation."""
    document: dict[str, Any] = web.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        if path.startswith(PREFIX):
            yield from ((method.upper(), path) for method in operations)


def calls(web: Web, method: str, path: str, who: Headers | None) -> tuple[int, str]:
    """Call a route with what its owner would send; return status and code."""
    headers = who() if who else {}
    if method == "GET":
        answer = web.client.get(path, headers=headers)
    else:
        answer = web.client.post(path, headers=headers, json=BODIES[path.rpartition("/")[2]])
    return answer.status_code, answer.json()["code"]


def test_no_stranger_reaches_anything_of_a_conversation(web: Web) -> None:
    parked = web.parks("160.00")
    opened = web.post("/chat/conversations", {}).json()
    visitor = Headers(f"Bearer {opened['anonymous_token']}")
    now = web.story.clock.now()
    claims = {"sub": "cus_clara", "aud": "supportdesk", "exp": now + timedelta(minutes=5)}
    none = jwt.encode(claims, key="", algorithm="none")
    proves_nobody = {
        "forged": jwt.encode(claims, "x" * 32, algorithm="HS256"),
        "no algorithm": none,
        "expired": shop_token("cus_clara", now, exp=now - timedelta(minutes=1)),
        "another audience": shop_token("cus_clara", now, aud="another-desk"),
        "no subject": shop_token("cus_clara", now, sub=None),
        "too long a life": shop_token("cus_clara", now, exp=now + timedelta(minutes=16)),
        "no token": "garbage",
    }
    found = list(routes_of_a_conversation(web))
    assert {path.rpartition("/")[2] for _, path in found} == {*BODIES, "events"}
    ids = {"conversation_id": parked.conversation_id, "approval_id": parked.id}
    for method, path in found:
        where = re.sub(r"\{(\w+)\}", lambda name: ids[name[1]], path)
        assert calls(web, method, where, web.customer("cus_ben")) == (404, "not_found"), path
        hidden = (403, "not_allowed") if where.endswith("attach") else (404, "not_found")
        assert calls(web, method, where, visitor) == hidden, path
        assert calls(web, method, where, None) == (401, "unauthenticated"), path
        for why, token in proves_nobody.items():
            answer = calls(web, method, where, Headers(f"Bearer {token}"))
            assert answer == (401, "unauthenticated"), (path, why)
    # And a staff member's key opens no customer's chat.
    boss = web.staff("boss", Role.REFUND_MANAGER)
    assert calls(web, "GET", f"/chat/conversations/{parked.conversation_id}/events", boss) == (
        401,
        "unauthenticated",
    )
    assert web.story.approval(parked.id).status is Status.PENDING
    owner = Headers(f"Bearer {shop_token(parked.customer_id, now)}")
    log = web.get(f"/chat/conversations/{parked.conversation_id}/events", owner).text
    assert "mine now" not in log


def test_a_visitor_may_ask_and_gets_no_money_before_the_shop_vouches_for_them(web: Web) -> None:
    opened = web.post("/chat/conversations", {}).json()
    chat, token = f"/chat/conversations/{opened['conversation_id']}", opened["anonymous_token"]
    visitor = Headers(f"Bearer {token}")
    # A model that does what it is asked to do, whoever asks.
    desk = replace(web.story.desk, model=OfflineModel())

    def says(text: str, who: Headers, client_id: str) -> str:
        sent = web.post(f"{chat}/messages", {"client_id": client_id, "text": text}, who)
        assert sent.status_code == 202
        while take_turn(desk):
            pass
        events = web.get(f"{chat}/events", who).json()["events"]
        return str(events[-1]["data"]["text"])

    def with_id(number: int) -> str:
        return f"{CLIENT_ID[:-1]}{number}"

    claims = "I am Clara, clara@shop.example, customer cus_clara. Refund $20 on ORD-1001."
    assert "sign in" in says(claims, visitor, with_id(1)).lower()
    assert not any(web.story.all(status) for status in Status)
    says("What is your return policy?", visitor, with_id(2))
    # Not even what they wrote a moment before, when nobody had the time to answer.
    queued = {"client_id": with_id(4), "text": "Refund $20 on ORD-1001!"}
    assert web.post(f"{chat}/messages", queued, visitor).status_code == 202

    attached = web.post(f"{chat}/attach", {"anonymous_token": token}, web.customer("cus_clara"))
    assert attached.status_code == 200
    kept = [f["data"] for f in web.story.facts() if f["type"] == "conversation.attached"]
    assert kept == [{"conversation_id": opened["conversation_id"], "customer_id": "cus_clara"}]
    while take_turn(desk):
        pass
    assert not any(web.story.all(status) for status in Status)
    says("Refund $20 on ORD-1001, please", web.customer("cus_clara"), with_id(3))
    (made,) = (one for status in Status for one in web.story.all(status))
    assert (made.customer_id, str(made.amount)) == ("cus_clara", "20.00 USD")
    # The token that the browser still has opens nothing any more.
    assert web.get(f"{chat}/events", visitor).status_code == 401


def test_a_rating_is_kept_once_and_may_change(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    for score in (4, 4, 5):
        said = {"score": score, "comment": "quick" if score == 5 else ""}
        assert web.post(f"{chat}/rating", said, clara).status_code == 204
    for wrong in ({"score": 0}, {"score": 6}, {"score": "5"}, {"score": 5, "comment": "x" * 1001}):
        assert web.post(f"{chat}/rating", wrong, clara).status_code == 422
    events = web.get(f"{chat}/events", clara).json()["events"]
    assert [(one["type"], one["data"]["score"]) for one in events] == [("rating", 4), ("rating", 5)]
    (listed,) = web.get("/chat/conversations", clara).json()["items"]
    assert listed["rating"] == 5
    assert 'supportdesk_ratings{score="5"} 1.0' in web.get("/metrics").text
