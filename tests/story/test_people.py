"""People are added, given roles and tokens by an operator, and the trail says by whom."""

import json

import pytest

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.decision import Decided, RefusalCode, Refused
from agent.domain.errors import InvalidInput
from agent.domain.ids import ActorId
from agent.domain.roles import Actor, ActorKind, Identity, Role, RoleGrant
from agent.steps.people import Newcomer, add_actor, grant, new_token, revoke
from agent.steps.receive import token_hash
from storage import audit, people
from tests.support.desk import Story

ROOT = Identity("cli", "root")
ANA = Identity("cli", "ana")


def add(story: Story, *identities: Identity, roles: tuple[Role, ...] = ()) -> Actor:
    return add_actor(story.desk, Newcomer(" Ana ", frozenset(roles), identities), ROOT)


def find(story: Story, identity: Identity) -> Actor | None:
    with story.desk.store.transaction(write=False) as tx:
        return people.find(tx, identity)


def changes(story: Story) -> list[dict[str, object]]:
    """Return what the trail says about people, oldest first."""
    with story.desk.store.transaction(write=False) as tx:
        facts = [fact for fact in audit.walk(tx) if fact.type == AuditType.ACTOR_CHANGED]
    bodies = [json.loads(fact.body) for fact in facts]
    assert {(body["actor"], body["channel"]) for body in bodies} <= {("cli:root", "cli")}
    return [body["data"] for body in bodies]


def test_somebody_new_is_known_by_each_identity_and_may_decide(story: Story) -> None:
    slack, customer = Identity("slack", "T01:U01"), Identity("customer", "cus_ben")
    roles = (Role.REFUND_MANAGER, Role.ONCALL)
    added = add(story, ANA, slack, customer, roles=roles)
    assert (added.name, added.kind, added.active) == ("Ana", ActorKind.MEMBER, True)
    assert added.grants == (
        RoleGrant(Role.ONCALL, "fixed", None),
        RoleGrant(Role.REFUND_MANAGER, "fixed", None),
    )
    for identity in (ANA, slack, customer):
        found = find(story, identity)
        assert found is not None
        assert found.id == added.id
    assert changes(story) == [
        {
            "actor_id": added.id,
            "change": "added",
            "name": "Ana",
            "roles": ["oncall", "refund_manager"],
            "identities": ["cli:ana", "slack:T01:U01", "customer:cus_ben"],
        }
    ]
    story.asks_refund(story.opens_chat("cus_ben"), "129.00", order="ORD-1008")
    own = story.approves(ANA, story.only(Status.PENDING))
    assert isinstance(own, Refused)
    assert own.code is RefusalCode.SELF_APPROVAL
    story.asks_refund(story.opens_chat("cus_clara"), "160.00")
    (others,) = (a for a in story.all(Status.PENDING) if a.customer_id == "cus_clara")
    assert isinstance(story.approves(ANA, others), Decided)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "A\u202ena", "A\nna"])
def test_a_name_that_cannot_be_is_refused(story: Story, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        add_actor(story.desk, Newcomer(name, frozenset(), ()), ROOT)
    assert refused.value.field == "name"
    assert changes(story) == []


@pytest.mark.parametrize(
    ("identity", "field"),
    [
        (Identity("slack", "U01"), "slack"),
        (Identity("slack", "T01:u01"), "slack"),
        (Identity("cli", "a b"), "cli"),
        (Identity("cli", ""), "cli"),
        (Identity("customer", "cus_nobody"), "customer"),
        (Identity("token", "0" * 64), "identity"),
    ],
)
def test_an_identity_that_cannot_be_is_refused(
    story: Story, identity: Identity, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        add(story, identity)
    assert refused.value.field == field
    assert find(story, identity) is None


def test_an_identity_leads_to_one_person_only(story: Story) -> None:
    first = add(story, ANA)
    with pytest.raises(InvalidInput, match="cli:ana, slack:T01:U01: leads to somebody already"):
        add(story, ANA, Identity("slack", "T01:U01"))
    found = find(story, ANA)
    assert found is not None
    assert found.id == first.id
    assert find(story, Identity("slack", "T01:U01")) is None
    assert len(changes(story)) == 1


def test_a_role_is_given_and_taken_once(story: Story) -> None:
    added = add(story, ANA)
    granted = [grant(story.desk, added.id, Role.ONCALL, ROOT) for _ in range(2)]
    assert granted == [True, False]
    found = find(story, ANA)
    assert found is not None
    assert found.roles() == {Role.ONCALL}
    revoked = [revoke(story.desk, added.id, Role.ONCALL, ROOT) for _ in range(2)]
    assert revoked == [True, False]
    found = find(story, ANA)
    assert found is not None
    assert found.roles() == frozenset()
    assert changes(story)[1:] == [
        {"actor_id": added.id, "change": "granted", "role": "oncall"},
        {"actor_id": added.id, "change": "revoked", "role": "oncall"},
    ]


def test_a_role_mirrored_from_slack_is_not_the_operators_to_take(story: Story) -> None:
    added = add(story, ANA)
    with story.desk.store.transaction() as tx:
        mirrored = RoleGrant(Role.ONCALL, "S07ONCALL", story.clock.now())
        people.give(tx, added.id, mirrored)
    assert not revoke(story.desk, added.id, Role.ONCALL, ROOT)
    assert grant(story.desk, added.id, Role.ONCALL, ROOT)
    assert revoke(story.desk, added.id, Role.ONCALL, ROOT)
    found = find(story, ANA)
    assert found is not None
    assert found.grants == (mirrored,)


def test_a_new_token_ends_the_earlier_ones_and_is_not_stored(story: Story) -> None:
    added = add(story, ANA)
    first, second = (new_token(story.desk, added.id, ROOT) for _ in range(2))
    assert first != second
    assert find(story, Identity("token", token_hash(first))) is None
    found = find(story, Identity("token", token_hash(second)))
    assert found is not None
    assert found.id == added.id
    assert second not in str(found)
    told = {"actor_id": added.id, "change": "token"}
    assert changes(story)[1:] == [told, told]


def test_nobody_has_no_roles_and_no_token(story: Story) -> None:
    nobody = ActorId("act_nobody")
    with pytest.raises(InvalidInput, match="actor: there is nobody of that id"):
        grant(story.desk, nobody, Role.ONCALL, ROOT)
    with pytest.raises(InvalidInput, match="actor"):
        revoke(story.desk, nobody, Role.ONCALL, ROOT)
    with pytest.raises(InvalidInput, match="actor"):
        new_token(story.desk, nobody, ROOT)
    assert changes(story) == []
