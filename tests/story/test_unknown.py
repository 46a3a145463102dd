"""Nobody knows whether it went through: the desk asks, sends the same again, and never guesses."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from typing_extensions import override

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.ports import (
    Accepted,
    Declined,
    DeliveryKind,
    NoClearAnswer,
    PaymentAnswer,
    ProviderStatus,
    RefundRequest,
)
from agent.steps.execute import execute
from agent.steps.hear import ProviderEvent, hear
from agent.steps.sweep import sweep
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from tests.story.orders import owner_of
from tests.story.test_execute import DyingPayments, Killed, ScriptedPayments, with_payments
from tests.story.ways import (
    about,
    approved,
    booked,
    chips,
    hears,
    path,
    staff,
    told,
    unknown,
)
from tests.support.desk import Story

_S = Status
WENT_THROUGH = [_S.PENDING, _S.APPROVED, _S.EXECUTING, _S.UNKNOWN, _S.EXECUTED]
SENT_AGAIN = [*WENT_THROUGH[:-1], _S.EXECUTING, _S.EXECUTED]


@dataclass(frozen=True)
class Silence:
    """A way in which the provider's answer is lost, and how the row gets to its end."""

    happens: Callable[[Story, Approval], object]
    ends: list[Status]
    booked_before: int
    later_s: int = 10


def silent(fault: FaultKind) -> Callable[[Story, Approval], object]:
    def happens(story: Story, row: Approval) -> None:
        story.payments.plan(fault, 1)
        execute(story.desk, row.id)

    return happens


class Garbling(FaultyPayments):
    """A provider that pays and whose answer is garbled on its way."""

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        super().refund(request)
        return NoClearAnswer("the answer is no JSON: <html>")


def garbled(story: Story, row: Approval) -> None:
    garbling = Garbling(story.payments, wait=lambda _s: None)
    execute(with_payments(story, garbling).desk, row.id)


def died(*, after: bool) -> Callable[[Story, Approval], object]:
    """Return a death of the process at the provider, before or after the money moved."""

    def happens(story: Story, row: Approval) -> None:
        dying = DyingPayments(story.payments, wait=lambda _s: None)
        dying.after = after
        gone = replace(with_payments(story, dying).desk, replica="srv-gone")
        with pytest.raises(Killed):
            execute(gone, row.id)

    return happens


SILENCES = {
    "timeout before": Silence(silent(FaultKind.TIMEOUT_BEFORE), SENT_AGAIN, 0),
    "timeout after": Silence(silent(FaultKind.TIMEOUT_AFTER), WENT_THROUGH, 16000),
    "error 500": Silence(silent(FaultKind.ERROR_500), SENT_AGAIN, 0),
    "garbage": Silence(garbled, WENT_THROUGH, 16000),
    # Its replica gives no sign of life: the lease is lost at once.
    "death before": Silence(died(after=False), SENT_AGAIN, 0, later_s=0),
    "death after": Silence(died(after=True), WENT_THROUGH, 16000, later_s=0),
}


@pytest.mark.parametrize("way", SILENCES)
def test_it_is_paid_once_and_never_called_failed(story: Story, way: str) -> None:
    staff(story)
    silence = SILENCES[way]
    row = approved(story)
    silence.happens(story, row)
    assert booked(story, row) == silence.booked_before
    story.tells()
    assert story.approval(row.id).status in {_S.UNKNOWN, _S.EXECUTING}
    assert told(story, row) == []
    assert chips(story, row)[-1].data["status"] in {"checking", "approved"}
    story.clock.advance(seconds=silence.later_s)
    story.sweeps()
    assert path(story, row) == silence.ends
    assert story.paid() == [("ORD-1001", row.amount)]
    assert [chip.data["status"] for chip in chips(story, row)][-1] == "done"
    assert "failed" not in [chip.data["status"] for chip in chips(story, row)]
    assert story.agent_words(row.conversation_id)[-1].startswith("Good news")
    keys = [f["data"]["key"] for f in story.facts(row) if f["type"] == "execution.claimed"]
    requests = [f["data"]["request"] for f in story.facts(row) if f["type"] == "execution.claimed"]
    assert set(keys) == {row.idempotency_key}
    assert all(request == row.payload for request in requests)


def test_a_living_replica_keeps_its_lease_and_a_dead_one_does_not(story: Story) -> None:
    staff(story)
    row = approved(story)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    with pytest.raises(Killed):
        execute(dying.desk, row.id)
    story.clock.advance(seconds=90, microseconds=-1)
    story.sweeps()
    assert story.approval(row.id).status is _S.EXECUTING
    story.clock.advance(microseconds=1)
    story.sweeps()
    assert story.approval(row.id).status is _S.EXECUTED


