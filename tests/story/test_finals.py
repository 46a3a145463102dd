"""What has ended stays as it ended: nothing executes afterwards, whatever is tried."""

from collections.abc import Callable

import pytest

from agent.domain.approvals import FINAL, Approval, Status
from agent.domain.decision import RefusalCode
from agent.ports import Declined
from agent.steps.ask_again import ask_again
from agent.steps.decide import withdraw
from agent.steps.execute import execute, execute_due, settle
from agent.steps.revoke import revoke
from tests.story.ways import (
    ANA,
    BEN,
    MIA,
    OLU,
    booked,
    disputes,
    executed,
    expired,
    failed,
    hears,
    path,
    refused,
    rejected,
    revoked,
    settles,
    staff,
    stale,
    superseded,
    usd,
    withdrawn,
)
from tests.support.desk import Story

ENDINGS: dict[str, Callable[[Story], Approval]] = {
    "rejected": rejected,
    "expired": expired,
    "superseded": superseded,
    "withdrawn": withdrawn,
    "revoked": revoked,
    "stale": stale,
    "failed": failed,
    "executed": executed,
}
# What each person's word on an ended row is answered with.
ANSWERS = {
    Status.REJECTED: RefusalCode.ALREADY_DECIDED,
    Status.EXPIRED: RefusalCode.EXPIRED,
    Status.SUPERSEDED: RefusalCode.SUPERSEDED,
    Status.CANCELLED: RefusalCode.ALREADY_DECIDED,
    Status.STALE: RefusalCode.ALREADY_DECIDED,
    Status.FAILED: RefusalCode.ALREADY_DECIDED,
    Status.EXECUTED: RefusalCode.ALREADY_DECIDED,
}


def people_try(story: Story, row: Approval) -> None:
    """Let everybody press everything, and note that each is told why not."""
    code = ANSWERS[row.status]
    words = {"reason": "the house is on fire"}
    answers = [
        story.approves(BEN, row),
        story.rejects(MIA, row),
        story.edits(MIA, row, usd(1000)),
        story.approves(OLU, row, break_glass=True, **words),
    ]
    assert {refused(answer).code for answer in answers} == {code}
    late = refused(withdraw(story.desk, row.id, row.customer_id))
    assert late.code is RefusalCode.TOO_LATE_TO_WITHDRAW
    assert refused(revoke(story.desk, row.id, story.order(MIA))).code is RefusalCode.ALREADY_DECIDED
    for done in (True, False):
        assert refused(settles(story, row, done=done)).code is RefusalCode.ALREADY_DECIDED


def machines_try(story: Story, row: Approval) -> None:
    """Let every worker take the row up, and a late answer arrive."""
    ended = execute(story.desk, row.id)
    assert ended is not None
    assert ended.status is row.status
    assert not execute_due(story.desk)
    assert hears(story, row)
    assert not hears(story, row)
    settle(story.desk, row, Declined("card_closed", "late"), in_turn=False)
    story.clock.advance(days=2)
    story.sweeps()


def test_every_final_status_is_tried() -> None:
    assert set(ANSWERS) == FINAL | {Status.EXECUTED, Status.FAILED}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ended_row_stays_as_it_ended(story: Story, ending: str) -> None:
    staff(story)
    row = ENDINGS[ending](story)
    paid, walked = booked(story, row), path(story, row)
    assert paid == (16000 if row.status is Status.EXECUTED else 0)
    people_try(story, row)
    machines_try(story, row)
    people_try(story, row)
    assert story.approval(row.id) == row
    assert booked(story, row) == paid
    assert path(story, row) == walked
    assert len([f for f in story.facts(row) if f["type"] == "decision.refused"]) == 16


@pytest.mark.parametrize("ending", ["stale", "expired"])
def test_asking_again_leaves_the_old_row_as_it_ended(story: Story, ending: str) -> None:
    staff(story)
    row = ENDINGS[ending](story)
    disputes(story, disputed=False)
    again = ask_again(story.desk, row.id, story.order(ANA))
    assert isinstance(again, Approval)
    story.approves(BEN, again)
    story.rests()
    assert booked(story, again) == 16000
    assert booked(story, row) == 0
    assert story.approval(row.id).status is row.status
    people_try(story, row)
    assert story.paid() == [("ORD-1001", usd(16000))]
