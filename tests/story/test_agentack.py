"""The trail as `agentack` sees it: an honest desk passes, and each planted fault has its rule."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.domain.agentack import Trace
from agent.domain.approvals import Approval, Status
from agent.domain.audit import AuditType
from agent.domain.ids import ApprovalId
from agent.domain.money import Money
from agent.domain.payload import Payload
from agent.domain.roles import Identity, Role
from agent.steps.verify import verify
from bot.sandbox.payments_faults import FaultKind
from storage import attempts, audit
from tests.support.agentack import check_by_command, checked, strangers, trace_of
from tests.support.desk import Story
from tests.support.intruder import intrude


@pytest.fixture
def ana(story: Story) -> Identity:
    return story.hire("ana", Role.REFUND_APPROVER)


def parked(story: Story, amount: str = "160.00") -> Approval:
    story.asks_refund(story.opens_chat("cus_clara"), amount)
    return story.only(Status.PENDING)


def paid(story: Story, ana: Identity) -> Approval:
    """Let a refund be asked for, approved and paid."""
    story.approves(ana, parked(story))
    story.model.says("It is paid.")
    story.rests()
    return story.only(Status.EXECUTED)


def rejected(story: Story, ana: Identity) -> Approval:
    story.rejects(ana, parked(story))
    story.model.says("The team declined it.")
    story.rests()
    return story.only(Status.REJECTED)


def trace(story: Story) -> Trace:
    return trace_of(story.desk.store)


def rules(story: Story) -> set[str]:
    """Return the rules that the story's trace breaks."""
    return set(checked(trace(story)).rule_counts)


def told(story: Story) -> list[tuple[object, ...]]:
    """Return the trace's lines as (type, operation or decision or reason)."""
    lines: list[tuple[object, ...]] = []
    for line in trace(story).lines:
        action = line.get("action")
        what = action["operation"] if isinstance(action, dict) else None
        lines.append((line["type"], what or line.get("decision") or line.get("reason")))
    return lines


END = ("session_end", "the export ends here")


# --- an honest desk -------------------------------------------------------------------------------


def test_an_approved_refund_is_proposed_shown_allowed_and_executed(
    story: Story, ana: Identity
) -> None:
    approval = paid(story, ana)
    assert told(story) == [
        ("action_proposed", "issue-refund"),
        ("approval_requested", "issue-refund"),
        ("approval_decision", "allow"),
        ("action_executed", "issue-refund"),
        END,
    ]
    proposed, requested, decided, executed, _ = trace(story).lines
    assert proposed["action"] == {
        "tool": "supportdesk",
        "operation": "issue-refund",
        "resource": approval.order_id,
        "parameters": {"payload": approval.payload, "payload_hash": approval.payload_hash},
    }
    assert proposed["action"] == requested["action"] == executed["action"]
    assert executed["approval_id"] == decided["approval_id"] == f"{approval.id}:1"
    assert approval.use_by is not None
    assert decided["expires_at"] == approval.use_by.isoformat().replace("+00:00", "Z")
    assert checked(trace(story)).status == "PASS"


def test_an_automatic_refund_is_an_operation_that_needs_no_approval(story: Story) -> None:
    story.asks_refund(story.opens_chat("cus_clara"), "5.00")
    assert told(story) == [
        ("action_proposed", "issue-refund-automatic"),
        ("action_executed", "issue-refund-automatic"),
        END,
    ]
    assert strangers(trace(story)) == []


def test_a_rejected_refund_is_blocked(story: Story, ana: Identity) -> None:
    rejected(story, ana)
    assert told(story)[2:4] == [
        ("approval_decision", "deny"),
        ("action_blocked", "approval.rejected: rejected"),
    ]


