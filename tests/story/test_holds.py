"""What may have to be held does not run beside it: flags that wait, pauses, an open breaker."""

from dataclasses import replace

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.breaker import BreakerState
from agent.domain.ids import CustomerId
from agent.domain.risk import Reason
from agent.steps.receive import receive
from storage import breaker, pauses
from storage.pauses import Pause
from tests.story.ways import MIA, chips, parked, staff, told, turned_away, usd
from tests.support.desk import Story

FLAG_WAITS = "Nothing runs without a person for this customer: a fraud flag waits for a decision"


def flagged(story: Story, customer: str = "cus_clara", score: str = "0.95") -> Approval:
    """Let a fraud flag wait."""
    story.proposes(story.opens_chat(customer), story.flag_call(score, "call_f"))
    row = story.newest("flag_for_fraud")
    assert row.status is Status.PENDING
    return row


def small(story: Story, amount: str = "5.00", customer: str = "cus_clara") -> Approval:
    """Let a refund that would run by itself be asked for, and return its row."""
    order = "ORD-1001" if customer == "cus_clara" else "ORD-1003"
    call = story.refund_call(amount, order, call_id=f"call_{amount}")
    story.proposes(story.opens_chat(customer), call)
    return story.newest("issue_refund")


def test_while_a_flag_waits_nothing_runs_without_a_person(story: Story) -> None:
    staff(story)
    flag = flagged(story)
    row = small(story)
    assert (row.status, [f.text for f in row.findings]) == (Status.PENDING, [FLAG_WAITS])
    assert row.findings[0].code is Reason.AUTOMATIC_PAUSED
    (mail,) = story.proposes(
        story.opens_chat("cus_clara"),
        story.email_call("call_m", template="photo_request", order_id="ORD-1001"),
    )
    assert mail["status"] == "pending_approval"
    assert small(story, customer="cus_ben").status is Status.EXECUTED
    # Another signal is noted all the same.
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.10", "call_low"))
    assert story.newest("flag_for_fraud").status is Status.EXECUTED
    story.rejects(MIA, flag)
    story.rests()
    assert small(story, "6.00").status is Status.EXECUTED
    assert story.paid() == [("ORD-1003", usd(500)), ("ORD-1001", usd(600))]


def test_until_an_approved_flag_holds_nothing_runs_either(story: Story) -> None:
    staff(story)
    flag = flagged(story)
    story.approves(MIA, flag)
    story.tells()
    assert story.approval(flag.id).status is Status.APPROVED
    # The customer's chat is at rest; only the execution is still to come.
    with story.desk.store.transaction(write=False) as tx:
        assert pauses.reason(tx, CustomerId("cus_clara")) is None
    story.model.calls(story.refund_call("5.00", call_id="call_r"))
    story.model.says("I have asked for it.")
    receive(story.desk, story.opens_chat("cus_clara"), "m1", "please")
    story.tells()
    row = story.newest("issue_refund")
    assert (row.status, [f.text for f in row.findings]) == (Status.PENDING, [FLAG_WAITS])


def test_a_flag_that_was_noted_holds_nobody(story: Story) -> None:
    staff(story)
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.50", "call_f"))
    assert small(story).status is Status.EXECUTED


@pytest.mark.parametrize("flag_first", [True, False])
def test_in_one_breath_the_flag_is_heard_first(story: Story, *, flag_first: bool) -> None:
    staff(story)
    calls = [story.flag_call("0.95", "call_f"), story.refund_call("5.00", call_id="call_r")]
    chat = story.opens_chat("cus_clara")
    results = story.proposes(chat, *(calls if flag_first else reversed(calls)))
    assert sorted(result["status"] for result in results) == ["noted", "pending_approval"]
    row = story.newest("issue_refund")
    assert (row.status, [f.text for f in row.findings]) == (Status.PENDING, [FLAG_WAITS])
    assert story.paid() == []


def test_flags_do_not_fill_the_customers_share_of_open_requests(story: Story) -> None:
    staff(story)
    for number in range(6):
        flagged(story, score=f"0.9{number}")
    assert len(story.all(Status.PENDING)) == 6
    for number in range(5):
        parked(story, f"6{number}.00")
    assert len(story.all(Status.PENDING)) == 11
    (sixth,) = story.proposes(story.opens_chat("cus_clara"), story.refund_call("70.00"))
    assert sixth["error"] == "too_many_open"


def test_refund_status_sees_past_newer_flags(story: Story) -> None:
    staff(story)
    row = parked(story)
    for number in range(10):
        story.clock.advance(seconds=1)
        flagged(story, score=f"0.8{number}5")
    chat = story.opens_chat("cus_clara")
    (listed,) = story.proposes(chat, ("call_s", "refund_status", "{}"))
    assert [one["approval_id"] for one in listed["requests"]] == [row.id]


def paused(story: Story) -> None:
    """Let a manager's word or a review pause the customer's automatic path."""
    with story.desk.store.transaction() as tx:
        refund = story.newest("issue_refund")
        pauses.pause(tx, Pause(refund.customer_id, story.clock.now(), "looked odd", refund.id))


def opened(story: Story) -> None:
    """Let the breaker be open."""
    with story.desk.store.transaction() as tx:
        state = breaker.load(tx, lock=True)
        breaker.save(tx, replace(state, state=BreakerState.OPEN))


def half_opened(story: Story) -> None:
    """Let the breaker wait for the outcome of another refund's trial."""
    with story.desk.store.transaction() as tx:
        state = breaker.load(tx, lock=True)
        breaker.save(tx, replace(state, state=BreakerState.HALF_OPEN))


@pytest.mark.parametrize(
    ("happens", "detail"),
    [
        (paused, "looked odd"),
        (flagged, "a fraud flag waits for a decision"),
        (opened, "the refund breaker is open"),
        (half_opened, "the refund breaker is open"),
    ],
    ids=["paused", "flag waits", "breaker open", "half open"],
)
def test_what_had_not_begun_does_not_run_while_it_is_held(
    story: Story, happens: object, detail: str
) -> None:
    staff(story)
    row = turned_away(story)
    assert row.automatic
    assert callable(happens)
    # The flag's own turn carries out nothing that is not yet due.
    happens(story)
    story.clock.advance(minutes=1)
    story.rests()
    after = story.approval(row.id)
    assert (after.status, (after.result or {})["detail"]) == (Status.STALE, detail)
    problem = "It now needs a decision by a person of our team."
    assert told(story, row)[-1]["reason"] == problem
    assert story.paid() == []
    assert detail not in str(chips(story, row)[-1].data["text"])


def test_what_had_not_begun_runs_when_nothing_holds_it(story: Story) -> None:
    staff(story)
    row = turned_away(story)
    story.clock.advance(minutes=1)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED


def test_what_people_approved_runs_whatever_holds_the_automatic_path(story: Story) -> None:
    staff(story)
    row = parked(story)
    flagged(story)
    paused(story)
    opened(story)
    story.approves(MIA, row)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED


def test_an_e_mail_that_had_not_begun_does_not_mind_the_breaker(story: Story) -> None:
    staff(story)
    opened(story)
    (result,) = story.proposes(
        story.opens_chat("cus_clara"),
        story.email_call(template="photo_request", order_id="ORD-1001"),
    )
    assert result["status"] == "executed"
