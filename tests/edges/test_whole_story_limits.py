"""The story against the clock: the breaker and its trial, the deadline nobody met."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.outside import Json, button_value, database, eventually, is_over, shown_text
from tests.support.process import ONCALL, Chat, DeskProcess, running_desk

# Small refunds on eight orders of three customers: no limit but the breaker's is near.
SMALL = (
    ("cus_clara", "ORD-1001"),
    ("cus_clara", "ORD-1002"),
    ("cus_clara", "ORD-1013"),
    ("cus_david", "ORD-1005"),
    ("cus_david", "ORD-1015"),
    ("cus_ben", "ORD-1003"),
    ("cus_ben", "ORD-1008"),
    ("cus_ben", "ORD-1016"),
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def desk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeskProcess]:
    """Run a desk whose breaker cools down in a second, and where people have two to decide."""
    clocks = {
        "BREAKER_COOLDOWN_S": "1",
        "REFUND_DECIDE_WITHIN_S": "2",
        "SWEEP_INTERVAL_S": "1",
    }
    with (
        database(request.param, request) as url,
        running_desk(tmp_path_factory.mktemp("desk"), url, **clocks) as desk,
    ):
        yield desk
        assert desk.agent("audit", "verify").startswith("ok: ")
        desk.stop()


def alerts(desk: DeskProcess) -> list[Json]:
    return [m for m in desk.slack(ONCALL) if "Refund breaker" in m["text"]]


def automatic(desk: DeskProcess) -> list[Json]:
    """Return what the book holds of small refunds made here."""
    return [one for one in desk.payments() if one["amount"]["minor"] == 200]


def asks(desk: DeskProcess, customer: str, order: str) -> str:
    return desk.opens_chat(customer).says(f"refund $2 on {order}")


def test_the_sixth_small_refund_in_a_minute_opens_the_breaker(desk: DeskProcess) -> None:
    for customer, order in SMALL[:5]:
        assert "Done" in asks(desk, customer, order)
    assert "paused" in asks(desk, *SMALL[5])
    assert len(automatic(desk)) == 5
    (alert,) = eventually(lambda: alerts(desk), "alert")
    assert [order for _, order in SMALL[:5] if order not in shown_text(alert)] == []
    assert desk.breaker()["admitted_in_window"] == 5
    (refused,) = desk.rows("SELECT body FROM audit WHERE type = 'proposal.refused'")
    assert "breaker_open" in refused["body"]


def test_after_the_cooldown_exactly_one_refund_is_tried(desk: DeskProcess) -> None:
    # The trial takes its time, so that the others come while it is under way.
    desk.payments_fail("slow")
    eventually(lambda: is_over(desk.breaker()["opens_again_at"]), "end of the cooldown")
    with ThreadPoolExecutor(4) as together:
        said = list(together.map(lambda one: asks(desk, *one), SMALL[4:]))
    assert sorted("Done" in words for words in said) == [False, False, False, True]
    assert len(automatic(desk)) == 6
    (trials,) = desk.rows("SELECT count(*) AS n FROM breaker_admissions WHERE trial = 1")
    assert trials["n"] == 1
    assert desk.breaker()["state"] == "closed"
    (over,) = eventually(lambda: [m for m in alerts(desk) if "✅" in m["text"]], "end of the alert")
    assert len(alerts(desk)) == 1
    assert "A trial went through" in shown_text(over)


def test_a_request_nobody_decides_expires_and_is_never_paid(desk: DeskProcess) -> None:
    chat = desk.opens_chat("cus_yuki")
    approval = chat.parks("please refund 9000 yen on ORD-1012")
    card = desk.card(approval["id"])
    said = chat.reads("in time")
    assert "nothing was paid" in said
    assert "declined" not in said
    assert chat.chips()[-1]["status"] == "expired"
    gone = desk.card(approval["id"], "Expired")
    assert "Nobody decided in time" in shown_text(gone)
    assert "Rejected" not in shown_text(gone)
    pays_nothing_late(desk, chat, approval, card)


def pays_nothing_late(desk: DeskProcess, chat: Chat, approval: Json, card: Json) -> None:
    # The button of before: the clicker's screen has not been redrawn yet.
    value = button_value(card, "approval_approve")
    assert desk.clicks("ana", card, "approval_approve", value=value)["status"] == 200
    desk.whispers("ana", "Too late")
    late = desk.decides("approve", approval, desk.staff("ana"))
    assert (late.status_code, late.json()["code"]) == (409, "expired")
    assert desk.approval(approval["id"])["status"] == "expired"
    assert desk.payments("ORD-1012") == []
    assert len(chat.told()) == 2
    ended = desk.rows("SELECT type FROM audit WHERE approval_id = :id", id=approval["id"])
    assert {row["type"] for row in ended}.isdisjoint({"approval.rejected", "approval.approved"})
