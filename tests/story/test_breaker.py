"""Too many automatic refunds in a short time pause themselves."""

import threading
from dataclasses import replace

from sqlalchemy import text

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.breaker import Breaker, BreakerState
from agent.domain.conversation import ToolCall
from agent.domain.decision import RefusalCode, Refused
from agent.domain.ids import CustomerId, RunId
from agent.domain.roles import ActorKind, Channel, Identity, Role
from agent.ports import Declined, DeliveryKind
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.execute import settle
from agent.steps.gate import Proposed, propose
from agent.steps.permission import Order
from agent.tools.base import parse_arguments
from agent.tools.refunds import ISSUE_REFUND, IssueRefund
from bot.sandbox.payments_faults import FaultKind
from storage.breaker import load, save
from tests.story.orders import owner_of
from tests.story.test_execute import DyingPayments, Killed, with_payments
from tests.story.test_gate import last_result
from tests.support.desk import Story

ORDERS = (
    "ORD-1001",
    "ORD-1002",
    "ORD-1013",
    "ORD-1018",
    "ORD-1019",
    "ORD-1003",
    "ORD-1008",
    "ORD-1016",
)


def refund(story: Story, order: str) -> str:
    """Ask for a small refund and return how it went."""
    chat = story.opens_chat(owner_of(story, order))
    story.asks_refund(chat, "5.00", order)
    result = last_result(story)
    return str(result.get("status") or result["error"])


def five(story: Story) -> None:
    """Fill the window."""
    assert [refund(story, order) for order in ORDERS[:5]] == ["executed"] * 5


def test_the_sixth_is_refused_and_one_alert_goes_out(story: Story) -> None:
    five(story)
    assert breaker_status(story.desk)["state"] == "closed"
    assert refund(story, ORDERS[5]) == "breaker_open"
    assert refund(story, ORDERS[6]) == "breaker_open"
    assert len(story.paid()) == 5
    (alert,) = story.notifier.alerts(AlertKind.BREAKER_OPENED)
    refunds = alert.body["refunds"]
    assert isinstance(refunds, list)
    assert len(refunds) == 5
    status = breaker_status(story.desk)
    assert status["state"] == "open"
    assert status["admitted_in_window"] == 5
    assert status["opens_again_at"]


