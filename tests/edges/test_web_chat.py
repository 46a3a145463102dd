"""The customer's chat over HTTP, on both databases."""

import json
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from agent.domain.approvals import Status
from agent.domain.conversation import EventType
from agent.domain.ids import ConversationId
from agent.domain.roles import Role
from storage import conversations
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Headers, Web, running_web, running_web_on_sqlite

CLIENT_ID = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01"
OTHER_ID = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a02"


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids) as web:
        yield web


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Return one server for what is refused in the same way on each database."""
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk")) as web:
        yield web


def sends(
    web: Web, chat: str, who: Headers, text: str, client_id: str = CLIENT_ID
) -> httpx.Response:
    return web.post(f"{chat}/messages", {"client_id": client_id, "text": text}, who)


def visits(web: Web) -> tuple[str, Headers]:
    """Open a conversation as nobody; return its path and the visitor's token."""
    opened = web.post("/chat/conversations", {})
    assert opened.status_code == 201
    token = opened.json()["anonymous_token"]
    return f"/chat/conversations/{opened.json()['conversation_id']}", Headers(f"Bearer {token}")


def test_a_customer_opens_a_conversation_and_finds_it_again(web: Web) -> None:
    clara = web.customer("cus_clara")
    opened = web.post("/chat/conversations", {}, clara)
    assert opened.status_code == 201
    assert list(opened.json()) == ["conversation_id"]
    listed = web.get("/chat/conversations", clara).json()["items"]
    assert listed == [
        {
            "conversation_id": opened.json()["conversation_id"],
            "created_at": "2026-11-29T12:00:00Z",
            "last_seq": 0,
            "read_seq": 0,
            "handed_off": False,
            "attended_by": None,
            "language": "en",
            "rating": None,
        }
    ]
    assert web.get("/chat/conversations", web.customer("cus_ben")).json()["items"] == []
    assert web.get("/chat/conversations").status_code == 401


