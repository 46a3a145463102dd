"""What people on call must hear arrives once, is kept up to date, and is over when it is over."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval
from agent.domain.breaker import Breaker
from agent.domain.payload import Payload
from agent.domain.roles import ActorKind, Identity, Role
from agent.ports import Delivered, DeliveryKind, MessageRef
from agent.steps.alerts import acknowledge_alert, amend_alert, end_alert, raise_alert
from agent.steps.breaker import reset_breaker
from storage import alerts, cards
from storage.engine import open_engine
from storage.transaction import Store
from tests.story.test_crossing import at_once
from tests.story.ways import MIA, OLU, long_unknown, settles, staff
from tests.support.builders import policy
from tests.support.desk import Story

ALERT, UPDATE, LINE = DeliveryKind.ALERT, DeliveryKind.ALERT_UPDATE, DeliveryKind.ALERT_LINE
TROUBLE = AlertKind.SLACK_TROUBLE
_ROUNDS = 3
# What somebody who acknowledges may read, depending on who was first.
_HEARD = ("Thank you.", "Olu has", "Mia has", "It is over already")


def alarm(story: Story, subject: str = "s:1", kind: AlertKind = TROUBLE) -> bool:
    """Raise an alert."""
    with story.desk.store.transaction() as tx:
        body: Payload = {"text": "Slack is in trouble."}
        return raise_alert(tx, story.desk, story.clock.now(), subject, kind, body)


def over(story: Story, subject: str = "s:1") -> bool:
    """End an alert."""
    with story.desk.store.transaction() as tx:
        return end_alert(tx, story.desk, story.clock.now(), subject, "Slack is well again.")


def news(story: Story) -> list[DeliveryKind]:
    """Deliver what is due and return the kinds of it."""
    before = len(story.notifier.deliveries)
    story.delivers()
    return [delivery.kind for delivery in story.notifier.deliveries[before:]]


def test_an_alert_is_told_once_and_kept_up_to_date_until_it_is_over(story: Story) -> None:
    olu, mia = story.hire("olu", Role.ONCALL), story.hire("mia", Role.REFUND_MANAGER)
    ana = story.hire("ana", Role.REFUND_APPROVER)
    gus = story.hire("gus", Role.ONCALL, kind=ActorKind.GUEST)
    assert [alarm(story), alarm(story)] == [True, False]
    assert news(story) == [ALERT]
    (posted,) = story.notifier.of(ALERT)
    assert posted.alert is not None
    assert posted.alert.is_open
    for nobody in (ana, gus, Identity("slack", "T1:U404")):
        assert acknowledge_alert(story.desk, nobody, "s:1").startswith("Only people on call")
    assert acknowledge_alert(story.desk, olu, "s:1").startswith("Thank you")
    assert acknowledge_alert(story.desk, mia, "s:1") == "Olu has acknowledged it already."
    assert acknowledge_alert(story.desk, olu, "s:2") == "There is no such alert."
    news(story)
    with story.desk.store.transaction() as tx:
        told = amend_alert(
            tx, story.desk, story.clock.now(), "s:1", {"text": "Worse."}, "It is worse."
        )
        assert told
    assert news(story) == [UPDATE, LINE]
    worse = story.notifier.of(UPDATE)[-1]
    assert worse.alert is not None
    assert (worse.alert.body["text"], worse.alert.acknowledged_by) == ("Worse.", "Olu")
    assert [ref.channel for ref in worse.refs] == ["C2"]
    assert [over(story), over(story), over(story, "s:2")] == [True, False, False]
    assert news(story) == [UPDATE, LINE]
    (line,) = story.notifier.of(LINE)[-1:]
    assert line.body["text"] == "Slack is well again."
    assert line.alert is not None
    assert (line.alert.is_open, line.alert.ended) == (False, "Slack is well again.")
    assert acknowledge_alert(story.desk, olu, "s:1") == "Olu has acknowledged it already."
    with story.desk.store.transaction() as tx:
        assert not amend_alert(tx, story.desk, story.clock.now(), "s:1", {"text": "-"}, "-")
    told_of = [tag for tag in story.trail() if tag.startswith("alert.")]
    assert sorted(told_of) == [
        f"alert.{what}" for what in ("acknowledged", "amended", "ended", "posted", "raised")
    ]


def test_what_comes_again_is_told_again_and_leaves_its_old_message_alone(story: Story) -> None:
    olu = story.hire("olu", Role.ONCALL)
    alarm(story)
    news(story)
    over(story)
    assert acknowledge_alert(story.desk, olu, "s:1") == "It is over already: Slack is well again."
    assert news(story) == [UPDATE, LINE]
    story.clock.advance(minutes=5)
    assert alarm(story)
    assert news(story) == [ALERT]
    with story.desk.store.transaction(write=False) as tx:
        assert len(cards.of_subject(tx, "s:1")) == 1
        (again,) = alerts.still_open(tx, TROUBLE)
        assert alerts.still_open(tx) == (again,)
        assert alerts.counts(tx)[TROUBLE] == 1
    assert (again.opened_at, again.ended) == (story.clock.now(), None)


def test_what_does_not_end_by_itself_is_over_when_somebody_has_seen_it(story: Story) -> None:
    olu = story.hire("olu", Role.ONCALL)
    alarm(story, kind=AlertKind.CLOCK_STEP)
    news(story)
    acknowledge_alert(story.desk, olu, "s:1")
    story.rests()
    (update,) = story.notifier.of(UPDATE)
    assert update.alert is not None
    assert update.alert.ended == "Seen by Olu."


def test_a_message_that_is_gone_is_forgotten(story: Story) -> None:
    alarm(story)
    news(story)
    with story.desk.store.transaction(write=False) as tx:
        (old,) = cards.of_subject(tx, "s:1")
    fresh = MessageRef("C2", "9.0")
    story.notifier.answers.append(Delivered((fresh,), lost_refs=(old,)))
    over(story)
    news(story)
    with story.desk.store.transaction(write=False) as tx:
        assert cards.of_subject(tx, "s:1") == (fresh,)
        assert cards.approval_at(tx, fresh) is None


@pytest.fixture
def other(story: Story, database_url: str) -> Iterator[Story]:
    """Yield a second replica on the same database."""
    store = Store(open_engine(database_url))
    yield replace(story, desk=replace(story.desk, store=store, replica="srv-other"))
    store.close()


def test_two_replicas_raise_and_end_one_alert_once(story: Story, other: Story) -> None:
    for number in range(6):
        subject = f"s:{number}"
        raised = at_once(*(partial(alarm, s, subject) for s in (story, other, story, other)))
        assert sorted(map(str, raised)) == ["False", "False", "False", "True"]
        ended = at_once(*(partial(over, s, subject) for s in (story, other)))
        assert sorted(map(str, ended)) == ["False", "True"]
    news(story)
    assert len(story.notifier.of(ALERT)) == 6
    assert story.trail().count("alert.ended") == 6


def test_an_alert_that_ends_while_it_is_acknowledged_waits_for_nobody(
    story: Story, other: Story
) -> None:
    """Whoever is second reads what the first did; no two wait for each other."""
    staff(story)
    for number in range(_ROUNDS):
        strict = story.under(policy(breaker={"max_refunds": 1}))
        calls = [strict.refund_call(f"{n}.00", call_id=f"c{number}{n}") for n in (1, 2)]
        strict.proposes(strict.opens_chat("cus_clara"), *calls)
        (opened,) = story.open_alerts()
        said = at_once(
            partial(acknowledge_alert, other.desk, OLU, opened.subject),
            partial(acknowledge_alert, story.desk, MIA, opened.subject),
            partial(reset_breaker, other.desk, story.order(MIA), number),
        )
        assert sum(isinstance(one, Breaker) for one in said) == 1
        words = [one for one in said if isinstance(one, str)]
        assert all(one.startswith(_HEARD) for one in words), words
        assert story.open_alerts() == ()
        news(story)


def test_an_outcome_that_is_settled_while_its_alert_is_acknowledged(
    story: Story, other: Story
) -> None:
    staff(story)
    row = long_unknown(story)
    (unknown,) = story.open_alerts()
    assert unknown.approval_id == row.id
    said = at_once(
        partial(acknowledge_alert, other.desk, OLU, unknown.subject),
        partial(settles, story, row, done=True),
    )
    assert any(isinstance(one, Approval) for one in said)
    (word,) = (one for one in said if isinstance(one, str))
    assert word.startswith(_HEARD)
    assert story.open_alerts() == ()
    story.rests()
    last = story.notifier.of(UPDATE)[-1]
    assert last.alert is not None
    assert str(last.alert.ended).startswith("Mia settled Refund of 160.00 USD")
