"""Edits in depth: order, e-mail, chains, votes, deadlines, and what the model may do afterwards."""

import pytest

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.decision import Decided, Edits, RefusalCode, Voted
from agent.domain.roles import Identity, Role
from agent.steps.breaker import breaker_status
from storage import decisions
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    chips,
    disputes,
    edited,
    links,
    parked,
    refused,
    staff,
    told,
    usd,
)
from tests.support.builders import policy
from tests.support.desk import Story

EDIT = Verdict.EDIT
TEXT: dict[str, object] = {
    "subject": "About your chair",
    "body": "We sent it yesterday.",
    "order_id": "ORD-1001",
}


def votes(story: Story, row: Approval) -> list[tuple[str, str]]:
    """Return who said what about a row."""
    with story.desk.store.transaction(write=False) as tx:
        return [(vote.actor_name, vote.verdict) for vote in decisions.of(tx, row.id)]


def mail(story: Story, **more: object) -> Approval:
    """Let an e-mail of the agent's own words wait."""
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.email_call("call_1", **(TEXT | more)))
    return story.approval(result["approval_id"])


def test_another_order_needs_somebody_else(story: Story) -> None:
    staff(story)
    row = parked(story, "60.00")
    new = edited(story.edits(ANA, row, order_id="ord-1013"))
    assert (new.status, new.order_id, new.amount) == (Status.PENDING, "ORD-1013", row.amount)
    assert new.findings[0].text == "Ana changed the order from ORD-1001 to ORD-1013"
    assert votes(story, new) == []
    assert refused(story.approves(ANA, new)).code is RefusalCode.SELF_APPROVAL
    assert isinstance(story.approves(BEN, new), Decided)
    story.rests()
    assert story.paid() == [("ORD-1013", usd(6000))]


def test_order_and_amount_change_together(story: Story) -> None:
    staff(story)
    row = parked(story, "60.00")
    new = edited(story.edits(ANA, row, usd(5500), order_id="ORD-1013"))
    assert new.findings[0].text == (
        "Ana changed the amount from 60.00 USD to 55.00 USD and the order from ORD-1001 to ORD-1013"
    )
    assert new.status is Status.PENDING


def test_going_back_to_the_first_order_is_no_vote(story: Story) -> None:
    staff(story)
    row = parked(story, "60.00")
    moved = edited(story.edits(ANA, row, order_id="ORD-1013"))
    back = edited(story.edits(ANA, moved, order_id="ORD-1001"))
    assert back.payload == row.payload
    assert (back.status, votes(story, back)) == (Status.PENDING, [])


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (Edits(order_id="ORD-1008"), "No such order"),
        (Edits(order_id="ORD-9999"), "there is no such order"),
        (Edits(order_id="ORD-1002"), "Only 48.00 USD"),
        (Edits(body="hello"), "only amount and order_id"),
        (Edits(amount=usd(12001), to=("a@example.com",)), "only amount and order_id"),
        (Edits(order_id="ord-1001"), "the same as before"),
        (Edits(), "nothing is changed"),
    ],
    ids=["not theirs", "unknown", "too small", "text", "recipients", "same", "nothing"],
)
def test_a_refused_edit_leaves_the_row_as_it_was(story: Story, wanted: Edits, word: str) -> None:
    staff(story)
    row = parked(story, "120.00")
    rows = len(story.all(Status.PENDING))
    answer = refused(story.decides(MIA, EDIT, row, edits=wanted))
    assert answer.code is RefusalCode.INVALID
    assert word in answer.message
    assert story.approval(row.id) == row
    assert len(story.all(Status.PENDING)) == rows
    assert story.facts(row)[-1]["data"]["code"] == "invalid"
    assert isinstance(story.approves(ANA, row), Decided)


def test_what_cannot_be_paid_any_more_cannot_be_edited_either(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    disputes(story)
    answer = refused(story.edits(ANA, row, usd(8000)))
    assert "is disputed" in answer.message
    assert story.approval(row.id) == row


def test_an_edit_of_an_edit_remembers_the_whole_chain(story: Story) -> None:
    staff(story)
    first = parked(story, "120.00")
    second = edited(story.edits(ANA, first, usd(15000)))
    third = edited(story.edits(BEN, second, usd(14000)))
    assert [row.revision for row in (first, second, third)] == [1, 2, 3]
    assert (third.supersedes, second.supersedes) == (second.id, first.id)
    assert third.proposed == second.proposed == first.payload
    assert len({row.idempotency_key for row in (first, second, third)}) == 3
    assert len(third.edited_by) == 2
    assert third.raised_by == third.edited_by[:1]
    for who in (ANA, BEN):
        assert refused(story.approves(who, third)).code is RefusalCode.SELF_APPROVAL
    story.approves(MIA, third)
    story.rests()
    assert story.paid() == [("ORD-1001", usd(14000))]
    assert [chip.data.get("replaced_by") for chip in chips(story, first)] == [None, second.id]
    assert told(story, third)[-1]["edited"] == {
        "from": first.payload,
        "to": third.payload,
        "final": True,
    }
    assert (
        "changed the amount from 120.00 USD to 140.00 USD"
        in (story.agent_words(first.conversation_id)[-1])
    )


def test_somebody_else_may_lower_what_was_raised_and_that_is_their_vote(story: Story) -> None:
    staff(story)
    raised = edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))
    lowered = edited(story.edits(BEN, raised, usd(12000)))
    assert lowered.status is Status.APPROVED
    assert votes(story, lowered) == [("Ben", "approve")]
    story.rests()
    assert story.paid() == [("ORD-1001", usd(12000))]