def test_a_message_becomes_a_run_and_its_answer_an_event(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    sent = sends(web, chat, clara, "Hello שלום 👋 <b>&amp;")
    assert sent.status_code == 202
    assert set(sent.json()) == {"message_id", "run_id", "seq"}
    assert sent.json()["seq"] == 1
    web.story.model.says("Hello!")
    web.story.rests()

    log = web.get(f"{chat}/events", clara).json()
    first, answer = (one for one in log["events"] if one["type"] == "message")
    assert first["seq"] == 1
    assert first["at"] == "2026-11-29T12:00:00Z"
    assert first["data"]["role"] == "customer"
    assert first["data"]["text"] == "Hello שלום 👋 <b>&amp;"
    assert answer["data"]["text"] == "Hello!"
    assert log["last_seq"] == log["events"][-1]["seq"]
    rest = web.get(f"{chat}/events", clara, after=1).json()
    assert rest["events"] == log["events"][1:]
    assert web.get(f"{chat}/events", clara, after=999).json() == {
        "events": [],
        "last_seq": log["last_seq"],
    }


def test_the_same_client_id_gets_the_same_answer(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    first = sends(web, chat, clara, "Hello")
    again = sends(web, chat, clara, "Hello", CLIENT_ID.upper())
    assert again.status_code == 202
    assert again.json() == first.json()
    other = sends(web, chat, clara, "Hello", OTHER_ID)
    assert other.json()["seq"] == 2
    assert UUID(CLIENT_ID) != UUID(OTHER_ID)


@pytest.mark.parametrize("text", ["x" * 4_001, "é" * 10_000, "x" * 200_000, "🙂" * 60_000])
def test_a_message_too_long_is_said_to_be(shared: Web, text: str) -> None:
    clara = shared.customer("cus_clara")
    chat = shared.opens(clara)
    refused = sends(shared, chat, clara, text)
    assert refused.status_code == 413
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "too_large"
    assert sends(shared, chat, clara, "🙂" * 4_000).status_code == 202


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"client_id": CLIENT_ID, "text": ""}, "text"),
        ({"client_id": CLIENT_ID, "text": " \n "}, "text"),
        ({"client_id": CLIENT_ID, "text": 5}, "text"),
        ({"client_id": CLIENT_ID, "text": "half \ud83d"}, "text"),
        ({"client_id": CLIENT_ID, "text": "nul \0"}, "text"),
        ({"client_id": CLIENT_ID}, "text"),
        ({"client_id": "one", "text": "Hello"}, "client_id"),
        ({"client_id": 7, "text": "Hello"}, "client_id"),
        ({"text": "Hello"}, "client_id"),
        ({"client_id": CLIENT_ID, "text": "Hello", "role": "staff"}, "role"),
    ],
)
def test_a_wrong_message_names_the_field(shared: Web, body: dict[str, object], field: str) -> None:
    clara = shared.customer("cus_clara")
    chat = shared.opens(clara)
    # Escaped, so that half a pair can be sent at all.
    content, headers = json.dumps(body), clara(**{"content-type": "application/json"})
    refused = shared.client.post(f"{chat}/messages", content=content, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert [one["field"] for one in refused.json()["errors"]] == [field]
    assert shared.get(f"{chat}/events", clara).json() == {"events": [], "last_seq": 0}


def test_nobody_reaches_a_conversation_of_somebody_else(web: Web) -> None:
    parked = web.parks("160.00")
    chat = f"/chat/conversations/{parked.conversation_id}"
    _, visitor = visits(web)
    for stranger in (web.customer("cus_ben"), visitor):
        for answer in (
            sends(web, chat, stranger, "mine now"),
            web.get(f"{chat}/events", stranger),
            web.client.get(f"{chat}/events", headers=stranger(accept="text/event-stream")),
            web.post(f"{chat}/stop", {}, stranger),
            web.post(f"{chat}/read", {"seq": 1}, stranger),
            web.post(f"{chat}/approvals/{parked.id}/withdraw", {}, stranger),
        ):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    for answer in (web.get(f"{chat}/events"), sends(web, chat, Headers("Bearer x"), "hi")):
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert web.story.approval(parked.id).status is Status.PENDING


@pytest.mark.parametrize("name", ["cnv_00000000000000000000000000", "%00", "..", "a" * 100])
def test_a_conversation_that_is_not_there_looks_the_same(shared: Web, name: str) -> None:
    answer = shared.get(f"/chat/conversations/{name}/events", shared.customer("cus_clara"))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_visitor_keeps_to_one_conversation(web: Web) -> None:
    chat, visitor = visits(web)
    other, _ = visits(web)
    assert sends(web, chat, visitor, "Hello").status_code == 202
    assert web.get(f"{chat}/events", visitor).json()["last_seq"] == 1
    assert web.get(f"{other}/events", visitor).status_code == 404
    assert [one["last_seq"] for one in web.get("/chat/conversations", visitor).json()["items"]] == [
        1
    ]


def test_signing_in_later_takes_the_conversation_along(web: Web) -> None:
    chat, visitor = visits(web)
    token = visitor.authorization.removeprefix("Bearer ")
    sends(web, chat, visitor, "Hello")
    clara, ben = web.customer("cus_clara"), web.customer("cus_ben")

    by_itself = web.post(f"{chat}/attach", {"anonymous_token": token}, visitor)
    assert (by_itself.status_code, by_itself.json()["code"]) == (403, "not_allowed")
    wrong = web.post(f"{chat}/attach", {"anonymous_token": "guessed"}, clara)
    assert wrong.status_code == 404

    attached = web.post(f"{chat}/attach", {"anonymous_token": token}, clara)
    assert attached.status_code == 200
    assert web.get(f"{chat}/events", clara).json()["last_seq"] == 1
    assert web.get(f"{chat}/events", visitor).status_code == 401
    again = web.post(f"{chat}/attach", {"anonymous_token": token}, clara)
    assert again.status_code == 200
    moved = web.post(f"{chat}/attach", {"anonymous_token": token}, ben)
    assert moved.status_code == 404
    assert web.get(f"{chat}/events", clara).status_code == 200


def test_a_token_opens_only_the_conversation_it_names(web: Web) -> None:
    chat, visitor = visits(web)
    token = visitor.authorization.removeprefix("Bearer ")
    clara = web.customer("cus_clara")
    mixed = web.post(
        f"{web.opens(web.customer('cus_ben'))}/attach", {"anonymous_token": token}, clara
    )
    assert mixed.status_code == 404
    assert web.get(f"{chat}/events", visitor).status_code == 200


def test_a_request_is_withdrawn_while_it_waits(web: Web) -> None:
    parked = web.parks("160.00")
    clara = web.customer(parked.customer_id)
    path = f"/chat/conversations/{parked.conversation_id}/approvals/{parked.id}/withdraw"
    other = f"{web.opens(clara)}/approvals/{parked.id}/withdraw"
    assert web.post(other, {}, clara).status_code == 404

    done = web.post(path, {}, clara)
    assert done.status_code == 200
    assert (done.json()["approval_id"], done.json()["status"]) == (parked.id, "withdrawn")
    assert web.story.approval(parked.id).status is Status.CANCELLED
    late = web.post(path, {}, clara)
    assert (late.status_code, late.json()["code"]) == (409, "too_late_to_withdraw")


def test_what_was_withdrawn_says_so_to_the_team(web: Web) -> None:
    ana = web.staff("ana", Role.REFUND_APPROVER)
    parked = web.parks("160.00")
    clara = web.customer(parked.customer_id)
    web.post(
        f"/chat/conversations/{parked.conversation_id}/approvals/{parked.id}/withdraw", {}, clara
    )
    late = web.post(f"/approvals/{parked.id}/approve", {"payload_hash": parked.payload_hash}, ana)
    assert (late.status_code, late.json()["code"]) == (409, "already_decided")
    assert late.json()["decided"] == {
        "actor": parked.requested_by,
        "verdict": "withdraw",
        "channel": "chat",
        "at": "2026-11-29T12:00:00Z",
    }


def test_reading_is_noted_and_never_goes_back(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    for number in range(3):
        sends(web, chat, clara, f"message {number}", CLIENT_ID[:-1] + str(number))

    def read_seq() -> int:
        (one,) = web.get("/chat/conversations", clara).json()["items"]
        return int(one["read_seq"])

    for seq, noted in ((2, 2), (1, 2), (99, 2), (3, 3)):
        answer = web.post(f"{chat}/read", {"seq": seq}, clara)
        assert (answer.status_code, answer.content) == (204, b"")
        assert read_seq() == noted
    assert web.post(f"{chat}/read", {"seq": -1}, clara).status_code == 422
    assert web.post(f"{chat}/read", {"seq": "3"}, clara).status_code == 422


def test_stop_asks_the_turn_to_end_and_leaves_requests_alone(web: Web) -> None:
    parked = web.parks("160.00")
    clara = web.customer(parked.customer_id)
    chat = f"/chat/conversations/{parked.conversation_id}"
    assert sends(web, chat, clara, "and another thing").status_code == 202
    stopped = web.post(f"{chat}/stop", {}, clara)
    assert stopped.status_code == 202
    assert web.client.post(f"{chat}/stop", headers=clara()).status_code == 202
    assert web.story.approval(parked.id).status is Status.PENDING


def test_a_long_log_comes_in_pages_that_miss_nothing(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    conversation_id = chat.rpartition("/")[2]
    fill(web, conversation_id, 501)
    first = web.get(f"{chat}/events", clara).json()
    assert (len(first["events"]), first["last_seq"]) == (500, 500)
    second = web.get(f"{chat}/events", clara, after=first["last_seq"]).json()
    assert ([one["seq"] for one in second["events"]], second["last_seq"]) == ([501], 501)


def fill(web: Web, conversation_id: str, number: int) -> None:
    with web.story.desk.store.transaction() as tx:
        for _ in range(number):
            entry = conversations.Entry(
                web.story.desk.ids.new("msg"), EventType.STATUS, {"status": "idle"}
            )
            conversations.append(tx, ConversationId(conversation_id), web.story.clock.now(), entry)


@pytest.mark.parametrize("after", ["-1", "abc", "99999999999", "1.5"])
def test_a_place_that_is_none_is_refused(shared: Web, after: str) -> None:
    clara = shared.customer("cus_clara")
    answer = shared.get(f"{shared.opens(clara)}/events", clara, after=after)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "after")
