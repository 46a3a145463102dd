"""Somebody on call decides alone above the tier: with a reason, and in front of everybody."""

import json

import pytest

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, RejectCategory, Status, Verdict
from agent.domain.decision import Decided, Edits, RefusalCode, Voted
from agent.domain.roles import Identity, Role
from agent.steps.people import grant
from agent.steps.stop import stop_all
from storage import decisions
from tests.story.ways import (
    ANA,
    BEN,
    MIA,
    OLU,
    actor_of,
    edited,
    links,
    parked,
    refused,
    staff,
    told,
    usd,
)
from tests.support.desk import Story

FIRE = "both managers are on a plane"
ROOT = Identity("cli", "root")


def sofa(story: Story) -> Approval:
    """Let something wait that takes two people."""
    return parked(story, "2340.00", "ORD-1004")


def test_one_person_on_call_is_enough_and_everybody_on_call_reads_of_it(story: Story) -> None:
    staff(story)
    row = sofa(story)
    assert isinstance(story.approves(OLU, row, break_glass=True, reason=FIRE), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", usd(234000))]
    (alert,) = story.notifier.alerts(AlertKind.BREAK_GLASS)
    assert alert.body == {
        "text": "Olu broke the glass and approved Refund of 2,340.00 USD on order ORD-1004 alone.",
        "reason": FIRE,
    }
    vote = next(f for f in story.facts(row) if f["type"] == "vote.cast")
    assert (vote["data"]["break_glass"], vote["data"]["evidence"], vote["data"]["reason"]) == (
        True,
        "oncall by fixed",
        FIRE,
    )
    with story.desk.store.transaction(write=False) as tx:
        (cast,) = decisions.of(tx, row.id)
    assert (cast.break_glass, cast.actor_name) == (True, "Olu")


def test_why_it_was_broken_is_no_business_of_the_customers(story: Story) -> None:
    staff(story)
    row = sofa(story)
    story.approves(OLU, row, break_glass=True, reason=FIRE)
    story.rests()
    read = [json.dumps(event.data) for event in story.log(row.conversation_id)]
    heard = [json.dumps(said) for said in told(story, row)]
    assert [text for text in (*read, *heard) if "plane" in text] == []


@pytest.mark.parametrize(
    ("who", "more", "code"),
    [
        (OLU, {"break_glass": True}, RefusalCode.REASON_REQUIRED),
        (OLU, {"break_glass": True, "reason": " hm "}, RefusalCode.REASON_REQUIRED),
        (OLU, {"reason": FIRE}, RefusalCode.NOT_ALLOWED),
        (MIA, {"break_glass": True, "reason": FIRE}, RefusalCode.NOT_ALLOWED),
        (ANA, {"break_glass": True, "reason": FIRE}, RefusalCode.NOT_ALLOWED),
    ],
    ids=["no reason", "short reason", "not broken", "manager", "approver"],
)
def test_it_takes_the_role_the_word_and_the_reason(
    story: Story, who: Identity, more: dict[str, object], code: RefusalCode
) -> None:
    staff(story)
    row = sofa(story)
    assert refused(story.approves(who, row, **more)).code is code
    assert story.approval(row.id) == row
    assert story.notifier.alerts(AlertKind.BREAK_GLASS) == []


def test_only_an_approval_breaks_the_glass(story: Story) -> None:
    staff(story)
    row = sofa(story)
    no = {"reason": FIRE, "category": RejectCategory.OTHER, "break_glass": True}
    less = {"reason": FIRE, "edits": Edits(amount=usd(100)), "break_glass": True}
    for who, code in ((OLU, RefusalCode.NOT_ALLOWED), (MIA, RefusalCode.INVALID)):
        assert refused(story.decides(who, Verdict.REJECT, row, **no)).code is code
        assert refused(story.decides(who, Verdict.EDIT, row, **less)).code is code
    assert story.approval(row.id) == row


def test_nobody_breaks_it_for_themselves(story: Story) -> None:
    staff(story)
    row = sofa(story)
    links(story, OLU, Identity("customer", row.customer_id))
    own = refused(story.approves(OLU, row, break_glass=True, reason=FIRE))
    assert own.code is RefusalCode.SELF_APPROVAL


def test_nobody_breaks_it_for_what_they_edited(story: Story) -> None:
    staff(story)
    grant(story.desk, actor_of(story, ANA).id, Role.ONCALL, ROOT)
    row = edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))
    own = refused(story.approves(ANA, row, break_glass=True, reason=FIRE))
    assert own.code is RefusalCode.SELF_APPROVAL


def test_whoever_has_voted_may_break_it_when_nobody_else_comes(story: Story) -> None:
    staff(story)
    grant(story.desk, actor_of(story, ANA).id, Role.ONCALL, ROOT)
    row = sofa(story)
    assert isinstance(story.approves(ANA, row), Voted)
    assert refused(story.approves(ANA, row)).code is RefusalCode.ALREADY_VOTED
    assert isinstance(story.approves(ANA, row, break_glass=True, reason=FIRE), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", usd(234000))]


def test_it_is_bound_to_what_was_shown_and_to_the_deadline(story: Story) -> None:
    staff(story)
    row = sofa(story)
    glass = {"break_glass": True, "reason": FIRE}
    other = refused(story.approves(OLU, row, shown_hash="0" * 64, **glass))
    assert other.code is RefusalCode.PAYLOAD_CHANGED
    story.clock.advance(minutes=60)
    assert refused(story.approves(OLU, row, **glass)).code is RefusalCode.EXPIRED


def test_what_is_stopped_stays_stopped(story: Story) -> None:
    staff(story)
    row = sofa(story)
    stop_all(story.desk, story.order(OLU))
    assert isinstance(story.approves(OLU, row, break_glass=True, reason=FIRE), Decided)
    story.rests()
    assert story.approval(row.id).status is Status.APPROVED
    assert story.paid() == []


def test_a_second_pair_of_eyes_is_told_that_it_is_done(story: Story) -> None:
    staff(story)
    row = sofa(story)
    story.approves(OLU, row, break_glass=True, reason=FIRE)
    late = refused(story.approves(BEN, row))
    assert late.code is RefusalCode.ALREADY_DECIDED
    assert late.message.startswith("Already approved by Olu at 2026-11-29 12:00 UTC")
