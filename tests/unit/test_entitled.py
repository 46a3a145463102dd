"""Who may say something at all, and what those hear who may not."""

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.approvals import RejectCategory, Verdict
from agent.domain.decision import Edits, RefusalCode
from agent.domain.judgement import (
    Counts,
    Denial,
    Entitled,
    Register,
    entitle,
    judge,
    role_needed,
)
from agent.domain.roles import (
    ROLE_MAX_AGE,
    Actor,
    ActorKind,
    Identity,
    Role,
    RoleGrant,
    Roster,
    Tier,
    unread,
)
from tests.support.builders import (
    ANN,
    BOB,
    actor,
    approval,
    decision,
    email_approval,
    flag_approval,
    usd,
    vote,
)
from tests.support.doubles import START

APPROVER, MANAGER, ONCALL = Role.REFUND_APPROVER, Role.REFUND_MANAGER, Role.ONCALL
TICK = timedelta(microseconds=1)
HOLDERS = dict.fromkeys(Role, 1)
UNVERIFIED, NOT_ALLOWED = RefusalCode.ROLE_UNVERIFIED, RefusalCode.NOT_ALLOWED
CHANGE = Edits(amount=usd("120.00"))
WHY: dict[str, Any] = {"reason": "nobody else is awake"}


def roster(
    role: Role = APPROVER,
    read_at: datetime | None = START,
    problem: str | None = None,
    size: int = 3,
) -> Roster:
    return Roster(role, f"slack:{role}s", read_at, size, problem)


def cannot_verify(evidence: str) -> Denial:
    text = f"Your role could not be verified just now ({evidence}). Try again in a minute."
    return Denial(UNVERIFIED, text)


NOBODY = "This needs the role refund_approver, which nobody holds at present."
NOT_YOU = "This needs the role refund_approver."


@pytest.mark.parametrize(
    ("register", "answer"),
    [
        pytest.param(Register((roster(),), HOLDERS), Denial(NOT_ALLOWED, NOT_YOU), id="not you"),
        pytest.param(Register((), HOLDERS), Denial(NOT_ALLOWED, NOT_YOU), id="no mirrored source"),
        pytest.param(
            Register((roster(size=0),), {}), Denial(NOT_ALLOWED, NOBODY), id="an empty roster"
        ),
        pytest.param(Register(), Denial(NOT_ALLOWED, NOBODY), id="no source at all"),
        pytest.param(
            Register((roster(),), {MANAGER: 0, APPROVER: 0, ONCALL: 3}),
            Denial(NOT_ALLOWED, NOBODY),
            id="others are held",
        ),
        pytest.param(
            Register((roster(read_at=None, problem="not_in_channel"),), HOLDERS),
            cannot_verify("slack:refund_approvers: not_in_channel"),
            id="never read, with a problem",
        ),
        pytest.param(
            Register((roster(read_at=None),), {}),
            cannot_verify("slack:refund_approvers: not read for over 60 s"),
            id="never read, and nobody holds it",
        ),
        pytest.param(
            Register((roster(read_at=START - ROLE_MAX_AGE),), HOLDERS),
            Denial(NOT_ALLOWED, NOT_YOU),
            id="read 60 s ago",
        ),
        pytest.param(
            Register((roster(read_at=START - ROLE_MAX_AGE - TICK),), HOLDERS),
            cannot_verify("slack:refund_approvers: not read for over 60 s"),
            id="read a microsecond earlier",
        ),
        pytest.param(
            Register((roster(read_at=START - timedelta(hours=1), problem="rate_limited"),), {}),
            cannot_verify("slack:refund_approvers: rate_limited"),
            id="failing for an hour",
        ),
        pytest.param(
            Register((roster(problem="rate_limited"),), HOLDERS),
            Denial(NOT_ALLOWED, NOT_YOU),
            id="failed just now, read just before",
        ),
        pytest.param(
            Register((roster(MANAGER, read_at=None),), HOLDERS),
            cannot_verify("slack:refund_managers: not read for over 60 s"),
            id="a source of a higher role",
        ),
        pytest.param(
            Register((roster(ONCALL, read_at=None),), HOLDERS),
            Denial(NOT_ALLOWED, NOT_YOU),
            id="a source of another role",
        ),
        pytest.param(
            Register((roster(), roster(MANAGER, read_at=None, problem="down")), HOLDERS),
            cannot_verify("slack:refund_managers: down"),
            id="one of two sources",
        ),
    ],
)
def test_who_lacks_a_role_learns_whether_that_is_certain(
    register: Register, answer: Denial
) -> None:
    assert entitle(actor(), APPROVER, register, START) == answer


