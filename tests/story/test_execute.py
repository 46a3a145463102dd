"""Exactly once, honestly: provider faults, lost leases, changed orders."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.domain.roles import Role, Tier
from agent.ports import (
    Accepted,
    Declined,
    DeliveryKind,
    NoClearAnswer,
    NotStarted,
    PaymentAnswer,
    PaymentView,
    RefundRequest,
)
from agent.steps.execute import execute, execute_due, settle
from agent.steps.sweep import sweep
from agent.tools.effects import EffectAnswer
from agent.tools.refunds import recorded
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage import approvals, heartbeats
from storage.breaker import load, save
from tests.story.orders import owner_of
from tests.support.desk import Story, shipped_policy

CHAIR = Money(16000, "USD")


class Killed(BaseException):
    """The process dies here: nothing of it gets to tidy up."""


class DyingPayments(FaultyPayments):
    """A provider at whose door the process dies, before or after the money moved."""

    after = False
    deaths = 1

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        """Die as often as told, then behave."""
        if self.deaths == 0:
            return super().refund(request)
        self.deaths -= 1
        if self.after:
            super().refund(request)
        raise Killed


class ScriptedPayments(FaultyPayments):
    """A provider that gives one scripted answer to refunds and to look-ups."""

    answer: PaymentAnswer | None = None
    found: Accepted | Declined | NoClearAnswer | None = None

    def __init__(self, inner: FaultyPayments) -> None:
        """Pass on to `inner` what is not scripted."""
        super().__init__(inner, wait=lambda _s: None)
        self.asked_for: list[str] = []

    @override
    def refund(self, request: RefundRequest) -> PaymentAnswer:
        """Give the scripted answer."""
        return self.answer or super().refund(request)

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        """Give the scripted finding about any request."""
        self.asked_for.append(request.key)
        return self.found


def approve(story: Story, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
    """Park a refund and let a manager approve it; it is not yet carried out."""
    mia = story.hire("mia", Role.REFUND_MANAGER)
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    parked = story.only(Status.PENDING)
    story.approves(mia, parked)
    return story.approval(parked.id)


def with_payments(story: Story, payments: FaultyPayments) -> Story:
    """Return the story with another provider."""
    return replace(story, desk=replace(story.desk, payments=payments))


def scripted(story: Story) -> tuple[Story, ScriptedPayments]:
    """Return the story with a provider that follows a script."""
    payments = ScriptedPayments(story.payments)
    return with_payments(story, payments), payments


def test_a_timeout_before_the_provider_acted_is_sent_again_with_the_same_key(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.rests()
    assert story.approval(approved.id).status is Status.UNKNOWN
    assert story.chips(approved.conversation_id)[-1] == "checking"
    story.clock.advance(seconds=10)
    story.model.says("Paid.")
    story.sweeps()
    done = story.approval(approved.id)
    assert done.status is Status.EXECUTED
    assert done.attempts == 2
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_timeout_after_the_provider_acted_is_found_in_its_book(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    story.rests()
    assert story.approval(approved.id).status is Status.UNKNOWN
    story.clock.advance(seconds=10)
    story.model.says("Paid.")
    story.sweeps()
    done = story.approval(approved.id)
    assert done.status is Status.EXECUTED
    assert done.attempts == 1
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_definite_no_is_failed_and_told(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.DECLINED, 1)
    story.model.says("It could not be completed.")
    story.rests()
    assert story.approval(approved.id).status is Status.FAILED
    assert story.chips(approved.conversation_id)[-1] == "failed"
    assert story.paid() == []


def test_what_provably_did_not_start_goes_back_with_a_growing_pause(story: Story) -> None:
    approved = approve(story)
    story, payments = scripted(story)
    payments.answer = NotStarted("429")
    pauses = []
    for number in range(1, 5):
        story.rests()
        back = story.approval(approved.id)
        assert (back.status, back.attempts) == (Status.APPROVED, number)
        assert not execute_due(story.desk)
        assert back.wake_at is not None
        pauses.append(back.wake_at - story.clock.now())
        story.clock.at = back.wake_at
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[1] < pauses[2]
    assert "execution.unknown" not in story.trail()
    payments.answer = None
    story.model.says("Paid.")
    story.rests()
    done = story.approval(approved.id)
    assert (done.status, done.attempts) == (Status.EXECUTED, 5)
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_once_a_try_was_unclear_what_did_not_start_is_unknown(story: Story) -> None:
    approved = approve(story)
    story, payments = scripted(story)
    for answer, status in (
        (NotStarted("429"), Status.APPROVED),
        (NoClearAnswer("502"), Status.UNKNOWN),
    ):
        payments.answer = answer
        story.rests()
        assert story.approval(approved.id).status is status
        story.clock.advance(seconds=10)
    # The book provably lacks it, so it is sent again: the second try may still arrive.
    payments.answer = NotStarted("429")
    story.sweeps()
    after = story.approval(approved.id)
    assert (after.status, after.attempts) == (Status.UNKNOWN, 3)


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_the_provider_pays_once(story: Story, *, after: bool) -> None:
    approved = approve(story)
    payments = DyingPayments(story.payments, wait=lambda _s: None)
    payments.after = after
    dying = with_payments(story, payments)
    with pytest.raises(Killed):
        execute(dying.desk, approved.id)
    assert story.approval(approved.id).status is Status.EXECUTING
    story.clock.advance(seconds=91)
    story.model.says("Paid.")
    story.sweeps()
    done = story.approval(approved.id)
    assert done.status is Status.EXECUTED
    assert done.attempts == (1 if after else 2)
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_replica_that_stays_silent_loses_its_leases_early(story: Story) -> None:
    approved = approve(story)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    gone = replace(dying, desk=replace(dying.desk, replica="srv-gone"))
    with pytest.raises(Killed):
        execute(gone.desk, approved.id)
    sweep(story.desk)
    assert story.approval(approved.id).status is Status.EXECUTED
    assert "execution.unknown" in story.trail()
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_late_definite_answer_settles_an_unknown_row(story: Story) -> None:
    approved = approve(story)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    with pytest.raises(Killed):
        execute(dying.desk, approved.id)
    claimed = story.approval(approved.id)
    story.clock.advance(seconds=91)
    story, payments = scripted(story)
    payments.found = NoClearAnswer("down")
    story.sweeps()
    assert story.approval(approved.id).status is Status.UNKNOWN
    declined = settle(story.desk, claimed, Declined("declined", "no"), in_turn=False)
    assert declined.status is Status.FAILED
    late = settle(story.desk, claimed, Declined("declined", "no"), in_turn=False)
    assert late.status is Status.FAILED
    silent = settle(story.desk, claimed, NoClearAnswer("?"), in_turn=False)
    assert silent.status is Status.FAILED
    never = settle(story.desk, claimed, NotStarted("429"), in_turn=False)
    assert never.status is Status.FAILED
    yes = settle(story.desk, claimed, book_entry(story, claimed), in_turn=False)
    assert yes.status is Status.FAILED


def book_entry(story: Story, claimed: Approval) -> EffectAnswer:
    """Return a provider's yes for a row."""
    assert claimed.amount is not None
    request = RefundRequest(claimed.idempotency_key, claimed.id, "ORD-1001", claimed.amount)
    answer = story.payments.refund(request)
    return recorded(answer)


