"""A word that comes second changes nothing and is told so; a word that counts is heard whole."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.breaker import Breaker, BreakerState
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.reviews import ReviewState
from agent.ports import Accepted, Declined, DeliveryKind, NoClearAnswer, RefundRequest
from agent.steps.breaker import breaker_status, reset_breaker
from agent.steps.revoke import revoke
from agent.steps.stop import lift, stop_all
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage import breaker, reviews
from tests.story.test_execute import with_payments
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    OLU,
    about,
    approved,
    chips,
    long_unknown,
    parked,
    path,
    refused,
    settles,
    staff,
    unknown,
)
from tests.support.builders import policy
from tests.support.desk import Story


class Meanwhile(FaultyPayments):
    """A provider during whose answer something else happens once."""

    def __init__(self, inner: FaultyPayments, happens: Any) -> None:
        super().__init__(inner, wait=lambda _s: None)
        self._happens = [happens]

    @override
    def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
        found = super().find(request)
        if self._happens:
            self._happens.pop()()
        return found


def test_a_colleague_who_settled_it_during_ones_own_look_was_first(story: Story) -> None:
    staff(story)
    row = long_unknown(story)

    def max_settles() -> None:
        assert isinstance(settles(story, row, done=False, who=MAX), Approval)

    asking = with_payments(story, Meanwhile(story.payments, max_settles))
    late = refused(settles(asking, row, done=True, who=MIA))
    assert (late.code, late.message) == (
        RefusalCode.ALREADY_DECIDED,
        "Max has settled it already.",
    )
    assert story.approval(row.id).status is Status.FAILED
    assert path(story, row)[-1] is Status.FAILED
    fact = story.facts(row)[-1]
    assert (fact["type"], fact["data"]["code"]) == ("decision.refused", "already_decided")


def test_of_two_who_settle_at_once_one_is_first(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    gate = threading.Barrier(2, timeout=10)
    answers: dict[str, Approval | Refused] = {}

    class Both(FaultyPayments):
        """A provider that both have asked before either goes on."""

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            found = super().find(request)
            gate.wait()
            return found

    asking = with_payments(story, Both(story.payments, wait=lambda _s: None))

    def settle(name: str, who: Any, *, done: bool) -> None:
        answers[name] = settles(asking, row, done=done, who=who)

    threads = [
        threading.Thread(target=settle, args=("mia", MIA), kwargs={"done": True}),
        threading.Thread(target=settle, args=("max", MAX), kwargs={"done": False}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = (name for name, answer in answers.items() if isinstance(answer, Approval))
    (lost,) = (answer for answer in answers.values() if isinstance(answer, Refused))
    assert lost.code is RefusalCode.ALREADY_DECIDED
    ended = story.approval(row.id)
    assert ended.status is (Status.EXECUTED if won == "mia" else Status.FAILED)
    assert (ended.result or {})["settled_by"] == won.title()
    assert story.trail().count("execution.settled") == 1


def small_unknown(story: Story, amount: str = "50.00") -> Approval:
    """Leave an automatic refund unknown for so long that people may settle it."""
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.proposes(story.opens_chat("cus_clara"), story.refund_call(amount))
    row = story.only(Status.UNKNOWN)
    story.clock.advance(hours=23)
    for _ in range(2):
        story.sweeps()
        story.clock.advance(minutes=10)
    return story.approval(row.id)


@pytest.mark.parametrize("done", [True, False])
def test_an_automatic_refund_settled_as_done_is_looked_at(story: Story, *, done: bool) -> None:
    staff(story)
    row = small_unknown(story)
    assert isinstance(settles(story, row, done=done), Approval)
    story.rests()
    with story.desk.store.transaction(write=False) as tx:
        review = reviews.get(tx, row.id)
    if not done:
        assert review is None
        return
    assert review is not None
    assert (review.why, review.state) == ("large", ReviewState.OPEN)
    assert [d.kind for d in about(story, row)].count(DeliveryKind.REVIEW) == 1


@pytest.mark.parametrize(("done", "state"), [(True, "closed"), (False, "open")])
def test_the_breaker_hears_how_its_trial_was_settled(
    story: Story, *, done: bool, state: str
) -> None:
    staff(story)
    row = small_unknown(story, "5.00")
    with story.desk.store.transaction() as tx:
        trial = replace(
            breaker.load(tx, lock=True),
            state=BreakerState.HALF_OPEN,
            trial_id=row.id,
            trial_until=story.clock.now() + timedelta(seconds=90),
        )
        breaker.save(tx, trial)
    assert isinstance(settles(story, row, done=done), Approval)
    assert breaker_status(story.desk)["state"] == state
    assert story.trail().count("breaker.closed") == (1 if done else 0)


def test_what_people_settle_of_their_own_approval_is_no_trial(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    with story.desk.store.transaction() as tx:
        trial = replace(
            breaker.load(tx, lock=True),
            state=BreakerState.HALF_OPEN,
            trial_id=row.id,
            trial_until=story.clock.now() + timedelta(seconds=90),
        )
        breaker.save(tx, trial)
    assert isinstance(settles(story, row, done=True), Approval)
    assert breaker_status(story.desk)["state"] == "half_open"


def test_what_is_not_open_is_not_reset(story: Story) -> None:
    staff(story)
    closed = refused(reset_breaker(story.desk, story.order(MIA)))
    assert (closed.code, closed.message) == (
        RefusalCode.ALREADY_DECIDED,
        "The breaker is closed.",
    )
    # Who may not is told that, whatever the breaker does.
    assert refused(reset_breaker(story.desk, story.order(ANA))).code is RefusalCode.NOT_ALLOWED
    assert "breaker.reset" not in story.trail()
    assert story.facts()[-1]["data"]["verdict"] == "breaker_reset"
    strict = story.under(policy(breaker={"max_refunds": 1}))
    story_calls = [strict.refund_call(f"{n}.00", call_id=f"call_{n}") for n in (5, 6)]
    strict.proposes(strict.opens_chat("cus_clara"), *story_calls)
    assert breaker_status(strict.desk)["state"] == "open"
    assert isinstance(reset_breaker(strict.desk, story.order(MIA)), Breaker)
    story.tells()
    (news,) = story.notifier.of(DeliveryKind.ALERT_LINE)
    assert news.alert is not None
    assert news.alert.kind is AlertKind.BREAKER_OPENED
    assert not news.alert.is_open
    again = refused(reset_breaker(strict.desk, story.order(MIA)))
    assert again.code is RefusalCode.ALREADY_DECIDED
    assert story.trail().count("breaker.reset") == 1


def test_an_approval_past_its_use_is_not_called_on_its_way(story: Story) -> None:
    staff(story)
    row = approved(story)
    stop_all(story.desk, story.order(OLU))
    story.tells()
    before = [chip.data["text"] for chip in chips(story, row)]
    assert row.use_by is not None
    story.clock.at = row.use_by - timedelta(microseconds=1)
    lift(story.desk, story.order(MIA))
    stop_all(story.desk, story.order(OLU))
    usable = [chip.data["text"] for chip in chips(story, row)]
    assert len(usable) == len(before) + 2
    story.clock.at = row.use_by
    posted = len(story.notifier.deliveries)
    lift(story.desk, story.order(MIA))
    story.tells()
    assert [chip.data["text"] for chip in chips(story, row)] == usable
    # Its card is redrawn all the same: the banner goes.
    assert DeliveryKind.CARD_UPDATE in [d.kind for d in about(story, row, posted)]
    story.rests()
    assert story.approval(row.id).status is Status.STALE


def test_a_card_whose_outcome_is_unknown_shows_the_stop_too(story: Story) -> None:
    staff(story)
    row = unknown(story)
    for throw, who, stopped in ((stop_all, OLU, True), (lift, MIA, False)):
        posted = len(story.notifier.deliveries)
        assert isinstance(throw(story.desk, story.order(who)), Breaker)
        story.tells()
        (card,) = about(story, row, posted)
        assert card.kind is DeliveryKind.CARD_UPDATE
        assert card.approval is not None
        assert card.approval.stopped is stopped
    # The customer is told nothing new: it is being checked, as before.
    assert [chip.data["status"] for chip in chips(story, row)][-1] == "checking"


def test_who_may_not_approve_alone_may_not_take_back_what_two_approved(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    story.approves(MIA, row)
    assert isinstance(story.approves(MAX, row), Decided)
    for who in (ANA, BEN):
        answer = refused(revoke(story.desk, row.id, story.order(who)))
        assert answer.code is RefusalCode.NOT_ALLOWED
        assert answer.message == "This needs the role refund_manager."
    assert story.approval(row.id).status is Status.APPROVED
    taken = revoke(story.desk, row.id, story.order(MIA))
    assert isinstance(taken, Approval)
    assert taken.status is Status.CANCELLED


def test_a_request_with_one_approver_is_taken_back_by_any_approver(story: Story) -> None:
    staff(story)
    row = approved(story)
    assert isinstance(revoke(story.desk, row.id, story.order(BEN)), Approval)
