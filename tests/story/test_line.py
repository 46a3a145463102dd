"""The line of messages at a place: nobody holds it up for good, and nothing in it is forgotten."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.deadlines import DELIVERY_LEASE
from agent.domain.places import APPROVALS
from agent.ports import Delivery, DeliveryAnswer, DeliveryKind, TryAgain, Undeliverable
from agent.steps.announce import next_announcement
from agent.steps.outcomes import slack_message
from storage import approvals, cards, deliveries, outbox, places
from tests.story.orders import owner_of
from tests.support.desk import Story
from tests.support.scripted import KeepingNotifier


def new_error() -> DeliveryAnswer:
    return TryAgain("brand_new_error", ambiguous=False)


def mistake() -> DeliveryAnswer:
    raise KeyError("ts")


def refusal() -> DeliveryAnswer:
    return Undeliverable("invalid_blocks")


@dataclass
class Picky(KeepingNotifier):
    """A notifier that has an answer of its own for the cards of some requests."""

    picked: set[str] = field(default_factory=set)
    own: Callable[[], DeliveryAnswer] = new_error

    @override
    def deliver(self, delivery: Delivery) -> DeliveryAnswer:
        if delivery.approval is not None and delivery.approval.approval.id in self.picked:
            self.deliveries.append(delivery)
            return self.own()
        return super().deliver(delivery)


def parks(story: Story, *amounts: str) -> tuple[Picky, list[Approval]]:
    """Let refunds wait whose cards leave once all of them wait."""
    notifier = story.notifier = Picky()
    with story.desk.store.transaction() as tx:
        places.occupy(tx, (APPROVALS,), story.clock.now() + timedelta(days=1))
    for amount in amounts:
        story.asks_refund(story.opens_chat(owner_of(story, "ORD-1004")), amount, "ORD-1004")
    with story.desk.store.transaction() as tx:
        places.begin_anew(tx, story.clock.now())
    return notifier, list(story.all(Status.PENDING))


def passes(story: Story, minutes: int) -> None:
    """Let time pass as the worker would wait."""
    ends_at = story.clock.now() + timedelta(minutes=minutes)
    story.delivers()
    while (due := next_announcement(story.desk)) is not None and due < ends_at:
        story.clock.at = max(due, story.clock.at)
        story.delivers()
    story.clock.at = ends_at


def copies(story: Story, rows: list[Approval]) -> list[int]:
    with story.desk.store.transaction(write=False) as tx:
        return [len(cards.of(tx, row.id)) for row in rows]


def test_messages_that_are_never_taken_hold_up_no_others(story: Story) -> None:
    notifier, rows = parks(story, "160.00", "161.00", "162.00", "163.00")
    notifier.picked, notifier.own = {rows[0].id, rows[1].id}, new_error
    passes(story, 5)
    assert copies(story, rows) == [0, 0, 1, 1]
    # The desk's own mistakes are no worse than Slack's; nobody knows how far they came.
    notifier.own = mistake
    passes(story, 15)
    assert notifier.deliveries[-1].ambiguous
    notifier.picked = set()
    passes(story, 15)
    assert copies(story, rows) == [1, 1, 1, 1]


def test_a_place_that_takes_messages_again_goes_on_in_order(story: Story) -> None:
    notifier, rows = parks(story, "160.00", "161.00", "162.00", "163.00")
    notifier.picked = {row.id for row in rows}
    passes(story, 10)
    assert copies(story, rows) == [0, 0, 0, 0]
    tried = len(notifier.deliveries)
    assert tried < 30
    notifier.picked = set()
    passes(story, 2)
    assert copies(story, rows) == [1, 1, 1, 1]
    arrived = [one.approval.approval.id for one in notifier.deliveries[tried:] if one.approval]
    assert arrived[1:] == sorted(arrived[1:])


def test_what_was_given_up_is_drawn_once_there_is_something_new(story: Story) -> None:
    notifier, (row,) = parks(story, "160.00")
    passes(story, 1)
    notifier.picked, notifier.own = {row.id}, refusal
    for expected in (1, 2):
        with story.desk.store.transaction() as tx:
            again = slack_message(story.desk, DeliveryKind.CARD_UPDATE, "redraw", {}, row)
            outbox.add(tx, story.clock.now(), again)
        passes(story, 1)
        assert len(notifier.of(DeliveryKind.CARD_UPDATE)) == expected
        with story.desk.store.transaction(write=False) as tx:
            assert deliveries.stuck(tx) == 2 - expected
        notifier.picked = set()


def test_what_is_given_up_may_still_have_arrived_before(story: Story) -> None:
    notifier, (row,) = parks(story, "160.00")
    with story.desk.store.transaction() as tx:
        assert deliveries.take_for_slack(tx, "srv-dead", story.clock.now(), DELIVERY_LEASE)
    story.clock.advance(seconds=60)
    notifier.picked, notifier.own = {row.id}, refusal
    story.delivers()
    notifier.picked = set()
    with story.desk.store.transaction() as tx:
        assert deliveries.revive(tx, story.clock.now()) == 1
    story.delivers()
    assert [one.ambiguous for one in notifier.of(DeliveryKind.CARD)] == [True, True]


def test_a_card_that_came_after_the_deadline_was_seen_by_nobody(story: Story) -> None:
    _, (row,) = parks(story, "160.00")
    story.clock.at = row.expires_at
    story.delivers()
    assert copies(story, [row]) == [1]
    story.model.says("Nobody was there.")
    story.sweeps()
    assert story.approval(row.id).result == {"unseen": True}
    with story.desk.store.transaction(write=False) as tx:
        assert approvals.unseen(tx) == 1