def test_on_call_is_told_of_an_unknown_after_five_minutes_once(story: Story) -> None:
    approved = approve(story)
    story, payments = scripted(story)
    payments.answer = NoClearAnswer("502")
    payments.found = NoClearAnswer("502")
    story.rests()
    story.clock.advance(minutes=5, microseconds=-1)
    story.sweeps()
    assert story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME) == []
    for _ in range(8):
        story.clock.advance(minutes=3)
        story.sweeps()
    assert story.approval(approved.id).status is Status.UNKNOWN
    (alert,) = story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME)
    assert alert.approval_id == approved.id
    assert len(story.notifier.of(DeliveryKind.ALERT)) == 1


def test_after_the_safe_window_it_only_looks(story: Story) -> None:
    approved = approve(story)
    story, payments = scripted(story)
    payments.answer = NoClearAnswer("502")
    payments.found = NoClearAnswer("502")
    story.rests()
    story.clock.advance(hours=23)
    payments.found = None
    story.sweeps()
    row = story.approval(approved.id)
    assert row.status is Status.UNKNOWN
    assert row.attempts == 1
    assert row.clean_looks == 1


def test_a_refund_that_the_provider_reports_as_failed_is_failed(story: Story) -> None:
    approved = approve(story)
    story, payments = scripted(story)
    payments.answer = Declined("charge_not_refundable", "no")
    story.model.says("Could not be completed.")
    story.rests()
    assert story.approval(approved.id).result == {
        "code": "charge_not_refundable",
        "message": "no",
    }


