"""The same answers to customers over HTTP and on the command line."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from agent.domain.ids import ConversationId
from agent.domain.roles import Role
from storage.engine import open_engine
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Web, running_web
from tests.support.terminal import Terminal, value

MARK = str(uuid5(NAMESPACE_URL, "one answer"))


@pytest.fixture
def web(sqlite_template: Path, tmp_path: Path) -> Iterator[Web]:
    path = tmp_path / "desk.db"
    shutil.copyfile(sqlite_template, path)
    store = Store(open_engine(f"sqlite:///{path}"))
    with running_web(store, HandClock(), CountingIds()) as web:
        web.story.model.otherwise = "A colleague will come."
        yield web
    store.close()


def promised(web: Web) -> ConversationId:
    """Let Clara ask for a person."""
    chat = web.story.opens_chat("cus_clara")
    web.story.model.calls(("call_h", "hand_off", '{"reason": "asks for a person"}'))
    web.story.says(chat, "I want a person")
    return chat


def test_a_person_answers_over_http(web: Web) -> None:
    chat, sam = promised(web), web.staff("sam", Role.SUPPORT)
    path = f"/conversations/{chat}"
    assert web.get("/approvals", sam).json()["code"] == "not_allowed"
    waiting = web.get("/conversations", sam).json()
    assert waiting["total"] == 1
    (shown,) = waiting["items"]
    assert shown == {
        "conversation_id": chat,
        "number": 1,
        "state": "waiting",
        "customer": "Clara Nguyen (cus_clara)",
        "reason": "asks for a person",
        "opened_at": "2026-11-29T12:00:00Z",
        "attended_by": None,
        "joined_at": None,
        "ended_at": None,
        "ended_by": None,
        "rating": None,
    }
    assert "supportdesk_hand_offs_waiting 1.0" in web.get("/metrics").text
    body = {"client_id": MARK, "text": "Hello Clara."}
    first = web.post(f"{path}/reply", body, sam)
    assert first.status_code == 200
    assert web.post(f"{path}/reply", body, sam).json() == first.json()
    clara = web.customer("cus_clara")
    events = web.get(f"/chat/conversations/{chat}/events", clara).json()["events"]
    (said,) = (e for e in events if e["data"].get("role") == "staff")
    assert said["data"] == {
        "message_id": first.json()["message_id"],
        "role": "staff",
        "text": "Hello Clara.",
        "by": "Sam",
    }
    (mine,) = web.get("/chat/conversations", clara).json()["items"]
    assert (mine["handed_off"], mine["attended_by"]) == (True, "Sam")
    numbers = web.get("/metrics").text
    assert "supportdesk_hand_offs_waiting 0.0" in numbers
    assert "supportdesk_hand_offs_attended 1.0" in numbers
    ana = web.staff("ana", Role.REFUND_APPROVER)
    assert web.post(f"{path}/join", {}, ana).json()["attended_by"] == "Ana"
    ended = web.post(f"{path}/give_back", {}, sam).json()
    assert (ended["state"], ended["ended_by"]) == ("ended", "Sam")
    assert web.get("/conversations", sam).json() == {"items": [], "total": 0}
    late = web.post(f"{path}/reply", {**body, "client_id": str(uuid5(NAMESPACE_URL, "b"))}, sam)
    assert (late.status_code, late.json()["code"]) == (409, "already_decided")


def test_who_may_not_and_what_cannot_be_said_over_http(web: Web) -> None:
    chat, sam, kim = promised(web), web.staff("sam", Role.SUPPORT), web.staff("kim")
    body = {"client_id": MARK, "text": "Hello Clara."}
    for verb, sent in (("reply", body), ("join", {}), ("give_back", {})):
        path = f"/conversations/{chat}/{verb}"
        assert web.post(path, sent).status_code == 401
        assert web.post(path, sent, kim).json()["code"] == "not_allowed"
        missing = web.post(f"/conversations/cnv_{'0' * 26}/{verb}", sent, sam)
        assert missing.json()["code"] == "not_found"
        assert web.post(f"/conversations/a.b/{verb}", sent, sam).status_code == 404
    assert web.get("/conversations", kim).status_code == 403
    path = f"/conversations/{chat}/reply"
    for wrong in ({"text": "Hello"}, {**body, "text": ""}, {**body, "text": "x" * 4001}):
        assert web.post(path, wrong, sam).status_code == 422
    assert web.post(path, {**body, "text": "\u200b"}, sam).json()["code"] == "invalid"


def test_a_person_answers_on_the_command_line(web: Web) -> None:
    chat, story = promised(web), web.story
    story.hire("sam", Role.SUPPORT)
    sam = Terminal(story, "sam")
    listed = sam.run("conversations", "list").stdout
    assert "asks for a person" in listed
    assert sam.json("conversations", "list", "--json") != []
    told = sam.run("conversations", "reply", chat[-6:], "--text", "Hello Clara.")
    assert (value(told, "conversation"), value(told, "with")) == (chat, "Sam")
    assert value(sam.run("conversations", "give-back", chat), "state") == "ended"
    promised_again = promised(web)
    assert value(sam.run("conversations", "join", promised_again), "state") == "joined"
    refused = Terminal(story, "eve").run("conversations", "join", chat, code=1)
    assert "not_allowed" in refused.stderr
    unknown = sam.run("conversations", "reply", "ZZZZZZ", "--text", "Hello", code=1)
    assert "not_found" in unknown.stderr