def test_an_approver_is_told_that_no_manager_is_there() -> None:
    told = entitle(actor(APPROVER), MANAGER, Register((), {APPROVER: 2}), START)
    assert told == Denial(
        NOT_ALLOWED, "This needs the role refund_manager, which nobody holds at present."
    )


def mirrored(age: timedelta) -> Actor:
    return actor(grants=(RoleGrant(APPROVER, "slack:refunds", START - age),))


def test_an_own_grant_that_was_not_read_lately_is_not_called_missing() -> None:
    """The source of this very grant is stale, whatever the other sources say."""
    old = mirrored(ROLE_MAX_AGE + TICK)
    fresh = Register((roster(),), HOLDERS)
    assert entitle(old, APPROVER, fresh, START) == cannot_verify(
        "slack:refunds not read for over 60 s"
    )


@pytest.mark.parametrize("register", [Register(), Register((roster(read_at=None),), {})])
def test_who_holds_a_role_is_not_asked_about_others(register: Register) -> None:
    held = mirrored(ROLE_MAX_AGE)
    assert entitle(held, APPROVER, register, START) == Entitled(
        held, frozenset({APPROVER}), "refund_approver by slack:refunds"
    )


@pytest.mark.parametrize(
    ("who", "message"),
    [
        pytest.param(
            actor(MANAGER, active=False),
            "Guests and inactive accounts may not decide.",
            id="an inactive account",
        ),
        *(
            pytest.param(
                actor(MANAGER, kind=kind), "Guests and inactive accounts may not decide.", id=kind
            )
            for kind in ActorKind
            if kind is not ActorKind.MEMBER
        ),
    ],
)
def test_no_role_helps_who_is_no_member(who: Actor, message: str) -> None:
    told = entitle(who, APPROVER, Register((roster(read_at=None),), {}), START)
    assert told == Denial(NOT_ALLOWED, message)


@given(
    age=st.integers(0, 120_000_000),
    of=st.sampled_from(list(Role)),
    asked=st.sampled_from(list(Role)),
)
def test_a_source_is_unread_from_a_minute_on(age: int, of: Role, asked: Role) -> None:
    seen = roster(of, START - timedelta(microseconds=age))
    concerns = of is asked or (of, asked) == (MANAGER, APPROVER)
    stale = concerns and age > 60_000_000
    assert (unread(asked, [seen], START) is not None) is stale


@pytest.mark.parametrize(
    ("tier", "verdict", "role"),
    [
        (Tier(APPROVER), Verdict.APPROVE, APPROVER),
        (Tier(MANAGER), Verdict.APPROVE, MANAGER),
        (Tier(MANAGER, 2), Verdict.APPROVE, APPROVER),
        (Tier(MANAGER, 2), Verdict.REJECT, MANAGER),
        (Tier(MANAGER, 2), Verdict.EDIT, MANAGER),
        (Tier(APPROVER, 2), Verdict.EDIT, APPROVER),
    ],
)
def test_a_word_takes_a_role(tier: Tier, verdict: Verdict, role: Role) -> None:
    row = approval(tier=tier)
    assert role_needed(row, decision(row, verdict=verdict)) is role
    alone = role_needed(row, decision(row, verdict=verdict, break_glass=True))
    assert alone is (ONCALL if verdict is Verdict.APPROVE else role)


