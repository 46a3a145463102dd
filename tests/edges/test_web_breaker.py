"""The stop switch and the breaker over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.domain.approvals import Status
from agent.domain.roles import Role
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Web, running_web, running_web_on_sqlite

WHY = {"reason": "the provider pays twice"}


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        web.story.model.otherwise = "I see."
        yield web


def test_everything_stops_and_goes_on_by_people_with_the_role(web: Web) -> None:
    olu, mia = web.staff("olu", Role.ONCALL), web.staff("mia", Role.REFUND_MANAGER)
    ana = web.staff("ana", Role.REFUND_APPROVER)
    nothing = web.post("/breaker/lift", WHY, mia)
    assert (nothing.status_code, nothing.json()["code"]) == (409, "already_decided")
    for body, who, status, code in (
        (WHY, ana, 403, "not_allowed"),
        ({"reason": "now"}, olu, 422, "reason_required"),
        ({}, olu, 422, "reason_required"),
        ({"why": "x"}, olu, 422, "invalid"),
    ):
        refused = web.post("/breaker/stop", body, who)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert web.post("/breaker/stop", WHY).status_code == 401

    parked = web.parks("160.00")
    stopped = web.post("/breaker/stop", WHY, olu)
    assert stopped.status_code == 200
    assert stopped.json()["stopped"] is True
    assert stopped.json()["stop"] == {"by": "Olu", "at": "2026-11-29T12:00:00Z", **WHY}
    assert web.get("/breaker", ana).json() == stopped.json()
    again = web.post("/breaker/stop", WHY, mia)
    assert (again.status_code, again.json()["code"]) == (409, "stopped")

    body = {"payload_hash": parked.payload_hash}
    assert web.post(f"/approvals/{parked.id}/approve", body, ana).status_code == 200
    web.story.rests()
    assert web.story.approval(parked.id).status is Status.APPROVED
    assert web.post("/breaker/lift", WHY, olu).json()["code"] == "not_allowed"
    lifted = web.post("/breaker/lift", {"reason": "it is mended"}, mia)
    assert (lifted.json()["stopped"], lifted.json()["stop"]) == (False, None)
    web.story.rests()
    assert web.story.approval(parked.id).status is Status.EXECUTED


def test_without_its_row_the_breaker_says_so(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        mia = web.staff("mia", Role.REFUND_MANAGER)
        web.story.damages("DELETE FROM breaker")
        for answer in (
            web.get("/breaker", mia),
            web.post("/breaker/stop", WHY, mia),
            web.post("/breaker/reset", WHY, mia),
        ):
            assert (answer.status_code, answer.json()["code"]) == (503, "breaker_missing")
