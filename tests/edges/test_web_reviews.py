"""The review queue over HTTP: what ran without a person, looked at afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.domain.roles import Role
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Headers, Web, running_web, running_web_on_sqlite

WHY = {"reason": "the chair was never delivered"}


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        web.story.model.otherwise = "I see."
        yield web


def ran(web: Web, amount: str = "30.00", order: str = "ORD-1001") -> Approval:
    """Let a refund over half the limit run by itself, which is always looked at."""
    owner = web.story.desk.shop.order(order)
    assert owner is not None
    before = {approval.id for approval in web.story.all(Status.EXECUTED)}
    web.story.asks_refund(web.story.opens_chat(owner.customer_id), amount, order)
    (new,) = (a for a in web.story.all(Status.EXECUTED) if a.id not in before)
    return new


@pytest.fixture
def ana(web: Web) -> Headers:
    return web.staff("ana", Role.REFUND_APPROVER)


def test_what_ran_by_itself_waits_for_a_look(web: Web, ana: Headers) -> None:
    assert web.get("/reviews", ana).json() == {"items": [], "next_cursor": None}
    effect = ran(web)
    (shown,) = web.get("/reviews", ana).json()["items"]
    assert shown == {
        "approval_id": effect.id,
        "customer_id": effect.customer_id,
        "why": "large",
        "state": "open",
        "asked_at": "2026-11-29T12:00:00Z",
        "answered_at": None,
        "actor": None,
        "reason": None,
        "approval": web.get(f"/approvals/{effect.id}", ana).json(),
    }
    assert web.get("/reviews", web.staff("sam")).status_code == 403
    assert web.get("/reviews").status_code == 401


def test_a_look_that_finds_nothing_wrong(web: Web, ana: Headers) -> None:
    effect = ran(web)
    path = f"/reviews/{effect.id}/right"
    assert web.post(path, {}, web.staff("olu", Role.ONCALL)).json()["code"] == "not_allowed"
    assert web.post(path, {"reason": "x"}, ana).json()["code"] == "invalid"
    answer = web.post(path, {}, ana)
    assert (answer.status_code, answer.json()["state"], answer.json()["actor"]) == (
        200,
        "right",
        "Ana",
    )
    again = web.post(f"/reviews/{effect.id}/flag", WHY, ana)
    assert (again.status_code, again.json()["code"]) == (409, "already_decided")
    assert again.json()["decided"] == {
        "actor": "Ana",
        "verdict": "right",
        "channel": None,
        "at": "2026-11-29T12:00:00Z",
    }
    assert web.get("/reviews", ana).json()["items"] == []
    (kept,) = web.get("/reviews", ana, state="right").json()["items"]
    assert kept == answer.json()
    assert web.get("/customers/paused", ana).json() == {"items": []}


def test_a_flag_pauses_the_customer_until_a_manager_lifts_it(web: Web, ana: Headers) -> None:
    mia = web.staff("mia", Role.REFUND_MANAGER)
    effect = ran(web)
    silent = web.post(f"/reviews/{effect.id}/flag", {}, ana)
    assert (silent.status_code, silent.json()["code"]) == (422, "reason_required")
    flagged = web.post(f"/reviews/{effect.id}/flag", WHY, ana).json()
    assert (flagged["state"], flagged["reason"]) == ("flagged", WHY["reason"])
    (pause,) = web.get("/customers/paused", ana).json()["items"]
    assert pause == {
        "customer_id": effect.customer_id,
        "since": "2026-11-29T12:00:00Z",
        "reason": f"a review flagged {effect.id}",
        "approval_id": effect.id,
    }
    waits = web.parks("5.00")
    assert "automatic_paused" in {finding.code for finding in waits.findings}

    path = f"/customers/{effect.customer_id}/resume"
    assert web.post(path, WHY, ana).json()["code"] == "not_allowed"
    assert web.post(path, {}, mia).json()["code"] == "reason_required"
    assert web.post(path, WHY, mia).json() == {"customer_id": effect.customer_id, "paused": False}
    assert web.get("/customers/paused", ana).json() == {"items": []}
    again = web.post(path, WHY, mia)
    assert (again.status_code, again.json()["code"]) == (404, "not_found")
    assert web.story.paid() == [("ORD-1001", Money(3000, "USD"))]


def test_the_queue_comes_in_pages_oldest_first(web: Web, ana: Headers) -> None:
    effects = [ran(web, order=order).id for order in ("ORD-1001", "ORD-1005", "ORD-1008")]
    first = web.get("/reviews", ana, limit=2).json()
    assert [one["approval_id"] for one in first["items"]] == effects[:2]
    assert first["next_cursor"] == effects[1]
    second = web.get("/reviews", ana, limit=2, cursor=first["next_cursor"]).json()
    assert [one["approval_id"] for one in second["items"]] == effects[2:]
    assert second["next_cursor"] is None


def test_what_is_not_there_is_not_found(web: Web, ana: Headers) -> None:
    mia = web.staff("mia", Role.REFUND_MANAGER)
    parked = web.parks("160.00")
    for path, body in (
        ("/reviews/apr_none/right", {}),
        ("/reviews/%00/right", {}),
        (f"/reviews/{parked.id}/right", {}),
        (f"/reviews/{parked.id}/flag", WHY),
        ("/customers/cus_none/resume", WHY),
        ("/customers/%00/resume", WHY),
    ):
        answer = web.post(path, body, mia)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    wrong = web.get("/reviews", ana, state="closed")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "state")


def test_a_damaged_row_hides_no_other(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        ana = web.staff("ana", Role.REFUND_APPROVER)
        first, second = ran(web), ran(web, order="ORD-1005")
        web.story.damages("UPDATE approvals SET payload = '{' WHERE id = :id", id=first.id)
        shown = web.get("/reviews", ana).json()["items"]
        assert [one["approval_id"] for one in shown] == [first.id, second.id]
        assert shown[0]["approval"] is None
        assert shown[1]["approval"]["id"] == second.id
