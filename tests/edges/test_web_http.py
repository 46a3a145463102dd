"""What holds for every answer: problems, headers, limits, and bodies that are no requests."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from typing_extensions import override

from agent.domain.ids import Prefix
from agent.domain.roles import Role
from bot.web.limits import RateLimits
from tests.support.doubles import CountingIds
from tests.support.http import Headers, Web, running_web_on_sqlite

SHOP = "https://shop.example"
CLIENT_ID = "5f0c7d0e-2f5b-4d58-9d5e-0d2f9f6f6a01"


def _page(_request: object) -> PlainTextResponse:
    return PlainTextResponse("the shop", headers={"Cache-Control": "max-age=300"})


MOUNT = Mount(
    "/", app=Starlette(routes=[Route("/", _page), Route("/big", _page, methods=["POST"])])
)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("desk")
    with running_web_on_sqlite(folder, origins=(SHOP,), mounts=(MOUNT,)) as web:
        yield web


@pytest.fixture(scope="module")
def ana(web: Web) -> Headers:
    return web.staff("ana", Role.REFUND_MANAGER)


def sent(web: Web, content: bytes, who: Headers) -> httpx.Response:
    headers = who(**{"content-type": "application/json"})
    return web.client.post("/breaker/reset", content=content, headers=headers)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"\xff\xfe", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b'"text"', "body"),
        (b"[" * 60_000, "body"),
        (b'{"reason": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", "body"),
        (b'{"reason": "a", "reason": "b"}', "body"),
        (b'{"reason": NaN}', "body"),
        (b'{"reason": -Infinity}', "body"),
        (b'{"reason": 1' + b"0" * 5_000 + b"}", "body"),
        (b'{"reason": "\\ud800 half"}', "reason"),
        (b'{"reason": "\\u0000"}', "reason"),
        (b'{"reason": {"deep": ["\\u0000"]}}', "deep"),
        (b'{"\\ud800": 1}', "body"),
        (b'{"reason": 5}', "reason"),
        (b'{"reason": "long enough", "and": 1}', "and"),
        (json.dumps({"é" * 500: 1}).encode(), "é" * 100),
    ],
)
def test_a_body_that_is_no_request_is_refused(
    web: Web, ana: Headers, content: bytes, field: str
) -> None:
    answer = sent(web, content, ana)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors"}
    assert (problem["status"], problem["code"]) == (422, "invalid")
    assert [one["field"] for one in problem["errors"]] == [field]
    assert problem["detail"].startswith(f"{field}: ")


def test_a_form_is_no_json(web: Web, ana: Headers) -> None:
    answer = web.client.post("/breaker/reset", data={"reason": "long enough"}, headers=ana())
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_a_body_too_large_is_refused_by_its_length_alone(web: Web) -> None:
    where = urlsplit(web.url)
    head = (
        "POST /chat/conversations HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\n"
        "Content-Length: 100000000\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((where.hostname, where.port or 80), timeout=20) as connection:
        connection.sendall(head.encode())
        # Nothing of the body is sent, so the answer cannot have waited for it.
        answer = connection.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_too_large_is_refused_while_it_comes(web: Web) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * 4096

    headers = {"content-type": "application/json"}
    answer = web.client.post("/chat/conversations", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_is_not_there_is_a_problem_too(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        for method, path, status, code in (
            ("GET", "/approvals/", 404, "not_found"),
            ("GET", "/nothing", 404, "not_found"),
            ("POST", "/slack/events", 404, "not_found"),
            ("DELETE", "/approvals", 405, "method_not_allowed"),
        ):
            answer = web.client.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert answer.headers["content-type"] == "application/problem+json"


def test_every_answer_has_the_security_headers(web: Web, ana: Headers) -> None:
    for answer in (
        web.get("/healthz"),
        web.get("/approvals", ana),
        web.get("/approvals"),
        web.get("/docs"),
        web.get("/openapi.json"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_a_mounted_page_keeps_its_own_rules(web: Web) -> None:
    page = web.get("/")
    assert page.text == "the shop"
    assert page.headers["cache-control"] == "max-age=300"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert web.client.post("/big", content=b"x" * 200_000).status_code == 200


class Nobody(CountingIds):
    """A source of ids that has run dry."""

    @override
    def new(self, prefix: Prefix) -> str:
        raise RuntimeError(f"no ids for {prefix}, and the secret is hunter2")


def test_a_fault_of_ours_says_nothing_of_what_is_inside(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        object.__setattr__(web.context.desk, "ids", Nobody())
        answer = web.post("/chat/conversations", {})
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.json()["code"] == "internal"
        assert "hunter2" not in answer.text
        assert "Nobody" not in answer.text


def preflight(web: Web, path: str, origin: str) -> httpx.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, last-event-id",
    }
    return web.client.options(path, headers=headers)


def test_the_shops_page_may_call_the_chat_and_nothing_else(web: Web, tmp_path: Path) -> None:
    allowed = preflight(web, "/chat/conversations", SHOP)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == SHOP
    assert "access-control-allow-credentials" not in allowed.headers
    answer = web.client.get("/chat/conversations", headers={"origin": SHOP})
    assert answer.headers["access-control-allow-origin"] == SHOP

    for refused in (
        preflight(web, "/chat/conversations", "https://other.example"),
        preflight(web, "/approvals", SHOP),
        web.client.get("/approvals", headers={"origin": SHOP}),
    ):
        assert "access-control-allow-origin" not in refused.headers
    with running_web_on_sqlite(tmp_path) as other:
        assert (
            "access-control-allow-origin"
            not in preflight(other, "/chat/conversations", SHOP).headers
        )


def test_whoever_hurries_is_told_when_to_come_back(tmp_path: Path) -> None:
    limits = RateLimits(messages_per_conversation=2, posts_per_address=600)
    with running_web_on_sqlite(tmp_path, limits=limits) as web:
        clara = web.customer("cus_clara")
        chat, other = web.opens(clara), web.opens(clara)

        def sends(where: str, number: int) -> httpx.Response:
            body = {"client_id": CLIENT_ID[:-1] + str(number), "text": "Hello"}
            return web.post(f"{where}/messages", body, clara)

        assert [sends(chat, number).status_code for number in range(3)] == [202, 202, 429]
        late = sends(chat, 3)
        assert late.json()["code"] == "rate_limited"
        assert late.headers["retry-after"] == "30"
        assert web.post(f"{chat}/rating", {"score": 5}, clara).status_code == 429
        assert sends(other, 1).status_code == 202
        web.story.clock.advance(seconds=29)
        assert sends(chat, 3).headers["retry-after"] == "1"
        web.story.clock.advance(seconds=1)
        assert sends(chat, 3).status_code == 202
        web.story.clock.advance(seconds=-5)
        assert sends(chat, 4).status_code == 429


def test_one_address_opens_only_so_many(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path, limits=RateLimits(posts_per_address=3)) as web:

        def opens(**headers: str) -> int:
            where = f"{web.url}/chat/conversations"
            return web.client.post(where, json={}, headers=headers).status_code

        assert [opens() for _ in range(4)] == [201, 201, 201, 429]
        # Behind a proxy that is trusted each customer has an address; what they claim is not one.
        forwarded = {"x-forwarded-for": "203.0.113.7"}
        assert [opens(**forwarded) for _ in range(4)] == [201, 201, 201, 429]
        assert opens(**{"x-forwarded-for": "198.51.100.1, 203.0.113.7"}) == 429
        assert opens(**{"x-forwarded-for": "203.0.113.8"}) == 201
        # Whoever has one address of IPv6 has 2**64 of them.
        homes = [opens(**{"x-forwarded-for": f"2001:db8:1:2::{n}"}) for n in range(1, 5)]
        assert homes == [201, 201, 201, 429]
        assert opens(**{"x-forwarded-for": "2001:db8:1:3::1"}) == 201
        assert opens(**{"x-forwarded-for": "::ffff:203.0.113.7"}) == 429


def test_one_customer_makes_only_so_much_from_anywhere(tmp_path: Path) -> None:
    limits = RateLimits(messages_per_conversation=30, posts_per_customer=3)
    with running_web_on_sqlite(tmp_path, limits=limits) as web:
        clara = web.customer("cus_clara")
        chat = web.opens(clara)
        body = {"client_id": CLIENT_ID, "text": "Hello"}
        answers = [
            web.client.post(
                f"{chat}/messages",
                json=body,
                headers=clara(**{"x-forwarded-for": f"203.0.113.{n}"}),
            ).status_code
            for n in range(3)
        ]
        assert answers == [202, 202, 429]
        assert web.post(f"{chat}/rating", {"score": 5}, clara).status_code == 429
        assert web.opens(web.customer("cus_ben"))


def test_the_documentation_stands_alone(web: Web) -> None:
    page = web.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "<script" not in page.text
    assert "://" not in page.text
    document = web.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"<h2>{method.upper()} {path}</h2>" in page.text
    assert "/approvals/{approval_id}/approve" in document["paths"]
    assert "payload_hash" in page.text
