"""The life of an approval: one table of moves, and nothing that is not in it."""

import re
from itertools import product

import pytest

from agent.domain.approvals import (
    FINAL,
    MOVES,
    OPEN,
    RESERVING,
    Event,
    Status,
    amount_of,
    move,
    state_diagram,
)
from agent.domain.errors import Corrupt
from agent.domain.money import Money
from agent.domain.payload import Payload
from tests.support.builders import (
    APPROVAL_ID,
    BOB,
    approval,
    email_approval,
    refund_payload,
    usd,
)

S, E = Status, Event

# design.md §4, row by row.
LIFE: list[tuple[Status | None, Event, Status]] = [
    (None, E.PARK, S.PENDING),
    (None, E.ALLOW, S.APPROVED),
    (S.PENDING, E.APPROVE, S.APPROVED),
    (S.PENDING, E.REJECT, S.REJECTED),
    (S.PENDING, E.EDIT, S.SUPERSEDED),
    (S.PENDING, E.DEADLINE, S.EXPIRED),
    (S.PENDING, E.ESCALATE, S.PENDING),
    (S.PENDING, E.WITHDRAW, S.CANCELLED),
    (S.APPROVED, E.CLAIM, S.EXECUTING),
    (S.APPROVED, E.RECHECK_FAILS, S.STALE),
    (S.APPROVED, E.REVOKE, S.CANCELLED),
    (S.EXECUTING, E.PROVIDER_YES, S.EXECUTED),
    (S.EXECUTING, E.PROVIDER_NO, S.FAILED),
    (S.EXECUTING, E.SILENCE, S.UNKNOWN),
    (S.EXECUTING, E.NOT_STARTED, S.APPROVED),
    (S.UNKNOWN, E.FOUND_DONE, S.EXECUTED),
    (S.UNKNOWN, E.FOUND_FAILED, S.FAILED),
    (S.UNKNOWN, E.RESEND, S.EXECUTING),
    (S.UNKNOWN, E.SETTLED_DONE, S.EXECUTED),
    (S.UNKNOWN, E.SETTLED_FAILED, S.FAILED),
    (S.EXECUTED, E.LATE_FAILURE, S.FAILED),
]
LEADS = {(source, event): target for source, event, target in LIFE}
SOURCES: list[Status | None] = [None, *Status]
AROUND = [pair for pair in product(SOURCES, Event) if pair not in LEADS]


def name(source: Status | None) -> str:
    return source or "[*]"


@pytest.mark.parametrize(
    ("source", "event", "target"), LIFE, ids=[f"{name(s)} by {e}" for s, e, _ in LIFE]
)
def test_an_approval_moves(source: Status | None, event: Event, target: Status) -> None:
    assert move(source, event) is target


@pytest.mark.parametrize(
    ("source", "event"), AROUND, ids=[f"{name(s)} not by {e}" for s, e in AROUND]
)
def test_nothing_else_moves_it(source: Status | None, event: Event) -> None:
    with pytest.raises(ValueError, match=re.escape(f"no move from {source} by {event}")):
        move(source, event)


def test_each_move_is_written_down_once() -> None:
    assert len({(m.source, m.event) for m in MOVES}) == len(MOVES) == len(LIFE)


def test_every_event_moves_something() -> None:
    assert {m.event for m in MOVES} == set(Event)


def test_a_final_status_has_no_way_out() -> None:
    assert {S.REJECTED, S.EXPIRED, S.SUPERSEDED, S.CANCELLED, S.STALE} == FINAL
    assert [m for m in MOVES if m.source in FINAL] == []


def test_whatever_is_not_open_leaves_only_for_a_late_failure() -> None:
    assert set(Status) - FINAL - {S.EXECUTED, S.FAILED} == OPEN
    assert [m.event for m in MOVES if m.source is not None and m.source not in OPEN] == [
        E.LATE_FAILURE
    ]


