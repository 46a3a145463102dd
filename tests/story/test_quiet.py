"""What everybody has read already is not said again; what is said is what holds."""

import json

import pytest

from agent.domain.approvals import Approval, Status
from agent.ports import DeliveryKind, NoClearAnswer, NotStarted, ProviderStatus
from agent.steps.execute import execute
from agent.steps.receive import receive
from tests.story.test_execute import DyingPayments, Killed, ScriptedPayments, with_payments
from tests.story.test_unknown import Slow
from tests.story.ways import (
    ANA,
    MIA,
    about,
    approved,
    chips,
    edited,
    parked,
    staff,
    told,
    unknown,
    usd,
)
from tests.support.desk import Story

CARD, THREAD = DeliveryKind.CARD_UPDATE, DeliveryKind.THREAD


def answering(story: Story) -> tuple[Story, ScriptedPayments]:
    """Return the story with a provider that gives one answer."""
    payments = ScriptedPayments(story.payments)
    return with_payments(story, payments), payments


def tries(story: Story, row: Approval) -> list[DeliveryKind]:
    """Try a row once more, and return what Slack is sent about it."""
    posted = len(story.notifier.deliveries)
    if story.approval(row.id).status is Status.UNKNOWN:
        story.sweeps()
    else:
        execute(story.desk, row.id)
    story.tells()
    # The alert after five minutes is another story's.
    return [delivery.kind for delivery in about(story, row, posted) if delivery.alert is None]


def said(story: Story, row: Approval) -> list[object]:
    return [chip.data["status"] for chip in chips(story, row)]


def test_a_second_unknown_redraws_the_card_and_says_nothing(story: Story) -> None:
    staff(story)
    row = approved(story)
    desk, provider = answering(story)
    provider.answer = NoClearAnswer("502")
    assert tries(desk, row) == [CARD, THREAD]
    assert said(story, row) == ["pending", "approved", "checking"]
    for attempts in (2, 3):
        story.clock.advance(minutes=1)
        assert tries(desk, row) == [CARD]
        after = story.approval(row.id)
        assert (after.status, after.attempts) == (Status.UNKNOWN, attempts)
    assert said(story, row) == ["pending", "approved", "checking"]
    provider.answer = None
    story.clock.advance(minutes=10)
    assert tries(desk, row) == [CARD, THREAD]
    assert said(story, row)[-1] == "done"


def test_a_second_return_redraws_the_card_and_says_nothing(story: Story) -> None:
    staff(story)
    row = approved(story)
    desk, provider = answering(story)
    provider.answer = NotStarted("429")
    assert tries(desk, row) == [CARD, THREAD]
    before = said(story, row)
    for attempts in (2, 3):
        story.clock.advance(minutes=1)
        assert tries(desk, row) == [CARD]
        after = story.approval(row.id)
        assert (after.status, after.attempts) == (Status.APPROVED, attempts)
    assert said(story, row) == before


def test_the_first_unknown_is_said_also_after_a_return(story: Story) -> None:
    staff(story)
    row = approved(story)
    desk, provider = answering(story)
    provider.answer = NotStarted("429")
    tries(desk, row)
    provider.answer = NoClearAnswer("502")
    story.clock.advance(minutes=1)
    assert tries(desk, row) == [CARD, THREAD]
    assert story.approval(row.id).status is Status.UNKNOWN
    assert said(story, row)[-1] == "checking"


def test_a_lease_lost_once_more_is_no_news(story: Story) -> None:
    staff(story)
    row = unknown(story)
    before = said(story, row)
    assert before[-1] == "checking"
    posted = len(story.notifier.deliveries)
    story.clock.advance(minutes=1)
    dying = with_payments(story, DyingPayments(story.payments, wait=lambda _s: None))
    with pytest.raises(Killed):
        dying.sweeps()
    story.clock.advance(seconds=90)
    desk, provider = answering(story)
    provider.found = NoClearAnswer("502")
    desk.sweeps()
    after = story.approval(row.id)
    assert (after.status, after.attempts) == (Status.UNKNOWN, 2)
    assert [d.kind for d in about(story, row, posted)] == [CARD]
    assert said(story, row) == before


def test_what_is_accepted_is_not_called_paid(story: Story) -> None:
    staff(story)
    row = approved(story)
    slow = Slow(story.payments, wait=lambda _s: None)
    with_payments(story, slow).rests()
    after = story.approval(row.id)
    assert (after.result or {})["provider_status"] == ProviderStatus.PENDING
    assert story.agent_words(row.conversation_id)[-1] == (
        "Good news: the refund of 160.00 USD on order ORD-1001 was accepted; "
        "the payment is on its way."
    )
    assert chips(story, row)[-1].data["text"] == (
        "Refund of 160.00 USD on order ORD-1001: accepted, the payment is on its way"
    )


def test_what_is_paid_is_called_paid(story: Story) -> None:
    staff(story)
    row = approved(story)
    story.rests()
    assert story.agent_words(row.conversation_id)[-1] == (
        "Good news: the refund of 160.00 USD on order ORD-1001 has been paid."
    )
    assert chips(story, row)[-1].data["text"] == "Refund of 160.00 USD on order ORD-1001: done"


@pytest.mark.parametrize("changed", [True, False])
def test_what_people_had_changed_is_not_offered_again(story: Story, *, changed: bool) -> None:
    staff(story)
    row = parked(story, "120.00")
    if changed:
        row = edited(story.edits(ANA, row, usd(15000)))
    story.clock.at = row.expires_at
    story.sweeps()
    assert story.approval(row.id).status is Status.EXPIRED
    last = story.agent_words(row.conversation_id)[-1]
    assert ("You can ask again" in last) is not changed
    assert last.lower().endswith("i can pass you to a person.")


def test_nobody_learns_from_the_agent_who_reads_along_unseen(story: Story) -> None:
    staff(story)
    call = story.email_call(
        subject="About your chair", body="Soon.", order_id="ORD-1001", bcc=["boss@shop.example"]
    )
    (result,) = story.proposes(story.opens_chat("cus_clara"), call)
    row = story.approval(result["approval_id"])
    # A different text at first, so that the edit itself leaves Bcc alone.
    new = edited(story.edits(ANA, row, subject="About the chair", bcc=("chief@shop.example",)))
    story.approves(MIA, new)
    story.rests()
    (sent,) = story.mails()
    assert sent.envelope.bcc == ("chief@shop.example",)
    (edit,) = [one for one in told(story, new) if one["event"] == "human_edit"]
    outcome = told(story, new)[-1]
    assert (edit["to"]["subject"], outcome["edited"]["to"]["subject"]) == (("About the chair",) * 2)
    for heard in (edit, outcome):
        assert "bcc" not in json.dumps(heard)
        assert "shop.example" not in json.dumps(heard)


def test_a_card_shows_what_was_said_until_the_model_asked(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.clock.advance(seconds=10)
    receive(story.desk, row.conversation_id, "later", "And a pony, please!")
    story.clock.advance(seconds=10)
    new = edited(story.edits(ANA, row, usd(20000 - 4500)))
    story.rests()
    card = about(story, new)[-1].approval
    assert card is not None
    assert card.customer_words == ("refund 160.00 on ORD-1001",)
    raised = about(story, row)[-1].approval
    assert raised is not None
    assert raised.customer_words == card.customer_words