def test_on_call_hears_of_it_once_after_five_minutes(story: Story) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    blind = ScriptedPayments(story.payments)
    blind.found = NoClearAnswer("502")
    desk = with_payments(story, blind)
    story.clock.advance(minutes=5, microseconds=-1)
    desk.sweeps()
    assert story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME) == []
    story.clock.advance(minutes=2)
    desk.sweeps()
    (alert,) = story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME)
    assert "Refund of 160.00 USD on order ORD-1001 is still unknown after 5 minutes" in str(
        alert.body["text"]
    )
    assert story.approval(row.id).alerted
    for _ in range(5):
        story.clock.advance(minutes=11)
        desk.sweeps()
    assert len(story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME)) == 1
    assert story.approval(row.id).status is _S.UNKNOWN


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (None, "Refund of 160.00 USD on order ORD-1001 went through."),
        (
            Declined("charge_disputed", "something happened to the payment"),
            "Refund of 160.00 USD on order ORD-1001 did not go through: nothing was paid.",
        ),
    ],
    ids=["it went through", "it did not"],
)
def test_on_call_hears_how_it_ended(story: Story, answer: PaymentAnswer | None, ended: str) -> None:
    staff(story)
    row = unknown(story)
    blind = ScriptedPayments(story.payments)
    blind.found = NoClearAnswer("502")
    desk = with_payments(story, blind)
    story.clock.advance(minutes=6)
    desk.sweeps()
    assert story.approval(row.id).alerted
    # The provider can be asked again: it lacks the refund, and the same is sent once more.
    blind.found, blind.answer = None, answer
    story.clock.advance(minutes=11)
    desk.sweeps()
    (line,) = story.notifier.of(DeliveryKind.ALERT_LINE)
    assert line.alert is not None
    assert line.alert.ended == ended
    assert (line.alert.kind, line.alert.is_open) == (AlertKind.UNKNOWN_OUTCOME, False)


@pytest.mark.parametrize(
    ("later", "attempts"),
    [(timedelta(hours=23) - timedelta(microseconds=1), 2), (timedelta(hours=23), 1)],
)
def test_the_same_key_is_sent_again_for_23_hours(
    story: Story, later: timedelta, attempts: int
) -> None:
    staff(story)
    row = unknown(story)
    story.clock.at += later
    story.sweeps()
    after = story.approval(row.id)
    assert after.attempts == attempts
    assert after.status is (_S.EXECUTED if attempts == 2 else _S.UNKNOWN)
    assert booked(story, row) == (16000 if attempts == 2 else 0)


@pytest.mark.parametrize(
    "code", ["idempotency_error", "charge_disputed", "charge_already_refunded"]
)
def test_a_no_that_may_be_about_ourselves_is_looked_into(story: Story, code: str) -> None:
    staff(story)
    row = approved(story)
    saying = ScriptedPayments(story.payments)
    saying.answer = Declined(code, "something happened to the payment")
    desk = with_payments(story, saying)
    execute(desk.desk, row.id)
    assert story.approval(row.id).status is _S.UNKNOWN
    story.clock.advance(seconds=10)
    # The book provably lacks it, and the answer to the second try is the same: it failed.
    desk.sweeps()
    assert path(story, row)[-3:] == [_S.UNKNOWN, _S.EXECUTING, _S.FAILED]
    assert saying.asked_for == [row.idempotency_key]
    assert story.approval(row.id).result == {
        "code": code,
        "message": "something happened to the payment",
    }


def test_a_book_that_cannot_say_is_asked_again_later(story: Story) -> None:
    """A look that meets trouble instead of a record settles nothing and is not repeated at once."""
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    odd = ScriptedPayments(story.payments)
    odd.found = Declined("idempotency_error", "the key was used for another refund")
    desk = with_payments(story, odd)
    story.clock.advance(seconds=10)
    desk.sweeps()
    assert odd.asked_for == [row.idempotency_key]
    after = story.approval(row.id)
    assert (after.status, after.clean_looks) == (_S.UNKNOWN, 0)
    assert after.wake_at is not None
    assert after.wake_at > story.clock.now()
    story.clock.advance(minutes=10)
    story.sweeps()
    assert story.approval(row.id).status is _S.EXECUTED


def test_looks_count_as_two_only_minutes_apart(story: Story) -> None:
    staff(story)
    row = unknown(story)
    story.clock.advance(hours=23)
    for later, looks in ((0, 1), (119, 1), (1, 2), (600, 3)):
        story.clock.advance(seconds=later)
        sweep(wakened(story, row))
        assert story.approval(row.id).clean_looks == looks


def wakened(story: Story, row: Approval) -> Desk:
    """Let the sweep look at the row now, whatever its back-off says."""
    story.happens("UPDATE approvals SET wake_at = 1 WHERE id = :a AND status = 'unknown'", a=row.id)
    return story.desk


class Slow(FaultyPayments):
    """A provider that takes a refund and has not made up its mind; `status` is its book's."""

    status = ProviderStatus.PENDING

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        answer = super().refund(request)
        return self._entry(answer) if isinstance(answer, Accepted) else answer

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        found = super().find(request)
        return self._entry(found) if isinstance(found, Accepted) else found

    def _entry(self, answer: Accepted) -> Accepted:
        return Accepted(replace(answer.refund, status=self.status), answer.replayed)


