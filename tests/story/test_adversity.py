"""Damage, huge answers, late presses and missing pieces: the customer still hears the truth."""

from dataclasses import replace
from itertools import count

import pytest
from typing_extensions import override

from agent.desk import Desk
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Status
from agent.domain.conversation import MAX_ANSWER_CHARACTERS, MAX_CALLS
from agent.domain.heartbeats import REPLICA
from agent.domain.ids import ConversationId
from agent.domain.money import Money
from agent.domain.payload import canonical, payload_hash
from agent.domain.roles import Role
from agent.ports import (
    Accepted,
    ChatAnswer,
    ChatRequest,
    Declined,
    DeliveryKind,
    Hear,
    NoClearAnswer,
    NotStarted,
    PaymentAnswer,
    RefundRequest,
    unheard,
)
from agent.steps.receive import receive, stop
from agent.steps.sweep import sweep
from agent.steps.turn import take_turn
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage import approvals
from storage.heartbeats import beat
from tests.story.test_execute import approve, with_payments
from tests.story.test_gate import last_result
from tests.support.desk import ScriptedModel, Story


def test_stop_pressed_while_nothing_runs_stops_nothing(story: Story) -> None:
    chat = story.opens_chat()
    stop(story.desk, chat)
    story.model.says("Hello!")
    story.says(chat, "hi")
    assert story.agent_words(chat) == ["Hello!"]


def test_an_outcome_is_told_whatever_was_pressed(story: Story) -> None:
    approved = approve(story)
    told = story.desk

    model = Pressing(told, approved.conversation_id)
    model.calls(("call_9", "refund_status", "{}"))
    model.says("It is paid.")
    pressed = replace(story, model=model, desk=replace(told, model=model))
    pressed.rests()
    assert story.agent_words(approved.conversation_id)[-1] == "It is paid."


class Pressing(ScriptedModel):
    """A model during whose answers the customer presses Stop."""

    def __init__(self, desk: Desk, chat: ConversationId) -> None:
        """Keep where Stop is pressed."""
        super().__init__()
        self._desk, self._chat = desk, chat

    @override
    def complete(self, request: ChatRequest, hear: Hear = unheard) -> ChatAnswer:
        """Be stopped, and answer."""
        stop(self._desk, self._chat)
        return super().complete(request, hear)


def test_a_damaged_request_does_not_silence_the_chat(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "160.00")
    story.damages("UPDATE approvals SET amount_minor = amount_minor + 1")
    story.model.calls(("call_9", "refund_status", "{}"))
    story.model.says("I see no request.")
    story.says(chat, "any news?")
    assert story.agent_words(chat)[-1] == "I see no request."


def test_a_damaged_request_hides_no_other_from_the_list(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    for number, amount in enumerate(("60.00", "61.00", "62.00")):
        story.asks_refund(chat, amount, call_id=f"call_{number}")
    story.damages("UPDATE approvals SET amount_minor = 1 WHERE amount_minor = 6100")
    with story.desk.store.transaction(write=False) as tx:
        page = approvals.page(tx, Status.PENDING, "", 2)
    assert [str(approval.amount) for approval in page] == ["60.00 USD", "62.00 USD"]


def test_a_time_that_is_no_time_is_damage_too(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "160.00")
    story.damages("UPDATE approvals SET expires_at = 9000000000000000000, wake_at = 1")
    story.sweeps()
    assert "approval.corrupt" in story.trail()


def test_what_was_bound_is_checked_at_every_try(story: Story) -> None:
    approved = approve(story, "100.00")
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.rests()
    story.damages(
        "UPDATE approvals SET payload = replace(payload, '10000', '16000'), amount_minor = 16000"
    )
    story.clock.advance(seconds=60)
    story.sweeps()
    assert story.approval(approved.id).status is Status.UNKNOWN
    assert story.paid() == []
    assert "approval.corrupt" in story.trail()


def test_on_call_hears_of_a_refund_that_is_sent_again_and_again(story: Story) -> None:
    approve(story)
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1000)
    story.rests()
    for _ in range(12):
        story.clock.advance(minutes=1)
        story.sweeps()
    (alert,) = story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME)
    assert "still unknown" in str(alert.body["text"])
    assert len(story.notifier.of(DeliveryKind.ALERT)) == 1


