"""What must be heard leaves the outbox at least once, and what cannot leave is an alert."""

from datetime import timedelta

from agent.domain.approvals import Approval, Status
from agent.domain.deadlines import DELIVERY_LEASE
from agent.domain.roles import Role
from agent.ports import (
    Delivered,
    DeliveryKind,
    Limited,
    MessageRef,
    TryAgain,
    Undeliverable,
)
from agent.steps.announce import next_announcement
from storage import cards, deliveries
from tests.story.orders import owner_of
from tests.support.desk import Story

REFUSED = TryAgain("brand_new_error", ambiguous=False)


def park(story: Story) -> Approval:
    """Park a refund without delivering its card."""
    story.notifier.answers.append(REFUSED)
    story.asks_refund(story.opens_chat(owner_of(story, "ORD-1001")), "160.00")
    return story.only(Status.PENDING)


def test_a_card_that_could_not_be_posted_is_tried_again(story: Story) -> None:
    parked = park(story)
    assert story.delivers() == 0
    story.clock.advance(seconds=2)
    assert story.delivers() == 1
    with story.desk.store.transaction(write=False) as tx:
        (ref,) = cards.of(tx, parked.id)
        assert cards.approval_at(tx, ref) == parked.id
        assert cards.approval_at(tx, MessageRef("C1", "0")) is None
    assert "card.posted" in story.trail()


def test_the_receiver_may_say_when(story: Story) -> None:
    park(story)
    story.clock.advance(seconds=2)
    story.notifier.answers.append(Limited("ratelimited", 30.0, ambiguous=True))
    story.delivers()
    due = next_announcement(story.desk)
    assert due == story.clock.now() + timedelta(seconds=30)
    story.clock.advance(seconds=29.9)
    assert story.delivers() == 0
    story.clock.advance(seconds=0.1)
    assert story.delivers() == 1
    assert story.notifier.deliveries[-1].ambiguous


def test_a_card_decided_before_it_was_posted_shows_the_end(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.approves(ana, parked)
    story.model.says("Paid.")
    story.rests()
    story.clock.advance(seconds=2)
    story.rests()
    shown = story.notifier.of(DeliveryKind.CARD)[-1]
    assert shown.approval is not None
    assert shown.approval.approval.status is Status.EXECUTED
    assert shown.approval.customer_words == ("refund 160.00 on ORD-1001",)


def test_a_delivery_whose_taker_died_may_have_arrived(story: Story) -> None:
    park(story)
    story.clock.advance(seconds=2)
    with story.desk.store.transaction() as tx:
        taken = deliveries.take_for_slack(tx, "srv-dead", story.clock.now(), DELIVERY_LEASE)
    assert taken is not None
    assert not taken.row.ambiguous
    assert story.delivers() == 0
    story.clock.advance(seconds=60)
    assert story.delivers() == 1
    assert story.notifier.deliveries[-1].ambiguous


def test_what_a_dead_replica_had_taken_goes_out_at_once(story: Story) -> None:
    park(story)
    story.clock.advance(seconds=2)
    with story.desk.store.transaction() as tx:
        assert deliveries.take_for_slack(tx, "srv-dead", story.clock.now(), DELIVERY_LEASE)
    assert story.delivers() == 0
    story.sweeps()
    assert story.notifier.deliveries[-1].ambiguous


def test_a_delivery_that_cannot_succeed_is_kept_for_a_person(story: Story) -> None:
    parked = park(story)
    story.clock.advance(seconds=2)
    story.notifier.answers.append(Undeliverable("channel_not_found"))
    story.delivers()
    story.rests()
    assert "delivery.failed" in story.trail()
    with story.desk.store.transaction(write=False) as tx:
        assert deliveries.stuck(tx) == 1
    assert story.approval(parked.id).status is Status.PENDING


def test_what_was_given_up_is_tried_again_after_a_start(story: Story) -> None:
    parked = park(story)
    story.clock.advance(seconds=2)
    story.notifier.answers.append(Undeliverable("not_in_channel"))
    story.rests()
    with story.desk.store.transaction() as tx:
        assert deliveries.revive(tx, story.clock.now()) == 1
    story.rests()
    with story.desk.store.transaction(write=False) as tx:
        assert len(cards.of(tx, parked.id)) == 1


def test_a_card_that_is_gone_is_forgotten(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    story.asks_refund(story.opens_chat(owner_of(story, "ORD-1001")), "160.00")
    parked = story.only(Status.PENDING)
    with story.desk.store.transaction(write=False) as tx:
        (old,) = cards.of(tx, parked.id)
    fresh = MessageRef("C1", "99.0")
    story.approves(ana, parked)
    story.notifier.answers.append(Delivered((fresh,), lost_refs=(old,)))
    story.model.says("Paid.")
    story.rests()
    with story.desk.store.transaction(write=False) as tx:
        assert cards.of(tx, parked.id) == (fresh,)


def test_a_damaged_row_makes_no_card(story: Story) -> None:
    parked = park(story)
    story.damages("UPDATE approvals SET payload = '[' WHERE id = :a", a=parked.id)
    story.clock.advance(seconds=2)
    story.rests()
    assert "delivery.failed" in story.trail()
