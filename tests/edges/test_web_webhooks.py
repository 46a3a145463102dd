"""The payment provider's events: signed, heard once, and looked up before anything is believed."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.routing import Mount

from agent.domain.approvals import Approval, Status
from agent.domain.errors import InvalidInput
from agent.domain.roles import Role
from bot.sandbox.payments_faults import FaultKind
from bot.settings import Settings, load_settings
from bot.web.signatures import WebhookKeys
from storage.transaction import Store
from tests.support.doubles import CountingIds, HandClock
from tests.support.http import Web, running_web, running_web_on_sqlite

NEW, OLD = "whsec_the-newer-one-of-two", "whsec_the-older-one-of-two"
KEYS = WebhookKeys((NEW, OLD))


@pytest.fixture
def web(store: Store, clock: HandClock, ids: CountingIds) -> Iterator[Web]:
    with running_web(store, clock, ids, webhook_keys=KEYS) as web:
        web.story.model.otherwise = "I see."
        yield web


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running_web_on_sqlite(tmp_path_factory.mktemp("desk"), webhook_keys=KEYS) as web:
        yield web


def event(approval_id: str | None, event_id: str = "evt_1", kind: str = "refund.updated") -> bytes:
    """Return an event as the provider writes it, with more in it than the desk reads."""
    metadata = {} if approval_id is None else {"desk_refund_id": approval_id, "order_id": "x"}
    refund = {"id": "re_1", "object": "refund", "status": "succeeded", "metadata": metadata}
    body = {
        "id": event_id,
        "object": "event",
        "livemode": False,
        "type": kind,
        "data": {"object": refund, "previous_attributes": {"status": "pending"}},
    }
    return json.dumps(body).encode()


def stamp(web: Web, seconds: int = 0) -> int:
    return int(web.story.clock.now().timestamp()) + seconds


def signature(body: bytes, at: int, secret: str = NEW) -> str:
    signed = f"{at}.".encode() + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def sends(web: Web, body: bytes, header: str | None = None) -> httpx.Response:
    """Send an event, signed now unless a header is given."""
    at = stamp(web)
    said = f"t={at},v1={signature(body, at)}" if header is None else header
    return web.client.post("/webhooks/payments", content=body, headers={"Stripe-Signature": said})


def heard(web: Web) -> list[tuple[str, str, str | None]]:
    """Return the stored events."""
    with web.story.desk.store.transaction(write=False) as tx:
        rows = tx.all(text("SELECT id, type, approval_id FROM webhook_events ORDER BY id"))
    return [(row["id"], row["type"], row["approval_id"]) for row in rows]


def counted(web: Web) -> dict[str, float]:
    """Return how often the webhook gave which answer."""
    lines = web.get("/metrics").text.splitlines()
    found = [line.rpartition(" ") for line in lines if line.startswith("supportdesk_webhooks_t")]
    return {name.split('"')[1]: float(number) for name, _, number in found}


def refunded(web: Web, fault: FaultKind | None = None) -> Approval:
    """Return an approved refund after its first try, which met a fault of the provider."""
    ann = web.story.hire("ann", Role.REFUND_APPROVER)
    web.story.approves(ann, web.parks("160.00"))
    approval = web.story.only(Status.APPROVED)
    if fault is not None:
        web.story.payments.plan(fault, 1)
    web.story.rests()
    return web.story.approval(approval.id)


# --- what an event does --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "refund.created",
        "refund.updated",
        "refund.failed",
        "charge.refund.updated",
        "charge.refunded",
    ],
)
def test_a_late_event_settles_an_unknown_refund_once(web: Web, kind: str) -> None:
    approval = refunded(web, FaultKind.TIMEOUT_AFTER)
    assert approval.status is Status.UNKNOWN
    answer = sends(web, event(approval.id, kind=kind))
    assert (answer.status_code, answer.json()) == (200, {"received": True})
    settled = web.story.approval(approval.id)
    assert settled.status is Status.EXECUTED
    assert settled.attempts == 1
    trail = len(web.story.trail())

    again = sends(web, event(approval.id, kind=kind))
    assert again.status_code == 200
    assert len(web.story.trail()) == trail
    assert heard(web) == [("evt_1", kind, approval.id)]
    assert counted(web) == {"heard": 1, "repeat": 1}
    web.story.rests()
    assert len(web.story.paid()) == 1


def test_the_record_is_believed_and_not_the_event(web: Web) -> None:
    # It says "succeeded" of a refund that never reached the provider.
    approval = refunded(web, FaultKind.TIMEOUT_BEFORE)
    assert sends(web, event(approval.id)).status_code == 200
    assert web.story.approval(approval.id).status is Status.UNKNOWN
    assert web.story.paid() == []


def test_a_refund_that_came_back_later_failed(web: Web) -> None:
    approval = refunded(web)
    assert approval.status is Status.EXECUTED
    web.story.happens(
        "UPDATE ledger_refunds SET status = 'failed' WHERE key = :key",
        key=approval.idempotency_key,
    )
    assert sends(web, event(approval.id, kind="refund.failed")).status_code == 200
    assert web.story.approval(approval.id).status is Status.FAILED


def test_events_in_any_order_end_at_the_same_place(web: Web) -> None:
    approval = refunded(web, FaultKind.TIMEOUT_AFTER)
    for number, kind in enumerate(("refund.failed", "refund.updated", "refund.created")):
        body = event(approval.id, event_id=f"evt_{number}", kind=kind)
        assert sends(web, body).status_code == 200
        assert web.story.approval(approval.id).status is Status.EXECUTED
    assert len(heard(web)) == 3


def test_an_event_of_another_kind_makes_nobody_look(web: Web) -> None:
    approval = refunded(web, FaultKind.TIMEOUT_AFTER)
    assert sends(web, event(approval.id, kind="charge.captured")).status_code == 200
    assert web.story.approval(approval.id).status is Status.UNKNOWN
    assert heard(web) == [("evt_1", "charge.captured", None)]


def test_an_event_of_a_request_that_waits_changes_nothing(web: Web) -> None:
    parked = web.parks("160.00")
    assert sends(web, event(parked.id)).status_code == 200
    assert web.story.approval(parked.id).status is Status.PENDING
    assert heard(web) == [("evt_1", "refund.updated", parked.id)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (event("apr_00000000000000000000000000"), "refund.updated"),
        (event(None), "refund.updated"),
        (event("'; --"), "refund.updated"),
        (event("apr_1", kind="customer.created"), "customer.created"),
        (
            b'{"id": "evt_1", "type": "refund.updated", "data": {"object": {"metadata": [1]}}}',
            "refund.updated",
        ),
        (b'{"id": "evt_1", "type": "payout.paid", "data": {"object": {}}}', "payout.paid"),
    ],
)
def test_what_the_desk_does_not_know_is_stored_and_nothing_else(
    tmp_path: Path, body: bytes, kind: str
) -> None:
    with running_web_on_sqlite(tmp_path, webhook_keys=KEYS) as web:
        assert sends(web, body).status_code == 200
        assert heard(web) == [("evt_1", kind, None)]


# --- whose event it is ---------------------------------------------------------------------------


def test_either_secret_signs_while_they_are_exchanged(door: Web) -> None:
    at = stamp(door)
    for number, header in enumerate(
        (
            "t={at},v1={old}",
            "t={at},v1={new}",
            "t={at}, v1={zero}, v1={old}, v0={zero}",
            "v1={new},t={at},v1={zero}",
        )
    ):
        body = event(None, event_id=f"evt_secret_{number}")
        signed = {"new": signature(body, at), "old": signature(body, at, OLD)}
        said = header.format(at=at, zero="0" * 64, **signed)
        assert sends(door, body, said).status_code == 200, header


@pytest.mark.parametrize("seconds", [-300, -299, 0, 299, 300])
def test_a_stamp_of_the_last_or_the_next_five_minutes_is_the_present(
    door: Web, seconds: int
) -> None:
    body, at = event(None, event_id=f"evt_at_{300 + seconds}"), stamp(door, seconds)
    assert sends(door, body, f"t={at},v1={signature(body, at)}").status_code == 200


BODY = event(None, event_id="evt_forged")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        "t={at}",
        "v1={good}",
        "t={at},v1=",
        "t={at},v1={zero}",
        "t={at},v0={good}",
        "t={at},v1={good}\u00e9",
        "t={at},v1={other}",
        "t={at},v1={stranger}",
        "t={later},v1={good}",
        "t={at},t={at},v1={good}",
        "t=-5,v1={good}",
        "t=1e9,v1={good}",
        "t=" + "9" * 12 + ",v1={good}",
        "t=\u0661,v1={good}",
        "t={old},v1={by_old}",
        "t={future},v1={by_future}",
    ],
)
def test_what_is_not_signed_just_now_has_no_effect(door: Web, header: str) -> None:
    at, old, future = stamp(door), stamp(door, -301), stamp(door, 301)
    said = header.format(
        at=at,
        later=at + 1,
        old=old,
        future=future,
        zero="0" * 64,
        good=signature(BODY, at),
        other=signature(BODY + b" ", at),
        stranger=signature(BODY, at, "whsec_somebody-elses"),
        by_old=signature(BODY, old),
        by_future=signature(BODY, future),
    )
    trail, before = len(door.story.trail()), counted(door).get("bad_signature", 0)
    answer = door.client.post(
        "/webhooks/payments", content=BODY, headers={b"Stripe-Signature": said.encode()}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_signature")
    assert answer.headers["content-type"] == "application/problem+json"
    assert NEW not in answer.text
    assert "evt_forged" not in [event_id for event_id, _, _ in heard(door)]
    assert len(door.story.trail()) == trail
    assert counted(door)["bad_signature"] == before + 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 60_000,
        b"{}",
        b'{"id": "evt_1", "type": "refund.updated"}',
        b'{"id": 5, "type": "refund.updated", "data": {"object": {}}}',
        b'{"id": "evt 1", "type": "refund.updated", "data": {"object": {}}}',
        b'{"id": "evt_1", "type": "refund\\u0000", "data": {"object": {}}}',
        b'{"id": "' + b"e" * 300 + b'", "type": "refund.updated", "data": {"object": {}}}',
    ],
)
def test_a_signed_body_that_is_no_event_is_refused(door: Web, body: bytes) -> None:
    answer = sends(door, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


def test_a_body_too_large_is_refused_before_it_is_checked(door: Web) -> None:
    answer = sends(door, b"x" * (256 * 1024 + 1), "t=1,v1=0")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    exactly = sends(door, b"x" * (256 * 1024), "t=1,v1=0")
    assert (exactly.status_code, exactly.json()["code"]) == (400, "bad_signature")


def test_events_are_posted_whatever_is_mounted_beneath(tmp_path: Path) -> None:
    page = Mount("/", app=Starlette(routes=[]))
    with running_web_on_sqlite(tmp_path, webhook_keys=KEYS, mounts=(page,)) as web:
        asked = web.get("/webhooks/payments")
        assert (asked.status_code, asked.json()["code"]) == (405, "method_not_allowed")
        assert asked.headers["allow"] == "POST"
        assert sends(web, event(None)).status_code == 200
        assert web.get("/webhooks/other").status_code == 404


def test_without_a_secret_there_is_no_such_page(tmp_path: Path) -> None:
    with running_web_on_sqlite(tmp_path) as web:
        answer = sends(web, event(None))
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert heard(web) == []


def test_no_secret_is_in_a_picture_of_the_keys() -> None:
    assert NEW not in repr(KEYS)


# --- the setting ---------------------------------------------------------------------------------


@pytest.fixture
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.usefixtures("_nothing_is_set")
def test_secrets_are_read_by_spaces_or_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().webhook_secrets == ()
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", f" {NEW}, {OLD}")
    settings = load_settings()
    assert settings.webhook_secrets == (NEW, OLD)
    assert NEW not in repr(settings)


@pytest.mark.usefixtures("_nothing_is_set")
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (" , ", "holds no secret"),
        (f"{NEW} whsec_short", "holds a secret shorter than 16 characters"),
        (" ".join([NEW] * 5), "holds more than 4 secrets"),
    ],
)
def test_secrets_that_cannot_be_are_refused(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", value)
    with pytest.raises(InvalidInput, match=f"^STRIPE_WEBHOOK_SECRET: {problem}$"):
        load_settings()
