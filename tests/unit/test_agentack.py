"""One approval's facts as lines of a trace, for what no story shows."""

from dataclasses import replace

import pytest

from agent.domain.agentack import Recorder, Session, Trace
from agent.domain.agentack_life import Evidence, Sent, rfc3339
from agent.domain.audit import DESK_CHAIN, AuditType
from agent.domain.ids import ApprovalId
from agent.domain.payload import Json, Payload, canonical, payload_hash
from agent.domain.trail import TrailEvent
from tests.support.agentack import checked

T = AuditType
ID = ApprovalId("apr_1")
PAYLOAD: Payload = {"order_id": "ORD-1", "amount": {"minor": 100, "currency": "USD"}}
HASH = payload_hash(tool="issue_refund", payload=PAYLOAD, approval_id=ID, policy_version="v1")
PROPOSED: Payload = {"tool": "issue_refund", "payload": PAYLOAD, "policy_version": "v1"}
CLAIM: Payload = {"attempt": 1, "key": "rd-1"}
VOTE: Payload = {"verdict": "approve", "shown_hash": HASH}
ROW = Evidence(
    tool="issue_refund",
    payload_text=canonical(PAYLOAD),
    policy_version="v1",
    use_by=None,
    shown={},
    sent=(Sent(1, "rd-1", canonical(PAYLOAD)),),
)
ALWAYS = Session("s", 10, 0, 100)

Facts = list[tuple[AuditType, Payload]]


def traced(facts: Facts, row: Evidence | None = ROW, session: Session = ALWAYS) -> Trace:
    recorder = Recorder()
    for seq, (kind, data) in enumerate(facts, start=1):
        event = TrailEvent("run_1", seq, 7, kind.value, ID, "", "")
        recorder.see(event, {"approval_id": ID, "actor": "act_1", "data": data})
    return recorder.trace({} if row is None else {ID: row}, session)


def lines(trace: Trace) -> list[tuple[Json, Json]]:
    return [(line["type"], line.get("approval_id")) for line in trace.lines]


def rules(facts: Facts, row: Evidence | None = ROW) -> list[str]:
    return sorted(checked(traced(facts, row)).rule_counts)


APPROVED: Facts = [
    (T.PROPOSAL_PARKED, PROPOSED),
    (T.VOTE_CAST, VOTE),
    (T.APPROVAL_APPROVED, {}),
]


def test_a_claim_passes() -> None:
    assert rules([*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)]) == []


def test_an_attempt_that_did_not_start_is_no_execution() -> None:
    back: Facts = [*APPROVED, (T.EXECUTION_CLAIMED, CLAIM), (T.EXECUTION_RETURNED, {})]
    assert traced(back).still_open == 1
    stale = [*back, (T.APPROVAL_STALE, {})]
    assert lines(traced(stale))[-2:] == [("action_blocked", "apr_1:1"), ("session_end", None)]
    assert rules(stale) == []
    again = [*back, (T.EXECUTION_CLAIMED, CLAIM)]
    assert lines(traced(again))[-2] == ("action_executed", "apr_1:1")
    assert rules(again) == []


def test_a_return_of_what_was_never_claimed_changes_nothing() -> None:
    assert traced([*APPROVED, (T.EXECUTION_RETURNED, {})]).still_open == 1


def test_an_automatic_effect_that_ends_without_running_is_blocked() -> None:
    facts: Facts = [(T.PROPOSAL_ALLOWED, PROPOSED), (T.APPROVAL_STALE, {})]
    assert lines(traced(facts)) == [
        ("action_proposed", None),
        ("action_blocked", None),
        ("session_end", None),
    ]
    assert rules(facts) == []


def test_the_second_of_two_votes_is_what_the_execution_refers_to() -> None:
    facts: Facts = [
        (T.PROPOSAL_PARKED, PROPOSED),
        (T.CARD_POSTED, {}),
        (T.VOTE_CAST, VOTE | {"shown_hash": HASH[:16]}),
        (T.VOTE_CAST, VOTE),
        (T.APPROVAL_APPROVED, {}),
        (T.EXECUTION_CLAIMED, CLAIM),
    ]
    assert lines(traced(facts)) == [
        ("action_proposed", None),
        ("approval_requested", "apr_1:1"),
        ("approval_requested", "apr_1:2"),
        ("approval_decision", "apr_1:1"),
        ("approval_decision", "apr_1:2"),
        ("action_executed", "apr_1:2"),
        ("session_end", None),
    ]
    assert rules(facts) == []


def test_a_withdrawal_denies_nothing_later() -> None:
    facts: Facts = [(T.PROPOSAL_PARKED, PROPOSED), (T.APPROVAL_WITHDRAWN, {})]
    trace = traced(facts)
    assert [line for line in trace.lines if "intent_id" in line] == []
    assert checked(trace).status == "PASS"


def test_a_revoked_approval_is_blocked_by_it() -> None:
    facts: Facts = [*APPROVED, (T.APPROVAL_REVOKED, {})]
    assert lines(traced(facts))[-2] == ("action_blocked", "apr_1:1")
    assert rules(facts) == []