def test_a_provider_that_is_still_at_it_is_asked_every_hour(story: Story) -> None:
    staff(story)
    slow = Slow(story.payments, wait=lambda _s: None)
    desk = with_payments(story, slow)
    row = approved(story)
    desk.rests()
    after = story.approval(row.id)
    assert (after.status, (after.result or {})["provider_status"]) == (_S.EXECUTED, "pending")
    for _ in range(3):
        assert after.wake_at is not None
        assert after.wake_at <= story.clock.now() + timedelta(hours=1)
        story.clock.advance(hours=1)
        desk.sweeps()
        after = story.approval(row.id)
        assert after.status is _S.EXECUTED
    slow.status = ProviderStatus.SUCCEEDED
    story.clock.advance(hours=1)
    desk.sweeps()
    after = story.approval(row.id)
    assert (after.status, after.wake_at) == (_S.EXECUTED, None)
    assert (after.result or {})["provider_status"] == "succeeded"
    # Accepted is not paid: the customer reads the one, and later the other.
    told = [str(chip.data["text"]) for chip in chips(story, row) if chip.data["status"] == "done"]
    assert [words.partition(": ")[2] for words in told] == [
        "accepted, the payment is on its way",
        "done",
    ]
    assert story.trail().count("execution.finished") == 1


def test_the_providers_own_word_finishes_what_it_had_accepted(story: Story) -> None:
    slow = Slow(story.payments, wait=lambda _s: None)
    desk = with_payments(story, slow)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    desk.asks_refund(chat, "20.00")
    row = story.only(_S.EXECUTED)
    assert row.automatic
    slow.status = ProviderStatus.SUCCEEDED
    for number in range(2):
        hear(desk.desk, ProviderEvent(f"evt_{number}", "refund.updated", row.id))
    after = story.approval(row.id)
    assert (after.status, after.wake_at) == (_S.EXECUTED, None)
    told = [str(chip.data["text"]) for chip in chips(story, row)]
    assert [words.partition(": ")[2] for words in told] == [
        "accepted, the payment is on its way",
        "done",
    ]
    assert story.trail().count("execution.finished") == 1


def test_money_that_comes_back_is_told_and_may_be_paid_again(story: Story) -> None:
    staff(story)
    slow = Slow(story.payments, wait=lambda _s: None)
    desk = with_payments(story, slow)
    row = approved(story)
    desk.rests()
    slow.status = ProviderStatus.FAILED
    key = row.idempotency_key
    story.happens("UPDATE ledger_refunds SET status = 'failed' WHERE key = :k", k=key)
    story.clock.advance(hours=1)
    desk.sweeps()
    assert story.approval(row.id).status is _S.FAILED
    assert "did not arrive" in story.agent_words(row.conversation_id)[-1]
    call = story.refund_call("160.00", call_id="call_2")
    (again,) = story.proposes(row.conversation_id, call)
    assert again["status"] == "pending_approval"


def test_a_book_that_forgets_or_says_otherwise_changes_nothing_by_itself(story: Story) -> None:
    staff(story)
    slow = Slow(story.payments, wait=lambda _s: None)
    row = approved(story)
    with_payments(story, slow).rests()
    odd = ScriptedPayments(story.payments)
    desk = with_payments(story, odd)
    for found in (None, NoClearAnswer("502"), Declined("card_closed", "no")):
        odd.found = found
        story.clock.advance(hours=1)
        desk.sweeps()
        assert story.approval(row.id).status is _S.EXECUTED
    (alert,) = story.notifier.alerts(AlertKind.CONTRADICTION)
    assert str(alert.body["text"]).endswith("a late answer says: it failed")
    assert story.approval(row.id).wake_at is None


def test_a_late_webhook_settles_it(story: Story) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    posted = len(story.notifier.deliveries)
    assert hears(story, row)
    assert not hears(story, row)
    story.rests()
    assert story.approval(row.id).status is _S.EXECUTED
    assert [d.kind for d in about(story, row, posted)] == [
        DeliveryKind.CARD_UPDATE,
        DeliveryKind.THREAD,
    ]
    assert story.trail().count("provider.heard") == 1
    assert hears(story, row, "evt_2")
    assert len(told(story, row)) == 1


def test_an_event_that_is_faster_than_the_answer_settles_it_too(story: Story) -> None:
    staff(story)
    row = approved(story)

    class Overtaken(FaultyPayments):
        """A provider whose event arrives before its answer."""

        @override
        def refund(self, request: RefundRequest) -> PaymentAnswer:
            answer = super().refund(request)
            hears(story, row, kind="refund.created")
            return answer

    execute(with_payments(story, Overtaken(story.payments, wait=lambda _s: None)).desk, row.id)
    story.rests()
    assert path(story, row)[-2:] == [_S.EXECUTING, _S.EXECUTED]
    assert len(told(story, row)) == 1
    assert [chip.data["status"] for chip in chips(story, row)].count("done") == 1
