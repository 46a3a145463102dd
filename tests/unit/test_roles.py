"""Roles: who holds one just now, and whose votes satisfy a tier."""

from datetime import timedelta
from itertools import product

import pytest

from agent.domain.ids import ActorId
from agent.domain.roles import (
    ROLE_MAX_AGE,
    Identity,
    Role,
    RoleGrant,
    RoleProof,
    Tier,
    closure,
    higher_tier,
    prove_role,
    proven_roles,
    quorum_reached,
)
from tests.support.builders import ANN, BOB, MIA, actor
from tests.support.doubles import START

APPROVER, MANAGER, ONCALL = Role.REFUND_APPROVER, Role.REFUND_MANAGER, Role.ONCALL
TICK = timedelta(microseconds=1)


def mirrored(role: Role, age: timedelta) -> RoleGrant:
    return RoleGrant(role, "slack:refunds", START - age)


def fixed(role: Role) -> RoleGrant:
    return RoleGrant(role, "fixed", None)


@pytest.mark.parametrize(
    ("grants", "asked", "proof", "evidence"),
    [
        pytest.param((), APPROVER, RoleProof.ABSENT, "no grant", id="nothing granted"),
        pytest.param((fixed(ONCALL),), APPROVER, RoleProof.ABSENT, "no grant", id="another role"),
        pytest.param(
            (fixed(APPROVER),),
            MANAGER,
            RoleProof.ABSENT,
            "no grant",
            id="an approver is no manager",
        ),
        pytest.param(
            (fixed(MANAGER),), ONCALL, RoleProof.ABSENT, "no grant", id="a manager is not on call"
        ),
        pytest.param(
            (fixed(APPROVER),), APPROVER, RoleProof.HELD, "refund_approver by fixed", id="fixed"
        ),
        pytest.param(
            (fixed(MANAGER),), APPROVER, RoleProof.HELD, "refund_manager by fixed", id="implied"
        ),
        pytest.param(
            (mirrored(APPROVER, timedelta(0)),),
            APPROVER,
            RoleProof.HELD,
            "refund_approver by slack:refunds",
            id="mirrored just now",
        ),
        pytest.param(
            (mirrored(APPROVER, ROLE_MAX_AGE),),
            APPROVER,
            RoleProof.HELD,
            "refund_approver by slack:refunds",
            id="mirrored 60 s ago",
        ),
        pytest.param(
            (mirrored(APPROVER, ROLE_MAX_AGE + TICK),),
            APPROVER,
            RoleProof.UNVERIFIED,
            "slack:refunds not read for over 60 s",
            id="mirrored a microsecond earlier",
        ),
        pytest.param(
            (mirrored(APPROVER, timedelta(days=1)), fixed(APPROVER)),
            APPROVER,
            RoleProof.HELD,
            "refund_approver by fixed",
            id="another grant proves it",
        ),
        pytest.param(
            (mirrored(MANAGER, timedelta(days=1)), mirrored(APPROVER, timedelta(0))),
            MANAGER,
            RoleProof.UNVERIFIED,
            "slack:refunds not read for over 60 s",
            id="a lower role proves nothing",
        ),
        pytest.param(
            (mirrored(ONCALL, timedelta(days=1)),),
            APPROVER,
            RoleProof.ABSENT,
            "no grant",
            id="an old grant of another role",
        ),
    ],
)
def test_a_role_is(
    grants: tuple[RoleGrant, ...], asked: Role, proof: RoleProof, evidence: str
) -> None:
    assert prove_role(actor(grants=grants), asked, START) == (proof, evidence)


def test_a_mirrored_group_counts_for_a_minute() -> None:
    assert timedelta(seconds=60) == ROLE_MAX_AGE


@pytest.mark.parametrize(
    ("roles", "held"),
    [
        pytest.param([], set(), id="none"),
        pytest.param([APPROVER], {APPROVER}, id="approver"),
        pytest.param([MANAGER], {MANAGER, APPROVER}, id="a manager may do all an approver may"),
        pytest.param([ONCALL], {ONCALL}, id="on call"),
        pytest.param([ONCALL, MANAGER], set(Role) - {Role.SUPPORT}, id="both"),
    ],
)
def test_roles_imply(roles: list[Role], held: set[Role]) -> None:
    assert closure(roles) == held
    assert closure(closure(roles)) == held
    assert actor(*roles).roles() == held


@pytest.mark.parametrize(
    ("tier", "floor"),
    [
        pytest.param(Tier(APPROVER), APPROVER, id="one approver"),
        pytest.param(Tier(MANAGER), MANAGER, id="one manager"),
        pytest.param(Tier(MANAGER, 2), APPROVER, id="two, one of them a manager"),
        pytest.param(Tier(APPROVER, 2), APPROVER, id="two approvers"),
    ],
)
def test_each_voter_of_a_tier_needs(tier: Tier, floor: Role) -> None:
    assert tier.floor() is floor


AN, A_MANAGER = frozenset({APPROVER}), frozenset({APPROVER, MANAGER})


