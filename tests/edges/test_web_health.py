"""Up, ready, measured; and Slack's requests on threads of their own."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from agent.domain.approvals import RejectCategory, Status, Verdict
from agent.domain.decision import Decision
from agent.domain.places import EVERYTHING, Place
from agent.domain.roles import Channel, Role
from agent.steps.decide import decide
from agent.steps.review import answer_review
from agent.steps.stop import stop_all
from bot.sandbox.payments_faults import FaultKind
from storage import heartbeats, places
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import PATIENCE_S, Web, running_web, running_web_on_sqlite

JOBS = ("scheduler", "turn")


def beats(web: Web, job: str, replica: str = "srv-test") -> None:
    with web.story.desk.store.transaction() as tx:
        heartbeats.beat(tx, replica, job, web.story.clock.now())


def numbers(web: Web) -> dict[str, float]:
    """Return every sample of the scrape by its name and labels."""
    text = web.get("/metrics").text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids, jobs=JOBS) as web:
        yield web


def test_ready_means_that_every_job_has_just_run(web: Web) -> None:
    assert web.get("/healthz").json() == {"status": "up"}
    answer = web.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_ready"
    assert answer.json()["not_ready"] == ["job scheduler", "job turn"]

    beats(web, "scheduler")
    beats(web, "turn", replica="another")
    assert web.get("/readyz").json()["not_ready"] == ["job turn"]
    beats(web, "turn")
    assert web.get("/readyz").json() == {"status": "ready"}
    web.story.clock.advance(seconds=30)
    assert web.get("/readyz").status_code == 200
    web.story.clock.advance(seconds=1)
    assert web.get("/readyz").json()["not_ready"] == ["job scheduler", "job turn"]


def test_without_slack_it_is_not_ready_but_up(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path, slack_ready=lambda: False) as web:
        answer = web.get("/readyz")
        assert (answer.status_code, answer.json()["not_ready"]) == (503, ["slack"])
        assert "slack" in answer.json()["detail"]
        assert web.get("/healthz").status_code == 200


def test_trouble_with_slack_is_named_and_a_closed_channel_keeps_nobody_out(tmp_path: Path) -> None:
    def suffers(web: Web, place: Place) -> None:
        with web.story.desk.store.transaction() as tx:
            places.save(tx, place)

    with running_web_on_sqlite(tmp_path) as web:
        now = web.story.clock.now()
        fine, once = Place("approvals", now), Place("oncall", now, 1, "fatal_error", now)
        suffers(web, fine.closed("is_archived", now))
        suffers(web, once)
        answer = web.get("/readyz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ready", "trouble": ["slack approvals: is_archived"]}
        suffers(web, replace(once, failures=4))
        assert web.get("/readyz").json()["trouble"][1:] == ["slack oncall: fatal_error"]
        web.parks("160.00")
        web.story.clock.advance(seconds=40)
        shown = numbers(web)
        assert shown['supportdesk_slack_trouble{place="approvals"}'] == 1
        assert 'supportdesk_slack_trouble{place="update"}' not in shown
        suffers(web, Place(EVERYTHING, now, 1, "token_revoked", now))
        answer = web.get("/readyz")
        assert (answer.status_code, answer.json()["not_ready"]) == (503, ["slack: token_revoked"])


def test_without_its_database_it_is_not_ready_but_up(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        web.story.desk.store.close()
        for file in tmp_path.iterdir():
            file.unlink()
        tmp_path.joinpath("desk.db").mkdir()
        answer = web.get("/readyz")
        assert (answer.status_code, answer.json()["not_ready"]) == (503, ["database"])
        assert web.get("/healthz").status_code == 200


def test_the_numbers_follow_what_is_stored(web: Web) -> None:
    before = numbers(web)
    assert before["supportdesk_approvals_pending"] == 0
    assert before["supportdesk_approvals_oldest_pending_seconds"] == 0
    assert before['supportdesk_breaker_state{state="closed"}'] == 1
    assert before['supportdesk_breaker_state{state="open"}'] == 0
    assert before["supportdesk_stopped"] == 0
    assert before["supportdesk_outbox_stuck"] == 0
    assert before["supportdesk_slack_messages_waiting"] == 0
    assert before["supportdesk_slack_oldest_waiting_seconds"] == 0
    assert before["supportdesk_approvals_expired_unseen"] == 0

    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    other = web.parks("79.00", "ORD-1018")
    web.story.clock.advance(seconds=90)
    waiting = numbers(web)
    assert waiting["supportdesk_approvals_pending"] == 2
    assert waiting["supportdesk_approvals_oldest_pending_seconds"] == 90

    body = {"payload_hash": parked.payload_hash}
    web.post(f"/approvals/{parked.id}/approve", {"payload_hash": "0" * 64}, ana)
    web.post(f"/approvals/{parked.id}/approve", body, ana)
    decision = Decision(
        other.id,
        web.story.hire("ben", Role.REFUND_APPROVER),
        Verdict.REJECT,
        other.payload_hash,
        Channel.SLACK,
        reason="outside the return window",
        category=RejectCategory.OTHER,
    )
    web.context.metrics.count_decision(decision, decide(web.story.desk, decision))
    after = numbers(web)
    counted = {name: n for name, n in after.items() if name.startswith("supportdesk_decisions_t")}
    assert counted == {
        'supportdesk_decisions_total{channel="api",code="payload_changed",verdict="approve"}': 1,
        'supportdesk_decisions_total{channel="api",code="counted",verdict="approve"}': 1,
        'supportdesk_decisions_total{channel="slack",code="counted",verdict="reject"}': 1,
    }
    assert after["supportdesk_approvals_pending"] == 0


def test_ends_are_told_apart(web: Web) -> None:
    story = web.story
    story.model.otherwise = "I see."
    ana, olu = story.hire("ana", Role.REFUND_APPROVER), story.hire("olu", Role.ONCALL)
    before = numbers(web)
    story.rejects(ana, web.parks("160.00"))
    story.rests()
    story.approves(ana, web.parks("79.00", "ORD-1018"))
    story.rests()
    high = web.parks("689.00", "ORD-1005")
    story.approves(olu, high, break_glass=True, reason="nobody else is awake")
    story.payments.plan(FaultKind.DECLINED, 1)
    story.rests()
    web.parks("60.00", "ORD-1008")
    story.clock.advance(minutes=30)
    story.sweeps()
    after = numbers(web)
    changed = {name: n for name, n in after.items() if n != before.get(name, 0)}
    assert changed == {
        "supportdesk_approvals_rejected": 1,
        "supportdesk_approvals_expired": 1,
        "supportdesk_broken_glass": 1,
        'supportdesk_alerts_open{kind="break_glass"}': 1,
        'supportdesk_executions{outcome="executed"}': 1,
        'supportdesk_executions{outcome="failed"}': 1,
    }


def test_reviews_and_how_often_they_found_something_wrong(web: Web) -> None:
    story = web.story
    ana = story.hire("ana", Role.REFUND_APPROVER)
    assert "supportdesk_review_false_negative_ratio" not in numbers(web)
    for order in ("ORD-1001", "ORD-1005", "ORD-1008", "ORD-1006"):
        owner = story.desk.shop.order(order)
        assert owner is not None
        story.asks_refund(story.opens_chat(owner.customer_id), "30.00", order)
    for number, effect in enumerate(story.all(Status.EXECUTED)[:3]):
        answer_review(story.desk, effect.id, story.order(ana), right=number > 0)
    shown = numbers(web)
    assert shown['supportdesk_reviews{state="open"}'] == 1
    assert shown['supportdesk_reviews{state="right"}'] == 2
    assert shown['supportdesk_reviews{state="flagged"}'] == 1
    assert shown["supportdesk_review_false_negative_ratio"] == pytest.approx(1 / 3)


def test_the_stop_is_shown_and_a_missing_breaker_is_too(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        assert numbers(web)["supportdesk_breaker_missing"] == 0
        olu = web.story.hire("olu", Role.ONCALL)
        stop_all(web.story.desk, web.story.order(olu))
        stopped = numbers(web)
        assert stopped["supportdesk_stopped"] == 1
        assert stopped['supportdesk_alerts_open{kind="stop_thrown"}'] == 1
        assert stopped['supportdesk_alerts_open{kind="breaker_opened"}'] == 0
        web.story.damages("DELETE FROM breaker")
        assert web.get("/metrics").status_code == 200
        without = numbers(web)
        assert without["supportdesk_breaker_missing"] == 1
        assert without["supportdesk_approvals_pending"] == 0
        assert "supportdesk_stopped" not in without
        assert not [name for name in without if name.startswith("supportdesk_breaker_state")]


def test_an_outcome_nobody_knows_is_counted(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    web.story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    body = {"payload_hash": parked.payload_hash}
    assert web.post(f"/approvals/{parked.id}/approve", body, ana).status_code == 200
    web.story.rests()
    assert numbers(web)["supportdesk_approvals_unknown"] == 1


def test_slack_gets_the_raw_body_and_its_answer(tmp_path: Path) -> None:
    seen: list[tuple[bytes, str]] = []

    def dispatch(body: bytes, headers: Mapping[str, str]) -> tuple[int, dict[str, str], str]:
        seen.append((body, headers["x-slack-signature"]))
        return 200, {"content-type": "application/json;charset=utf-8"}, '{"ok": true}'

    with running_web_on_sqlite(tmp_path, slack_dispatch=dispatch) as web:
        raw = b"payload=%7B%22type%22%3A+%22block_actions%22%7D&x=%FF"
        answer = web.client.post(
            "/slack/events", content=raw, headers={"X-Slack-Signature": "v0=abc"}
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json;charset=utf-8"
        assert answer.json() == {"ok": True}
        assert seen == [(raw, "v0=abc")]
        long = web.client.post(
            "/slack/events", content=b"x" * 500_000, headers={"X-Slack-Signature": "v0=abc"}
        )
        assert long.status_code == 200
        too_long = web.client.post("/slack/events", content=b"x" * 1_048_577)
        assert (too_long.status_code, too_long.json()["code"]) == (413, "too_large")
        # One that breaks is ours to mend; Slack reads no word of it.
        broken = web.client.post("/slack/events", content=b"x")
        assert (broken.status_code, broken.json()["code"]) == (500, "internal")


def test_slack_is_answered_while_every_other_thread_is_busy(tmp_path: Path) -> None:
    full, release = threading.Barrier(41), threading.Event()

    def slack_ready() -> bool:
        full.wait(PATIENCE_S)
        return release.wait(PATIENCE_S)

    def dispatch(_body: bytes, _headers: Mapping[str, str]) -> tuple[int, dict[str, str], str]:
        return 200, {}, threading.current_thread().name

    with running_web_on_sqlite(tmp_path, slack_ready=slack_ready, slack_dispatch=dispatch) as web:
        # As many as Starlette has threads for plain routes; the barrier opens when all are taken.
        callers = [threading.Thread(target=web.get, args=("/readyz",)) for _ in range(40)]
        for caller in callers:
            caller.start()
        full.wait(PATIENCE_S)
        with httpx.Client(base_url=web.url, timeout=PATIENCE_S) as slack:
            assert slack.post("/slack/events", content=b"x").text.startswith("slack")
        release.set()
        for caller in callers:
            caller.join()
