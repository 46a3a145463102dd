"""Acknowledge and Take over: who may, what everybody sees then, and that it decides nothing."""

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.escalation import Level
from agent.domain.ids import ApprovalId
from agent.domain.roles import ActorKind, Identity
from agent.ports import DeliveryKind
from agent.steps.take import acknowledge_ping, take_over
from storage import pings
from tests.story.test_escalation import at, sofa
from tests.story.ways import ANA, BEN, MAX, MIA, OLU, about, parked, refused, staff
from tests.support.desk import Story

GHOST = ApprovalId(f"apr_{'0' * 26}")


def acknowledges(
    story: Story, who: Identity, row: Approval, level: Level = Level.ONCALL
) -> Approval | Refused:
    return acknowledge_ping(story.desk, row.id, level, story.order(who, ""))


def takes(story: Story, who: Identity, row: Approval) -> Approval | Refused:
    return take_over(story.desk, row.id, story.order(who, ""))


def test_anybody_with_a_role_acknowledges_once(story: Story) -> None:
    staff(story)
    gus = story.hire("gus", kind=ActorKind.GUEST)
    row = parked(story)
    assert refused(acknowledges(story, OLU, row)).code is RefusalCode.NOT_FOUND
    at(story, row, 24)
    assert refused(acknowledges(story, gus, row)).code is RefusalCode.NOT_ALLOWED
    before = len(about(story, row))
    assert isinstance(acknowledges(story, OLU, row), Approval)
    second = refused(acknowledges(story, ANA, row))
    assert second.message == "Olu has acknowledged it already."
    story.rests()
    # Drawn anew once, for who counted and for those whose picture was an old one.
    assert [d.kind for d in about(story, row, before)] == [DeliveryKind.PING_UPDATE]
    with story.desk.store.transaction(write=False) as tx:
        seen = pings.get(tx, row.id, Level.ONCALL)
        assert pings.get(tx, row.id, Level.REMINDER) is None
    assert seen == pings.Ping("Olu", story.clock.now())
    (fact,) = [f for f in story.facts(row) if f["type"] == "ping.acknowledged"]
    assert (fact["data"]["level"], fact["data"]["name"]) == ("oncall", "Olu")
    assert len([f for f in story.facts(row) if f["type"] == "decision.refused"]) == 3
    # It decides nothing.
    assert isinstance(story.approves(ANA, row), Decided)
    assert refused(acknowledges(story, MIA, row)).code is RefusalCode.ALREADY_DECIDED


def test_whoever_may_decide_looks_into_it_and_others_still_decide(story: Story) -> None:
    staff(story)
    row = parked(story, "600.00", "ORD-1004")
    assert refused(takes(story, ANA, row)).code is RefusalCode.NOT_ALLOWED
    before = len(about(story, row))
    taken = takes(story, MIA, row)
    assert isinstance(taken, Approval)
    assert (taken.taken_by, taken.taken_at) == ("Mia", story.clock.now())
    assert refused(takes(story, MIA, row)).message == "You look into it already."
    story.rests()
    # Nobody was pinged yet: there is a card to draw, and nothing else.
    assert [d.kind for d in about(story, row, before)] == [DeliveryKind.CARD_UPDATE]
    at(story, row, 24)
    before = len(about(story, row))
    # On call may decide alone in an emergency, and so may look into it.
    assert isinstance(takes(story, OLU, row), Approval)
    story.rests()
    kinds = {d.kind for d in about(story, row, before)}
    assert kinds == {DeliveryKind.CARD_UPDATE, DeliveryKind.PING_UPDATE}
    facts = [f["data"] for f in story.facts(row) if f["type"] == "approval.taken"]
    assert [(f["name"], f["instead_of"]) for f in facts] == [("Mia", None), ("Olu", "Mia")]
    assert isinstance(story.approves(MAX, row), Decided)
    assert story.approval(row.id).taken_by == "Olu"


def test_nobody_looks_into_their_own_request_or_what_has_ended(story: Story) -> None:
    staff(story)
    story.hire("bea", *story.desk.policy.roles, identities=[Identity("customer", "cus_priya")])
    row = sofa(story)
    assert refused(takes(story, Identity("cli", "bea"), row)).code is RefusalCode.SELF_APPROVAL
    ghost = take_over(story.desk, GHOST, story.order(MIA, ""))
    assert refused(ghost).code is RefusalCode.NOT_FOUND
    # Whoever looks into it in its further period finds that it has one.
    story.clock.at = row.expires_at
    taken = takes(story, BEN, row)
    assert isinstance(taken, Approval)
    assert (taken.escalations, taken.taken_by) == (1, "Ben")
    story.clock.at = taken.expires_at
    late = refused(takes(story, MIA, row))
    assert late.message == "It does not wait any more: it is expired."
    assert story.approval(row.id).status is Status.EXPIRED
