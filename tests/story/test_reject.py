"""A no is told with its reason, the agent thinks again, and after three a person takes over."""

import json
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.approvals import Approval, RejectCategory, Status, Verdict
from agent.domain.conversation import RunState
from agent.domain.decision import Decided, RefusalCode, Voted
from agent.domain.ids import ConversationId
from agent.ports import DeliveryKind
from bot.web.metrics import Metrics
from storage import decisions, runs
from tests.story.ways import ANA, BEN, MIA, chips, expired, parked, refused, staff, told
from tests.support.desk import Story

AMOUNTS = ("160.00", "140.00", "120.00", "100.00")


def say_no(story: Story, row: Approval, reason: str = "outside the return window") -> None:
    """Reject with everything a form can hold."""
    answer = story.decides(
        ANA,
        Verdict.REJECT,
        row,
        reason=reason,
        category=RejectCategory.SUSPECTED_ABUSE,
        note="third chair this month",
    )
    assert isinstance(answer, Decided)


def asks(story: Story, chat: ConversationId, amount: str, order: str = "ORD-1001") -> Approval:
    """Ask for an amount and return the row that waits for it."""
    call_id = f"call_{amount}_{order}_{len(story.trail())}"
    (result,) = story.proposes(chat, story.refund_call(amount, order, call_id=call_id))
    assert result["status"] == "pending_approval", result
    return story.approval(result["approval_id"])


def noes(story: Story, chat: ConversationId, number: int, order: str = "ORD-1001") -> Approval:
    """Let people say no so often in one conversation; returns the last row."""
    rows = []
    for amount in AMOUNTS[:number]:
        rows.append(asks(story, chat, amount, order))
        say_no(story, rows[-1], f"no to {amount}")
        story.rests()
    return story.approval(rows[-1].id)


def state(story: Story, row: Approval) -> RunState:
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, row.run_id)
    assert run is not None
    return run.state


def test_category_and_reason_reach_the_model_and_the_note_nobody(story: Story) -> None:
    staff(story)
    row = parked(story)
    say_no(story, row)
    story.rests()
    assert told(story, row) == [
        {
            "event": "approval_outcome",
            "approval_id": row.id,
            "tool": "issue_refund",
            "order_id": "ORD-1001",
            "amount": "160.00 USD",
            "outcome": "rejected",
            "ok": False,
            "error": "denied_by_human",
            "category": "suspected_abuse",
            "reason": "outside the return window",
        }
    ]
    last = story.model.asked[-1].messages[-1]
    assert last.role == "system"
    heard = [m.content for request in story.model.asked for m in request.messages]
    read = [json.dumps(event.data) for event in story.log(row.conversation_id)]
    shown = [json.dumps(delivery.body) for delivery in story.notifier.deliveries]
    assert [text for text in (*heard, *read, *shown) if "third chair" in text] == []
    assert [text for text in read if "suspected_abuse" in text] == []
    kept = next(f for f in story.facts(row) if f["type"] == "vote.cast")
    assert (kept["data"]["category"], kept["data"]["note"]) == (
        "suspected_abuse",
        "third chair this month",
    )


def test_the_agent_may_propose_something_else_in_the_same_run(story: Story) -> None:
    staff(story)
    first = parked(story)
    say_no(story, first)
    story.model.calls(
        story.refund_call("160.00", call_id="call_2"),
        story.refund_call("80.00", call_id="call_3"),
        ("call_4", "compose_reply", '{"subject": "Sorry", "body": "We cannot refund all."}'),
    )
    story.model.says("I have asked for half of it.")
    story.rests()
    results = {
        m.call_id: json.loads(m.content) for m in story.model.asked[-1].messages if m.role == "tool"
    }
    assert results["call_2"]["error"] == "already_rejected"
    assert results["call_3"]["status"] == "pending_approval"
    assert results["call_4"]["status"] == "draft"
    second = story.only(Status.PENDING)
    assert (second.run_id, second.revision) == (first.run_id, 1)
    assert "earlier_no" not in {f.code.value for f in first.findings}
    story.approves(BEN, second)
    story.rests()
    assert [str(amount) for _, amount in story.paid()] == ["80.00 USD"]


def test_an_identical_proposal_stays_refused_in_its_conversation_alone(story: Story) -> None:
    staff(story)
    row = parked(story)
    say_no(story, row)
    story.rests()
    for number in range(2):
        call = story.refund_call("160.00", call_id=f"again_{number}")
        (again,) = story.proposes(row.conversation_id, call)
        assert again["error"] == "already_rejected"
    elsewhere = asks(story, story.opens_chat("cus_clara"), "160.00")
    assert "earlier_no" in {finding.code.value for finding in elsewhere.findings}


