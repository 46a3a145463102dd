"""Whose word counts, on what, and which of several objections is the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.approvals import Approval, RejectCategory, Status, Verdict, Vote
from agent.domain.decision import Edits, RefusalCode
from agent.domain.ids import ApprovalId
from agent.domain.judgement import (
    MIN_REASON,
    Counts,
    Denial,
    Lapsed,
    Register,
    demand_fresh,
    hash_shown,
    judge,
)
from agent.domain.roles import Actor, ActorKind, Identity, Role, RoleGrant, Tier
from tests.support.builders import (
    ANN,
    APPROVAL_ID,
    BOB,
    MIA,
    actor,
    approval,
    decision,
    usd,
    vote,
)
from tests.support.doubles import START

C = RefusalCode
# Ann has said everything there is to say.
EVERY_VOTE = tuple(vote(ANN, "Ann", verdict=verdict.value) for verdict in Verdict)
HELD_BY_SOME = Register(holders=dict.fromkeys(Role, 2))
APPROVER, MANAGER = Role.REFUND_APPROVER, Role.REFUND_MANAGER
TICK = timedelta(microseconds=1)
DEADLINE = approval().expires_at
OWN = (Identity("slack", "T1:U1"), Identity("customer", "cus_ana"))
STALE_GRANT = (RoleGrant(APPROVER, "slack:refunds", START - timedelta(seconds=60) - TICK),)
COMPLETE: dict[Verdict, dict[str, Any]] = {
    Verdict.APPROVE: {},
    Verdict.REJECT: {"reason": "used up", "category": RejectCategory.NOT_ELIGIBLE},
    Verdict.EDIT: {"edits": Edits(amount=usd("120.00"))},
}


@dataclass(frozen=True)
class Case:
    """One word on one approval; each default is such that the word counts."""

    approval: Approval | None = field(default_factory=approval)
    actor: Actor | None = field(default_factory=lambda: actor(APPROVER))
    votes: tuple[Vote, ...] = ()
    register: Register = HELD_BY_SOME
    now: datetime = START
    word: dict[str, Any] = field(default_factory=dict)

    def judged(self) -> Counts | Denial | Lapsed:
        """Return what becomes of the word."""
        return judge(
            self.approval, self.actor, decision(**self.word), self.votes, self.register, self.now
        )

    def on(self, **changes: Any) -> "Case":
        """Return the case with a changed approval, where there is one."""
        return self if self.approval is None else replace(self, approval=approval(**changes))

    def by(self, **changes: Any) -> "Case":
        """Return the case with a changed actor, where there is one."""
        return self if self.actor is None else replace(self, actor=replace(self.actor, **changes))


def code_of(case: Case) -> RefusalCode | type[Lapsed] | None:
    """Return why the word does not count, None if it does."""
    match case.judged():
        case Denial(code=code):
            return code
        case Lapsed():
            return Lapsed
        case Counts():
            return None


Spoil = Callable[[Case], Case]

# What can speak against a word, in the order in which it is looked at (design.md §7).
CHECKS: list[tuple[str, Spoil, RefusalCode | type[Lapsed]]] = [
    ("no such approval", lambda c: replace(c, approval=None), C.NOT_FOUND),
    ("a stranger", lambda c: replace(c, actor=None), C.NOT_ALLOWED),
    ("an inactive account", lambda c: c.by(active=False), C.NOT_ALLOWED),
    ("no role", lambda c: c.by(grants=()), C.NOT_ALLOWED),
    ("their own request", lambda c: c.by(identities=OWN), C.SELF_APPROVAL),
    ("voted before", lambda c: replace(c, votes=EVERY_VOTE), C.ALREADY_VOTED),
    ("after the deadline", lambda c: replace(c, now=DEADLINE), Lapsed),
    (
        "another hash",
        lambda c: replace(c, word=c.word | {"shown_hash": "0" * 64}),
        C.PAYLOAD_CHANGED,
    ),
    (
        "no reason",
        lambda c: replace(c, word=c.word | {"verdict": Verdict.REJECT, "reason": ""}),
        C.REASON_REQUIRED,
    ),
]
PAIRS = list(combinations(CHECKS, 2))


@pytest.mark.parametrize("verdict", list(Verdict), ids=str)
@pytest.mark.parametrize("shown", [slice(None), slice(16)], ids=["whole hash", "16 digits"])
def test_a_word_counts_where_nothing_speaks_against_it(verdict: Verdict, shown: slice) -> None:
    digits = approval().payload_hash[shown]
    case = Case(word=COMPLETE[verdict] | {"verdict": verdict, "shown_hash": digits})
    assert case.judged() == Counts(
        approval(), actor(APPROVER), frozenset({APPROVER}), "refund_approver by fixed"
    )


@pytest.mark.parametrize(("_name", "spoil", "code"), CHECKS, ids=[c[0] for c in CHECKS])
def test_a_word_does_not_count_for(
    _name: str, spoil: Spoil, code: RefusalCode | type[Lapsed]
) -> None:
    assert code_of(spoil(Case())) == code


@pytest.mark.parametrize(
    ("first", "second"), PAIRS, ids=[f"{a[0]} before {b[0]}" for a, b in PAIRS]
)
def test_of_two_objections_the_earlier_check_answers(
    first: tuple[str, Spoil, object], second: tuple[str, Spoil, object]
) -> None:
    _, spoil_first, code = first
    _, spoil_second, _ = second
    assert code_of(spoil_second(spoil_first(Case()))) == code


@given(spoilt=st.sets(st.integers(0, len(CHECKS) - 1), min_size=1))
def test_of_any_objections_the_earliest_check_answers(spoilt: set[int]) -> None:
    case = Case()
    for index in sorted(spoilt):
        case = CHECKS[index][1](case)
    assert code_of(case) == CHECKS[min(spoilt)][2]


@pytest.mark.parametrize(
    ("case", "code"),
    [
        pytest.param(Case().by(kind=ActorKind.GUEST), C.NOT_ALLOWED, id="a guest"),
        pytest.param(Case().by(kind=ActorKind.BOT), C.NOT_ALLOWED, id="a bot"),
        pytest.param(Case().by(kind=ActorKind.POLICY), C.NOT_ALLOWED, id="the policy"),
        pytest.param(Case().by(kind=ActorKind.TIMER), C.NOT_ALLOWED, id="the timer"),
        pytest.param(Case(actor=actor(Role.ONCALL)), C.NOT_ALLOWED, id="another role"),
        pytest.param(Case().by(grants=STALE_GRANT), C.ROLE_UNVERIFIED, id="a role not read lately"),
        pytest.param(Case().on(tier=Tier(MANAGER)), C.NOT_ALLOWED, id="too low a role"),
        pytest.param(Case(actor=actor(MANAGER)), None, id="a higher role"),
        pytest.param(
            Case(actor=actor(MANAGER)).on(tier=Tier(MANAGER)), None, id="a manager where one must"
        ),
        pytest.param(Case().on(tier=Tier(MANAGER, 2)), None, id="an approver as one of two"),
        pytest.param(Case().on(edited_by=(BOB, ANN)), C.SELF_APPROVAL, id="the editor"),
        pytest.param(Case().on(edited_by=(BOB,)), None, id="somebody else edited it"),
        pytest.param(
            Case().on(edited_by=(BOB,)).by(absorbed=frozenset({BOB})),
            C.SELF_APPROVAL,
            id="the editor, under an earlier account",
        ),
        pytest.param(
            Case(votes=(vote(BOB),)).by(absorbed=frozenset({BOB})),
            C.ALREADY_VOTED,
            id="voted under an earlier account",
        ),
        pytest.param(
            Case(votes=(vote(BOB),)).by(absorbed=frozenset({MIA})),
            None,
            id="somebody else voted, and the earlier account did not",
        ),
        pytest.param(
            Case(votes=(vote(BOB, actor_id=None),)).by(absorbed=frozenset({BOB})),
            None,
            id="a vote of nobody is nobody's",
        ),
        pytest.param(
            Case().by(identities=(Identity("customer", "cus_other"),)),
            None,
            id="a customer, but another",
        ),
        pytest.param(Case(votes=(vote(BOB),)), None, id="somebody else voted"),
        pytest.param(Case(votes=(vote(BOB), vote(ANN))), C.ALREADY_VOTED, id="both have voted"),
        pytest.param(Case(now=DEADLINE - TICK), None, id="a microsecond before the deadline"),
        pytest.param(Case(now=DEADLINE), Lapsed, id="at the deadline"),
        pytest.param(Case(now=DEADLINE + TICK), Lapsed, id="a microsecond after the deadline"),
    ],
)
def test_the_answer_to_a_word_is(case: Case, code: object) -> None:
    assert code_of(case) == code


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (Status.APPROVED, C.ALREADY_DECIDED),
        (Status.EXECUTING, C.ALREADY_DECIDED),
        (Status.EXECUTED, C.ALREADY_DECIDED),
        (Status.FAILED, C.ALREADY_DECIDED),
        (Status.UNKNOWN, C.ALREADY_DECIDED),
        (Status.STALE, C.ALREADY_DECIDED),
        (Status.REJECTED, C.ALREADY_DECIDED),
        (Status.CANCELLED, C.ALREADY_DECIDED),
        (Status.EXPIRED, C.EXPIRED),
        (Status.SUPERSEDED, C.SUPERSEDED),
    ],
    ids=lambda value: str(value) if isinstance(value, Status) else "",
)
def test_no_word_counts_on_what_is_no_longer_pending(status: Status, code: RefusalCode) -> None:
    for now in (START, DEADLINE + TICK):
        for word in ({}, {"shown_hash": ""}, {"verdict": Verdict.REJECT}):
            assert code_of(replace(Case().on(status=status), now=now, word=word)) == code


@pytest.mark.parametrize(
    ("word", "code"),
    [
        pytest.param({"reason": ""}, C.REASON_REQUIRED, id="no reason"),
        pytest.param({"reason": "late"}, C.REASON_REQUIRED, id="four characters"),
        pytest.param({"reason": "   late   "}, C.REASON_REQUIRED, id="four and white space"),
        pytest.param({"reason": "later"}, None, id="five characters"),
        pytest.param({"category": None}, C.INVALID, id="no category"),
        pytest.param({"category": None, "reason": ""}, C.REASON_REQUIRED, id="neither"),
    ],
)
def test_a_rejection_tells_why(word: dict[str, Any], code: RefusalCode | None) -> None:
    full = COMPLETE[Verdict.REJECT] | {"verdict": Verdict.REJECT} | word
    assert code_of(Case(word=full)) == code
    assert MIN_REASON == 5


def test_what_lapses_is_the_approval_itself() -> None:
    assert Case(now=DEADLINE).judged() == Lapsed(approval())


def test_an_edit_names_what_changes() -> None:
    judged = Case(word={"verdict": Verdict.EDIT}).judged()
    assert judged == Denial(C.INVALID, "edits: nothing is changed.")


BOB_APPROVED = "Already approved by Bob at 2026-11-29 12:00 UTC; the request is executed."


@pytest.mark.parametrize(
    ("status", "votes", "message", "earlier"),
    [
        pytest.param(Status.EXECUTED, (), "Already executed.", None, id="the policy alone"),
        pytest.param(Status.EXECUTED, (vote(),), BOB_APPROVED, vote(), id="approved"),
        pytest.param(
            Status.REJECTED,
            (vote(ANN, "Ann"), vote(verdict="reject")),
            "Already rejected by Bob at 2026-11-29 12:00 UTC; the request is rejected.",
            vote(verdict="reject"),
            id="the last vote decided",
        ),
        pytest.param(
            Status.SUPERSEDED,
            (vote(verdict="edit"),),
            "Replaced by apr_new after an edit.",
            vote(verdict="edit"),
            id="edited",
        ),
        pytest.param(
            Status.CANCELLED, (vote(),), "This request was cancelled.", vote(), id="called off"
        ),
        pytest.param(Status.CANCELLED, (), "This request was cancelled.", None, id="withdrawn"),
        pytest.param(
            Status.APPROVED,
            (vote(verdict="edit"),),
            "Already edited by Bob at 2026-11-29 12:00 UTC; the request is approved.",
            vote(verdict="edit"),
            id="decided by the edit",
        ),
    ],
)
def test_who_comes_late_learns_who_was_first(
    status: Status, votes: tuple[Vote, ...], message: str, earlier: Vote | None
) -> None:
    judged = replace(
        Case().on(status=status, superseded_by=ApprovalId("apr_new")), votes=votes
    ).judged()
    assert isinstance(judged, Denial)
    assert (judged.message, judged.earlier) == (message, earlier)


def test_who_votes_twice_learns_of_the_first_vote() -> None:
    mine = vote(ANN, "Ann", reason="fine")
    judged = Case(votes=(vote(BOB), mine)).judged()
    assert judged == Denial(C.ALREADY_VOTED, "You have voted already.", mine)


def test_a_role_that_was_not_read_lately_counts_in_no_quorum() -> None:
    old = RoleGrant(MANAGER, "slack:managers", START - timedelta(minutes=10))
    case = Case(actor=actor(grants=(RoleGrant(APPROVER, "fixed", None), old)))
    judged = case.on(tier=Tier(MANAGER, 2)).judged()
    assert isinstance(judged, Counts)
    assert judged.roles == {APPROVER}


def test_every_proven_role_counts_in_a_quorum() -> None:
    fresh = RoleGrant(MANAGER, "slack:managers", START - timedelta(seconds=60))
    case = Case(actor=actor(grants=(RoleGrant(Role.ONCALL, "fixed", None), fresh)))
    judged = case.on(tier=Tier(MANAGER, 2)).judged()
    assert isinstance(judged, Counts)
    assert judged.roles == {APPROVER, MANAGER, Role.ONCALL}
    assert judged.evidence == "refund_manager by slack:managers"


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("", id="nothing"),
        pytest.param(approval().payload_hash[:15], id="15 digits"),
        pytest.param(approval().payload_hash[:17], id="17 digits"),
        pytest.param(approval().payload_hash[:63], id="63 digits"),
        pytest.param(approval().payload_hash + "0", id="65 digits"),
        pytest.param(approval().payload_hash.upper(), id="upper case"),
        pytest.param(approval().payload_hash[16:32], id="16 others"),
        pytest.param(approval(amount=usd("160.01")).payload_hash, id="a cent more"),
        pytest.param(approval(policy_version="0123456789ac").payload_hash, id="another policy"),
        pytest.param(
            approval(id=ApprovalId(f"{APPROVAL_ID[:-1]}W")).payload_hash, id="another approval"
        ),
    ],
)
def test_another_hash_than_the_stored_one_was_not_shown(shown: str) -> None:
    assert not hash_shown(approval(), shown)
    assert code_of(Case(word={"shown_hash": shown})) is C.PAYLOAD_CHANGED


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param({"payload": approval(amount=usd("160.01")).payload}, id="payload"),
        pytest.param({"tool": "send_email"}, id="tool"),
        pytest.param({"policy_version": "0123456789ac"}, id="policy"),
        pytest.param({"payload_hash": "0" * 64}, id="hash"),
    ],
)
def test_a_row_that_was_changed_behind_our_back_is_never_what_was_shown(
    forged: dict[str, Any],
) -> None:
    honest = approval()
    row = replace(honest, **forged)
    for shown in (honest.payload_hash, row.payload_hash, row.payload_hash[:16]):
        assert not hash_shown(row, shown)


def test_every_refusal_of_a_decision_is_reached_here() -> None:
    """What else there is to refuse belongs to steps: withdrawing, settling, the stop switch."""
    met = [spoil(Case()) for _, spoil, _ in CHECKS]
    met += [Case().on(status=status) for status in Status]
    met += [Case().by(grants=STALE_GRANT), Case(word={"verdict": Verdict.EDIT})]
    codes = {code_of(case) for case in met} - {None, Lapsed}
    assert codes == set(RefusalCode) - {C.TOO_LATE_TO_WITHDRAW, C.TOO_EARLY, C.STOPPED}


@pytest.mark.parametrize("status", list(Status), ids=str)
def test_a_refusal_is_told_in_a_sentence(status: Status) -> None:
    judged = replace(Case().on(status=status), word={"shown_hash": ""}).judged()
    assert isinstance(judged, Denial)
    assert judged.message.endswith(".")


@pytest.mark.parametrize(
    ("verdict", "roles", "counts"),
    [
        (Verdict.APPROVE, [Role.REFUND_APPROVER], True),
        (Verdict.REJECT, [Role.REFUND_APPROVER], False),
        (Verdict.EDIT, [Role.REFUND_APPROVER], False),
        (Verdict.REJECT, [Role.REFUND_MANAGER], True),
        (Verdict.EDIT, [Role.REFUND_MANAGER], True),
    ],
)
def test_what_ends_a_decision_of_two_takes_the_tiers_own_role(
    verdict: Verdict, roles: list[Role], counts: bool
) -> None:
    row = approval(tier=Tier(Role.REFUND_MANAGER, 2))
    word = decision(
        row,
        verdict=verdict,
        reason="long enough",
        category=RejectCategory.OTHER,
        edits=Edits(amount=usd("10.00")),
    )
    judged = judge(row, actor(*roles), word, (), HELD_BY_SOME, START)
    assert isinstance(judged, Counts) is counts


def test_a_tier_that_asks_for_it_lets_a_word_count_with_a_role_read_since_the_click() -> None:
    row = approval(tier=Tier(Role.REFUND_MANAGER, 2, fresh_role=True))
    word = replace(decision(row), clicked_at=START)
    late, early = START, START - timedelta(seconds=30)

    def counts(*grants: RoleGrant, tier: Tier | None = None) -> Counts:
        who = actor(grants=grants)
        asked = row if tier is None else replace(row, tier=tier)
        judged = judge(asked, who, word, (), HELD_BY_SOME, START)
        assert isinstance(judged, Counts)
        return judged

    read = RoleGrant(Role.REFUND_APPROVER, "slack:a", late)
    unread = RoleGrant(Role.REFUND_MANAGER, "slack:m", early)
    fresh = demand_fresh(counts(read, unread), word, START)
    assert isinstance(fresh, Counts)
    # The role that was not read again does not count towards the two either.
    assert fresh.roles == {Role.REFUND_APPROVER}
    assert fresh.evidence == "refund_approver by slack:a, read since the click"
    stale = demand_fresh(counts(unread), word, START)
    assert isinstance(stale, Denial)
    assert stale.code is RefusalCode.ROLE_UNVERIFIED
    # Without a time of the click the moment itself is meant.
    assert isinstance(demand_fresh(counts(unread), decision(row), START), Denial)
    asked_of_others = counts(unread, tier=Tier(Role.REFUND_MANAGER, 2))
    assert demand_fresh(asked_of_others, word, START) is asked_of_others