@pytest.mark.parametrize(
    ("tier", "votes", "reached"),
    [
        pytest.param(Tier(APPROVER), (), False, id="nobody"),
        pytest.param(Tier(APPROVER), ((ANN, AN),), True, id="one approver is enough"),
        pytest.param(Tier(MANAGER), ((ANN, AN),), False, id="not where a manager is asked for"),
        pytest.param(Tier(MANAGER), ((MIA, A_MANAGER),), True, id="one manager is enough"),
        pytest.param(Tier(MANAGER, 2), ((MIA, A_MANAGER),), False, id="not where two are"),
        pytest.param(Tier(MANAGER, 2), ((ANN, AN), (BOB, AN)), False, id="two, no manager"),
        pytest.param(Tier(MANAGER, 2), ((ANN, AN), (MIA, A_MANAGER)), True, id="manager last"),
        pytest.param(Tier(MANAGER, 2), ((MIA, A_MANAGER), (ANN, AN)), True, id="manager first"),
        pytest.param(
            Tier(MANAGER, 2), ((MIA, A_MANAGER), (MIA, A_MANAGER)), False, id="one person twice"
        ),
        pytest.param(Tier(APPROVER, 2), ((ANN, AN), (BOB, AN)), True, id="two approvers"),
        pytest.param(
            Tier(APPROVER), ((ANN, frozenset({ONCALL})),), False, id="on call approves nothing"
        ),
    ],
)
def test_the_votes_satisfy_the_tier(
    tier: Tier, votes: tuple[tuple[ActorId, frozenset[Role]], ...], reached: bool
) -> None:
    assert quorum_reached(tier, votes) is reached


TIERS = [Tier(role, people) for role, people in product(Role, (1, 2))]


@pytest.mark.parametrize(
    ("one", "other", "higher"),
    [
        pytest.param(Tier(APPROVER), Tier(APPROVER), Tier(APPROVER), id="the same"),
        pytest.param(Tier(APPROVER), Tier(MANAGER), Tier(MANAGER), id="the higher role"),
        pytest.param(Tier(ONCALL), Tier(APPROVER), Tier(APPROVER), id="on call is lowest"),
        pytest.param(Tier(APPROVER, 2), Tier(APPROVER), Tier(APPROVER, 2), id="more people"),
        pytest.param(Tier(APPROVER, 2), Tier(MANAGER), Tier(MANAGER, 2), id="the most of both"),
    ],
)
def test_of_two_tiers_the_one_that_asks_for_no_less(one: Tier, other: Tier, higher: Tier) -> None:
    assert higher_tier(one, other) == higher_tier(other, one) == higher


@pytest.mark.parametrize(
    ("one", "other"),
    list(product(TIERS, TIERS)),
    ids=[
        f"{a.approvals_needed}x{a.role} {b.approvals_needed}x{b.role}"
        for a, b in product(TIERS, TIERS)
    ],
)
def test_the_higher_tier_never_lowers_either(one: Tier, other: Tier) -> None:
    higher = higher_tier(one, other)
    assert higher.approvals_needed >= max(one.approvals_needed, other.approvals_needed)
    assert higher_tier(higher, one) == higher_tier(higher, other) == higher


def test_a_person_is_found_by_each_of_their_accounts() -> None:
    ann = actor(
        identities=(
            Identity("token", "tok_1"),
            Identity("slack", "T1:U1"),
            Identity("customer", "cus_ann"),
            Identity("customer", "cus_ann_work"),
        )
    )
    assert ann.customer_ids() == {"cus_ann", "cus_ann_work"}
    assert ann.slack_subject() == "T1:U1"
    assert str(ann.identities[1]) == "slack:T1:U1"


def test_a_person_may_have_no_account_in_shop_or_slack() -> None:
    bare = actor(identities=(Identity("token", "tok_1"),))
    assert bare.customer_ids() == frozenset()
    assert bare.slack_subject() is None


def test_a_role_read_since_the_click_is_one_read_at_the_click_or_after_it() -> None:
    now, click = START, START - timedelta(seconds=10)
    in_time, before = timedelta(seconds=10), timedelta(seconds=10) + TICK
    told = prove_role(actor(grants=(mirrored(APPROVER, in_time),)), APPROVER, now, click)
    assert told == (RoleProof.HELD, "refund_approver by slack:refunds, read since the click")
    told = prove_role(actor(grants=(mirrored(APPROVER, before),)), APPROVER, now, click)
    assert told == (RoleProof.UNVERIFIED, "slack:refunds not read since the click")
    # What is granted by name is not read anywhere, and a reading that came too late proves nothing.
    assert prove_role(actor(grants=(fixed(APPROVER),)), APPROVER, now, click) == (
        RoleProof.HELD,
        "refund_approver by fixed",
    )
    long_ago = START - timedelta(hours=1)
    old = actor(grants=(mirrored(MANAGER, ROLE_MAX_AGE + TICK), mirrored(APPROVER, ROLE_MAX_AGE)))
    assert prove_role(old, MANAGER, now, long_ago)[0] is RoleProof.UNVERIFIED
    assert proven_roles(old, now, long_ago) == {APPROVER}
    assert proven_roles(old, now, click) == frozenset()


def test_a_tier_that_asks_for_a_fresh_role_is_higher_than_one_that_does_not() -> None:
    fresh = Tier(APPROVER, fresh_role=True)
    assert higher_tier(fresh, Tier(MANAGER, 2)) == Tier(MANAGER, 2, fresh_role=True)
    assert higher_tier(Tier(MANAGER), Tier(MANAGER)) == Tier(MANAGER)