def test_the_third_no_passes_the_whole_history_to_a_person(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    second = noes(story, chat, 2)
    assert state(story, second) is RunState.DONE
    asked = len(story.model.asked)
    third = asks(story, chat, "120.00")
    say_no(story, third, "no to 120.00")
    story.rests()
    # One question that led to the proposal, one to its result; the outcome asks nobody.
    assert len(story.model.asked) == asked + 2
    assert state(story, third) is RunState.ESCALATED
    (handed,) = story.notifier.of(DeliveryKind.HAND_OFF)
    assert handed.body["reason"] == "max_revisions_exceeded"
    history = handed.body["history"]
    assert isinstance(history, list)
    assert [line["status"] for line in history if isinstance(line, dict)] == ["rejected"] * 3
    assert [line["reasons"] for line in history if isinstance(line, dict)] == [
        [f"Ana: no to {amount}"] for amount in AMOUNTS[:3]
    ]
    fact = next(f for f in story.facts() if f["type"] == "conversation.handed_off")
    assert fact["data"] == {
        "reason": "max_revisions_exceeded",
        "route_to": "human_agent",
        "run_id": third.run_id,
        "conversation_id": chat,
    }
    (passed,) = (e for e in story.log(chat) if e.type.value == "hand_off")
    assert passed.data["text"] == "A person from our team will take over here."
    assert "no to 120.00" in story.agent_words(chat)[-1]
    assert chips(story, third)[-1].data["status"] == "declined"


@pytest.mark.parametrize(
    ("later", "escalates"),
    [
        (timedelta(hours=1), True),
        (timedelta(days=1) - timedelta(microseconds=1), True),
        (timedelta(days=1), False),
    ],
)
def test_a_new_conversation_is_no_new_start_within_a_day(
    story: Story, later: timedelta, escalates: bool
) -> None:
    staff(story)
    noes(story, story.opens_chat("cus_clara"), 2)
    story.clock.at += later
    row = asks(story, story.opens_chat("cus_clara"), "90.00")
    say_no(story, row)
    story.rests()
    assert (state(story, row) is RunState.ESCALATED) is escalates
    assert len(story.notifier.of(DeliveryKind.HAND_OFF)) == (1 if escalates else 0)


def test_in_one_conversation_no_time_resets_the_count(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    noes(story, chat, 2)
    story.clock.advance(days=3)
    row = asks(story, chat, "90.00")
    say_no(story, row)
    story.rests()
    assert state(story, row) is RunState.ESCALATED


def test_another_order_has_a_count_of_its_own(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    noes(story, chat, 2)
    row = asks(story, chat, "60.00", "ORD-1013")
    say_no(story, row)
    story.rests()
    assert state(story, row) is RunState.DONE
    assert story.notifier.of(DeliveryKind.HAND_OFF) == []


def test_what_nobody_decided_is_no_no(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    noes(story, chat, 2)
    row = asks(story, chat, "100.00")
    story.clock.advance(minutes=30)
    story.sweeps()
    assert story.approval(row.id).status is Status.EXPIRED
    assert story.notifier.of(DeliveryKind.HAND_OFF) == []


def test_one_no_of_the_tiers_role_ends_a_quorum(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    assert isinstance(story.approves(ANA, row), Voted)
    assert refused(story.rejects(BEN, row)).code is RefusalCode.NOT_ALLOWED
    assert isinstance(story.rejects(MIA, row), Decided)
    story.rests()
    assert story.approval(row.id).status is Status.REJECTED
    assert story.paid() == []


def test_expiry_is_nowhere_called_a_denial(story: Story) -> None:
    staff(story)
    row = expired(story)
    tags = story.trail()
    assert tags.count("approval.expired") == 1
    assert {tag for tag in tags if tag.startswith("vote.")} == set()
    assert "approval.rejected" not in tags
    with story.desk.store.transaction(write=False) as tx:
        assert decisions.of(tx, row.id) == ()
    (said,) = told(story, row)
    assert (said["error"], said["reason"]) == ("expired", "no one decided in time")
    words: list[Any] = [said, *(e.data for e in story.log(row.conversation_id))]
    for text in map(json.dumps, words):
        assert not any(word in text.lower() for word in ("denied", "declined", "rejected"))
    chip = chips(story, row)[-1].data
    assert (chip["status"], chip["text"]) == (
        "expired",
        "Refund of 160.00 USD on order ORD-1001: nobody decided in time",
    )
    late = refused(story.rejects(ANA, row))
    assert late.code is RefusalCode.EXPIRED
    numbers = Metrics(story.desk).text(0).decode()
    assert 'verdict="reject"' not in numbers
