"""What still waits is withdrawn by the customer; what is approved is called off by people."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.desk import Lane
from agent.domain.approvals import Approval, Status
from agent.domain.decision import RefusalCode
from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from agent.domain.roles import Identity
from agent.ports import DeliveryKind
from agent.steps.decide import withdraw
from agent.steps.receive import receive
from agent.steps.revoke import revoke
from agent.steps.stop import stop_all
from agent.steps.turn import take_turn
from tests.story.test_execute import Killed
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    OLU,
    about,
    approved,
    chips,
    executed,
    executing,
    parked,
    refused,
    staff,
    told,
    turned_away,
    unknown,
)
from tests.support.desk import Story


def never_mind(story: Story, chat: ConversationId, **named: str) -> dict[str, Any]:
    """Let the customer think better of it and the agent use its tool."""
    (result,) = story.proposes(chat, ("call_w", "withdraw_request", json.dumps(named)))
    return result


def test_never_mind_takes_back_the_only_request_that_waits(story: Story) -> None:
    staff(story)
    row = parked(story)
    posted = len(story.notifier.deliveries)
    asked = len(story.model.asked)
    assert never_mind(story, row.conversation_id) == {
        "ok": True,
        "status": "cancelled",
        "approval_id": row.id,
    }
    assert story.approval(row.id).status is Status.CANCELLED
    assert [chip.data["status"] for chip in chips(story, row)] == ["pending", "withdrawn"]
    assert [d.kind for d in about(story, row, posted)] == [
        DeliveryKind.CARD_UPDATE,
        DeliveryKind.THREAD,
    ]
    # The tool's result has told the model; no outcome asks it once more.
    assert (told(story, row), len(story.model.asked)) == ([], asked + 2)
    assert refused(story.approves(ANA, row)).code is RefusalCode.ALREADY_DECIDED
    story.rests()
    assert story.paid() == []
    fact = next(f for f in story.facts(row) if f["type"] == "approval.withdrawn")
    assert (fact["actor"], fact["channel"]) == ("cus_clara", "chat")


def test_of_several_the_one_that_is_named(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    first, second = story.proposes(
        chat,
        story.refund_call("60.00", call_id="call_1"),
        story.refund_call("70.00", call_id="call_2"),
    )
    assert never_mind(story, chat)["error"] == "ambiguous"
    taken = never_mind(story, chat, approval_id=second["approval_id"])
    assert taken["approval_id"] == second["approval_id"]
    assert story.only(Status.PENDING).id == first["approval_id"]


def test_what_waits_in_another_chat_is_taken_back_by_its_name(story: Story) -> None:
    staff(story)
    row = parked(story)
    chat = story.opens_chat("cus_clara")
    assert never_mind(story, chat)["error"] == "not_found"
    assert never_mind(story, chat, approval_id=row.id)["ok"] is True
    assert [chip.data["status"] for chip in chips(story, row)][-1] == "withdrawn"


def test_nobody_takes_back_what_is_not_theirs(story: Story) -> None:
    staff(story)
    row = parked(story)
    for customer in ("cus_ben", None):
        result = never_mind(story, story.opens_chat(customer), approval_id=row.id)
        assert result["error"] == ("not_verified" if customer is None else "not_found")
    unheard_of = never_mind(story, row.conversation_id, approval_id="apr_nothing")
    assert unheard_of["error"] == "not_found"
    assert story.approval(row.id) == row


def test_nobody_takes_back_what_they_may_not_know_of(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    (flag,) = story.proposes(chat, story.flag_call("0.95"))
    assert flag == {"ok": True, "status": "noted"}
    row = story.only(Status.PENDING)
    assert row.tool == "flag_for_fraud"
    assert never_mind(story, chat)["error"] == "not_found"
    assert never_mind(story, chat, approval_id=row.id)["error"] == "not_found"
    assert story.approval(row.id) == row


def test_too_late_is_said_honestly(story: Story) -> None:
    staff(story)
    row = approved(story)
    late = refused(withdraw(story.desk, row.id, row.customer_id))
    assert (late.code, late.message) == (
        RefusalCode.TOO_LATE_TO_WITHDRAW,
        "The request is approved.",
    )
    result = never_mind(story, row.conversation_id, approval_id=row.id)
    assert result["error"] == "too_late_to_withdraw"
    assert story.approval(row.id).status is Status.EXECUTED


def test_a_request_that_does_not_exist_is_not_found(story: Story) -> None:
    nothing = withdraw(story.desk, ApprovalId("apr_no"), CustomerId("cus_clara"))
    assert refused(nothing).code is RefusalCode.NOT_FOUND


def test_what_was_taken_back_may_be_asked_for_again(story: Story) -> None:
    staff(story)
    row = parked(story)
    never_mind(story, row.conversation_id)
    call = story.refund_call("160.00", call_id="call_2")
    (again,) = story.proposes(row.conversation_id, call)
    assert again["status"] == "pending_approval"
    findings = story.approval(again["approval_id"]).findings
    assert [finding.code.value for finding in findings] == ["amount_over_limit"]


def test_people_call_off_what_they_approved(story: Story) -> None:
    staff(story)
    row = approved(story)
    done = revoke(story.desk, row.id, story.order(BEN, "the parcel turned up"))
    assert isinstance(done, Approval)
    assert done.result == {"revoked_by": "Ben", "reason": "the parcel turned up"}
    story.rests()
    assert story.paid() == []
    (said,) = told(story, row)
    assert (said["error"], said["reason"]) == ("cancelled", "the parcel turned up")
    assert "called off by our team" in story.agent_words(row.conversation_id)[-1]
    fact = next(f for f in story.facts(row) if f["type"] == "approval.revoked")
    assert fact["data"] == {
        "status": "cancelled",
        "name": "Ben",
        "identity": "cli:ben",
        "evidence": "refund_approver by fixed",
        "reason": "the parcel turned up",
    }


def test_while_everything_is_stopped_too(story: Story) -> None:
    staff(story)
    row = approved(story)
    stop_all(story.desk, story.order(OLU))
    story.rests()
    assert isinstance(revoke(story.desk, row.id, story.order(ANA)), Approval)
    assert story.approval(row.id).status is Status.CANCELLED


def test_after_the_claim_it_is_too_late(story: Story) -> None:
    staff(story)
    row = executing(story)
    late = refused(revoke(story.desk, row.id, story.order(MIA)))
    assert late.message == "Too late: the request is executing."
    assert story.facts(row)[-1]["data"]["code"] == "already_decided"


@pytest.mark.parametrize("reach", [unknown, executed])
def test_only_what_has_not_begun_is_called_off(story: Story, reach: Any) -> None:
    staff(story)
    row = reach(story)
    answer = refused(revoke(story.desk, row.id, story.order(MIA)))
    assert answer.code is RefusalCode.ALREADY_DECIDED
    assert story.approval(row.id) == row


def test_what_still_waits_is_withdrawn_in_the_customers_stead(story: Story) -> None:
    staff(story)
    row = parked(story)
    done = revoke(story.desk, row.id, story.order(ANA, "bought twice"))
    assert isinstance(done, Approval)
    story.rests()
    assert str(chips(story, row)[-1].data["text"]).endswith("withdrawn. bought twice")
    (said,) = told(story, row)
    assert (said["error"], said["reason"]) == ("cancelled", "bought twice")
    assert story.facts(row)[-1]["actor"] != row.customer_id


def test_what_two_decide_is_withdrawn_by_who_may_end_it(story: Story) -> None:
    staff(story)
    row = parked(story, "2100.00", "ORD-1004")
    assert refused(revoke(story.desk, row.id, story.order(ANA))).code is RefusalCode.NOT_ALLOWED
    assert isinstance(revoke(story.desk, row.id, story.order(MAX)), Approval)


def test_after_the_deadline_there_is_nothing_left_to_withdraw(story: Story) -> None:
    staff(story)
    row = parked(story)
    story.clock.at = row.expires_at
    late = refused(revoke(story.desk, row.id, story.order(ANA)))
    assert late.message == "Too late: the request is expired."
    assert story.approval(row.id).status is Status.EXPIRED


@pytest.mark.parametrize(
    ("who", "reason", "code"),
    [
        (Identity("cli", "nobody"), "the parcel turned up", RefusalCode.NOT_ALLOWED),
        (OLU, "the parcel turned up", RefusalCode.NOT_ALLOWED),
        (ANA, "no", RefusalCode.REASON_REQUIRED),
    ],
)
def test_calling_off_takes_the_role_and_a_reason(
    story: Story, who: Identity, reason: str, code: RefusalCode
) -> None:
    staff(story)
    row = approved(story)
    answer = refused(revoke(story.desk, row.id, story.order(who, reason)))
    assert answer.code is code
    fact = story.facts(row)[-1]
    assert (fact["type"], fact["data"]["code"]) == ("decision.refused", code.value)
    assert story.approval(row.id) == row


def test_nothing_is_called_off_that_does_not_exist(story: Story) -> None:
    staff(story)
    answer = refused(revoke(story.desk, ApprovalId("apr_no"), story.order(MIA)))
    assert answer.code is RefusalCode.NOT_FOUND


def test_an_automatic_refund_that_waits_to_be_sent_may_be_called_off(story: Story) -> None:
    """Turned away once, the provider is to be asked again; a person is faster."""
    staff(story)
    row = turned_away(story)
    assert (row.status, row.automatic) == (Status.APPROVED, True)
    assert isinstance(revoke(story.desk, row.id, story.order(ANA)), Approval)
    story.clock.advance(minutes=1)
    story.rests()
    assert story.paid() == []
    assert [chip.data["status"] for chip in chips(story, row)][-1] == "withdrawn"


def test_a_withdrawal_cut_off_before_it_was_answered_is_the_same_one(story: Story) -> None:
    """The process dies after the request was taken back; another takes the turn up."""
    staff(story)
    row = parked(story)
    story.model.calls(("call_w", "withdraw_request", "{}"))
    receive(story.desk, row.conversation_id, "c9", "never mind")

    def dies(lane: Lane) -> None:
        """Die as soon as the row has ended."""
        if story.approval(row.id).status is Status.CANCELLED:
            raise Killed(lane)

    with pytest.raises(Killed):
        take_turn(replace(story.desk, wake=dies))
    assert story.approval(row.id).status is Status.CANCELLED
    story.clock.advance(seconds=61)
    story.model.says("It is taken back.")
    story.rests()
    answered = [m for m in story.model.asked[-1].messages if m.call_id == "call_w"]
    assert [json.loads(m.content)["approval_id"] for m in answered if m.role == "tool"] == [row.id]
    assert story.agent_words(row.conversation_id)[-1] == "It is taken back."
    assert story.trail().count("approval.withdrawn") == 1