def test_of_two_peoples_decision_lowering_is_one_vote_however_often(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    first = edited(story.edits(MIA, row, usd(230000)))
    again = edited(story.edits(MIA, first, usd(220000)))
    assert (again.status, votes(story, again)) == (Status.PENDING, [("Mia", "approve")])
    assert refused(story.approves(MIA, again)).code is RefusalCode.SELF_APPROVAL
    other = edited(story.edits(MAX, again, usd(210000)))
    assert (other.status, votes(story, other)) == (Status.PENDING, [("Max", "approve")])
    # Mia edited earlier in the chain: her word on the newest row does not count either.
    assert refused(story.approves(MIA, other)).code is RefusalCode.SELF_APPROVAL
    assert isinstance(story.approves(ANA, other), Decided)
    story.rests()
    assert story.paid() == [("ORD-1004", usd(210000))]


def test_whoever_has_approved_may_still_edit(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    assert isinstance(story.approves(MIA, row), Voted)
    new = edited(story.edits(MIA, row, usd(230000)))
    assert votes(story, row) == [("Mia", "approve"), ("Mia", "edit")]
    assert votes(story, new) == [("Mia", "approve")]


def test_raising_and_lowering_under_two_accounts_is_one_person(story: Story) -> None:
    staff(story)
    story.hire("ana.private", Role.REFUND_APPROVER)
    second = Identity("cli", "ana.private")
    raised = edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))
    links(story, second, ANA)
    lowered = edited(story.edits(second, raised, usd(11000)))
    assert (lowered.status, votes(story, lowered)) == (Status.PENDING, [])
    assert refused(story.approves(second, lowered)).code is RefusalCode.SELF_APPROVAL


def test_votes_do_not_carry_over_and_the_deadline_does(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    assert isinstance(story.approves(ANA, row), Voted)
    story.clock.advance(minutes=29)
    new = edited(story.edits(MIA, row, usd(230000)))
    assert votes(story, new) == [("Mia", "approve")]
    assert votes(story, row) == [("Ana", "approve"), ("Mia", "edit")]
    assert new.expires_at == row.expires_at
    # So much money has the same time once more; the edit does not add to it.
    story.clock.advance(minutes=31)
    assert refused(story.approves(ANA, new)).code is RefusalCode.EXPIRED
    story.rests()
    assert story.approval(new.id).status is Status.EXPIRED
    assert story.paid() == []


def test_an_edit_is_decided_by_people_whatever_its_amount(story: Story) -> None:
    staff(story)
    new = edited(story.edits(ANA, parked(story, "60.00"), usd(500)))
    assert (new.status, new.automatic) == (Status.APPROVED, False)
    story.rests()
    assert breaker_status(story.desk)["admitted_in_window"] == 0
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.refund_call("50.00"))
    assert result["status"] == "executed"