@pytest.mark.parametrize(
    "row",
    [
        approval(tier=Tier(APPROVER)),
        approval(tier=Tier(MANAGER)),
        approval(tier=Tier(MANAGER, 2)),
        email_approval(),
        flag_approval(tier=Tier(MANAGER)),
    ],
    ids=["approver", "manager", "two people", "e-mail", "flag"],
)
def test_who_is_on_call_breaks_the_glass_alone(row: Any) -> None:
    word = decision(row, break_glass=True, **WHY)
    judged = judge(row, actor(ONCALL), word, (), Register((), HOLDERS), START)
    assert judged == Counts(row, actor(ONCALL), frozenset({ONCALL}), "oncall by fixed")


@pytest.mark.parametrize(
    ("roles", "word", "code"),
    [
        pytest.param([ONCALL], WHY, None, id="on call, with a reason"),
        pytest.param([MANAGER], WHY, NOT_ALLOWED, id="a manager is not on call"),
        pytest.param([ONCALL], {"reason": ""}, RefusalCode.REASON_REQUIRED, id="no reason"),
        pytest.param([ONCALL], {"reason": "fire"}, RefusalCode.REASON_REQUIRED, id="four letters"),
        pytest.param(
            [ONCALL], {"reason": "  fire "}, RefusalCode.REASON_REQUIRED, id="four and white space"
        ),
        pytest.param([ONCALL], {"reason": "fires"}, None, id="five letters"),
        pytest.param(
            [ONCALL],
            {**WHY, "shown_hash": "0" * 64},
            RefusalCode.PAYLOAD_CHANGED,
            id="another picture",
        ),
    ],
)
def test_breaking_the_glass_takes(
    roles: list[Role], word: dict[str, Any], code: RefusalCode | None
) -> None:
    row = approval(tier=Tier(MANAGER, 2))
    said = decision(row, **({"break_glass": True} | word))
    judged = judge(row, actor(*roles), said, (), Register((), HOLDERS), START)
    assert (judged.code if isinstance(judged, Denial) else None) == code


def test_a_broken_glass_says_whom_the_reason_is_for() -> None:
    row = approval()
    judged = judge(row, actor(ONCALL), decision(row, break_glass=True), (), Register(), START)
    assert judged == Denial(
        RefusalCode.REASON_REQUIRED, "Say why nobody else can decide, in at least 5 characters."
    )


FULL: dict[Verdict, dict[str, Any]] = {
    Verdict.APPROVE: {},
    Verdict.REJECT: {"category": RejectCategory.OTHER},
    Verdict.EDIT: {"edits": CHANGE},
}


@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.EDIT], ids=str)
@pytest.mark.parametrize(
    ("roles", "code"),
    [
        pytest.param([ONCALL], NOT_ALLOWED, id="on call alone"),
        pytest.param([ONCALL, MANAGER], RefusalCode.INVALID, id="with the role"),
    ],
)
def test_no_glass_is_broken_to_reject_or_to_edit(
    verdict: Verdict, roles: list[Role], code: RefusalCode
) -> None:
    row = approval(tier=Tier(MANAGER))
    word = decision(row, verdict=verdict, break_glass=True, **FULL[verdict], **WHY)
    judged = judge(row, actor(*roles), word, (), Register((), HOLDERS), START)
    assert isinstance(judged, Denial)
    assert judged.code is code


@pytest.mark.parametrize(
    ("changes", "votes", "code"),
    [
        pytest.param(
            {"identities": (Identity("customer", "cus_ana"),)},
            (),
            RefusalCode.SELF_APPROVAL,
            id="their own request",
        ),
        pytest.param(
            {}, (vote(ANN, break_glass=True),), RefusalCode.ALREADY_VOTED, id="broken before"
        ),
    ],
)
def test_a_broken_glass_is_no_second_pair_of_eyes(
    changes: dict[str, Any], votes: Any, code: RefusalCode
) -> None:
    row = approval()
    word = decision(row, break_glass=True, **WHY)
    judged = judge(row, actor(ONCALL, **changes), word, votes, Register(), START)
    assert isinstance(judged, Denial)
    assert judged.code is code