def test_an_edit_denies_the_old_request_and_proposes_a_new_one(story: Story, ana: Identity) -> None:
    story.edits(ana, parked(story), Money(12000, "USD"))
    story.model.says("It is paid.")
    story.rests()
    assert told(story) == [
        ("action_proposed", "issue-refund"),
        ("approval_requested", "issue-refund"),
        ("approval_decision", "deny"),
        ("action_blocked", "approval.edited: replaced by an edit"),
        ("action_proposed", "issue-refund"),
        ("approval_requested", "issue-refund"),
        ("approval_decision", "allow"),
        ("action_executed", "issue-refund"),
        END,
    ]


def test_a_request_that_nobody_decided_says_so(story: Story) -> None:
    parked(story)
    story.clock.advance(hours=1)
    story.model.says("Nobody decided in time.")
    story.sweeps()
    assert told(story)[2:4] == [
        ("approval_decision", "deny"),
        ("action_blocked", "approval.expired: nobody decided in time"),
    ]


def test_requests_that_are_open_are_left_out_and_counted(story: Story, ana: Identity) -> None:
    rejected(story, ana)
    story.asks_refund(story.opens_chat("cus_david"), "89.00", order="ORD-1015")
    story.asks_refund(story.opens_chat("cus_david"), "80.00", order="ORD-1015", call_id="call_2")
    story.approves(ana, story.all(Status.PENDING)[0])
    made = trace(story)
    assert made.still_open == 2
    assert len({line["action_id"] for line in made.lines if "action_id" in line}) == 1
    assert checked(made).status == "PASS"


def test_a_resend_is_the_same_execution(story: Story, ana: Identity) -> None:
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.approves(ana, parked(story))
    story.rests()
    assert story.only(Status.UNKNOWN).attempts == 1
    story.clock.advance(minutes=1)
    story.model.says("It is paid.")
    story.sweeps()
    assert story.only(Status.EXECUTED).attempts == 2
    assert [line for line in told(story) if line[0] == "action_executed"] == [
        ("action_executed", "issue-refund")
    ]


def test_the_same_at_its_command_line(story: Story, ana: Identity, tmp_path: Path) -> None:
    paid(story, ana)
    code, said = check_by_command(trace(story).lines, tmp_path)
    assert (code, "PASS" in said) == (0, True)


# --- planted faults -------------------------------------------------------------------------------


def claims(story: Story, approval: Approval, attempt: int = 1, request: str | None = None) -> None:
    """Write the trail and the attempt of an execution that no step would begin."""
    desk = story.desk
    key = approval.idempotency_key
    data: Payload = {"attempt": attempt, "key": key, "status": "executing"}
    fact = audit.Fact(AuditType.EXECUTION_CLAIMED, desk.replica, "timer", data, approval.id)
    with desk.store.transaction() as tx:
        text = approval.payload_text if request is None else request
        sent = replace(approval, attempts=attempt, payload_text=text)
        attempts.start(tx, sent, story.clock.now())
        audit.append(tx, approval.run_id, story.clock.now(), fact)


def swap(story: Story, table: str, column: str) -> None:
    """Make 160.00 into 960.00."""
    change = f"UPDATE {table} SET {column} = replace({column}, '16000', '96000')"  # noqa: S608 - ours
    intrude(story.desk.store, change)


def test_an_amount_swapped_between_approval_and_execution(
    story: Story, ana: Identity, tmp_path: Path
) -> None:
    story.damaged.append("another amount was sent than approved")
    paid(story, ana)
    assert rules(story) == set()
    swap(story, "attempts", "request")
    assert rules(story) == {"ACK003"}
    assert [one.flaw.value for one in verify(story.desk).problems] == ["sent"]
    code, said = check_by_command(trace(story).lines, tmp_path)
    assert (code, "ACK003" in said) == (1, True)


def test_an_amount_swapped_in_the_row_before_it_was_executed(story: Story, ana: Identity) -> None:
    story.damaged.append("another amount was stored and sent than approved")
    paid(story, ana)
    swap(story, "attempts", "request")
    swap(story, "approvals", "payload")
    assert rules(story) == {"ACK003"}


