"""One person is one vote under whatever account; and who may not is told which reason it is."""

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import DecideAnswer, Decided, RefusalCode, Voted
from agent.domain.errors import InvalidInput
from agent.domain.roles import Actor, Identity, Role, RoleGrant
from agent.ports import DeliveryKind
from agent.steps.people import grant, link, new_token
from agent.steps.receive import token_hash
from storage import people
from tests.story.ways import (
    ANA,
    BEN,
    MIA,
    OLU,
    about,
    actor_of,
    links,
    parked,
    refused,
    staff,
    usd,
)
from tests.support.desk import Story

ROOT = Identity("cli", "root")
SECOND = Identity("slack", "T1:U2")
MANAGERS = "slack:refund-managers"


def sofa(story: Story) -> Approval:
    """Let something wait that takes two people, one of them a manager."""
    return parked(story, "2340.00", "ORD-1004")


def second_account(story: Story, role: Role = Role.REFUND_APPROVER) -> Actor:
    """Let Ana have a second account that nobody has linked yet."""
    story.hire("ana.slack", role, identities=[SECOND])
    return actor_of(story, SECOND)


def no_managers(story: Story) -> Story:
    """Take the role from everybody who had it."""
    story.happens("DELETE FROM role_members WHERE role = 'refund_manager'")
    return story


def message(answer: DecideAnswer) -> tuple[RefusalCode, str]:
    said = refused(answer)
    return said.code, said.message


def saw(story: Story, role: Role, size: int) -> None:
    with story.desk.store.transaction() as tx:
        people.saw_roster(tx, role, MANAGERS, size, story.clock.now())


def missed(story: Story, role: Role, problem: str) -> None:
    with story.desk.store.transaction() as tx:
        people.missed_roster(tx, role, MANAGERS, problem)