def test_an_end_is_told_once() -> None:
    facts: Facts = [
        (T.PROPOSAL_PARKED, PROPOSED),
        (T.APPROVAL_EXPIRED, {}),
        (T.APPROVAL_EXPIRED, {}),
        (T.CUSTOMER_TOLD, {}),
    ]
    assert [kind for kind, _ in lines(traced(facts))].count("action_blocked") == 1


def test_a_no_is_a_vote_of_its_own_and_what_blocks() -> None:
    facts: Facts = [
        (T.PROPOSAL_PARKED, PROPOSED),
        (T.VOTE_CAST, VOTE),
        (T.VOTE_CAST, VOTE | {"verdict": "reject"}),
        (T.APPROVAL_REJECTED, {}),
    ]
    trace = traced(facts)
    assert lines(trace)[-2:] == [("action_blocked", "apr_1:2"), ("session_end", None)]
    votes = [line for line in trace.lines if line["type"] == "approval_decision"]
    assert [line["decision"] for line in votes] == ["allow", "deny"]
    assert rules(facts) == []
    run_after_all = [*facts, (T.EXECUTION_CLAIMED, CLAIM)]
    assert lines(traced(run_after_all))[-2] == ("action_executed", "apr_1:2")
    assert rules(run_after_all) == ["ACK002", "ACK006"]


def test_a_yes_holds_until_its_use_by() -> None:
    facts = [*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)]
    for use_by, found in ((8, []), (6, ["ACK005"])):
        row = replace(ROW, use_by=use_by)
        (vote,) = [one for one in traced(facts, row).lines if one["type"] == "approval_decision"]
        assert vote["expires_at"] == rfc3339(use_by)
        assert rules(facts, row) == found
    assert "expires_at" not in str(traced(facts).lines)


def test_the_same_bytes_sent_again_are_the_same_execution() -> None:
    unclear: Facts = [*APPROVED, (T.EXECUTION_CLAIMED, CLAIM), (T.EXECUTION_UNKNOWN, {})]
    row = replace(ROW, sent=(*ROW.sent, Sent(2, "rd-1", canonical(PAYLOAD))))
    again = [*unclear, (T.EXECUTION_CLAIMED, CLAIM | {"attempt": 2})]
    assert [kind for kind, _ in lines(traced(again, row))].count("action_executed") == 1
    # That the second did not start says nothing of the first, which may have been carried out.
    back = [*again, (T.EXECUTION_RETURNED, {})]
    assert [kind for kind, _ in lines(traced(back, row))].count("action_executed") == 1
    assert rules(again, row) == rules(back, row) == []
    ended: Facts = [(T.EXECUTION_ENDED, {"provider_status": "succeeded"})]
    for between in (ended[:0], ended):
        known: Facts = [*unclear[:-1], *between, (T.EXECUTION_CLAIMED, CLAIM | {"attempt": 2})]
        assert [kind for kind, _ in lines(traced(known, row))].count("action_executed") == 2
        assert rules(known, row) == ["ACK004"]
    for key, text in (("rd-2", canonical(PAYLOAD)), ("rd-1", "{}")):
        other = replace(ROW, sent=(*ROW.sent, Sent(2, key, text)))
        twice: Facts = [*unclear, (T.EXECUTION_CLAIMED, {"attempt": 2, "key": key})]
        assert [kind for kind, _ in lines(traced(twice, other))].count("action_executed") == 2
        assert rules(twice, other) != []


# --- evidence that is missing or damaged ---------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (HASH[:16], []),
        (HASH[:15], ["ACK003"]),
        ("", ["ACK003"]),
        (None, ["ACK003"]),
        (7, ["ACK003"]),
    ],
)
def test_a_vote_binds_what_it_was_shown(shown: Json, found: list[str]) -> None:
    facts: Facts = [
        (T.PROPOSAL_PARKED, PROPOSED),
        (T.VOTE_CAST, {"verdict": "approve", "shown_hash": shown}),
        (T.APPROVAL_APPROVED, {}),
        (T.EXECUTION_CLAIMED, CLAIM),
    ]
    assert rules(facts) == found


def test_the_table_says_what_was_shown_where_the_trail_does_not() -> None:
    edited: Facts = [
        (T.PROPOSAL_PARKED, PROPOSED),
        (T.APPROVAL_EDITED, {"new_approval_id": "apr_2"}),
    ]
    row = Evidence("issue_refund", ROW.payload_text, "v1", None, {("act_1", "edit"): HASH}, ())
    assert rules(edited, row) == []
    assert rules(edited) == ["ACK003"]


@pytest.mark.parametrize(
    "row",
    [
        Evidence("issue_refund", "{", "v1", None, {}, ROW.sent),
        Evidence("send_email", ROW.payload_text, "v1", None, {}, ROW.sent),
        Evidence("issue_refund", ROW.payload_text, "v2", None, {}, ROW.sent),
        Evidence("issue_refund", ROW.payload_text, "\ud800", None, {}, ROW.sent),
        Evidence("issue_refund", ROW.payload_text, "v1", None, {}, ()),
        Evidence("issue_refund", ROW.payload_text, "v1", None, {}, (Sent(1, "rd-2", "{}"),)),
        Evidence("issue_refund", ROW.payload_text, "v1", None, {}, (Sent(1, "rd-1", "[]"),)),
        None,
    ],
)
def test_a_row_that_does_not_fit_the_trail_is_found(row: Evidence | None) -> None:
    assert "ACK003" in rules([*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)], row)


