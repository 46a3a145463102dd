"""One vote by one person: who may, what they must have seen, and who was first."""

import json
import threading

import pytest

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, RejectCategory, Status, Verdict
from agent.domain.decision import DecideAnswer, Decided, RefusalCode, Refused, ReplyTo, Voted
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.money import Money
from agent.domain.roles import ActorKind, Channel, Identity, Role
from agent.ports import DeliveryKind
from agent.steps.decide import note_unknown_click, withdraw
from agent.steps.verify import verify
from tests.story.orders import owner_of
from tests.support.desk import Story

CHAIR = Money(16000, "USD")


def park(story: Story, amount: str = "160.00", order: str = "ORD-1001") -> Approval:
    """Park a refund and return it."""
    story.asks_refund(story.opens_chat(owner_of(story, order)), amount, order)
    return story.only(Status.PENDING)


def refused(answer: DecideAnswer | Approval) -> Refused:
    """Return the refusal, or fail."""
    assert isinstance(answer, Refused), answer
    return answer


def test_a_rejection_pays_nothing_and_the_customer_reads_why(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.model.says("Declined: outside the return window. Shall I pass you to a person?")
    assert isinstance(story.rejects(ana, parked), Decided)
    story.rests()
    assert story.paid() == []
    assert story.approval(parked.id).status is Status.REJECTED
    told = json.loads(story.model.asked[-1].messages[-1].content)
    assert told["error"] == "denied_by_human"
    assert told["reason"] == "outside the return window"
    chip = [e for e in story.log(parked.conversation_id) if e.type.value == "approval"][-1]
    assert chip.data["status"] == "declined"
    assert "outside the return window" in str(chip.data["text"])
    assert story.agent_words(parked.conversation_id)[-1].startswith("Declined")


def test_the_staff_note_never_reaches_the_model(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.model.says("Declined.")
    story.decides(
        ana,
        Verdict.REJECT,
        parked,
        reason="not eligible",
        category=RejectCategory.SUSPECTED_ABUSE,
        note="third chair this month",
    )
    story.rests()
    for request in story.model.asked:
        assert all("third chair" not in message.content for message in request.messages)
    assert all("third chair" not in str(e.data) for e in story.log(parked.conversation_id))


def test_a_stranger_a_guest_and_a_person_without_the_role_may_not(story: Story) -> None:
    parked = park(story)
    guest = story.hire("gus", Role.REFUND_APPROVER, kind=ActorKind.GUEST)
    left = story.hire("lea", Role.REFUND_APPROVER, active=False)
    oncall = story.hire("olu", Role.ONCALL)
    for who in (Identity("slack", "T1:U404"), guest, left, oncall):
        assert refused(story.approves(who, parked)).code is RefusalCode.NOT_ALLOWED
    assert story.approval(parked.id).status is Status.PENDING
    assert story.trail().count("decision.refused") == 4


def test_the_customer_behind_the_request_may_not_decide(story: Story) -> None:
    me = story.hire(
        "clara",
        Role.REFUND_APPROVER,
        identities=[Identity("customer", owner_of(story, "ORD-1001"))],
    )
    assert refused(story.approves(me, park(story))).code is RefusalCode.SELF_APPROVAL


def test_a_role_read_too_long_ago_is_not_proof(story: Story) -> None:
    parked = park(story)
    who = story.mirrored("ana", Role.REFUND_APPROVER)
    story.clock.advance(seconds=61)
    assert refused(story.approves(who, parked)).code is RefusalCode.ROLE_UNVERIFIED


@pytest.mark.parametrize("shown", ["0" * 64, "", "abc"])
def test_another_hash_than_the_stored_one_is_refused(story: Story, shown: str) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    answer = story.approves(ana, park(story), shown_hash=shown)
    assert refused(answer).code is RefusalCode.PAYLOAD_CHANGED


def test_the_short_hash_of_a_card_is_enough(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    assert isinstance(story.approves(ana, parked, shown_hash=parked.payload_hash[:16]), Decided)


def test_the_loser_is_told_who_decided(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ben = story.hire("ben", Role.REFUND_APPROVER)
    parked = park(story)
    story.approves(ana, parked)
    late = refused(story.rejects(ben, parked))
    assert late.code is RefusalCode.ALREADY_DECIDED
    assert late.earlier is not None
    assert late.earlier.actor_name == "Ana"


def test_a_refused_slack_click_is_answered_to_the_clicker_alone(story: Story) -> None:
    parked = park(story)
    reply = ReplyTo("C1", "U404")
    story.approves(Identity("slack", "T1:U404"), parked, channel=Channel.SLACK, reply_to=reply)
    story.rests()
    (whisper,) = story.notifier.of(DeliveryKind.EPHEMERAL)
    assert whisper.body["user"] == "U404"
    assert len(story.notifier.of(DeliveryKind.CARD_UPDATE)) == 1


def test_a_click_on_an_unknown_approval_is_refused_and_audited(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    answer = story.decides(
        ana,
        Verdict.APPROVE,
        parked,
        approval_id=ApprovalId("apr_nothing"),
        reply_to=ReplyTo("C", "U"),
    )
    assert refused(answer).code is RefusalCode.NOT_FOUND
    note_unknown_click(story.desk, ana, Channel.SLACK, {"action_id": "format_disk"})
    assert story.trail().count("decision.refused") == 2
    story.rests()
    assert len(story.notifier.of(DeliveryKind.EPHEMERAL)) == 1


@pytest.mark.parametrize(
    ("reason", "category", "code"),
    [
        ("no", RejectCategory.OTHER, RefusalCode.REASON_REQUIRED),
        ("long enough", None, RefusalCode.INVALID),
    ],
)
def test_a_rejection_needs_reason_and_category(
    story: Story, reason: str, category: RejectCategory | None, code: RefusalCode
) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    answer = story.decides(ana, Verdict.REJECT, park(story), reason=reason, category=category)
    assert refused(answer).code is code


def test_the_deadline_is_enforced_at_the_click(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.clock.advance(minutes=30)
    story.model.says("Nobody decided in time.")
    assert refused(story.approves(ana, parked)).code is RefusalCode.EXPIRED
    story.rests()
    assert story.approval(parked.id).status is Status.EXPIRED
    assert story.chips(parked.conversation_id)[-1] == "expired"
    told = json.loads(story.model.asked[-1].messages[-1].content)
    assert told["error"] == "expired"
    assert refused(story.approves(ana, parked)).code is RefusalCode.EXPIRED
    assert story.paid() == []


def test_a_microsecond_before_the_deadline_is_in_time(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.clock.advance(minutes=30, microseconds=-1)
    assert isinstance(story.approves(ana, parked), Decided)


def test_the_highest_tier_needs_two_people_one_of_them_a_manager(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ben = story.hire("ben", Role.REFUND_APPROVER)
    mia = story.hire("mia", Role.REFUND_MANAGER)
    parked = park(story, "2340.00", "ORD-1004")
    first = story.approves(ana, parked)
    assert isinstance(first, Voted)
    assert first.votes == 1
    assert refused(story.approves(ana, parked)).code is RefusalCode.ALREADY_VOTED
    assert isinstance(story.approves(ben, parked), Voted)
    story.model.says("Paid.")
    assert isinstance(story.approves(mia, parked), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", Money(234000, "USD"))]


def test_an_approver_may_not_decide_above_the_tier(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story, "689.00", "ORD-1005")
    assert refused(story.approves(ana, parked)).code is RefusalCode.NOT_ALLOWED


def test_of_two_at_once_one_wins(story: Story) -> None:
    people = [story.hire(f"p{n}", Role.REFUND_APPROVER) for n in range(6)]
    parked = park(story)
    answers: list[DecideAnswer] = []
    start = threading.Barrier(len(people))

    def click(who: Identity, number: int) -> None:
        start.wait()
        answers.append(story.approves(who, parked) if number % 2 else story.rejects(who, parked))

    threads = [
        threading.Thread(target=click, args=(who, number)) for number, who in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(answer, Decided) for answer in answers) == 1
    losers = [answer for answer in answers if isinstance(answer, Refused)]
    assert len(losers) == 5
    assert {loser.code for loser in losers} == {RefusalCode.ALREADY_DECIDED}
    assert verify(story.desk).problems == ()


def test_a_damaged_row_never_runs_and_is_reported(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.damages("UPDATE approvals SET payload = :bad WHERE id = :a", bad="{}{", a=parked.id)
    assert refused(story.approves(ana, parked)).code is RefusalCode.PAYLOAD_CHANGED
    story.rests()
    assert "approval.corrupt" in story.trail()
    assert "does not validate" in str(story.notifier.alerts(AlertKind.CORRUPT_ROW)[0].body["text"])


def test_a_click_on_a_damaged_row_is_answered_and_an_edit_too(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.damages("UPDATE approvals SET payload = '[]' WHERE id = :a", a=parked.id)
    reply = ReplyTo("C1", "U1")
    story.approves(ana, parked, reply_to=reply)
    edited = refused(story.edits(ana, parked, Money(1000, "USD")))
    assert edited.code is RefusalCode.PAYLOAD_CHANGED
    story.rests()
    (whisper,) = story.notifier.of(DeliveryKind.EPHEMERAL)
    assert "damaged" in str(whisper.body["text"])


def test_a_row_of_a_tool_that_is_none_is_not_edited(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.damages("UPDATE approvals SET tool = 'drop_tables' WHERE id = :a", a=parked.id)
    before = story.approval(parked.id)
    edited = refused(story.edits(ana, parked, Money(1000, "USD")))
    assert edited.code is RefusalCode.PAYLOAD_CHANGED
    assert story.approval(parked.id) == before


def test_a_changed_payload_no_longer_matches_its_hash(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    story.damages(
        "UPDATE approvals SET payload = replace(payload, '16000', '96000') WHERE id = :a",
        a=parked.id,
    )
    assert refused(story.approves(ana, parked)).code is RefusalCode.PAYLOAD_CHANGED
    assert [p.what for p in verify(story.desk).problems]


def test_the_customer_may_withdraw_what_still_waits(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    parked = park(story)
    stranger = withdraw(story.desk, parked.id, CustomerId("cus_ben"))
    assert refused(stranger).code is RefusalCode.NOT_FOUND
    story.model.says("Withdrawn.")
    done = withdraw(story.desk, parked.id, parked.customer_id)
    assert isinstance(done, Approval)
    story.rests()
    assert story.chips(parked.conversation_id)[-1] == "withdrawn"
    again = withdraw(story.desk, parked.id, parked.customer_id)
    assert refused(again).code is RefusalCode.TOO_LATE_TO_WITHDRAW
    assert refused(story.approves(ana, parked)).code is RefusalCode.ALREADY_DECIDED
