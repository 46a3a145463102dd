"""Everything stops by one word and goes on by another; the breaker is reset by a third."""

from dataclasses import replace

import pytest

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.breaker import Breaker
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.roles import Identity, Role
from agent.ports import DeliveryKind
from agent.providers.embedded_shop import EmbeddedShop
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.execute import carry_out, execute
from agent.steps.stop import lift, stop_all
from agent.steps.sweep import sweep
from bot.sandbox.payments_faults import FaultKind
from storage.engine import open_engine
from storage.transaction import Store
from tests.story.ways import (
    ANA,
    MIA,
    OLU,
    about,
    approved,
    booked,
    chips,
    executing,
    parked,
    refused,
    staff,
    turned_away,
    unknown,
    usd,
)
from tests.support.builders import policy
from tests.support.desk import Story

PAUSED = "Refund of 160.00 USD on order ORD-1001: approved, but everything is paused at the moment"
ON_ITS_WAY = "Refund of 160.00 USD on order ORD-1001: approved, the payment is on its way"


def stops(story: Story, who: Identity = OLU, reason: str = "a strange pattern") -> None:
    assert isinstance(stop_all(story.desk, story.order(who, reason)), Breaker)
    story.tells()


def lifts(story: Story, who: Identity = MIA, reason: str = "it was a sale") -> None:
    assert isinstance(lift(story.desk, story.order(who, reason)), Breaker)
    story.tells()


def test_approved_requests_wait_and_run_when_it_is_lifted(story: Story) -> None:
    staff(story)
    row = approved(story)
    posted = len(story.notifier.deliveries)
    stops(story)
    story.rests()
    assert story.approval(row.id) == row
    assert chips(story, row)[-1].data["text"] == PAUSED
    (banner,) = about(story, row, posted)
    assert banner.kind is DeliveryKind.CARD_UPDATE
    assert banner.approval is not None
    assert banner.approval.stopped
    posted = len(story.notifier.deliveries)
    lifts(story)
    assert chips(story, row)[-1].data["text"] == ON_ITS_WAY
    (redrawn,) = about(story, row, posted)
    assert redrawn.approval is not None
    assert not redrawn.approval.stopped
    story.rests()
    assert story.paid() == [("ORD-1001", usd(16000))]


def test_people_may_decide_meanwhile_and_it_waits(story: Story) -> None:
    staff(story)
    row = parked(story)
    stops(story)
    card = about(story, row)[-1]
    assert (card.kind, card.approval is not None and card.approval.stopped) == (
        DeliveryKind.CARD_UPDATE,
        True,
    )
    assert [chip.data["status"] for chip in chips(story, row)] == ["pending"]
    assert isinstance(story.approves(ANA, row), Decided)
    story.rests()
    assert story.approval(row.id).status is Status.APPROVED
    assert chips(story, row)[-1].data["text"] == PAUSED
    lifts(story)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED


def test_the_time_to_use_an_approval_runs_on(story: Story) -> None:
    staff(story)
    row = approved(story)
    stops(story)
    story.clock.advance(minutes=15)
    story.rests()
    assert story.approval(row.id).status is Status.APPROVED
    lifts(story)
    story.rests()
    assert story.approval(row.id).status is Status.STALE
    assert story.paid() == []


def test_what_is_on_its_way_arrives_and_is_written_down(story: Story) -> None:
    staff(story)
    row = executing(story)
    stops(story)
    carry_out(story.desk, row, in_turn=False)
    assert story.approval(row.id).status is Status.EXECUTED


def test_the_sweep_looks_and_does_not_send_again(story: Story) -> None:
    staff(story)
    row = unknown(story)
    stops(story)
    story.clock.advance(minutes=3)
    story.sweeps()
    after = story.approval(row.id)
    assert (after.status, after.attempts, after.clean_looks) == (Status.UNKNOWN, 1, 1)
    assert booked(story, row) == 0
    lifts(story)
    story.clock.advance(minutes=3)
    story.sweeps()
    assert story.approval(row.id).attempts == 2
    assert story.paid() == [("ORD-1001", usd(16000))]


def test_what_the_sweep_finds_is_settled_all_the_same(story: Story) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    stops(story)
    story.clock.advance(seconds=10)
    story.sweeps()
    assert story.approval(row.id).status is Status.EXECUTED


def test_nothing_runs_without_a_person_and_the_rest_may_still_be_asked_for(story: Story) -> None:
    staff(story)
    stops(story)
    chat = story.opens_chat("cus_clara")
    results = story.proposes(
        chat,
        story.refund_call("5.00", call_id="call_1"),
        story.email_call("call_2", template="photo_request", order_id="ORD-1001"),
        story.flag_call("0.10", "call_3"),
        story.refund_call("60.00", call_id="call_4"),
    )
    assert [result.get("error", result.get("status")) for result in results] == [
        "stopped",
        "stopped",
        "stopped",
        "pending_approval",
    ]
    assert story.paid() == []
    assert story.mails() == ()
    assert len(story.all(Status.EXECUTED)) == 0


def test_it_survives_a_restart(story: Story, database_url: str) -> None:
    staff(story)
    row = approved(story)
    stops(story)
    store = Store(open_engine(database_url))
    desk = replace(story.desk, store=store, shop=EmbeddedShop(store), replica="srv-new")
    again = replace(story, desk=desk)
    assert breaker_status(again.desk)["stopped"] is True
    assert breaker_status(again.desk)["stop"] == {
        "by": "Olu",
        "at": "2026-11-29T12:00:00Z",
        "reason": "a strange pattern",
    }
    assert execute(again.desk, row.id) is None
    sweep(again.desk)
    assert again.approval(row.id).status is Status.APPROVED
    lifts(again)
    assert breaker_status(story.desk)["stopped"] is False
    assert breaker_status(story.desk)["stop"] is None
    again.rests()
    assert story.paid() == [("ORD-1001", usd(16000))]
    store.close()