def test_after_the_cooldown_exactly_one_trial_runs(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(seconds=30, microseconds=-1)
    assert refund(story, ORDERS[5]) == "breaker_open"
    story.clock.advance(microseconds=1)
    assert breaker_status(story.desk)["state"] == "half_open"
    assert refund(story, ORDERS[5]) == "executed"
    assert breaker_status(story.desk)["state"] == "closed"
    assert refund(story, ORDERS[6]) == "executed"
    assert story.trail().count("breaker.closed") == 1


def test_ten_at_once_after_the_cooldown_make_one_provider_call(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(seconds=30)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    chats = [dying.opens_chat(owner_of(story, ORDERS[n % 8])) for n in range(10)]
    results: list[str] = []

    def ask(number: int) -> None:
        order = ORDERS[number % 8]
        mine = replace(dying, model=type(dying.model)())
        mine = replace(mine, desk=replace(mine.desk, model=mine.model))
        call = ToolCall(*story.refund_call("5.00", order, call_id=f"trial_{number}"))
        arguments = parse_arguments(ISSUE_REFUND, call.arguments)
        assert isinstance(arguments, IssueRefund)
        with story.desk.store.transaction(write=False) as tx:
            run = tx.one(text("SELECT id FROM runs ORDER BY id LIMIT 1"))
        assert run is not None
        owner = CustomerId(owner_of(story, order))
        proposed = Proposed(RunId(run["id"]), chats[number], owner, call, arguments, "m")
        try:
            result = propose(mine.desk, proposed)
            results.append(str(result.get("error") or result.get("status")))
        except Killed:
            results.append("killed")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["breaker_open"] * 9 + ["killed"], (results, story.trail()[-14:])


def test_a_failed_trial_opens_again_for_a_whole_cooldown(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(seconds=30)
    story.payments.plan(FaultKind.DECLINED, 1)
    assert refund(story, ORDERS[5]) == "failed"
    assert breaker_status(story.desk)["state"] == "open"
    assert refund(story, ORDERS[6]) == "breaker_open"
    story.clock.advance(seconds=30)
    assert refund(story, ORDERS[6]) == "executed"


def test_a_trial_that_dies_opens_again(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(seconds=30)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    chat = story.opens_chat(owner_of(story, ORDERS[5]))
    try:
        dying.asks_refund(chat, "5.00", ORDERS[5])
    except Killed:
        pass
    else:
        raise AssertionError("nobody died")
    assert breaker_status(story.desk)["state"] == "half_open"
    claimed = story.only(Status.EXECUTING)
    story.clock.advance(seconds=91)
    story.model.says("We are still checking.")
    story.sweeps()
    assert breaker_status(story.desk)["state"] == "open"
    assert len(story.paid()) == 6
    late = settle(story.desk, claimed, Declined("x", "late"), in_turn=False)
    assert late.status is Status.EXECUTED


def test_a_lost_trial_is_noticed_by_the_next_proposal(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    with story.desk.store.transaction() as tx:
        state = load(tx, lock=True)
        lost = replace(
            state,
            state=BreakerState.HALF_OPEN,
            retry_at=None,
            trial_id=None,
            trial_until=story.clock.now(),
        )
        save(tx, lost)
    assert refund(story, ORDERS[6]) == "breaker_open"
    (alert,) = story.open_alerts()
    assert alert.body["failed_trials"] == 1


def test_a_step_back_of_the_clock_starts_a_new_window_and_is_told(story: Story) -> None:
    five(story)
    story.clock.advance(hours=-1)
    assert refund(story, ORDERS[5]) == "executed"
    assert story.trail().count("breaker.clock_step") == 1
    (alert,) = story.open_alerts()
    assert alert.kind is AlertKind.CLOCK_STEP
    assert "stepped back" in str(alert.body["text"])


def test_a_manager_may_reset_with_a_reason(story: Story) -> None:
    mia = story.hire("mia", Role.REFUND_MANAGER)
    ana = story.hire("ana", Role.REFUND_APPROVER)
    gus = story.hire("gus", Role.REFUND_MANAGER, kind=ActorKind.GUEST)
    old = story.mirrored("max", Role.REFUND_MANAGER)
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(seconds=10)
    for who, reason, code in (
        (Identity("cli", "nobody"), "looked at it", RefusalCode.NOT_ALLOWED),
        (gus, "looked at it", RefusalCode.NOT_ALLOWED),
        (ana, "looked at it", RefusalCode.NOT_ALLOWED),
        (mia, "ok", RefusalCode.REASON_REQUIRED),
    ):
        denied = reset_breaker(story.desk, Order(who, Channel.API, reason))
        assert isinstance(denied, Refused)
        assert denied.code is code
    done = reset_breaker(story.desk, Order(mia, Channel.API, "a sale, looked at each"))
    assert isinstance(done, Breaker)
    assert refund(story, ORDERS[5]) == "executed"
    story.clock.advance(seconds=61)
    unproved = reset_breaker(story.desk, Order(old, Channel.API, "looked at it"))
    assert isinstance(unproved, Refused)
    assert unproved.code is RefusalCode.ROLE_UNVERIFIED
    assert story.trail().count("breaker.reset") == 1


def lines(story: Story) -> list[str]:
    """Return the news that the threads of the alerts have shown so far."""
    return [str(delivery.body["text"]) for delivery in story.notifier.of(DeliveryKind.ALERT_LINE)]


def test_one_alert_tells_the_whole_story_of_an_opening(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    (opened,) = story.open_alerts()
    assert (opened.subject, opened.body["failed_trials"]) == ("breaker:0", 0)
    story.clock.advance(seconds=30)
    story.payments.plan(FaultKind.DECLINED, 1)
    assert refund(story, ORDERS[5]) == "failed"
    (again,) = story.open_alerts()
    assert (again.subject, again.body["failed_trials"]) == ("breaker:0", 1)
    assert again.body["refunds"] == opened.body["refunds"]
    assert again.body["retry_at"] == breaker_status(story.desk)["opens_again_at"]
    assert lines(story) == [
        "The trial did not succeed: automatic refunds stay paused for 30 more seconds."
    ]
    story.clock.advance(seconds=30)
    assert refund(story, ORDERS[6]) == "executed"
    assert story.open_alerts() == ()
    assert lines(story)[1:] == ["A trial went through: automatic refunds run again."]
    # The next opening is another alert; whoever saw the first cannot reset it.
    more = [refund(story, ORDERS[number]) for number in (0, 1, 3, 4, 5)]
    assert (more, refund(story, ORDERS[7])) == (["executed"] * 5, "breaker_open")
    (second,) = story.open_alerts()
    assert second.subject == "breaker:1"
    mia = story.hire("mia", Role.REFUND_MANAGER)
    order = Order(mia, Channel.API, "a sale, looked at each")
    late = reset_breaker(story.desk, order, 0)
    assert isinstance(late, Refused)
    assert (late.code, story.open_alerts()) == (RefusalCode.ALREADY_DECIDED, (second,))
    assert isinstance(reset_breaker(story.desk, order, 1), Breaker)
    assert story.open_alerts() == ()
    assert len(story.notifier.alerts(AlertKind.BREAKER_OPENED)) == 2


def test_a_step_back_of_the_clock_lets_an_open_breaker_have_a_new_alert(story: Story) -> None:
    five(story)
    refund(story, ORDERS[5])
    story.clock.advance(hours=-1)
    assert refund(story, ORDERS[5]) == "breaker_open"
    kinds = {alert.kind: alert for alert in story.open_alerts()}
    assert set(kinds) == {AlertKind.CLOCK_STEP, AlertKind.BREAKER_OPENED}
    assert kinds[AlertKind.BREAKER_OPENED].subject == "breaker:1"
    assert lines(story) == [
        "The clock stepped back: the pause begins anew, with an alert of its own."
    ]
