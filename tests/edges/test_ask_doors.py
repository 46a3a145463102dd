"""The same question over HTTP and on the command line, and how the customer's chat shows it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from agent.domain.roles import Role
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Web, running_web
from tests.support.terminal import Terminal, value

WHY = "Which leg of the chair is broken?"
MARK = str(uuid5(NAMESPACE_URL, "one question"))


@pytest.fixture
def web(sqlite_template: Path, tmp_path: Path) -> Iterator[Web]:
    path = tmp_path / "desk.db"
    shutil.copyfile(sqlite_template, path)
    store = Store(open_engine(f"sqlite:///{path}"))
    with running_web(store, HandClock(), CountingIds()) as web:
        web.story.model.otherwise = "I have passed that on."
        yield web
    store.close()


def test_a_question_over_http_and_its_answer_from_the_chat(web: Web) -> None:
    ana, parked = web.staff("ana", Role.REFUND_APPROVER), web.parks()
    path = f"/approvals/{parked.id}/ask"
    body = {"of": "customer", "question": WHY, "client_id": MARK}
    first = web.post(path, body, ana)
    assert first.status_code == 200
    assert web.post(path, body, ana).json() == first.json()
    (asked,) = first.json()["questions"]
    assert asked | {"id": "ask_…"} == {
        "id": "ask_…",
        "of": "customer",
        "actor": "Ana",
        "question": WHY,
        "asked_at": "2026-11-29T12:00:00Z",
        "answered_at": None,
        "answer": None,
        "late": False,
    }
    clara = web.customer(parked.customer_id)
    chat = f"/chat/conversations/{parked.conversation_id}"
    (said,) = (
        event
        for event in web.get(f"{chat}/events", clara).json()["events"]
        if event["data"].get("role") == "staff"
    )
    assert said["type"] == "message"
    assert said["data"] == {
        "message_id": said["data"]["message_id"],
        "role": "staff",
        "text": (
            f"{WHY}\n\nPlease answer here by 29 Nov 2026, 12:30 UTC: until then our team can "
            "decide about the refund of 160.00 USD on order ORD-1001."
        ),
        "approval_id": parked.id,
        "question": WHY,
        "answer_by": "2026-11-29T12:30:00Z",
    }
    sent = web.post(f"{chat}/messages", {"client_id": MARK, "text": "The left one."}, clara)
    assert sent.status_code == 202
    numbers = web.get("/metrics").text
    assert "supportdesk_questions_asked 1.0" in numbers
    assert "supportdesk_questions_answered 1.0" in numbers
    shown = web.get(f"/approvals/{parked.id}", ana).json()
    assert shown["questions"][0]["answer"] == "The left one."
    assert shown["questions"][0]["late"] is False
    assert {name: shown[name] for name in shown if name != "questions"} == {
        name: first.json()[name] for name in shown if name != "questions"
    }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"of": "customer", "question": "why"}, 422, "invalid"),
        ({"of": "everybody", "question": WHY}, 422, "invalid"),
        ({"question": WHY}, 422, "invalid"),
        ({"of": "agent", "question": WHY, "client_id": "x"}, 422, "invalid"),
    ],
)
def test_what_is_no_question_is_refused(web: Web, body: object, status: int, code: str) -> None:
    ana, parked = web.staff("ana", Role.REFUND_APPROVER), web.parks()
    answer = web.post(f"/approvals/{parked.id}/ask", body, ana)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_who_may_not_and_what_has_ended(web: Web) -> None:
    ana, sam = web.staff("ana", Role.REFUND_APPROVER), web.staff("sam", Role.ONCALL)
    parked, body = web.parks(), {"of": "agent", "question": WHY}
    path = f"/approvals/{parked.id}/ask"
    assert web.post(path, body).status_code == 401
    assert web.post(path, body, sam).json()["code"] == "not_allowed"
    assert web.post(f"/approvals/apr_{'0' * 26}/ask", body, ana).json()["code"] == "not_found"
    web.post(f"/approvals/{parked.id}/approve", {"payload_hash": parked.payload_hash}, ana)
    late = web.post(path, body, ana)
    assert (late.status_code, late.json()["code"]) == (409, "already_decided")
    assert late.json()["decided"]["actor"] == "Ana"


def test_a_question_on_the_command_line_is_answered_at_once_by_the_agent(web: Web) -> None:
    story = web.story
    story.hire("ana", Role.REFUND_APPROVER)
    parked, ana = web.parks(), Terminal(story, "ana")
    story.model.says("The customer named no leg.\nIt is one chair.")
    told = ana.run("pending", "ask", parked.run_id, "--of", "agent", "--question", WHY)
    assert value(told, "question to the agent") == f"{WHY} (Ana at 2026-11-29T12:00:00Z)"
    assert value(told, "answer").startswith("The customer named no leg.\\u000aIt is one chair.")
    told = ana.run("pending", "ask", parked.id, "--of", "customer", "--question", WHY)
    assert value(told, "answer") == "none yet"
    shown = ana.run("pending", "show", parked.id)
    assert shown.stdout.count(WHY) == 2
    refused = Terminal(story, "eve").run(
        "pending", "ask", parked.id, "--of", "agent", "--question", WHY, code=1
    )
    assert "not_allowed" in refused.stderr