def test_an_approval_of_something_else_than_was_proposed(story: Story) -> None:
    story.damaged.append("a vote was for another hash")
    approval = parked(story)
    data: Payload = {"verdict": "approve", "shown_hash": "f" * 64}
    vote = audit.Fact(AuditType.VOTE_CAST, "act_x", "api", data, approval.id)
    done = audit.Fact(AuditType.APPROVAL_APPROVED, "act_x", "api", {}, approval.id)
    with story.desk.store.transaction() as tx:
        audit.append(tx, approval.run_id, story.clock.now(), vote, done)
    claims(story, approval)
    assert rules(story) == {"ACK003"}


def test_a_run_after_a_no(story: Story, ana: Identity) -> None:
    story.damaged.append("a denied request was executed")
    claims(story, rejected(story, ana))
    assert "ACK002" in rules(story)


def test_a_no_that_was_routed_around(story: Story, ana: Identity) -> None:
    story.damaged.append("a denied intent was executed without a person")
    denied = rejected(story, ana)
    again = ApprovalId(story.desk.ids.new("apr"))
    same: Payload = {
        "tool": denied.tool,
        "payload": denied.payload,
        "payload_hash": denied.payload_hash,
        "policy_version": denied.policy_version,
    }
    begun: Payload = {"attempt": 1, "key": "rd"}
    facts = (
        audit.Fact(AuditType.PROPOSAL_ALLOWED, "scripted-1", "policy", same, again),
        audit.Fact(AuditType.EXECUTION_CLAIMED, "srv-test", "policy", begun, again),
    )
    with story.desk.store.transaction() as tx:
        audit.append(tx, denied.run_id, story.clock.now(), *facts)
    assert "ACK007" in rules(story)


def test_a_run_twice(story: Story, ana: Identity) -> None:
    story.damaged.append("a request was executed twice")
    claims(story, paid(story, ana), attempt=2)
    assert rules(story) == {"ACK004"}


def test_a_resend_of_another_amount(story: Story, ana: Identity) -> None:
    story.damaged.append("a re-send was of other bytes")
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    story.approves(ana, parked(story))
    story.rests()
    unknown = story.only(Status.UNKNOWN)
    claims(story, unknown, 2, unknown.payload_text.replace("16000", "96000"))
    assert rules(story) == {"ACK003", "ACK004"}


def test_a_run_that_nobody_approved(story: Story) -> None:
    story.damaged.append("a request was executed that nobody approved")
    claims(story, parked(story))
    assert "ACK001" in rules(story)


def test_a_run_after_one_vote_of_two(story: Story) -> None:
    story.damaged.append("one vote of two was enough")
    mia = story.hire("mia", Role.REFUND_MANAGER)
    story.asks_refund(story.opens_chat("cus_priya"), "2340.00", order="ORD-1004")
    waiting = story.only(Status.PENDING)
    story.approves(mia, waiting)
    claims(story, story.only(Status.PENDING))
    assert "ACK001" in rules(story)


def test_a_run_after_the_approval_was_good(story: Story, ana: Identity) -> None:
    story.damaged.append("an approval was used too late")
    story.approves(ana, parked(story))
    approved = story.only(Status.APPROVED)
    assert approved.use_by is not None
    story.clock.at = approved.use_by
    claims(story, approved)
    assert rules(story) == set()
    story.clock.at += timedelta(microseconds=1)
    claims(story, approved, attempt=2)
    assert "ACK005" in rules(story)


def test_a_run_while_everything_is_stopped(story: Story, ana: Identity) -> None:
    story.damaged.append("something ran while everything was stopped")
    paid(story, ana)
    story.clock.advance(seconds=1)
    stop(story, AuditType.STOP_THROWN)
    assert rules(story) == set()
    story.clock.advance(seconds=1)
    claims(story, story.only(Status.EXECUTED), attempt=2)
    assert "ACK008" in rules(story)
    stop(story, AuditType.STOP_LIFTED)
    assert "ACK008" not in rules(story)


def stop(story: Story, tag: AuditType) -> None:
    with story.desk.store.transaction() as tx:
        audit.append(tx, None, story.clock.now(), audit.Fact(tag, "act_mia", "api", {}))
