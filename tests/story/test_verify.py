"""After a whole story the trail holds; whatever an intruder changes behind its back is named."""

import pytest
from sqlalchemy import text

from agent.domain.approvals import Approval, Status
from agent.domain.money import Money
from agent.domain.roles import Role
from agent.domain.trail import Flaw, Problem
from agent.steps.verify import VerifyReport, verify
from tests.support.desk import Story

_GUARDS = {
    "sqlite": ("DROP TRIGGER audit_no_UPDATE", "DROP TRIGGER audit_no_DELETE"),
    "postgresql": ("DROP TRIGGER audit_append_only ON audit",),
}


@pytest.fixture
def told(story: Story) -> Approval:
    """Tell a story with a refund that runs, one that is rejected, and one edited and paid."""
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "5.00", order="ORD-1002")
    story.asks_refund(chat, "150.00", call_id="call_2")
    story.model.says("The team declined it.")
    story.rejects(ana, story.only(Status.PENDING))
    story.rests()
    story.asks_refund(chat, "160.00", call_id="call_3")
    story.model.says("Your refund has been paid.")
    story.edits(ana, story.only(Status.PENDING), Money(12000, "USD"))
    story.rests()
    assert story.paid() == [("ORD-1002", Money(500, "USD")), ("ORD-1001", Money(12000, "USD"))]
    return story.only(Status.REJECTED)


def intrude(story: Story, statement: str, **values: object) -> None:
    """Change the database as somebody who may drop the guards of the trail."""
    store = story.desk.store
    story.damaged.append(statement)
    with store.transaction() as tx:
        if "audit" in statement:
            for guard in _GUARDS[store.dialect]:
                tx.change(text(guard))
        assert tx.change(text(statement), **values) == 1


def the_problem(report: VerifyReport) -> Problem:
    (problem,) = report.problems
    return problem


def test_the_trail_holds_after_a_whole_story(story: Story, told: Approval) -> None:
    report = verify(story.desk)
    assert report.problems == ()
    assert report.events == len(story.trail())
    assert report.chains == 3
    assert report.approvals == 4
    assert told.status is Status.REJECTED


def test_an_empty_desk_holds(story: Story) -> None:
    assert verify(story.desk) == VerifyReport(0, 0, 0, ())


def test_a_changed_byte_of_an_event_is_named(story: Story, told: Approval) -> None:
    intrude(
        story,
        "UPDATE audit SET body = replace(body, 'chat', 'chaT') WHERE chain = :chain AND seq = 3",
        chain=told.run_id,
    )
    problem = the_problem(verify(story.desk))
    assert (problem.flaw, problem.chain, problem.seq) == (Flaw.LINK, told.run_id, 3)


def test_an_event_gone_from_the_middle_is_named(story: Story, told: Approval) -> None:
    intrude(story, "DELETE FROM audit WHERE chain = :chain AND seq = 3", chain=told.run_id)
    problem = the_problem(verify(story.desk))
    assert (problem.flaw, problem.chain, problem.seq) == (Flaw.GAP, told.run_id, 4)


def test_a_changed_column_of_an_event_is_named(story: Story, told: Approval) -> None:
    intrude(
        story, "UPDATE audit SET at = at + 1 WHERE chain = :chain AND seq = 2", chain=told.run_id
    )
    problem = the_problem(verify(story.desk))
    assert (problem.flaw, problem.seq) == (Flaw.COLUMN, 2)
    assert "column at" in problem.what


def test_a_changed_byte_of_a_payload_is_named(story: Story, told: Approval) -> None:
    intrude(
        story,
        "UPDATE approvals SET payload = replace(payload, '15000', '15001') WHERE id = :id",
        id=told.id,
    )
    problem = the_problem(verify(story.desk))
    assert (problem.flaw, problem.approval_id, problem.chain) == (
        Flaw.PAYLOAD,
        told.id,
        told.run_id,
    )
    assert "does not have the hash" in problem.what


@pytest.mark.parametrize("change", ["tool = 'other'", "policy_version = 'other'"])
def test_whatever_else_the_hash_binds_is_named(story: Story, told: Approval, change: str) -> None:
    intrude(story, f"UPDATE approvals SET {change} WHERE id = :id", id=told.id)  # noqa: S608 - ours
    assert the_problem(verify(story.desk)).approval_id == told.id


def test_an_approval_gone_from_the_table_is_named(story: Story, told: Approval) -> None:
    for table, column in (
        ("decisions", "approval_id"),
        ("slack_messages", "approval_id"),
        ("approvals", "id"),
    ):
        statement = f"DELETE FROM {table} WHERE {column} = :id"  # noqa: S608 - ours
        intrude(story, statement, id=told.id)
    problem = the_problem(verify(story.desk))
    assert (problem.flaw, problem.approval_id) == (Flaw.ROW_GONE, told.id)