def test_every_open_status_has_a_way_to_an_end() -> None:
    ends = set(FINAL | {S.EXECUTED, S.FAILED})
    for _ in Status:
        ends |= {m.source for m in MOVES if m.source is not None and m.target in ends}
    assert ends == set(Status)


def test_every_status_is_reached_from_the_beginning() -> None:
    reached: set[Status] = set()
    for _ in Status:
        reached |= {m.target for m in MOVES if m.source is None or m.source in reached}
    assert reached == set(Status)


def reachable(without: Status) -> set[Status]:
    """Return what an approval can become if it never is `without`."""
    reached: set[Status] = set()
    for _ in Status:
        reached |= {m.target for m in MOVES if m.source is None or m.source in reached} - {without}
    return reached


def test_money_moves_only_after_an_approval_and_a_claim() -> None:
    paid_or_maybe = {S.EXECUTING, S.EXECUTED, S.UNKNOWN, S.FAILED}
    assert reachable(without=S.APPROVED) == FINAL - {S.STALE} | {S.PENDING}
    assert reachable(without=S.EXECUTING).isdisjoint(paid_or_maybe)


def test_money_is_held_from_the_claim_until_the_provider_says_no() -> None:
    assert {S.EXECUTING, S.UNKNOWN, S.EXECUTED} == RESERVING
    assert {m.target for m in MOVES if m.source in RESERVING} - RESERVING == {S.FAILED, S.APPROVED}


def test_the_diagram_shows_every_move_and_nothing_else() -> None:
    head, *lines = state_diagram().splitlines()
    assert head == "stateDiagram-v2"
    assert lines == [f"    {name(m.source)} --> {m.target}: {m.event} ({m.by})" for m in MOVES]
    assert all(m.by for m in MOVES)


def test_a_line_of_the_diagram_has_one_colon() -> None:
    """Mermaid releases before 2026 do not read a second one, and draw nothing."""
    assert [line for line in state_diagram().splitlines()[1:] if line.count(":") != 1] == []


def test_people_compare_the_first_16_digits_of_the_hash() -> None:
    row = approval()
    assert row.short_hash() == row.payload_hash[:16]
    assert len(row.short_hash()) == 16


def test_a_row_that_does_not_validate_is_named() -> None:
    corrupt = Corrupt(APPROVAL_ID, "the hash differs")
    assert corrupt.approval_id == APPROVAL_ID
    assert str(corrupt) == f"approval {APPROVAL_ID}: the hash differs"


@pytest.mark.parametrize(
    ("payload", "amount"),
    [
        pytest.param(refund_payload(usd("160.00")), usd("160.00"), id="a refund"),
        pytest.param({"amount": {"minor": 1500, "currency": "JPY"}}, Money(1500, "JPY"), id="yen"),
        pytest.param({}, None, id="nothing"),
        pytest.param(email_approval().payload, None, id="an e-mail"),
        pytest.param({"amount": None}, None, id="null"),
        pytest.param({"amount": "160.00"}, None, id="a text"),
        pytest.param({"amount": {"minor": "1500", "currency": "JPY"}}, None, id="minor as text"),
        pytest.param({"amount": {"minor": 1500, "currency": 392}}, None, id="a number of a code"),
        pytest.param({"amount": {"minor": 1500}}, None, id="no currency"),
    ],
)
def test_a_payload_binds_an_amount(payload: Payload, amount: Money | None) -> None:
    assert amount_of(payload) == amount


def test_what_the_model_proposed_is_kept_through_every_edit() -> None:
    first, now = refund_payload(usd("160.00")), refund_payload(usd("120.00"))
    fresh = approval()
    assert (fresh.proposed, fresh.original_amount) == (first, usd("160.00"))
    assert not fresh.is_edited
    edited = approval(amount=usd("120.00"), original=first, edited_by=(BOB, BOB))
    assert (edited.payload, edited.proposed) == (now, first)
    assert edited.original_amount == usd("160.00")
    assert edited.is_edited
    assert email_approval().original_amount is None
