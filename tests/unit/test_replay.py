"""The trail folded: what it says of an approval, and where tables say something else."""

from dataclasses import replace

import pytest

from agent.domain.approvals import Status
from agent.domain.audit import AuditType
from agent.domain.payload import Json, Payload
from agent.domain.replay import Replay, StoredRow, Told, compare, status_after
from agent.domain.trail import TrailEvent

T = AuditType
PARKED: Payload = {"tool": "issue_refund", "payload_hash": "abc", "supersedes": None}
ROW = StoredRow(
    approval_id="apr_1",
    status="executed",
    tool="issue_refund",
    payload_hash="abc",
    attempts=2,
    supersedes=None,
    superseded_by=None,
    votes=frozenset({("act_1", "approve")}),
)


def folded(*facts: tuple[AuditType, Payload], actor: str = "act_1") -> Replay:
    """Return the fold of facts about one approval."""
    replay = Replay()
    for seq, (kind, data) in enumerate(facts, start=1):
        event = TrailEvent("run_1", seq, 7, kind.value, "apr_1", "", "")
        replay.see(event, {"approval_id": "apr_1", "actor": actor, "data": data})
    return replay


def paid() -> Replay:
    return folded(
        (T.PROPOSAL_PARKED, PARKED),
        (T.CARD_POSTED, {"channel": "C1"}),
        (T.VOTE_CAST, {"verdict": "approve"}),
        (T.APPROVAL_APPROVED, {}),
        (T.EXECUTION_CLAIMED, {"attempt": 1}),
        (T.EXECUTION_UNKNOWN, {}),
        (T.EXECUTION_CLAIMED, {"attempt": 2}),
        (T.EXECUTION_ENDED, {"provider_status": "succeeded"}),
        (T.CUSTOMER_TOLD, {}),
    )


def test_a_story_folds_into_the_row_that_it_left() -> None:
    replay = paid()
    assert replay.problems == []
    assert replay.told == {
        "apr_1": Told(
            "run_1",
            8,
            Status.EXECUTED,
            "issue_refund",
            "abc",
            2,
            votes=frozenset({("act_1", "approve")}),
        )
    }
    assert list(compare(replay.told, [ROW], ())) == []


def test_an_edit_ends_one_row_and_names_the_next() -> None:
    replay = folded(
        (T.PROPOSAL_PARKED, PARKED | {"supersedes": "apr_0"}),
        (T.APPROVAL_EDITED, {"new_approval_id": "apr_2"}),
    )
    told = replay.told["apr_1"]
    assert (told.status, told.supersedes, told.superseded_by) == (
        Status.SUPERSEDED,
        "apr_0",
        "apr_2",
    )
    assert told.votes == {("act_1", "edit")}


def test_what_is_asked_again_keeps_its_end_and_names_the_next() -> None:
    replay = folded(
        (T.PROPOSAL_PARKED, PARKED),
        (T.APPROVAL_APPROVED, {}),
        (T.APPROVAL_STALE, {}),
        (T.APPROVAL_ASKED_AGAIN, {"new_approval_id": "apr_2", "status": "stale"}),
    )
    told = replay.told["apr_1"]
    assert (told.status, told.superseded_by, told.seq) == (Status.STALE, "apr_2", 4)
    assert replay.problems == []