def test_a_book_read_before_somebody_else_sent_proves_nothing(story: Story) -> None:
    """Two replicas look at one unknown refund; the second sends while the first still reads."""
    approved = approve(story)
    sent: list[RefundRequest] = []
    looks = count(1)

    class Forgetful(FaultyPayments):
        """A provider that takes refunds, answers nothing clear, and whose book lags."""

        @override
        def refund(self, request: RefundRequest) -> PaymentAnswer:
            sent.append(request)
            return NoClearAnswer("timeout")

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            if next(looks) == 1:
                sweep(other.desk)
            return None

    here = with_payments(story, Forgetful(story.payments, wait=lambda _s: None))
    other = replace(here, desk=replace(here.desk, replica="srv-other"))
    here.rests()
    assert len(sent) == 1
    story.clock.advance(seconds=60)
    with story.desk.store.transaction() as tx:
        beat(tx, "srv-other", REPLICA, story.clock.now())
    here.sweeps()
    assert story.approval(approved.id).attempts == 2
    assert len(sent) == 2


def test_one_that_had_not_started_still_counts_against_the_limit(story: Story) -> None:
    class Busy(FaultyPayments):
        """A provider that turns the first refund away."""

        turned_away = False

        @override
        def refund(self, request: RefundRequest) -> PaymentAnswer:
            if not self.turned_away:
                self.turned_away = True
                return NotStarted("429")
            return super().refund(request)

    busy = with_payments(story, Busy(story.payments, wait=lambda _s: None))
    chat = busy.opens_chat("cus_clara")
    busy.asks_refund(chat, "30.00")
    busy.asks_refund(chat, "29.00", call_id="call_2")
    assert last_result(busy)["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"


@pytest.mark.parametrize(
    ("amount", "words"), [("5.00", "has been paid"), ("100.00", "needs a quick review")]
)
def test_a_model_that_fails_after_the_request_hides_nothing(
    story: Story, amount: str, words: str
) -> None:
    chat = story.opens_chat("cus_clara")
    story.model.calls(story.refund_call(amount))
    for _ in range(3):
        story.model.breaks()
    receive(story.desk, chat, "c1", f"refund {amount}")
    for _ in range(4):
        story.rests()
        story.clock.advance(seconds=30)
    assert words in story.agent_words(chat)[-1]


@pytest.mark.parametrize("character", ["a", "\u6f22", "\U0001f600"])
def test_long_words_fit_into_the_hand_off(story: Story, character: str) -> None:
    chat = story.opens_chat("cus_clara")
    for _ in range(5):
        story.model.says("hm")
        story.says(chat, character * 4000)
    story.model.calls(("call_h", "hand_off", '{"reason": "asks for a person"}'))
    story.model.says("A person takes over.")
    story.says(chat, "a person")
    assert story.agent_words(chat)[-1] == "A person takes over."


def test_a_model_without_measure_is_cut_to_size(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.model.calls(*((f"{n}" + "k" * 9000, "x" * 9000, "{}") for n in range(500)))
    story.model.says("\u6f22" * 40_000)
    story.says(chat, "hi")
    results = [m for m in story.model.asked[-1].messages if m.role == "tool"]
    assert len(results) == MAX_CALLS
    assert len(story.agent_words(chat)[-1]) == MAX_ANSWER_CHARACTERS


def test_without_the_breaker_nothing_runs_and_on_call_is_told(story: Story) -> None:
    story.damages("DELETE FROM breaker")
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "5.00")
    assert last_result(story)["error"] == "stopped"
    assert story.paid() == []
    (alert,) = story.notifier.alerts(AlertKind.BREAKER_MISSING)
    assert "breaker" in str(alert.body["text"])


def test_an_approver_may_decide_while_another_turn_runs(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "160.00")
    receive(story.desk, chat, "c2", "still there?")
    story.approves(ana, story.only(Status.PENDING))
    story.model.says("Yes.")
    story.model.says("Paid.")
    assert take_turn(story.desk)
    story.rests()
    assert story.agent_words(chat)[-2:] == ["Yes.", "Paid."]
    assert story.paid() == [("ORD-1001", Money(16000, "USD"))]


def test_a_payload_of_another_shape_never_runs_even_with_a_fitting_hash(story: Story) -> None:
    approved = approve(story)
    shape = approved.payload | {"tip": 1}
    fitting = payload_hash(
        tool=approved.tool,
        payload=shape,
        approval_id=approved.id,
        policy_version=approved.policy_version,
    )
    story.damages(
        "UPDATE approvals SET payload = :p, payload_hash = :h WHERE id = :a",
        p=canonical(shape),
        h=fitting,
        a=approved.id,
    )
    story.rests()
    assert story.approval(approved.id).status is Status.APPROVED
    assert story.paid() == []
    alerts = [str(d.body["text"]) for d in story.notifier.alerts(AlertKind.CORRUPT_ROW)]
    assert any("tip" in alert for alert in alerts)