def test_a_proposal_that_names_no_payload_is_found() -> None:
    facts: Facts = [(T.PROPOSAL_PARKED, {"tool": "issue_refund"}), *APPROVED[1:]]
    assert "ACK003" in rules([*facts, (T.EXECUTION_CLAIMED, CLAIM)])


def test_an_approval_without_a_vote_is_none() -> None:
    facts: Facts = [APPROVED[0], APPROVED[2], (T.EXECUTION_CLAIMED, CLAIM)]
    assert rules(facts) == ["ACK001"]


def test_what_was_never_proposed_is_found() -> None:
    assert rules([(T.EXECUTION_CLAIMED, CLAIM)]) == ["ACK001", "ACK009"]
    assert rules([(T.EXECUTION_CLAIMED, CLAIM)], None) == ["ACK001", "ACK009"]
    gone: Facts = [(T.APPROVAL_EXPIRED, {})]
    assert rules(gone, None) == ["ACK009"]


# --- the whole trace -----------------------------------------------------------------------------


def test_a_clock_that_steps_back_does_not_change_the_order() -> None:
    recorder = Recorder()
    for seq, (kind, data) in enumerate([*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)], start=1):
        event = TrailEvent("run_1", seq, 70 - seq, kind.value, ID, "", "")
        recorder.see(event, {"approval_id": ID, "actor": "act_1", "data": data})
    assert checked(recorder.trace({ID: ROW}, ALWAYS)).status == "PASS"


@pytest.mark.parametrize(
    ("switched", "stopped"),
    [
        ([T.STOP_THROWN], [True]),
        ([T.STOP_THROWN, T.STOP_LIFTED], []),
        ([T.STOP_THROWN, T.STOP_LIFTED, T.STOP_THROWN], [True]),
        ([T.STOP_LIFTED], []),
    ],
)
def test_a_stop_that_is_in_force_is_an_interrupt(
    switched: list[AuditType], stopped: list[bool]
) -> None:
    recorder = Recorder()
    for seq, kind in enumerate(switched, start=1):
        event = TrailEvent(DESK_CHAIN, seq, 7 + seq, kind.value, None, "", "")
        recorder.see(event, {"approval_id": None, "actor": "act_1", "data": {}})
    told = recorder.trace({}, ALWAYS).lines
    breaks = [line for line in told if line["type"] == "interrupt"]
    assert [line["reason"] == "Stop all" for line in breaks] == stopped
    at = rfc3339(7 + len(switched))
    assert {line["timestamp"] for line in breaks} == ({at} if stopped else set())
    assert len(told) == len(stopped) + 1


def test_what_runs_while_everything_is_stopped_is_found() -> None:
    def found(claimed_at: int) -> list[str]:
        recorder = Recorder()
        stop = TrailEvent(DESK_CHAIN, 1, 8, T.STOP_THROWN.value, None, "", "")
        recorder.see(stop, {"approval_id": None, "actor": "act_1", "data": {}})
        for seq, (kind, data) in enumerate([*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)], start=1):
            at = claimed_at if kind is T.EXECUTION_CLAIMED else 7
            event = TrailEvent("run_1", seq, at, kind.value, ID, "", "")
            recorder.see(event, {"approval_id": ID, "actor": "act_1", "data": data})
        return sorted(checked(recorder.trace({ID: ROW}, ALWAYS)).rule_counts)

    # Of one moment what was under way comes before the stop.
    assert found(7) == found(8) == []
    assert found(9) != []


def test_what_was_proposed_at_another_time_is_left_out() -> None:
    facts = [*APPROVED, (T.EXECUTION_CLAIMED, CLAIM)]
    for since, until, count in ((7, 8, 5), (8, 9, 1), (6, 7, 1)):
        assert len(traced(facts, ROW, Session("s", 10, since, until)).lines) == count


def test_an_empty_trail_makes_an_empty_session() -> None:
    trace = traced([])
    assert trace == Trace(
        (
            {
                "schema_version": 2,
                "session_id": "s",
                "timestamp": "1970-01-01T00:00:00.000010Z",
                "type": "session_end",
                "reason": "the export ends here",
            },
        ),
        0,
    )
    assert checked(trace).status == "PASS"


def test_a_text_that_cannot_be_read_is_no_fact() -> None:
    recorder = Recorder()
    event = TrailEvent("run_1", 1, 7, T.PROPOSAL_PARKED.value, ID, "", "")
    bodies: list[Payload | None] = [None, {"data": 7}, {"data": {}, "approval_id": None}]
    for body in bodies:
        recorder.see(event, body)
    assert len(recorder.trace({}, ALWAYS).lines) == 1


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1970-01-01T00:00:00Z"),
        (2**63 - 1, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_time_that_no_calendar_has_is_the_nearest(micros: int, text: str) -> None:
    assert rfc3339(micros) == text
