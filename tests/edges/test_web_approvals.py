"""The approvals API over HTTP, on both databases."""

import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import NamedTuple

import pytest

from agent.desk import Lane
from agent.domain.approvals import Approval, Status
from agent.domain.conversation import RunState
from agent.domain.decision import RefusalCode
from agent.domain.money import Money
from agent.domain.reviews import ReviewState
from agent.domain.roles import ActorKind, Role
from agent.steps.execute import execute_due
from bot.shapes import REFUSAL_STATUS
from bot.web.hub import Hub, StoredLogs
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Headers, Web, running_web, running_web_on_sqlite


class Refused(NamedTuple):
    """A server for what changes nothing, an approver, and an approval that stays pending."""

    web: Web
    ana: Headers
    parked: Approval


REASON = "outside the return window"
CATEGORY = "not_eligible"


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        yield web


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Refused]:
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk")) as web:
        yield Refused(web, web.staff("ana", Role.REFUND_APPROVER), web.parks("160.00"))


def test_the_whole_approval_is_shown_to_whoever_has_a_role(web: Web) -> None:
    olu = web.staff("olu", Role.ONCALL)
    parked = web.parks("160.00")
    shown = web.get(f"/approvals/{parked.id}", olu).json()
    assert shown == {
        "id": parked.id,
        "run_id": parked.run_id,
        "conversation_id": parked.conversation_id,
        "tool": "issue_refund",
        "payload": {
            "order_id": "ORD-1001",
            "customer_id": parked.customer_id,
            "amount": {"minor": 16000, "currency": "USD"},
        },
        "payload_hash": parked.payload_hash,
        "proposed": None,
        "status": "pending",
        "risk": {
            "level": "high",
            "impact": "high",
            "reversible": "no",
            "triggers": "the payment provider pays the customer back",
            "reasons": [{"code": "amount_over_limit", "text": parked.findings[0].text}],
            "confidence": "0.95",
            "amount": {"minor": 16000, "currency": "USD", "display": "160.00 USD"},
            "order": {
                "total": {"minor": 16000, "currency": "USD", "display": "160.00 USD"},
                "captured": {"minor": 16000, "currency": "USD", "display": "160.00 USD"},
                "refunded": {"minor": 0, "currency": "USD", "display": "0.00 USD"},
                "remaining": {"minor": 16000, "currency": "USD", "display": "160.00 USD"},
            },
        },
        "requested_by": parked.requested_by,
        "tier": {"role": "refund_approver", "approvals_needed": 1},
        "questions": [],
        "decisions": [],
        "created_at": "2026-11-29T12:00:00Z",
        "expires_at": "2026-11-29T12:30:00Z",
        "supersedes": None,
        "superseded_by": None,
        "attempts": 0,
        "result": None,
        "model": "scripted-1",
        "policy_version": parked.policy_version,
    }
    assert web.get("/approvals", olu).json() == {"items": [shown], "next_cursor": None}