def test_an_approval_used_too_late_is_stale(story: Story) -> None:
    approved = approve(story)
    story.clock.advance(minutes=15)
    story.model.says("The request lapsed.")
    story.rests()
    assert story.approval(approved.id).status is Status.STALE
    assert story.paid() == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_payments SET disputed = 1 WHERE order_id = 'ORD-1001'",
        "UPDATE order_lines SET final_sale = 1 WHERE order_id = 'ORD-1001'",
        "UPDATE orders SET customer_id = 'cus_ben' WHERE id = 'ORD-1001'",
        "UPDATE orders SET cancelled = 1 WHERE id = 'ORD-1001'",
        "UPDATE orders SET reference = 'GONE' WHERE id = 'ORD-1001'",
    ],
    ids=["disputed", "final sale", "other owner", "cancelled", "gone"],
)
def test_an_order_that_changed_meanwhile_is_stale(story: Story, change: str) -> None:
    approved = approve(story)
    story.happens(change)
    story.model.says("The order changed.")
    story.rests()
    assert story.approval(approved.id).status is Status.STALE
    assert story.paid() == []
    assert story.chips(approved.conversation_id)[-1] == "failed"


def test_a_policy_that_asks_for_more_makes_it_stale(story: Story) -> None:
    approved = approve(story)
    strict = shipped_policy(tiers={"USD": [{"role": "refund_manager", "approvals": 2}]})
    assert strict.tier_for(CHAIR) == Tier(Role.REFUND_MANAGER, 2)
    stricter = replace(story, desk=replace(story.desk, policy=strict))
    stricter.model.says("The rules changed.")
    stricter.rests()
    assert story.approval(approved.id).status is Status.STALE


