"""The provider speaks first: events come twice, late, about strangers, and are never trusted."""

import pytest
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.ids import ApprovalId
from agent.ports import Accepted, Declined, NoClearAnswer, RefundRequest
from agent.steps.hear import ProviderEvent, hear
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from storage.transaction import Conflict
from tests.story.test_execute import ScriptedPayments, with_payments
from tests.story.ways import (
    approved,
    booked,
    executed,
    hears,
    parked,
    path,
    staff,
    told,
    unknown,
)
from tests.support.desk import Story


def heard(story: Story) -> list[tuple[object, object]]:
    """Return which events the trail knows, and about what."""
    facts = [f for f in story.facts() if f["type"] == "provider.heard"]
    return [(fact["data"]["event_id"], fact["approval_id"]) for fact in facts]


def test_an_event_of_a_stranger_is_kept_once_and_changes_nothing(story: Story) -> None:
    staff(story)
    for named in (None, ApprovalId("apr_of_another_shop")):
        event = ProviderEvent(f"evt_{named}", "charge.refunded", named)
        assert hear(story.desk, event)
        assert not hear(story.desk, event)
    assert heard(story) == [("evt_None", None), ("evt_apr_of_another_shop", None)]


def test_what_an_event_says_is_not_believed(story: Story) -> None:
    """It says `failed`; the book says that the money is there."""
    staff(story)
    row = executed(story)
    assert hears(story, row, kind="refund.failed")
    assert story.approval(row.id) == row
    assert booked(story, row) == 16000
    assert heard(story) == [("evt_1", row.id)]


@pytest.mark.parametrize("reach", [parked, approved])
def test_an_event_before_anything_was_sent_changes_nothing(story: Story, reach: object) -> None:
    staff(story)
    assert callable(reach)
    row = reach(story)
    assert hears(story, row)
    assert story.approval(row.id) == row


def test_news_that_the_book_cannot_tell_yet_is_asked_for_by_the_sweep(story: Story) -> None:
    staff(story)
    row = executed(story)
    assert row.wake_at is None
    blind = ScriptedPayments(story.payments)
    blind.found = NoClearAnswer("502")
    assert hears(with_payments(story, blind), row, kind="refund.failed")
    assert story.approval(row.id).wake_at == story.clock.now()
    key = row.idempotency_key
    story.happens("UPDATE ledger_refunds SET status = 'failed' WHERE key = :k", k=key)
    story.sweeps()
    assert path(story, row)[-1] is Status.FAILED


@pytest.mark.parametrize("found", [NoClearAnswer("502"), None])
def test_an_unknown_row_goes_on_being_looked_for(story: Story, found: NoClearAnswer | None) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    blind = ScriptedPayments(story.payments)
    blind.found = found
    assert hears(with_payments(story, blind), row)
    assert story.approval(row.id) == row
    story.clock.advance(seconds=10)
    story.sweeps()
    assert story.approval(row.id).status is Status.EXECUTED


def test_the_same_event_twice_at_once_is_heard_once(story: Story) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    answers: list[bool] = []

    class Twice(FaultyPayments):
        """A provider that sends its event again while the desk still asks about the first."""

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            answers.append(hears(story, row))
            return super().find(request)

    twice = with_payments(story, Twice(story.payments, wait=lambda _s: None))
    answers.append(hears(twice, row))
    assert answers == [True, False]
    story.rests()
    assert heard(story) == [("evt_1", row.id)]
    assert len(told(story, row)) == 1


@pytest.mark.parametrize("damage", ["payload = '{'", "tool = 'other'"])
def test_a_damaged_row_is_reported_and_the_event_is_kept(story: Story, damage: str) -> None:
    staff(story)
    row = executed(story)
    story.damages(f"UPDATE approvals SET {damage} WHERE id = :a", a=row.id)  # noqa: S608 - ours
    assert hears(story, row)
    assert not hears(story, row)
    assert "approval.corrupt" in story.trail()
    story.tells()
    (alert,) = story.notifier.alerts(AlertKind.CORRUPT_ROW)
    assert "does not validate and will not run" in str(alert.body["text"])


def test_an_event_that_could_not_be_kept_comes_again(story: Story) -> None:
    """The process dies after it has asked the provider: what was found stands, the rest repeats."""
    staff(story)
    row: Approval = unknown(story, FaultKind.TIMEOUT_AFTER)

    class Dying(FaultyPayments):
        """A provider after whose answer the process dies."""

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            raise Conflict(f"the database went away, {request.key}")

    with pytest.raises(Conflict):
        hears(with_payments(story, Dying(story.payments, wait=lambda _s: None)), row)
    assert heard(story) == []
    assert hears(story, row)
    assert story.approval(row.id).status is Status.EXECUTED
