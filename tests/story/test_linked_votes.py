"""Accounts are linked after votes were cast: what the person may not say counts no more."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode, Voted
from agent.domain.roles import ActorKind, Identity, Role
from agent.ports import DeliveryKind
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    OLU,
    about,
    actor_of,
    edited,
    links,
    parked,
    refused,
    staff,
    usd,
)
from tests.support.desk import Story
from tests.support.doubles import HandClock

SECOND = Identity("slack", "T1:U2")


def sofa(story: Story) -> Approval:
    """Let something wait that takes two people, one of them a manager."""
    return parked(story, "2340.00", "ORD-1004")


def second_account(story: Story, role: Role = Role.REFUND_MANAGER) -> None:
    """Let somebody have a second account that nobody has linked yet."""
    story.hire("second", role, identities=[SECOND])


def votes(answer: object) -> int:
    """Return how many votes count, of an answer that was not the last word."""
    assert isinstance(answer, Voted), answer
    return answer.votes


def test_the_vote_of_who_turns_out_to_be_the_customer_counts_no_more(story: Story) -> None:
    staff(story)
    row = sofa(story)
    assert votes(story.approves(MIA, row)) == 1
    links(story, MIA, Identity("customer", row.customer_id))
    assert votes(story.approves(ANA, row)) == 1
    assert votes(story.approves(BEN, row)) == 2
    # Two approvers and no manager: the customer's own manager account does not stand in.
    assert story.approval(row.id).status is Status.PENDING
    assert isinstance(story.approves(MAX, row), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", usd(234000))]


def test_the_vote_of_who_turns_out_to_have_raised_it_counts_no_more(story: Story) -> None:
    staff(story)
    row = parked(story, "2100.00", "ORD-1004")
    second_account(story)
    raised = edited(story.edits(MAX, row, usd(220000)))
    story.clock.advance(seconds=1)
    assert votes(story.approves(SECOND, raised)) == 1
    links(story, MAX, SECOND)
    assert votes(story.approves(ANA, raised)) == 1
    assert story.approval(raised.id).status is Status.PENDING
    assert isinstance(story.approves(MIA, raised), Decided)


def test_raising_is_no_vote_even_in_the_same_moment(story: Story) -> None:
    staff(story)
    row = parked(story, "2100.00", "ORD-1004")
    second_account(story)
    raised = edited(story.edits(MAX, row, usd(220000)))
    assert votes(story.approves(SECOND, raised)) == 1
    links(story, MAX, SECOND)
    assert votes(story.approves(ANA, raised)) == 1


def test_the_vote_of_who_turns_out_to_have_edited_it_counts_no_more(story: Story) -> None:
    staff(story)
    row = sofa(story)
    second_account(story)
    lowered = edited(story.edits(MAX, row, usd(230000)))
    back = edited(story.edits(MIA, lowered, usd(234000)))
    assert (len(back.edited_by), len(back.raised_by)) == (2, 1)
    story.clock.advance(seconds=1)
    assert votes(story.approves(SECOND, back)) == 1
    links(story, MAX, SECOND)
    assert votes(story.approves(ANA, back)) == 1
    assert story.approval(back.id).status is Status.PENDING
    story.hire("lea", Role.REFUND_MANAGER)
    assert isinstance(story.approves(Identity("cli", "lea"), back), Decided)


def test_the_submit_of_a_lowering_is_a_vote_still(story: Story) -> None:
    staff(story)
    row = sofa(story)
    second_account(story)
    lowered = edited(story.edits(MAX, row, usd(230000)))
    links(story, MAX, SECOND)
    assert isinstance(story.approves(ANA, lowered), Decided)


class Ticking(HandClock):
    """A clock that no two looks find at the same time."""

    @override
    def now(self) -> datetime:
        self.advance(microseconds=1)
        return super().now()


def test_the_submit_is_known_by_its_moment_while_time_goes_on(story: Story) -> None:
    clock = Ticking(story.clock.at)
    ticking = replace(story, clock=clock, desk=replace(story.desk, clock=clock))
    staff(ticking)
    lowered = edited(ticking.edits(MAX, sofa(ticking), usd(230000)))
    assert isinstance(ticking.approves(ANA, lowered), Decided)
    ticking.rests()
    assert ticking.paid() == [("ORD-1004", usd(230000))]


def test_the_card_shows_how_many_votes_count(story: Story) -> None:
    staff(story)
    row = sofa(story)
    story.approves(MIA, row)
    links(story, MIA, Identity("customer", row.customer_id))
    posted = len(story.notifier.deliveries)
    assert votes(story.approves(ANA, row)) == 1
    story.tells()
    assert [d.kind for d in about(story, row, posted)] == [DeliveryKind.CARD_UPDATE]


def who_approved_is_the_customer(story: Story, row: Approval) -> None:
    links(story, ANA, Identity("customer", row.customer_id))


def two_who_approved_are_one(story: Story, row: Approval) -> None:
    assert row.tier.approvals_needed == 2
    links(story, MIA, ANA)


@pytest.mark.parametrize("happens", [who_approved_is_the_customer, two_who_approved_are_one])
def test_what_the_wrong_people_approved_does_not_run(
    story: Story, happens: Callable[[Story, Approval], None]
) -> None:
    staff(story)
    row = sofa(story)
    story.approves(ANA, row)
    assert isinstance(story.approves(MIA, row), Decided)
    happens(story, row)
    story.rests()
    after = story.approval(row.id)
    assert (after.status, after.result) == (
        Status.STALE,
        {
            "problem": "It has to be approved once more.",
            "detail": "who approved it turned out to be the requester or an editor",
        },
    )
    assert story.paid() == []


def test_who_breaks_the_glass_is_enough_at_the_claim_too(story: Story) -> None:
    staff(story)
    row = sofa(story)
    broken = {"break_glass": True, "reason": "the only person awake"}
    assert isinstance(story.approves(OLU, row, **broken), Decided)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED


def test_who_broke_the_glass_for_themselves_did_not(story: Story) -> None:
    staff(story)
    row = sofa(story)
    story.approves(OLU, row, break_glass=True, reason="the only person awake")
    links(story, OLU, Identity("customer", row.customer_id))
    story.rests()
    assert story.approval(row.id).status is Status.STALE


def test_a_stored_no_is_nobodys_yes(story: Story) -> None:
    staff(story)
    row = sofa(story)
    assert votes(story.approves(MIA, row)) == 1
    story.damages("UPDATE decisions SET verdict = 'reject' WHERE approval_id = :a", a=row.id)
    assert votes(story.approves(ANA, row)) == 1


@pytest.mark.parametrize(
    ("kind", "active"),
    [(ActorKind.GUEST, True), (ActorKind.MEMBER, False), (ActorKind.BOT, True)],
    ids=["guest", "inactive", "bot"],
)
def test_roles_of_an_account_that_may_not_decide_do_not_move(
    story: Story, kind: ActorKind, active: bool
) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    story.hire("second", Role.REFUND_MANAGER, kind=kind, identities=[SECOND], active=active)
    kept = links(story, ANA, SECOND)
    assert kept.roles() == {Role.REFUND_APPROVER}
    assert actor_of(story, SECOND).id == kept.id
    assert refused(story.approves(SECOND, row)).code is RefusalCode.NOT_ALLOWED
    assert story.approval(row.id).status is Status.PENDING


def test_roles_of_a_member_move(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    second_account(story)
    assert links(story, ANA, SECOND).roles() == {Role.REFUND_APPROVER, Role.REFUND_MANAGER}
    assert isinstance(story.approves(ANA, row), Decided)