def test_nothing_executes_while_everything_is_stopped(story: Story) -> None:
    approved = approve(story)
    stop(story, stopped=True)
    story.rests()
    assert story.approval(approved.id).status is Status.APPROVED
    stop(story, stopped=False)
    story.model.says("Paid.")
    story.rests()
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_an_unknown_row_is_not_sent_again_while_stopped(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.rests()
    stop(story, stopped=True)
    story.clock.advance(seconds=10)
    story.sweeps()
    assert story.approval(approved.id).status is Status.UNKNOWN
    assert story.paid() == []


def stop(story: Story, *, stopped: bool) -> None:
    """Throw or lift the switch."""
    with story.desk.store.transaction() as tx:
        save(tx, replace(load(tx, lock=True), stopped=stopped))


BOUND = '{"amount":{"currency":"USD","minor":16000},"customer_id":"cus_clara","order_id":"ORD-1001"'


_PAYLOAD = "UPDATE approvals SET payload = :bad WHERE id = :a"
_HASH = "UPDATE approvals SET payload_hash = :bad WHERE id = :a"
_TOOL = "UPDATE approvals SET tool = :bad WHERE id = :a"


@pytest.mark.parametrize(
    ("damage", "bad"),
    [
        (_PAYLOAD, BOUND.replace("16000", "96000") + "}"),
        (_PAYLOAD, "{"),
        (_PAYLOAD, BOUND + ',"tip":1}'),
        (_HASH, "f00d"),
        (_TOOL, "format_disk"),
    ],
    ids=["other amount", "not JSON", "a field too many", "other hash", "other tool"],
)
def test_a_damaged_row_is_never_executed(story: Story, damage: str, bad: str) -> None:
    approved = approve(story)
    story.damages(damage, bad=bad, a=approved.id)
    story.rests()
    with story.desk.store.transaction(write=False) as tx:
        row = tx.one(text("SELECT status FROM approvals WHERE id = :a"), a=approved.id)
    assert row is not None
    assert row["status"] == "approved"
    assert story.paid() == []
    assert "approval.corrupt" in story.trail()
    alerts = [str(d.body["text"]) for d in story.notifier.alerts(AlertKind.CORRUPT_ROW)]
    assert len([text for text in alerts if "will not run" in text]) == 1


def test_a_damaged_unknown_row_is_reported_by_the_sweep(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.rests()
    story.damages("UPDATE approvals SET payload = '{}' WHERE id = :a", a=approved.id)
    story.clock.advance(seconds=10)
    story.sweeps()
    assert "approval.corrupt" in story.trail()


def test_a_refund_settled_while_the_provider_was_asked_is_left_alone(story: Story) -> None:
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    story.rests()
    unknown = story.approval(approved.id)

    class Hooked(FaultyPayments):
        """A provider whose webhook is faster than its own look-up."""

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            """Let the yes arrive by another way first."""
            settle(story.desk, unknown, book_entry(story, unknown), in_turn=False)
            return None

    hooked = with_payments(story, Hooked(story.payments, wait=lambda _s: None))
    story.clock.advance(seconds=10)
    story.model.says("Paid.")
    hooked.sweeps()
    done = story.approval(approved.id)
    assert done.status is Status.EXECUTED
    assert done.attempts == 1
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_row_that_does_not_exist_is_reported(story: Story) -> None:
    assert execute(story.desk, ApprovalId("apr_nothing")) is None
    assert "approval.corrupt" in story.trail()


def test_a_refund_the_book_shows_under_the_key_does_not_count_against_itself(
    story: Story,
) -> None:
    """Say the claim was lost after the provider had paid: the re-claim must not see it as used."""
    approved = approve(story)
    book_entry(story, approved)
    story.model.says("Paid.")
    story.rests()
    assert story.approval(approved.id).status is Status.EXECUTED
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_a_row_that_is_gone_or_ended_is_not_claimed(story: Story) -> None:
    approved = approve(story)
    story.model.says("Paid.")
    story.rests()
    ended = execute(story.desk, approved.id)
    assert ended is not None
    assert ended.status is Status.EXECUTED
    with story.desk.store.transaction() as tx:
        assert approvals.release_leases(tx, "nobody", story.clock.now()) == 0
        heartbeats.forget(tx, "nobody")
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_facts_read_too_long_ago_are_read_again(story: Story) -> None:
    approved = approve(story)

    class SlowReading(FaultyPayments):
        """A provider whose book takes long to read."""

        slow = True

        @override
        def view(self, order_id: str, currency: str) -> PaymentView:
            """Let the clock run on while the book is read."""
            seen = super().view(order_id, currency)
            if self.slow:
                story.clock.advance(seconds=31)
            return seen

    payments = SlowReading(story.payments, wait=lambda _s: None)
    slow = with_payments(story, payments)
    assert execute(slow.desk, approved.id) is None
    assert story.approval(approved.id).status is Status.APPROVED
    payments.slow = False
    story.model.says("Paid.")
    slow.rests()
    assert story.paid() == [("ORD-1001", CHAIR)]


def test_an_approved_payload_outlives_a_day_of_unknown(story: Story) -> None:
    """The same key and the same bytes: the book shows one refund however often it was sent."""
    approved = approve(story)
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    story.rests()
    story.clock.at += timedelta(hours=22)
    story.model.says("Paid.")
    story.sweeps()
    assert story.approval(approved.id).status is Status.EXECUTED
    assert story.paid() == [("ORD-1001", CHAIR)]
