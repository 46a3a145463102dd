"""What cannot tell of itself: stuck messages and silent parts become alerts, once over all."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import text

from agent.domain.alerts import AlertKind
from agent.domain.heartbeats import REPLICA, WATCH
from agent.domain.roles import Role
from agent.ports import DeliveryKind, TryAgain, Undeliverable
from agent.steps.alerts import acknowledge_alert
from agent.steps.watch import watch
from storage import alerts, deliveries, heartbeats
from storage.engine import open_engine
from storage.transaction import Store
from tests.story.test_announce import park
from tests.story.test_crossing import at_once
from tests.support.desk import Story

PATIENCE = {"people": timedelta(seconds=60)}
STUCK, SILENT = AlertKind.DELIVERIES_STUCK, AlertKind.STALE_HEARTBEAT


def beats(story: Story, *jobs: str, replica: str | None = None) -> None:
    """Let jobs of a replica, by default the story's own, do their work."""
    with story.desk.store.transaction() as tx:
        for job in jobs:
            heartbeats.beat(tx, replica or story.desk.replica, job, story.clock.now())


def looks(story: Story) -> bool:
    """Let the story's replica, which is awake, look once, and deliver what it has to say."""
    beats(story, REPLICA, WATCH)
    found = watch(story.desk, PATIENCE)
    story.delivers()
    return found


def open_texts(story: Story) -> list[str]:
    return [str(alert.body["text"]) for alert in story.open_alerts()]


def how_it_ended(story: Story, subject: str) -> str | None:
    with story.desk.store.transaction(write=False) as tx:
        found = alerts.get(tx, subject)
    assert found is not None
    return found.ended


def test_messages_that_are_stuck_are_one_alert_until_none_is(story: Story) -> None:
    park(story)
    story.clock.advance(seconds=2)
    story.notifier.answers.append(Undeliverable("not_in_channel"))
    story.delivers()
    assert looks(story)
    assert not looks(story)
    (stuck,) = story.open_alerts()
    assert (stuck.kind, stuck.body["problems"]) == (
        STUCK,
        [{"kind": "card", "problem": "not_in_channel"}],
    )
    # Another problem is shown on the same alert; the one before stays in sight.
    story.asks_refund(story.opens_chat("cus_clara"), "160.00", "ORD-1004")
    with story.desk.store.transaction() as tx:
        tx.change(
            text("UPDATE outbox SET attempts = 5, last_error = 'fatal_error', next_at = :far"),
            far=2**62,
        )
    assert looks(story)
    (worse,) = story.open_alerts()
    assert worse.subject == stuck.subject
    assert isinstance(worse.body["problems"], list)
    assert {"kind": "card", "problem": "not_in_channel"} in worse.body["problems"]
    assert "fatal_error" in str(worse.body["problems"])
    for number in range(12):
        with story.desk.store.transaction() as tx:
            tx.change(text("UPDATE outbox SET last_error = :e"), e=f"port {number} is closed")
        looks(story)
    (long,) = story.open_alerts()
    assert len(long.body["problems"]) == 10  # type: ignore[arg-type]
    with story.desk.store.transaction() as tx:
        tx.change(text("DELETE FROM outbox WHERE lane = 'slack'"))
    assert looks(story)
    assert not looks(story)
    assert how_it_ended(story, stuck.subject) == "Nothing is stuck any more."


def test_a_message_that_is_tried_for_the_fifth_time_is_stuck(story: Story) -> None:
    park(story)
    for tries in range(1, 5):
        assert looks(story) is False, tries
        assert story.open_alerts() == ()
        story.notifier.answers.append(TryAgain("brand_new_error", ambiguous=False))
        story.clock.advance(minutes=20)
        story.delivers()
    assert looks(story)
    assert [alert.kind for alert in story.notifier.alerts(STUCK)] == [STUCK]
    story.clock.advance(minutes=20)
    story.delivers()
    looks(story)
    assert story.open_alerts() == ()
    with story.desk.store.transaction(write=False) as tx:
        assert deliveries.stuck(tx) == 0


