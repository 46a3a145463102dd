"""The checks of the trail: each fault is found once, and named with its place."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.domain.audit import GENESIS, AuditType, event_hash
from agent.domain.ids import ApprovalId
from agent.domain.payload import Payload, canonical, payload_hash
from agent.domain.trail import (
    Binding,
    BoundPayload,
    Flaw,
    Problem,
    TrailEvent,
    check_events,
    check_payloads,
    check_rows,
)

Spoil = Callable[[TrailEvent], TrailEvent]


def chain(name: str, *types: AuditType, approval: str = "apr_1") -> list[TrailEvent]:
    """Return a chain as the desk writes it, every event about one approval."""
    events: list[TrailEvent] = []
    link = GENESIS
    for seq, kind in enumerate(types, start=1):
        data: Payload = {"payload_hash": "abc"}
        body = canonical(
            {
                "chain": name,
                "seq": seq,
                "at": 7,
                "type": kind.value,
                "actor": "gate",
                "channel": "policy",
                "approval_id": approval,
                "data": data,
            }
        )
        link = event_hash(link, body)
        events.append(TrailEvent(name, seq, 7, kind.value, approval, body, link))
    return events


def run() -> list[TrailEvent]:
    return chain(
        "run_1",
        AuditType.RUN_STARTED,
        AuditType.PROPOSAL_PARKED,
        AuditType.VOTE_CAST,
        AuditType.EXECUTION_ENDED,
    )


def places(problems: tuple[Problem, ...]) -> list[tuple[str, int | None]]:
    return [(problem.flaw.value, problem.seq) for problem in problems]


def test_whole_chains_have_no_problems() -> None:
    checked = check_events([*chain("desk", AuditType.BREAKER_RESET), *run()])
    assert (checked.events, checked.chains, checked.problems) == (5, 2, ())
    assert checked.bindings == {"apr_1": Binding("run_1", 2, "abc")}


def test_an_empty_trail_has_no_problems() -> None:
    checked = check_events([])
    assert (checked.events, checked.chains, checked.problems) == (0, 0, ())


def test_observers_see_each_event_with_its_text_in_order() -> None:
    class Seen:
        def __init__(self) -> None:
            self.events: list[tuple[str, int, bool]] = []

        def see(self, event: TrailEvent, body: Payload | None) -> None:
            """Keep the place, and whether the text could be read."""
            is_its_text = body is not None and body["seq"] == event.seq
            self.events.append((event.chain, event.seq, is_its_text))

    events = [*chain("desk", AuditType.BREAKER_RESET), *run()]
    events[2] = replace(events[2], body="{}}")
    first, second = Seen(), Seen()
    check_events(events, first, second)
    readable = [("run_1", seq, seq != 2) for seq in range(1, 5)]
    assert first.events == second.events == [("desk", 1, True), *readable]


def rehashed(event: TrailEvent, previous: str, body: str) -> TrailEvent:
    return replace(event, body=body, hash=event_hash(previous, body))


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda e: replace(e, body=e.body.replace("abc", "xyz")), ["link"]),
        (lambda e: replace(e, hash="0" * 64), ["link", "link"]),
        (lambda e: replace(e, body="{}}"), ["link", "text"]),
        (lambda e: replace(e, body=e.body.replace(":", ": ")), ["link", "text"]),
        (lambda e: replace(e, body=e.body.replace("gate", "\ud800")), ["link", "text"]),
        (lambda e: replace(e, body=e.body.replace("7", "7" * 5000)), ["link", "text"]),
        (lambda e: replace(e, at=8), ["column"]),
        (lambda e: replace(e, type="run.ended"), ["column"]),
        (lambda e: replace(e, approval_id=None), ["column"]),
    ],
)
def test_a_changed_event_is_found(spoil: Spoil, found: list[str]) -> None:
    events = run()
    events[2] = spoil(events[2])
    problems = check_events(events).problems
    assert [problem.flaw.value for problem in problems] == found
    assert {(problem.chain, problem.seq) for problem in problems} <= {("run_1", 3), ("run_1", 4)}


def test_an_event_rewritten_with_its_hash_breaks_the_next_link() -> None:
    events = run()
    events[2] = rehashed(events[2], events[1].hash, events[2].body.replace("gate", "evil"))
    assert places(check_events(events).problems) == [("link", 4)]


@pytest.mark.parametrize(("gone", "at"), [(0, 2), (1, 3), (2, 4)])
def test_a_missing_event_is_found_at_the_next(gone: int, at: int) -> None:
    events = run()
    del events[gone]
    (problem,) = check_events(events).problems
    assert (problem.flaw, problem.seq) == (Flaw.GAP, at)
    assert f"seq {at - 1} should stand here" in problem.what


def test_an_event_moved_to_another_chain_is_found() -> None:
    (moved,) = (replace(event, chain="run_2") for event in run()[:1])
    assert places(check_events([*run(), moved]).problems) == [("column", 1)]


def test_a_second_proposal_of_one_approval_is_found() -> None:
    later = chain("run_2", AuditType.PROPOSAL_ALLOWED)
    checked = check_events([*run(), *later])
    assert places(checked.problems) == [("twice", 1)]
    assert checked.bindings["apr_1"].chain == "run_1"


def test_a_proposal_without_particulars_binds_nothing_real() -> None:
    event = chain("run_1", AuditType.PROPOSAL_PARKED)[0]
    for old, new in (('{"payload_hash":"abc"}', "3"), ('"payload_hash"', '"other"')):
        bare = rehashed(event, GENESIS, event.body.replace(old, new))
        assert check_events([bare]).bindings["apr_1"].payload_hash == "None"
    nobody = rehashed(event, GENESIS, event.body.replace('"apr_1"', "null"))
    assert check_events([nobody]).bindings == {}


def stored(**changes: str) -> BoundPayload:
    approval_id, payload = ApprovalId("apr_1"), {"order_id": "ORD-1"}
    bound = payload_hash(
        tool="issue_refund", payload=payload, approval_id=approval_id, policy_version="p1"
    )
    row = BoundPayload(approval_id, "issue_refund", canonical(payload), bound, "p1")
    return replace(row, **changes)  # type: ignore[arg-type]


def bindings() -> dict[str, Binding]:
    return {"apr_1": Binding("run_1", 2, stored().payload_hash)}


def test_a_payload_with_its_hash_and_event_is_whole() -> None:
    assert list(check_payloads([stored()], bindings())) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"payload_text": '{"order_id":"ORD-2"}'}, "does not have the hash"),
        ({"payload_text": '{"order_id": "ORD-1"}'}, "not in canonical form"),
        ({"payload_text": "{"}, "cannot be read: payload: not valid JSON"),
        ({"payload_text": f'{{"a":{"9" * 5000}}}'}, "cannot be read"),
        ({"tool": "send_email"}, "does not have the hash"),
        ({"policy_version": "p2"}, "does not have the hash"),
        ({"payload_hash": "0" * 64}, "does not have the hash"),
    ],
)
def test_a_changed_payload_is_found(changes: dict[str, str], what: str) -> None:
    (problem,) = check_payloads([stored(**changes)], bindings())
    assert (problem.flaw, problem.approval_id) == (Flaw.PAYLOAD, "apr_1")
    assert (problem.chain, problem.seq) == ("run_1", 2)
    assert what in problem.what


def test_a_payload_rewritten_with_its_hash_is_not_what_the_event_bound() -> None:
    payload: Payload = {"order_id": "ORD-2"}
    forged = payload_hash(
        tool="issue_refund",
        payload=payload,
        approval_id=ApprovalId("apr_1"),
        policy_version="p1",
    )
    row = stored(payload_text=canonical(payload), payload_hash=forged)
    (problem,) = check_payloads([row], bindings())
    assert "is not the one of the event" in problem.what


def test_an_approval_nobody_proposed_is_found_and_still_checked() -> None:
    assert [p.flaw for p in check_payloads([stored()], {})] == [Flaw.UNBOUND]
    spoiled = stored(payload_text="{")
    problems = list(check_payloads([spoiled], {}))
    assert [p.flaw for p in problems] == [Flaw.UNBOUND, Flaw.PAYLOAD]
    assert problems[1].chain is None


def test_an_approval_that_is_gone_is_found() -> None:
    (problem,) = check_rows(bindings(), set())
    assert (problem.flaw, problem.approval_id) == (Flaw.ROW_GONE, "apr_1")
    assert list(check_rows(bindings(), {"apr_1", "apr_2"})) == []


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem(Flaw.GAP, "so", "desk", 3), "chain desk seq 3: so (gap)"),
        (Problem(Flaw.UNBOUND, "so", approval_id="apr_1"), "approval apr_1: so (unbound)"),
        (
            Problem(Flaw.ROW_GONE, "so", "run_1", 2, "apr_1"),
            "chain run_1 seq 2, approval apr_1: so (row_gone)",
        ),
    ],
)
def test_a_problem_names_its_place(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_a_request_that_is_not_the_payload_is_named() -> None:
    text = stored().payload_text
    row = replace(stored(), sent={1: text, 2: text.replace("1", "2")})
    (problem,) = check_payloads([row], bindings())
    assert str(problem) == "approval apr_1: attempt 2 sent something else than the payload (sent)"


def test_a_problem_of_no_place_is_its_sentence() -> None:
    assert str(Problem(Flaw.COPY, "line 2 is no head")) == "line 2 is no head (copy)"
    assert str(Problem(Flaw.HEAD, "is missing", head=3)) == "head 3: is missing (head)"