@pytest.mark.parametrize(
    ("kind", "data", "status"),
    [
        (T.PROPOSAL_ALLOWED, {}, Status.APPROVED),
        (T.PROPOSAL_ALLOWED, {"status": "executing"}, Status.EXECUTING),
        (T.APPROVAL_WITHDRAWN, {}, Status.CANCELLED),
        (T.APPROVAL_REVOKED, {}, Status.CANCELLED),
        (T.APPROVAL_EXPIRED, {}, Status.EXPIRED),
        (T.APPROVAL_REJECTED, {}, Status.REJECTED),
        (T.APPROVAL_STALE, {}, Status.STALE),
        (T.EXECUTION_RETURNED, {}, Status.APPROVED),
        (T.EXECUTION_ENDED, {"provider_status": "pending"}, Status.EXECUTED),
        (T.EXECUTION_ENDED, {"provider_status": "failed"}, Status.FAILED),
        (T.EXECUTION_ENDED, {"code": "charge_disputed"}, Status.FAILED),
        (T.EXECUTION_SETTLED, {"status": "failed"}, Status.FAILED),
        (T.PROVIDER_HEARD, {"status": "no status"}, None),
        (T.PROVIDER_HEARD, {"status": 7}, None),
        (T.VOTE_CAST, {"verdict": "reject"}, None),
    ],
)
def test_each_fact_moves_to_its_status(
    kind: AuditType, data: Payload, status: Status | None
) -> None:
    assert status_after(kind, data) is status


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        (((T.EXECUTION_CLAIMED, {"attempt": 1}),), "no move leads from pending to executing"),
        (
            ((T.APPROVAL_REJECTED, {}), (T.EXECUTION_CLAIMED, {"attempt": 1})),
            "no move leads from rejected to executing",
        ),
        (
            ((T.APPROVAL_EXPIRED, {}), (T.APPROVAL_APPROVED, {})),
            "no move leads from expired to approved",
        ),
    ],
)
def test_a_move_that_cannot_be_is_named(
    facts: tuple[tuple[AuditType, Payload], ...], what: str
) -> None:
    (problem,) = folded((T.PROPOSAL_PARKED, PARKED), *facts).problems
    assert (problem.what, problem.flaw.value, problem.approval_id) == (what, "move", "apr_1")
    assert (problem.chain, problem.seq) == ("run_1", 1 + len(facts))


def test_nothing_moves_to_where_it_stands() -> None:
    again = folded((T.PROPOSAL_PARKED, PARKED), (T.PROPOSAL_PARKED, PARKED))
    assert again.problems == []


def test_what_begins_with_an_end_is_named() -> None:
    (problem,) = folded((T.APPROVAL_REJECTED, {})).problems
    assert problem.what == "no move leads from nothing to rejected"


def test_a_text_that_cannot_be_read_tells_nothing() -> None:
    replay = Replay()
    event = TrailEvent("run_1", 1, 7, T.PROPOSAL_PARKED.value, "apr_1", "", "")
    bodies: list[Payload | None] = [
        None,
        {"approval_id": None, "data": PARKED},
        {"approval_id": "apr_1", "data": "x"},
        {"approval_id": "apr_1", "actor": "x", "data": {}},
    ]
    for body in bodies[:3]:
        replay.see(event, body)
    assert replay.told == {}
    replay.see(replace(event, type="card.posted"), bodies[3])
    assert replay.told == {}
    replay.see(event, bodies[3])
    assert list(compare(replay.told, [ROW], ())) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"status": "failed"}, "status is failed, the trail says executed"),
        ({"attempts": 1}, "attempts is 1, the trail says 2"),
        ({"superseded_by": "apr_2"}, "superseded_by is apr_2, the trail says nothing"),
        ({"supersedes": "apr_2"}, "supersedes is apr_2, the trail says nothing"),
        ({"votes": frozenset()}, "votes is nobody, the trail says act_1 approve"),
        (
            {"votes": frozenset({("act_2", "approve"), ("act_1", "approve")})},
            "votes is act_1 approve, act_2 approve, the trail says act_1 approve",
        ),
        (
            {"tool": "send_email", "payload_hash": "xyz"},
            (
                "tool is send_email, the trail says issue_refund; "
                "payload_hash is xyz, the trail says abc"
            ),
        ),
    ],
)
def test_a_row_that_says_something_else_is_named(changes: dict[str, Json], what: str) -> None:
    row = replace(ROW, **changes)  # type: ignore[arg-type]
    (problem,) = compare(paid().told, [row], ())
    assert (problem.what, problem.approval_id) == (what, "apr_1")
    assert (problem.flaw.value, problem.chain, problem.seq) == ("replay", "run_1", 8)


def test_what_is_known_to_be_damaged_is_not_named_again() -> None:
    row = replace(ROW, tool="send_email", payload_hash="xyz")
    assert list(compare(paid().told, [row], {"apr_1"})) == []
    (problem,) = compare(paid().told, [replace(row, status="failed")], {"apr_1"})
    assert problem.what == "status is failed, the trail says executed"


def test_a_row_without_a_story_is_a_finding_of_another_kind() -> None:
    assert list(compare({}, [ROW], ())) == []
