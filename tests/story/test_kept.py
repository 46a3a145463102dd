"""What takes longer than somebody can wait is a row, and whoever takes it up ends it."""

from dataclasses import replace

import pytest

from agent.domain.approvals import EvidenceKind, Status
from agent.domain.decision import Decided, Edited, RefusalCode, Refused, ReplyTo
from agent.ports import DeliveryKind
from agent.steps.kept import (
    DAMAGED,
    LEASE,
    AskingAgain,
    Settling,
    Wish,
    carry_out,
    finish,
    keep,
    words,
)
from agent.steps.settlement import Settlement
from tests.story.ways import ANA, MIA, expired, long_unknown, staff
from tests.support.builders import approval, decision
from tests.support.desk import Story

REPLY = ReplyTo("C1", "U1")
ASKED = "The other side was asked once more and has a record of its own:"


def whispers(story: Story) -> list[object]:
    sent = [d for d in story.notifier.deliveries if d.kind is DeliveryKind.EPHEMERAL]
    return [delivery.body["text"] for delivery in sent]


def taken_up(story: Story, wish: Wish) -> list[object]:
    """Let a process that ends keep a wish, and another go on with it; return what is told."""
    alive = story.desk
    keep(replace(alive, replica="srv-dead"), wish, REPLY)
    assert not story.checks()
    story.clock.advance(seconds=LEASE.total_seconds())
    assert story.checks()
    assert not story.checks()
    story.delivers()
    return whispers(story)


def test_asking_again_and_settling_go_on_in_another_process(story: Story) -> None:
    staff(story)
    lapsed = expired(story)
    wish = AskingAgain(lapsed.id, story.order(ANA, ""))
    assert taken_up(story, wish) == ["Asked again: the new card is in the approvals channel."]
    assert story.approval(lapsed.id).superseded_by is not None


def test_a_settlement_goes_on_in_another_process(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    settlement = Settlement(done=True, kind=EvidenceKind.BANK_RECORD, reference="stmt 4711")
    wish = Settling(row.id, settlement, story.order(MIA, "seen on the statement"))
    assert taken_up(story, wish) == ["It is settled."]
    assert story.approval(row.id).status is Status.EXECUTED


def test_a_damaged_row_is_reported_and_what_is_answered_elsewhere_is_not_told_twice(
    story: Story,
) -> None:
    staff(story)
    lapsed = expired(story)
    wish = AskingAgain(lapsed.id, story.order(ANA, ""))
    row_id = keep(story.desk, wish, REPLY)
    finish(story.desk, row_id, None)
    finish(story.desk, row_id, REPLY, "too late to be told")
    story.damages("UPDATE approvals SET payload = '{}' WHERE id = :one", one=lapsed.id)
    refused = carry_out(story.desk, wish)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.message) == (RefusalCode.PAYLOAD_CHANGED, DAMAGED)
    story.delivers()
    assert whispers(story) == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Refused(RefusalCode.EXPIRED, "Too late."), "Too late."),
        (
            Decided(approval(status=Status.APPROVED)),
            "Your word counts: the request is approved.",
        ),
        (Edited(approval(), approval()), "Your edit is saved."),
        (
            approval(status=Status.FAILED, result={}),
            f"{ASKED} the request is failed.",
        ),
    ],
)
def test_every_answer_has_words(answer: object, told: str) -> None:
    assert words(decision(approval()), answer) == told  # type: ignore[arg-type]