@pytest.mark.parametrize(
    ("who", "reason", "stop", "go"),
    [
        (MIA, "a strange pattern", None, None),
        (OLU, "a strange pattern", None, RefusalCode.NOT_ALLOWED),
        (ANA, "a strange pattern", RefusalCode.NOT_ALLOWED, RefusalCode.NOT_ALLOWED),
        (
            Identity("cli", "nobody"),
            "a strange pattern",
            RefusalCode.NOT_ALLOWED,
            RefusalCode.NOT_ALLOWED,
        ),
        (MIA, " no ", RefusalCode.REASON_REQUIRED, RefusalCode.REASON_REQUIRED),
    ],
    ids=["manager", "on call", "approver", "stranger", "no reason"],
)
def test_who_may_stop_and_who_may_let_it_go_on(
    story: Story, who: Identity, reason: str, stop: RefusalCode | None, go: RefusalCode | None
) -> None:
    staff(story)
    order = story.order(who, reason)
    assert code_of(stop_all(story.desk, order)) is stop
    if stop is not None:
        stops(story)
    assert code_of(lift(story.desk, order)) is go
    assert breaker_status(story.desk)["stopped"] is (go is not None)
    refusals = [f["data"] for f in story.facts() if f["type"] == "decision.refused"]
    said = [("stop", stop), ("lift", go)]
    expected = [(verdict, code.value) for verdict, code in said if code is not None]
    assert [(one["verdict"], one["code"]) for one in refusals] == expected


def code_of(answer: Breaker | Refused) -> RefusalCode | None:
    """Return why a word did not count, None when it did."""
    return answer.code if isinstance(answer, Refused) else None


def test_a_role_read_too_long_ago_stops_nothing(story: Story) -> None:
    staff(story)
    max_ = story.mirrored("max2", Role.REFUND_MANAGER)
    story.clock.advance(seconds=61)
    answer = refused(stop_all(story.desk, story.order(max_)))
    assert answer.code is RefusalCode.ROLE_UNVERIFIED


def test_the_same_word_twice_is_answered_and_changes_nothing(story: Story) -> None:
    staff(story)
    nothing = refused(lift(story.desk, story.order(MIA)))
    assert (nothing.code, nothing.message) == (
        RefusalCode.ALREADY_DECIDED,
        "Nothing is stopped.",
    )
    stops(story)
    twice = refused(stop_all(story.desk, story.order(MIA)))
    assert (twice.code, twice.message) == (RefusalCode.STOPPED, "Everything is stopped already.")
    assert story.trail().count("stop.thrown") == 1


def test_the_channel_on_call_reads_who_and_why(story: Story) -> None:
    staff(story)
    stops(story)
    (thrown,) = story.notifier.alerts(AlertKind.STOP_THROWN)
    assert thrown.body == {"text": "Olu stopped everything.", "reason": "a strange pattern"}
    lifts(story)
    (lifted,) = story.notifier.of(DeliveryKind.ALERT_LINE)
    assert lifted.alert is not None
    assert not lifted.alert.is_open
    assert lifted.alert.ended == lifted.body["text"]
    assert lifted.body["text"] == (
        "Mia lifted the stop: approved requests run again. Reason: it was a sale"
    )
    facts = {f["type"]: f for f in story.facts() if f["type"].startswith("stop.")}
    assert facts["stop.thrown"]["data"]["evidence"] == "oncall by fixed"
    assert facts["stop.lifted"]["data"]["reason"] == "it was a sale"


def test_no_chip_and_no_card_speaks_of_what_the_customer_may_not_know(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.95"))
    flag = story.only(Status.PENDING)
    story.approves(MIA, flag)
    stops(story)
    assert [event for event in story.log(chat) if event.type.value == "approval"] == []
    assert DeliveryKind.CARD_UPDATE in {one.kind for one in about(story, flag)}


def test_a_refund_that_waits_to_be_sent_again_has_a_chip_and_no_card(story: Story) -> None:
    staff(story)
    row = turned_away(story)
    stops(story)
    assert about(story, row) == []
    assert "everything is paused" in str(chips(story, row)[-1].data["text"])


def test_a_reset_closes_the_breaker_and_lifts_no_stop(story: Story) -> None:
    staff(story)
    strict = story.under(policy(breaker={"max_refunds": 1}))
    chat = story.opens_chat("cus_clara")
    first, second = strict.proposes(
        chat,
        story.refund_call("5.00", call_id="call_1"),
        story.refund_call("6.00", call_id="call_2"),
    )
    assert (first["status"], second["error"]) == ("executed", "breaker_open")
    stops(strict)
    closed = reset_breaker(strict.desk, story.order(MIA, "each was looked at"))
    assert isinstance(closed, Breaker)
    status = breaker_status(strict.desk)
    assert (status["state"], status["admitted_in_window"], status["stopped"]) == ("closed", 0, True)
    story.tells()
    (news,) = story.notifier.of(DeliveryKind.ALERT_LINE)
    assert news.body["text"] == "Mia reset it. Reason: each was looked at"
    (again,) = strict.proposes(chat, story.refund_call("6.00", call_id="call_3"))
    assert again["error"] == "stopped"
    lifts(strict)
    (runs,) = strict.proposes(chat, story.refund_call("6.00", call_id="call_4"))
    assert runs["status"] == "executed"