def test_without_the_role_one_is_told_which_it_takes(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    assert message(story.approves(ANA, row)) == (
        RefusalCode.NOT_ALLOWED,
        "This needs the role refund_manager.",
    )
    assert message(story.approves(Identity("cli", "nobody"), row)) == (
        RefusalCode.NOT_ALLOWED,
        "The desk does not know you.",
    )


def test_an_empty_roster_is_said_to_be_empty(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    no_managers(story)
    saw(story, Role.REFUND_MANAGER, 0)
    assert message(story.approves(ANA, row)) == (
        RefusalCode.NOT_ALLOWED,
        "This needs the role refund_manager, which nobody holds at present.",
    )
    assert story.approval(row.id) == row


def test_a_lookup_that_failed_is_said_to_have_failed(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    no_managers(story)
    missed(story, Role.REFUND_MANAGER, "ratelimited")
    code, words = message(story.approves(ANA, row))
    assert code is RefusalCode.ROLE_UNVERIFIED
    assert words.startswith("Your role could not be verified just now")
    assert "(slack:refund-managers: ratelimited)" in words
    fact = story.facts(row)[-1]
    assert (fact["type"], fact["data"]["code"]) == ("decision.refused", "role_unverified")


@pytest.mark.parametrize(
    ("later", "code"), [(60, RefusalCode.NOT_ALLOWED), (61, RefusalCode.ROLE_UNVERIFIED)]
)
def test_a_look_counts_for_a_minute(story: Story, later: int, code: RefusalCode) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    saw(story, Role.REFUND_MANAGER, 2)
    # A look that fails meanwhile takes nothing away from the one that succeeded.
    missed(story, Role.REFUND_MANAGER, "timeout")
    story.clock.advance(seconds=later)
    assert refused(story.approves(ANA, row)).code is code


def test_a_failed_lookup_of_another_role_says_nothing_about_this_one(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    missed(story, Role.ONCALL, "ratelimited")
    assert refused(story.approves(ANA, row)).code is RefusalCode.NOT_ALLOWED
    # Managers are approvers as well: nobody knows whether Olu is one.
    missed(story, Role.REFUND_MANAGER, "ratelimited")
    chair = parked(story)
    assert refused(story.approves(OLU, chair)).code is RefusalCode.ROLE_UNVERIFIED


def test_a_role_given_for_good_needs_no_lookup(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    missed(story, Role.REFUND_MANAGER, "ratelimited")
    assert isinstance(story.approves(MIA, row), Decided)


@pytest.mark.parametrize(("later", "decided"), [(60, True), (61, False)])
def test_a_mirrored_role_is_proof_for_a_minute(story: Story, later: int, decided: bool) -> None:
    row = parked(story)
    who = story.mirrored("ana", Role.REFUND_APPROVER)
    story.clock.advance(seconds=later)
    answer = story.approves(who, row)
    assert isinstance(answer, Decided) is decided
    if not decided:
        assert refused(answer).code is RefusalCode.ROLE_UNVERIFIED


def test_a_role_taken_away_is_gone_at_the_next_click(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.happens("DELETE FROM role_members WHERE actor_id = :a", a=actor_of(story, ANA).id)
    assert refused(story.approves(ANA, row)).code is RefusalCode.NOT_ALLOWED


def test_two_accounts_linked_before_the_vote_are_one_vote(story: Story) -> None:
    staff(story)
    row = sofa(story)
    second_account(story, Role.REFUND_MANAGER)
    links(story, ANA, SECOND)
    assert isinstance(story.approves(ANA, row), Voted)
    assert refused(story.approves(SECOND, row)).code is RefusalCode.ALREADY_VOTED
    assert story.approval(row.id).status is Status.PENDING
    assert isinstance(story.approves(BEN, row), Decided)


def test_two_accounts_linked_after_both_had_voted_are_one_vote(story: Story) -> None:
    staff(story)
    row = sofa(story)
    second_account(story)
    assert isinstance(story.approves(ANA, row), Voted)
    assert isinstance(story.approves(SECOND, row), Voted)
    links(story, ANA, SECOND)
    story.hire("leo", Role.REFUND_APPROVER)
    third = story.approves(Identity("cli", "leo"), row)
    # Two people have said yes, under three accounts; neither is a manager.
    assert isinstance(third, Voted)
    assert third.votes == 2
    assert isinstance(story.approves(MIA, row), Decided)


def test_a_manager_with_two_accounts_is_not_two_people(story: Story) -> None:
    staff(story)
    row = sofa(story)
    second_account(story)
    story.approves(SECOND, row)
    links(story, MIA, SECOND)
    assert refused(story.approves(MIA, row)).code is RefusalCode.ALREADY_VOTED
    assert story.approval(row.id).status is Status.PENDING
    assert isinstance(story.approves(ANA, row), Voted)
    assert story.paid() == []


def test_a_linked_account_brings_its_roles_and_its_ways_in(story: Story) -> None:
    staff(story)
    other = second_account(story, Role.REFUND_MANAGER)
    token = new_token(story.desk, other.id, ROOT)
    kept = links(story, ANA, SECOND)
    assert kept.id == actor_of(story, ANA).id
    assert kept.absorbed == {other.id}
    assert kept.roles() == {Role.REFUND_APPROVER, Role.REFUND_MANAGER}
    by_token = Identity("token", token_hash(token))
    for identity in (ANA, SECOND, Identity("cli", "ana.slack"), by_token):
        assert actor_of(story, identity).id == kept.id
    with story.desk.store.transaction(write=False) as tx:
        gone = people.get(tx, other.id)
        assert people.merged_into(tx, other.id) == kept.id
    assert gone is not None
    assert (gone.active, gone.grants, gone.identities) == (False, (), ())
    fact = next(f for f in story.facts() if f["data"].get("change") == "merged")
    assert fact["data"] == {
        "actor_id": kept.id,
        "change": "merged",
        "identity": "slack:T1:U2",
        "other": other.id,
        "name": other.name,
    }


def test_what_was_one_account_may_become_part_of_another(story: Story) -> None:
    staff(story)
    other = second_account(story)
    links(story, ANA, SECOND)
    kept = links(story, MIA, ANA)
    assert kept.absorbed == {other.id, *(a for a in kept.absorbed if a != other.id)}
    assert len(kept.absorbed) == 2
    assert actor_of(story, SECOND).id == kept.id


def test_a_new_identity_is_noted_and_the_same_one_twice_is_nothing_new(story: Story) -> None:
    staff(story)
    for _ in range(2):
        kept = links(story, ANA, Identity("slack", "T1:U9"))
        assert Identity("slack", "T1:U9") in kept.identities
    changes = [f["data"]["change"] for f in story.facts() if f["type"] == "actor.changed"]
    assert changes == ["linked"]


def test_what_cannot_be_linked_is_refused(story: Story) -> None:
    staff(story)
    other = second_account(story)
    with pytest.raises(InvalidInput, match="is not TEAM:USER"):
        links(story, ANA, Identity("slack", "ana"))
    with pytest.raises(InvalidInput, match="is not slack, cli or customer"):
        links(story, ANA, Identity("token", "0" * 64))
    links(story, ANA, SECOND)
    with pytest.raises(InvalidInput, match=f"is {actor_of(story, ANA).id} by another account"):
        link(story.desk, other.id, Identity("slack", "T1:U9"), ROOT)
    with pytest.raises(InvalidInput, match="by another account"):
        grant(story.desk, other.id, Role.ONCALL, ROOT)


def test_a_shopper_who_works_here_is_one_person(story: Story) -> None:
    staff(story)
    links(story, BEN, Identity("customer", "cus_ben"))
    row = parked(story, "129.00", "ORD-1008")
    assert refused(story.approves(BEN, row)).code is RefusalCode.SELF_APPROVAL
    assert refused(story.rejects(BEN, row)).code is RefusalCode.SELF_APPROVAL
    assert refused(story.edits(BEN, row, usd(100))).code is RefusalCode.SELF_APPROVAL
    assert isinstance(story.approves(ANA, row), Decided)


def test_the_newest_proof_of_a_role_counts_after_a_link(story: Story) -> None:
    staff(story)
    row = parked(story, "689.00", "ORD-1005")
    other = second_account(story)
    with story.desk.store.transaction() as tx:
        people.give(tx, other.id, RoleGrant(Role.REFUND_MANAGER, MANAGERS, story.clock.now()))
    links(story, ANA, SECOND)
    story.clock.advance(seconds=30)
    assert isinstance(story.approves(ANA, row), Decided)


def test_the_card_shows_how_far_the_quorum_has_come_and_who_it_was(story: Story) -> None:
    staff(story)
    row = sofa(story)
    for who in (ANA, BEN):
        assert isinstance(story.approves(who, row), Voted)
        story.tells()
    progress = [d.approval for d in about(story, row) if d.kind is DeliveryKind.CARD_UPDATE]
    assert [[v.actor_name for v in view.votes] for view in progress if view is not None] == [
        ["Ana"],
        ["Ana", "Ben"],
    ]
    story.clock.advance(minutes=60)
    story.sweeps()
    assert story.approval(row.id).status is Status.EXPIRED
    last = about(story, row)[-1].approval
    assert last is not None
    assert [vote.actor_name for vote in last.votes] == ["Ana", "Ben"]
    assert story.paid() == []
