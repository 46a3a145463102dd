"""The process dies at the worst moments; after the next start there is one refund, told once."""

from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from tests.support.invariants import check_invariants
from tests.support.outside import Json, button_value, eventually, parts_of
from tests.support.process import Chat, DeskProcess, running_desk

# A mail is due only when the customer has read nothing for five minutes.
_ON_THEIR_WAY = "SELECT count(*) AS n FROM outbox WHERE lane <> 'mail'"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskProcess]:
    """Run one desk for all crashes, on SQLite: the next start takes over at once."""
    env = {"SWEEP_INTERVAL_S": "1", "BREAKER_MAX_REFUNDS": "50"}
    with running_desk(tmp_path_factory.mktemp("desk"), **env) as desk:
        yield desk
        assert desk.agent("audit", "verify").startswith("ok: ")


@pytest.fixture
def desk(running: DeskProcess) -> Iterator[DeskProcess]:
    """Yield the desk; afterwards everything is delivered and every invariant holds."""
    yield running
    eventually(lambda: running.rows(_ON_THEIR_WAY)[0]["n"] == 0, "delivery")
    check_invariants(running.database_url, running.payments())


def paid(desk: DeskProcess, approval: Json) -> list[int]:
    key = f"rd-{approval['id'].removeprefix('apr_')}"
    return [one["amount"]["minor"] for one in desk.payments() if one["key"] == key]


def is_told(desk: DeskProcess, chat: Chat, approval: Json, words: str) -> None:
    """Wait for one refund, one message about it and a card that shows it; fail for a second."""
    desk.becomes(approval["id"], "executed")
    assert paid(desk, approval) == [approval["payload"]["amount"]["minor"]]
    chat.reads(words)
    desk.card(approval["id"], "Approved and paid")
    eventually(lambda: desk.rows(_ON_THEIR_WAY)[0]["n"] == 0, "delivery")
    assert len([said for said in chat.told() if words in said]) == 1
    assert [chip["status"] for chip in chat.chips()][-1] == "done"


def restart(desk: DeskProcess) -> None:
    desk.kill()
    desk.start()


def test_killed_between_park_and_click(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_clara")
    approval = chat.parks("refund $160 on ORD-1001")
    card = desk.card(approval["id"])
    restart(desk)
    same = desk.card(approval["id"])
    assert same["ts"] == card["ts"]
    assert desk.clicks("ana", same, "approval_approve")["status"] == 200
    is_told(desk, chat, approval, "160.00 USD has been refunded")


def test_killed_between_decision_and_provider(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("refund $101 on ORD-1005")
    card = desk.card(approval["id"])
    desk.payments_fail("slow")
    assert desk.clicks("ana", card, "approval_approve")["status"] == 200
    desk.becomes(approval["id"], "executing")
    assert paid(desk, approval) == []
    restart(desk)
    is_told(desk, chat, approval, "101.00 USD has been refunded")


def test_killed_as_soon_as_the_decision_is_durable(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("refund $102 on ORD-1005")
    answer = desk.decides("approve", approval, desk.staff("ana"))
    assert answer.status_code == httpx.codes.OK, answer.text
    restart(desk)
    is_told(desk, chat, approval, "102.00 USD has been refunded")


def test_killed_when_the_provider_gave_no_answer_but_paid(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("refund $103 on ORD-1005")
    desk.payments_fail("timeout_after")
    desk.decides("approve", approval, desk.staff("ana"))
    desk.becomes(approval["id"], "unknown")
    assert paid(desk, approval) == [10300]
    restart(desk)
    is_told(desk, chat, approval, "103.00 USD has been refunded")


def test_killed_the_moment_the_money_has_moved(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("refund $104 on ORD-1005")
    desk.decides("approve", approval, desk.staff("ana"))
    # Read in the file, which is faster than asking: with luck the outcome is not written yet.
    booked = "SELECT id FROM ledger_refunds WHERE amount_minor = 10400"
    eventually(lambda: desk.rows(booked), "entry in the book")
    restart(desk)
    is_told(desk, chat, approval, "104.00 USD has been refunded")


def test_killed_in_a_turn_that_pays_by_itself(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_sofia")
    desk.payments_fail("slow")
    chat.sends("refund $7 on ORD-1017")
    running = "SELECT id FROM approvals WHERE status = 'executing' AND amount_minor = 700"
    ((approval_id),) = [row["id"] for row in eventually(lambda: desk.rows(running), "claim")]
    restart(desk)
    desk.becomes(approval_id, "executed")
    chat.reads("7.00 USD")
    eventually(lambda: desk.rows(_ON_THEIR_WAY)[0]["n"] == 0, "delivery")
    assert [one["amount"]["minor"] for one in desk.payments("ORD-1017")] == [700]
    assert len([said for said in chat.told() if "refunded" in said]) == 1
    assert [chip["status"] for chip in chat.chips()][-1] == "done"


def test_killed_while_slack_has_a_card_and_has_not_said_so(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    desk.slack_fails("chat.postMessage", delay_s=30)
    approval = chat.parks("refund $105 on ORD-1005")
    (landed,) = eventually(lambda: desk.cards(approval["id"]), "card that landed")
    assert (
        desk.rows("SELECT * FROM slack_messages WHERE approval_id = :id", id=approval["id"]) == []
    )
    restart(desk)
    eventually(
        lambda: desk.rows(
            "SELECT ts FROM slack_messages WHERE approval_id = :id", id=approval["id"]
        ),
        "card that is known",
    )
    # At most one more copy, and every copy is kept up to date: facts/slack.md §1.8.
    copies = desk.cards(approval["id"])
    assert len(copies) <= 2
    value = button_value(landed, "approval_approve")
    assert desk.clicks("ana", landed, "approval_approve", value=value)["status"] == 200
    desk.becomes(approval["id"], "executed")
    assert paid(desk, approval) == [10500]
    eventually(
        lambda: not any(parts_of(c["blocks"], "button") for c in desk.cards(approval["id"])),
        "outcome on every card",
    )
    chat.reads("105.00 USD has been refunded")


def test_asked_to_end_with_a_stream_open_and_refunds_under_way(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_david")
    approval = chat.parks("refund $106 on ORD-1005")
    small = desk.opens_chat("cus_sofia")
    desk.payments_fail("slow", times=2)
    desk.decides("approve", approval, desk.staff("ana"))
    small.sends("refund $8 on ORD-1017")
    executing = "SELECT id FROM approvals WHERE status = 'executing'"
    eventually(lambda: len(desk.rows(executing)) == 2, "two refunds under way")
    with (
        httpx.Client(base_url=desk.url, timeout=30, trust_env=False) as browser,
        browser.stream(
            "GET", f"{chat.path}/events", headers={**chat.who, "accept": "text/event-stream"}
        ) as stream,
    ):
        assert stream.status_code == httpx.codes.OK
        desk.stop()
        with suppress(httpx.TransportError):
            stream.read()
    desk.start()
    is_told(desk, chat, approval, "106.00 USD has been refunded")
    small.reads("8.00 USD")
    eventually(lambda: desk.rows(_ON_THEIR_WAY)[0]["n"] == 0, "delivery")
    assert [one["amount"]["minor"] for one in desk.payments("ORD-1017")] == [700, 800]