def test_the_model_is_told_at_once_and_asked_nothing(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    asked = len(story.model.asked)
    new = edited(story.edits(ANA, row, usd(15000)))
    story.rests()
    assert len(story.model.asked) == asked
    assert told(story, new) == [
        {
            "event": "human_edit",
            "approval_id": new.id,
            "tool": "issue_refund",
            "from": row.payload,
            "to": new.payload,
            "final": True,
            "reason": "partly used",
        }
    ]
    assert len(story.agent_words(row.conversation_id)) == 1
    story.model.says("Fine.")
    story.says(row.conversation_id, "and?")
    seen = [m.content for m in story.model.asked[-1].messages if m.role == "system"]
    assert any("human_edit" in content for content in seen)


@pytest.mark.parametrize("paid", [False, True])
def test_the_first_proposal_is_not_to_be_had_again(story: Story, *, paid: bool) -> None:
    staff(story)
    row = parked(story, "70.00")
    new = edited(story.edits(ANA, row, usd(6000 if paid else 7100)))
    story.rests()
    assert story.approval(new.id).status is (Status.EXECUTED if paid else Status.PENDING)
    call = story.refund_call("70.00", call_id="call_2")
    (again,) = story.proposes(row.conversation_id, call)
    assert again["error"] == "already_edited"


def test_proposing_the_edited_amount_joins_what_waits(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    new = edited(story.edits(ANA, row, usd(15000)))
    call = story.refund_call("150.00", call_id="call_2")
    (joined,) = story.proposes(row.conversation_id, call)
    assert joined == {
        "status": "pending_approval",
        "approval_id": new.id,
        "order_id": "ORD-1001",
        "amount": "150.00 USD",
    }


def test_both_payloads_are_in_the_trail(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    new = edited(story.edits(ANA, row, usd(8000)))
    fact = next(f for f in story.facts(row) if f["type"] == "approval.edited")
    told_of = {name: fact["data"][name] for name in ("proposed", "original", "edited")}
    assert told_of == {"proposed": row.payload, "original": row.payload, "edited": new.payload}
    assert fact["data"]["new_approval_id"] == new.id
    assert fact["data"]["payload_hash"] == new.payload_hash
    begun = story.facts(new)[0]
    assert (begun["type"], begun["data"]["supersedes"]) == ("proposal.parked", row.id)
    vote = next(f for f in story.facts(new) if f["type"] == "vote.cast")
    assert (vote["data"]["by"], vote["data"]["shown_hash"]) == ("edit", new.payload_hash)


def test_a_changed_text_to_the_same_people_leaves_by_the_editors_word(story: Story) -> None:
    staff(story)
    row = mail(story)
    new = edited(story.edits(ANA, row, subject="Your chair", body="It left yesterday."))
    assert new.status is Status.APPROVED
    assert new.findings[0].text == "Ana changed the subject, the text"
    story.rests()
    (sent,) = story.mails()
    assert (sent.envelope.subject, sent.envelope.body) == ("Your chair", "It left yesterday.")


@pytest.mark.parametrize(
    "wanted",
    [
        Edits(to=("clara@work.example",)),
        Edits(cc=("boss@shop.example",)),
        Edits(bcc=("boss@shop.example",)),
    ],
    ids=["to", "cc", "bcc"],
)
def test_another_reader_needs_somebody_else(story: Story, wanted: Edits) -> None:
    staff(story)
    new = edited(story.decides(ANA, EDIT, mail(story), edits=wanted))
    assert new.status is Status.PENDING
    assert refused(story.approves(ANA, new)).code is RefusalCode.SELF_APPROVAL
    story.rests()
    assert story.mails() == ()
    story.approves(BEN, new)
    story.rests()
    assert len(story.mails()) == 1


def test_a_reader_less_is_the_editors_word(story: Story) -> None:
    staff(story)
    row = mail(story, cc=["friend@example.com"])
    new = edited(story.edits(ANA, row, cc=()))
    assert new.status is Status.APPROVED
    assert new.findings[0].text == "Ana changed Cc"


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (Edits(amount=usd(100)), "only recipients, subject and body"),
        (Edits(order_id="ORD-1002"), "only recipients, subject and body"),
        (Edits(to=()), "to"),
        (Edits(to=("not an address",)), "to"),
        (Edits(subject="a\r\nBcc: all@example.com"), "subject"),
        (Edits(subject=""), "subject"),
        (Edits(body=""), "body"),
        (Edits(body="x" * 12_001), "body"),
        (Edits(cc=("clara.nguyen@example.com",)), "an address appears twice"),
        (Edits(bcc=tuple(f"p{n}@example.com" for n in range(11))), "bcc"),
        (Edits(bcc=tuple(f"p{n}@example.com" for n in range(10))), "more than 10 recipients"),
        (Edits(body="We sent it yesterday."), "nothing is changed"),
    ],
)
def test_an_e_mail_that_cannot_be_is_refused(story: Story, wanted: Edits, word: str) -> None:
    staff(story)
    row = mail(story)
    answer = refused(story.decides(ANA, EDIT, row, edits=wanted))
    assert answer.code is RefusalCode.INVALID
    assert word in answer.message
    assert story.approval(row.id) == row


def test_a_fraud_flag_is_not_edited(story: Story) -> None:
    staff(story)
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.95"))
    row = story.only(Status.PENDING)
    answer = refused(story.edits(MIA, row, body="less"))
    assert "approve it or reject it" in answer.message


def test_a_template_is_a_persons_text_once_edited(story: Story) -> None:
    staff(story)
    careful = story.under(policy(emails={"templates_run": False}))
    call = story.email_call(template="photo_request", order_id="ORD-1001")
    careful.proposes(careful.opens_chat("cus_clara"), call)
    row = story.only(Status.PENDING)
    new = edited(careful.edits(ANA, row, subject="One photo, please"))
    assert (row.payload["template"], new.payload["template"]) == ("photo_request", None)