@pytest.mark.parametrize(
    ("verdict", "break_glass", "counts"),
    [
        (Verdict.APPROVE, False, False),
        (Verdict.APPROVE, True, False),
        (Verdict.REJECT, False, False),
        (Verdict.EDIT, False, True),
    ],
    ids=["approve", "break the glass", "reject", "edit again"],
)
@pytest.mark.parametrize(
    ("edited_by", "absorbed"),
    [((ANN,), ()), ((ANN, BOB), ()), ((BOB,), (BOB,))],
    ids=["the last editor", "an earlier editor", "an editor under another account"],
)
def test_an_editor_may_think_again_but_not_decide(
    verdict: Verdict, break_glass: bool, counts: bool, edited_by: Any, absorbed: Any
) -> None:
    row = approval(edited_by=edited_by)
    ann = actor(APPROVER, ONCALL, absorbed=frozenset(absorbed))
    word = decision(row, verdict=verdict, break_glass=break_glass, **FULL[verdict], **WHY)
    judged = judge(row, ann, word, (), Register(), START)
    if counts:
        assert isinstance(judged, Counts)
    else:
        told = Denial(RefusalCode.SELF_APPROVAL, "You edited this request; somebody else decides.")
        assert judged == told


@pytest.mark.parametrize(
    "edits",
    [
        CHANGE,
        Edits(order_id="ORD-1002"),
        Edits(to=()),
        Edits(cc=()),
        Edits(bcc=()),
        Edits(subject=""),
        Edits(body=""),
    ],
    ids=["amount", "order", "to", "cc", "bcc", "subject", "body"],
)
def test_any_one_part_is_an_edit(edits: Edits) -> None:
    """Whether it is a possible one is the tool's to say; taking everybody away is a change too."""
    row = approval()
    word = decision(row, verdict=Verdict.EDIT, edits=edits)
    assert isinstance(judge(row, actor(APPROVER), word, (), Register(), START), Counts)


@pytest.mark.parametrize("own", list(product([False, True], repeat=2)), ids=str)
def test_one_person_is_everything_they_ever_were(own: tuple[bool, bool]) -> None:
    now, before = own
    ann = actor(absorbed=frozenset({BOB}))
    done_by = [name for name, named in ((ANN, now), (BOB, before)) if named]
    assert ann.did(done_by) is (now or before)
    assert not actor().did([BOB])


@pytest.mark.parametrize(
    "word",
    [
        pytest.param(
            {"break_glass": True, "reason": "nobody else is there"}, id="breaks the glass"
        ),
        pytest.param(
            {
                "verdict": Verdict.REJECT,
                "reason": "on second thoughts, no",
                "category": RejectCategory.OTHER,
            },
            id="rejects",
        ),
        pytest.param({"verdict": Verdict.EDIT, "edits": Edits(amount=usd("10.00"))}, id="edits"),
    ],
)
def test_who_has_approved_as_one_of_two_may_think_again(word: dict[str, Any]) -> None:
    row = approval(tier=Tier(Role.REFUND_MANAGER, 2))
    both = actor(Role.REFUND_MANAGER, Role.ONCALL)
    judged = judge(row, both, decision(row, **word), (vote(ANN),), Register(), START)
    assert isinstance(judged, Counts)


def test_a_stranger_is_told_so() -> None:
    told = entitle(None, APPROVER, Register((roster(),), HOLDERS), START)
    assert told == Denial(RefusalCode.NOT_ALLOWED, "The desk does not know you.")


def test_a_stranger_may_be_in_the_group_that_cannot_be_read() -> None:
    told = entitle(None, APPROVER, Register((roster(read_at=None, problem="down"),), {}), START)
    assert isinstance(told, Denial)
    assert told.code is RefusalCode.ROLE_UNVERIFIED
    assert "down" in told.message