def test_an_approval_is_durable_at_once_and_paid_once(web: Web) -> None:
    ana, ben = web.staff("ana", Role.REFUND_APPROVER), web.staff("ben", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    path, body = f"/approvals/{parked.id}/approve", {"payload_hash": parked.payload_hash}

    answer = web.post(path, body, ana)
    assert answer.status_code == 200
    assert answer.json()["status"] == "approved"
    assert answer.json()["decisions"] == [
        {
            "actor": "Ana",
            "verdict": "approve",
            "channel": "api",
            "at": "2026-11-29T12:00:00Z",
            "reason": "",
            "break_glass": False,
        }
    ]
    late = web.post(path, body, ben)
    assert late.status_code == 409
    assert late.headers["content-type"] == "application/problem+json"
    assert late.json()["code"] == "already_decided"
    assert late.json()["decided"] == {
        "actor": "Ana",
        "verdict": "approve",
        "channel": "api",
        "at": "2026-11-29T12:00:00Z",
    }
    web.story.model.says("It is paid.")
    web.story.rests()
    assert web.post(path, body, ana).json()["code"] == "already_decided"
    assert web.story.paid() == [("ORD-1001", Money(16000, "USD"))]
    shown = web.get(f"/approvals/{parked.id}", ana).json()
    assert (shown["status"], shown["attempts"]) == ("executed", 1)
    assert shown["result"] is not None


def test_whoever_waits_reads_the_outcome(store: Store, clock: HandClock, ids: CountingIds) -> None:
    heard: SimpleQueue[Lane] = SimpleQueue()
    # Looks by itself too seldom to help: only a poke can end the wait in time.
    hub = Hub(StoredLogs(store), interval_s=3600)

    def work(web: Web) -> None:
        while heard.get() is not Lane.EXECUTE:
            pass
        execute_due(web.story.desk)
        hub.poke()

    with running_web(store, clock, ids, wake=heard.put, hub=hub) as web:
        ana = web.staff("ana", Role.REFUND_APPROVER)
        parked = web.parks("160.00")
        while not heard.empty():
            heard.get()
        executor = threading.Thread(target=work, args=(web,))
        executor.start()
        body = {"payload_hash": parked.payload_hash}
        answer = web.post(f"/approvals/{parked.id}/approve?wait=30", body, ana)
        executor.join()
        assert answer.json()["status"] == "executed"


def test_a_wait_ends_with_the_row_as_it_is(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    body = {"payload_hash": parked.payload_hash}
    answer = web.post(f"/approvals/{parked.id}/approve?wait=0.2", body, ana)
    assert answer.json()["status"] == "approved"
    with_thirty_one = web.post(f"/approvals/{parked.id}/approve?wait=31", body, ana)
    assert with_thirty_one.status_code == 422
    assert with_thirty_one.json()["errors"][0]["field"] == "wait"


def test_a_rejection_needs_words_for_the_customer(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    path, seen = f"/approvals/{parked.id}/reject", {"payload_hash": parked.payload_hash}

    silent = web.post(path, {**seen, "category": CATEGORY, "reason": " "}, ana)
    assert (silent.status_code, silent.json()["code"]) == (422, "reason_required")
    vague = web.post(path, {**seen, "category": "because", "reason": REASON}, ana)
    assert (vague.status_code, vague.json()["code"]) == (422, "invalid")
    assert vague.json()["errors"][0]["field"] == "category"
    none = web.post(path, {**seen, "reason": REASON}, ana)
    assert (none.status_code, none.json()["code"]) == (422, "invalid")
    assert web.get(f"/approvals/{parked.id}", ana).json()["status"] == "pending"

    body = {**seen, "category": CATEGORY, "reason": REASON, "note": "third time this week"}
    answer = web.post(path, body, ana)
    assert answer.json()["status"] == "rejected"
    assert answer.json()["decisions"][0]["reason"] == REASON
    assert "third time" not in answer.text
    assert web.story.paid() == []


def test_an_edit_answers_with_the_new_row(web: Web) -> None:
    ana, ben = web.staff("ana", Role.REFUND_APPROVER), web.staff("ben", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    amount = {"minor": 12000, "currency": "USD", "display": "whatever was echoed"}
    body = {"payload_hash": parked.payload_hash, "edits": {"amount": amount}, "reason": "worn"}
    answer = web.post(f"/approvals/{parked.id}/edit", body, ana)
    assert answer.status_code == 200
    new = answer.json()
    assert new["supersedes"] == parked.id
    assert new["payload"]["amount"] == {"minor": 12000, "currency": "USD"}
    assert new["payload_hash"] != parked.payload_hash
    late = web.post(f"/approvals/{parked.id}/approve", {"payload_hash": parked.payload_hash}, ben)
    assert (late.status_code, late.json()["code"]) == (409, "superseded")
    assert late.json()["superseded_by"] == new["id"]
    web.story.model.says("They paid 120.00.")
    web.story.rests()
    assert web.story.paid() == [("ORD-1001", Money(12000, "USD"))]


@pytest.mark.parametrize(
    ("amount", "field"),
    [
        ({"minor": 12000.5, "currency": "USD"}, "edits.amount.minor"),
        ({"minor": "12000", "currency": "USD"}, "edits.amount.minor"),
        ({"minor": True, "currency": "USD"}, "edits.amount.minor"),
        ({"minor": 10**12, "currency": "USD"}, "edits.amount.minor"),
        ({"minor": 12000}, "edits.amount.currency"),
        ({"minor": 12000, "currency": "XXY"}, "currency"),
        ({"minor": 12000, "currency": "USD", "customer": "x"}, "edits.amount.customer"),
        ({"minor": 0, "currency": "USD"}, None),
        ({"minor": -1, "currency": "USD"}, None),
        ({"minor": 16001, "currency": "USD"}, None),
        ({"minor": 12000, "currency": "EUR"}, None),
    ],
)
def test_an_edit_that_cannot_be_leaves_the_row_waiting(
    refused: Refused, amount: dict[str, object], field: str | None
) -> None:
    web, ana, parked = refused
    body = {"payload_hash": parked.payload_hash, "edits": {"amount": amount}, "reason": "worn"}
    answer = web.post(f"/approvals/{parked.id}/edit", body, ana)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    if field is not None:
        assert [one["field"] for one in answer.json()["errors"]] == [field]
    assert web.story.approval(parked.id).status is Status.PENDING


def test_only_the_right_people_decide(web: Web) -> None:
    parked = web.parks("689.00", "ORD-1005")
    path, body = f"/approvals/{parked.id}/approve", {"payload_hash": parked.payload_hash}
    ana = web.staff("ana", Role.REFUND_APPROVER)
    gus = web.staff("gus", Role.REFUND_MANAGER, kind=ActorKind.GUEST)
    sam = web.staff("sam")
    gone = web.staff("gone", Role.REFUND_MANAGER, active=False)

    for who in (ana, gus, sam):
        refused = web.post(path, body, who)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert web.story.trail().count("decision.refused") == 3
    assert web.post(path, body, gone).status_code == 401
    assert web.post(path, body).status_code == 401
    assert web.story.approval(parked.id).status is Status.PENDING
    mia = web.staff("mia", Role.REFUND_MANAGER)
    assert web.post(path, body, mia).status_code == 200


def test_reading_needs_a_role_and_a_known_token(web: Web) -> None:
    parked = web.parks("160.00")
    sam = web.staff("sam")
    gus = web.staff("gus", Role.REFUND_APPROVER, kind=ActorKind.GUEST)
    gone = web.staff("gone", Role.REFUND_APPROVER, active=False)
    for path in ("/approvals", f"/approvals/{parked.id}", "/runs", "/breaker"):
        for who in (sam, gus):
            refused = web.get(path, who)
            assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        for stranger in (None, gone):
            refused = web.get(path, stranger)
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
            assert refused.headers["www-authenticate"] == "Bearer"


def test_a_forged_hash_changes_nothing(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    forged = web.post(f"/approvals/{parked.id}/approve", {"payload_hash": "0" * 64}, ana)
    assert (forged.status_code, forged.json()["code"]) == (409, "payload_changed")
    assert "decision.refused" in web.story.trail()
    assert web.story.approval(parked.id).status is Status.PENDING


def test_after_the_deadline_it_is_too_late(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    web.story.clock.advance(minutes=30)
    body = {"payload_hash": parked.payload_hash}
    late = web.post(f"/approvals/{parked.id}/approve", body, ana)
    assert (late.status_code, late.json()["code"]) == (409, "expired")
    assert web.get(f"/approvals/{parked.id}", ana).json()["status"] == "expired"


def test_what_is_not_there_is_not_found(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    for name in ("apr_00000000000000000000000000", "nonsense", "%00", "a" * 70):
        for answer in (
            web.get(f"/approvals/{name}", ana),
            web.post(f"/approvals/{name}/approve", {"payload_hash": "0" * 64}, ana),
            web.get(f"/runs/{name}", ana),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), name


def test_the_queue_comes_in_pages_oldest_first(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = [web.parks("60.00", order).id for order in ("ORD-1001", "ORD-1005", "ORD-1008")]
    first = web.get("/approvals", ana, limit=2).json()
    assert [one["id"] for one in first["items"]] == parked[:2]
    assert first["next_cursor"] == parked[1]
    second = web.get("/approvals", ana, limit=2, cursor=first["next_cursor"]).json()
    assert [one["id"] for one in second["items"]] == parked[2:]
    assert second["next_cursor"] is None
    assert web.get("/approvals", ana, status="executed").json()["items"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"status": "open"}, "status"),
        ({"cursor": "a\0"}, "cursor"),
        ({"cursor": "ü"}, "cursor"),
        ({"cursor": "bogus"}, "cursor"),
        ({"cursor": "apr_1"}, "cursor"),
        ({"staus": "open"}, "staus"),
    ],
)
def test_a_wrong_question_names_the_parameter(
    refused: Refused, query: dict[str, object], field: str
) -> None:
    web, ana, _ = refused
    answer = web.get("/approvals", ana, **query)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert [one["field"] for one in answer.json()["errors"]] == [field]


def test_a_parameter_that_a_route_does_not_take_is_named(refused: Refused) -> None:
    web, ana, parked = refused
    for method, path in (
        ("GET", f"/approvals/{parked.id}"),
        ("POST", f"/approvals/{parked.id}/revoke"),
        ("POST", "/breaker/stop"),
        ("GET", "/runs"),
        ("GET", f"/runs/{parked.run_id}"),
        ("POST", f"/reviews/{parked.id}/right"),
        ("GET", "/customers/paused"),
    ):
        query = {"limits": "5", "also": "x"}
        answer = web.client.request(method, path, headers=ana(), params=query, json={})
        assert answer.status_code == 422, path
        assert answer.json()["errors"] == [
            {"field": "also", "problem": "is not a known parameter"},
            {"field": "limits", "problem": "is not a known parameter"},
        ]


@pytest.mark.parametrize(
    ("path", "name", "known"),
    [
        ("/runs", "status", [*RunState, "pending"]),
        ("/approvals", "status", list(Status)),
        ("/reviews", "state", list(ReviewState)),
    ],
)
def test_a_wrong_status_is_answered_with_those_there_are(
    refused: Refused, path: str, name: str, known: list[str]
) -> None:
    web, ana, _ = refused
    (fault,) = web.get(path, ana, **{name: "bogus"}).json()["errors"]
    assert fault["field"] == name
    assert fault["problem"].startswith("is not one of ")
    assert all(one in fault["problem"] for one in known)


def test_runs_and_their_checkpoint(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    for status in ("pending", "parked"):
        listed = web.get("/runs", ana, status=status).json()["items"]
        assert [(one["run_id"], one["status"]) for one in listed] == [(parked.run_id, "parked")]
    assert web.get("/runs", ana, status="done").json() == {"items": [], "next_cursor": None}
    assert len(web.get("/runs", ana).json()["items"]) == 1
    stored = web.get(f"/runs/{parked.run_id}", ana).json()
    assert stored["status"] == "parked"
    assert [one["name"] for one in stored["pending_tools"]] == ["issue_refund"]


def test_the_breaker_is_shown_and_reset_by_a_manager(web: Web) -> None:
    ana, mia = web.staff("ana", Role.REFUND_APPROVER), web.staff("mia", Role.REFUND_MANAGER)
    closed = {
        "state": "closed",
        "admitted_in_window": 0,
        "window_s": 60,
        "max": 5,
        "opens_again_at": None,
        "stopped": False,
        "stop": None,
    }
    assert web.get("/breaker", ana).json() == closed
    for number, order in enumerate(
        ("ORD-1001", "ORD-1008", "ORD-1005", "ORD-1006", "ORD-1017", "ORD-1018")
    ):
        owner = web.story.desk.shop.order(order)
        assert owner is not None
        web.story.asks_refund(
            web.story.opens_chat(owner.customer_id), "5.00", order, call_id=f"call_{number}"
        )
    assert web.get("/breaker", ana).json() == closed | {
        "state": "open",
        "admitted_in_window": 5,
        "opens_again_at": "2026-11-29T12:00:30Z",
    }
    refused = web.post("/breaker/reset", {"reason": "looked at all five"}, ana)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    silent = web.post("/breaker/reset", {}, mia)
    assert (silent.status_code, silent.json()["code"]) == (422, "reason_required")
    assert web.post("/breaker/reset", {"reason": "looked at all five"}, mia).json() == closed


def test_every_refusal_has_its_status() -> None:
    assert set(REFUSAL_STATUS) == set(RefusalCode)
