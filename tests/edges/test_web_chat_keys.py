"""Customers' tokens: the shop's signature, and nothing that only looks like it."""

import base64
import hmac
import json
from collections.abc import Iterator
from datetime import datetime, timedelta

import jwt
import pytest
from jwt.algorithms import get_default_algorithms

from bot.settings import load_settings
from bot.web.chat_keys import BadToken, ChatKeys
from tests.support import unavailable
from tests.support.doubles import START
from tests.support.http import JWT_SECRET, Headers, Web, running_web_on_sqlite, shop_token

KEYS = ChatKeys(secret=JWT_SECRET)
MINUTE = timedelta(minutes=1)


def encoded(part: object) -> str:
    """Return a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def unsigned(algorithm: str) -> str:
    """Return a token that claims an algorithm and has no signature."""
    claims = {"sub": "cus_clara", "aud": "supportdesk", "exp": START.timestamp() + 60}
    return f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{encoded(claims)}."


def signed_otherwise(key: str, algorithm: str = "HS256", **claims: object) -> str:
    """Return a good token under another key or algorithm."""
    usual = {"sub": "cus_clara", "aud": "supportdesk", "exp": START + MINUTE}
    return jwt.encode(usual | claims, key, algorithm=algorithm)


def test_a_token_of_the_shop_names_the_customer() -> None:
    assert KEYS.customer_of(shop_token("cus_clara", START), START) == "cus_clara"
    assert KEYS.customer_of(shop_token("gid://shop/Customer/1", START), START) != "cus_clara"


@pytest.mark.parametrize(
    ("claims", "now"),
    [
        ({}, START + 15 * MINUTE + timedelta(seconds=9)),
        ({"iat": None, "exp": START + 15 * MINUTE}, START),
        ({"iat": START + timedelta(seconds=9)}, START),
        ({"nbf": START + timedelta(seconds=9)}, START),
        ({"aud": ["other", "supportdesk"]}, START),
    ],
)
def test_a_token_is_good_within_its_time(claims: dict[str, object], now: datetime) -> None:
    assert KEYS.customer_of(shop_token("cus_clara", START, **claims), now) == "cus_clara"


@pytest.mark.parametrize(
    ("claims", "now"),
    [
        ({}, START + 15 * MINUTE + timedelta(seconds=10)),
        ({"exp": START - MINUTE}, START),
        ({"exp": None}, START),
        ({"exp": "soon"}, START),
        ({"exp": True}, START),
        ({"exp": float("nan")}, START),
        ({"exp": 10**400}, START),
        ({"iat": float("nan")}, START),
        ({"iat": START + MINUTE}, START),
        ({"nbf": START + MINUTE}, START),
        ({"exp": START + 16 * MINUTE}, START),
        ({"iat": None, "exp": START + 16 * MINUTE}, START),
        ({"iat": START - 14 * MINUTE, "exp": START + 2 * MINUTE}, START),
        ({"sub": None}, START),
        ({"sub": ""}, START),
        ({"sub": "cus\0clara"}, START),
        ({"sub": "x" * 201}, START),
        ({"aud": None}, START),
        ({"aud": "another-desk"}, START),
    ],
)
def test_a_token_that_says_something_else_is_bad(claims: dict[str, object], now: datetime) -> None:
    with pytest.raises(BadToken):
        KEYS.customer_of(shop_token("cus_clara", START, **claims), now)


@pytest.mark.parametrize(
    "token",
    [
        unsigned("none"),
        unsigned("HS256"),
        unsigned("RS256"),
        signed_otherwise("another secret that is long enough"),
        signed_otherwise(JWT_SECRET * 2, "HS512"),
        shop_token("cus_clara", START)[:-2],
        "a.b.c",
        "..",
        "é.é.é",
        f"{base64.urlsafe_b64encode(b'[' * 40_000).decode()}.e30.e30",
    ],
)
def test_a_token_that_the_shop_did_not_sign_is_bad(token: str) -> None:
    with pytest.raises(BadToken):
        KEYS.customer_of(token, START)


def test_without_a_key_no_token_is_good() -> None:
    with pytest.raises(BadToken):
        ChatKeys().customer_of(shop_token("cus_clara", START), START)


# Of a pair whose private half signed the one token below and was thrown away.
PUBLIC_KEY = """\
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAt/ddgcadnsVEQ4dEFxVl
+vI4HO1L/MXLA7t+0PCmMQOdFkj7o8tX/1rSCzD1vKsoiN4ZPoVTWoa+m9Qp35zs
KtoWtm7yjfkaO7pTARo8Usu2XOTdkUeG/A6f7M+9C4Lwcqv7khSKSzdVoLJf5L8v
Rz2xWrHEsXLirYNyrREHnpH6c1gDYMCnCExkQ2cf67VHzBsYFwIGNNZk9ylj6iPC
AAL8etDMhv2f+pT9eS1vNtOeRt475oyY1oARmve1jYfTq3VUJkOb+dipsZAYawd/
BmWaGQjaPTrs39U/iSWQq69N0EOpgFVNtoHjQySgvdZSxKxU59BvTp14SWkTZ3b3
twIDAQAB
-----END PUBLIC KEY-----
"""
SIGNED_BY_IT = (
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9."
    "eyJzdWIiOiJjdXNfY2xhcmEiLCJhdWQiOiJzdXBwb3J0ZGVzayIsImV4cCI6MTc5NTk1MzY2MH0."
    "qpS7wg6rc9-X3wzDWpTE7hYlmbpKOOSICB7fxhwF1rN8-Osw23uKdWbkRkSFcIFuFtVrv_6MsTny84xY"
    "jPh61fXLqFh6tCWy0GiLh1qfZHHkASjMnFOHq1tS0w99PbVJ7RtHZi_tuGE3e2Xi0MdDh0TTdJ0H1hB_"
    "cmYotBTapXnsCnoZ_zLsBB02tiuu6rwHixFdfTq93CXcRkpKLdC18dbddw7u5VmAykvnPOL-4azycTU7"
    "3smLhYyfACWz6pid5QK2uDBWlxZDTFxM6vz7dO1r44l5okEWPw4Yq1O2NaX3GmXSVDH1jANYTtbBki21"
    "hZ-865zt3AkHgFrSxxcsmQ"
)


@pytest.fixture
def public_key(monkeypatch: pytest.MonkeyPatch) -> ChatKeys:
    if "RS256" not in get_default_algorithms():
        unavailable("RS256 in PyJWT (the package cryptography)")
    monkeypatch.delenv("WIDGET_JWT_SECRET", raising=False)
    monkeypatch.setenv("WIDGET_JWT_PUBLIC_KEY", PUBLIC_KEY.replace("\n", "\\n"))
    key = load_settings().widget_jwt_public_key
    assert key is not None
    return ChatKeys(public_key=key.get_secret_value())


def test_a_public_key_checks_what_the_private_one_signed(public_key: ChatKeys) -> None:
    assert public_key.customer_of(SIGNED_BY_IT, START) == "cus_clara"
    for token in (f"{SIGNED_BY_IT[:-4]}AAAA", unsigned("RS256"), shop_token("cus_clara", START)):
        with pytest.raises(BadToken):
            public_key.customer_of(token, START)


def test_a_public_key_is_never_taken_for_a_shared_secret(public_key: ChatKeys) -> None:
    head, claims, _ = SIGNED_BY_IT.split(".")
    forged = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{claims}"
    digest = hmac.digest(PUBLIC_KEY.encode(), forged.encode(), "sha256")
    signature = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    for token in (f"{forged}.{signature}", f"{head}.{claims}.{signature}"):
        with pytest.raises(BadToken):
            public_key.customer_of(token, START)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk")) as web:
        yield web


@pytest.mark.parametrize(
    "authorization",
    [
        f"Bearer {unsigned('none')}",
        f"Bearer {signed_otherwise('another secret that is long enough')}",
        "Bearer an-anonymous-token-nobody-has",
        "Bearer",
        "Basic dXNlcjpwYXNz",
        shop_token("cus_clara", START),
    ],
)
def test_a_bad_token_is_refused_and_never_taken_for_none(web: Web, authorization: str) -> None:
    who = Headers(authorization)
    for answer in (
        web.post("/chat/conversations", {}, who),
        web.get("/chat/conversations", who),
        web.get("/chat/conversations/cnv_00000000000000000000000000/events", who),
    ):
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert shop_token("cus_clara", START) not in answer.text


def test_a_token_is_asked_for_again_when_it_has_run_out(web: Web) -> None:
    clara = web.customer("cus_clara")
    chat = web.opens(clara)
    web.story.clock.advance(minutes=16)
    assert web.get(f"{chat}/events", clara).status_code == 401
    assert web.get(f"{chat}/events", web.customer("cus_clara")).status_code == 200


def test_a_customers_token_is_no_key_to_the_approvals(web: Web) -> None:
    assert web.get("/approvals", web.customer("cus_clara")).status_code == 401