def test_who_is_silent_is_named_and_heard_of_again(story: Story) -> None:
    beats(story, REPLICA, "sweep", "people", replica="srv-a")
    beats(story, REPLICA, replica="cli-b")
    story.clock.advance(seconds=30)
    assert not looks(story)
    story.clock.advance(microseconds=1)
    beats(story, REPLICA, replica="srv-a")
    with story.desk.store.transaction() as tx:
        heartbeats.fail(tx, "srv-a", "sweep", story.clock.now(), "OperationalError: disk full")
    assert looks(story)
    assert not looks(story)
    (alert,) = story.open_alerts()
    assert alert.body["text"] == "The job sweep of the replica srv-a does not get its work done."
    assert alert.body["problem"] == "OperationalError: disk full"
    assert story.notifier.alerts(SILENT) == [alert]
    beats(story, "sweep", "people", replica="srv-a")
    assert looks(story)
    assert how_it_ended(story, alert.subject) == "It shows life again."
    # Silent once more, it is told once more: all of the replica is gone this time.
    story.clock.advance(seconds=61)
    assert looks(story)
    (gone,) = story.open_alerts()
    assert str(gone.body["text"]).startswith("The replica srv-a gives no sign of life")
    with story.desk.store.transaction() as tx:
        heartbeats.forget(tx, "srv-a")
    assert looks(story)
    assert how_it_ended(story, gone.subject) == "It has signed off."
    story.clock.advance(hours=1)
    looks(story)
    with story.desk.store.transaction(write=False) as tx:
        assert {one.replica for one in heartbeats.everything(tx)} == {story.desk.replica}


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_replica_that_does_not_come_back_is_written_off(story: Story, is_seen: bool) -> None:
    olu = story.hire("olu", Role.ONCALL)
    beats(story, REPLICA, "sweep", replica="srv-a")
    story.clock.advance(minutes=1)
    assert looks(story)
    (alert,) = story.open_alerts()
    assert not looks(story)
    if is_seen:
        acknowledge_alert(story.desk, olu, alert.subject)
    else:
        story.clock.advance(days=1)
    assert looks(story)
    assert str(how_it_ended(story, alert.subject)).startswith("It is written off: ")
    with story.desk.store.transaction(write=False) as tx:
        assert [one for one in heartbeats.everything(tx) if one.replica == "srv-a"] == []


def test_whoever_has_slept_does_not_judge_the_others(story: Story) -> None:
    beats(story, REPLICA, WATCH, "sweep")
    beats(story, REPLICA, replica="srv-a")
    story.clock.advance(hours=8)
    assert not watch(story.desk, PATIENCE)
    beats(story, REPLICA, "sweep", replica="srv-a")
    beats(story, "sweep")
    assert not looks(story)
    assert story.open_alerts() == ()


def test_a_breaker_that_is_back_ends_its_alert(story: Story) -> None:
    with story.desk.store.transaction(write=False) as tx:
        kept = tx.one(text("SELECT * FROM breaker"))
    assert kept is not None
    story.damages("DELETE FROM breaker")
    story.asks_refund(story.opens_chat("cus_clara"), "5.00")
    assert not looks(story)
    (alert,) = story.open_alerts()
    assert alert.kind is AlertKind.BREAKER_MISSING
    columns = ", ".join(kept)
    values = ", ".join(f":{name}" for name in kept)
    story.damages(f"INSERT INTO breaker ({columns}) VALUES ({values})", **kept)  # noqa: S608 - ours
    assert looks(story)
    assert how_it_ended(story, alert.subject) == "It is back: refunds are decided again."


@pytest.fixture
def other(story: Story, database_url: str) -> Iterator[Story]:
    """Yield a second replica on the same database."""
    store = Store(open_engine(database_url))
    yield replace(story, desk=replace(story.desk, store=store, replica="srv-other"))
    store.close()


def test_two_replicas_that_look_at_once_tell_once(story: Story, other: Story) -> None:
    park(story)
    story.clock.advance(seconds=2)
    story.notifier.answers.append(Undeliverable("not_in_channel"))
    story.delivers()
    beats(story, REPLICA, "sweep", replica="srv-dead")
    story.clock.advance(minutes=1)
    for one in (story, other):
        beats(one, REPLICA, WATCH)
    both = [partial(watch, one.desk, PATIENCE) for one in (story, other)]
    assert sorted(map(str, at_once(*both))) in (["False", "True"], ["True", "True"])
    story.delivers()
    told = story.notifier.of(DeliveryKind.ALERT)
    kinds = [delivery.alert.kind for delivery in told if delivery.alert is not None]
    assert sorted(kinds) == [STUCK, SILENT]
    with story.desk.store.transaction() as tx:
        heartbeats.forget(tx, "srv-dead")
        tx.change(text("DELETE FROM outbox"))
    at_once(*both)
    assert story.open_alerts() == ()
    assert story.trail().count("alert.ended") == 2
