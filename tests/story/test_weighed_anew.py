"""What people change or ask for again is weighed anew: its card says what holds of it now."""

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode
from agent.domain.risk import Reason
from agent.domain.roles import Identity, Role
from agent.steps.ask_again import ask_again
from agent.steps.execute import execute
from storage import decisions
from tests.story.ways import (
    ANA,
    BEN,
    MIA,
    edited,
    expired,
    links,
    parked,
    refused,
    staff,
    stale,
    usd,
)
from tests.support.builders import policy
from tests.support.desk import Story


def again(story: Story, row: Approval, who: Identity = ANA) -> Approval:
    """Ask once more for what lapsed."""
    new = ask_again(story.desk, row.id, story.order(who))
    assert isinstance(new, Approval), new
    return new


def lapses(story: Story, row: Approval) -> Approval:
    """Let nobody decide in time."""
    story.clock.at = row.expires_at
    story.sweeps()
    after = story.approval(row.id)
    assert after.status is Status.EXPIRED
    return after


def waits(story: Story, call: tuple[str, str, str]) -> Approval:
    """Let one call of Clara's agent wait."""
    (result,) = story.proposes(story.opens_chat("cus_clara"), call)
    assert result["status"] == "pending_approval", result
    return story.approval(result["approval_id"])


def codes(row: Approval) -> list[Reason]:
    return [finding.code for finding in row.findings]


def texts(row: Approval) -> list[str]:
    return [finding.text for finding in row.findings]


def voted(story: Story, row: Approval) -> list[str]:
    with story.desk.store.transaction(write=False) as tx:
        return [vote.actor_name for vote in decisions.of(tx, row.id)]


def test_a_lowered_refund_speaks_of_the_lower_amount(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    new = edited(story.edits(MIA, row, usd(8000)))
    assert new.status is Status.PENDING
    assert texts(new) == [
        "Mia changed the amount from 2,340.00 USD to 80.00 USD",
        "80.00 USD is over the automatic limit of 50.00 USD",
    ]


def test_a_refund_lowered_under_the_limit_has_nothing_else_to_say(story: Story) -> None:
    staff(story)
    row = parked(story, "2340.00", "ORD-1004")
    assert codes(edited(story.edits(MIA, row, usd(2000)))) == [Reason.HUMAN_EDIT]


def test_an_edit_weighs_what_the_order_has_had_meanwhile(story: Story) -> None:
    staff(story)
    row = parked(story, "100.00")
    (small,) = story.proposes(row.conversation_id, story.refund_call("45.00", call_id="call_2"))
    assert small["status"] == "executed"
    new = edited(story.edits(ANA, row, usd(4000)))
    assert codes(new) == [Reason.HUMAN_EDIT, Reason.CUMULATIVE_OVER_LIMIT]
    assert "would reach 85.00 USD" in new.findings[1].text


def test_an_e_mail_sent_elsewhere_says_so(story: Story) -> None:
    staff(story)
    row = waits(
        story, story.email_call(subject="About your chair", body="Soon.", order_id="ORD-1001")
    )
    assert codes(row) == [Reason.IRREVERSIBLE_MESSAGE]
    new = edited(story.edits(ANA, row, to=("clara@work.example",)))
    assert texts(new) == [
        "Ana changed the recipients",
        "The text is the agent's own, not one of the policy's templates",
        "The address is not the customer's own (clara.nguyen@example.com)",
    ]


def test_a_score_that_waits_is_weighed_anew_when_asked_again(story: Story) -> None:
    staff(story)
    story.proposes(story.opens_chat("cus_clara"), story.flag_call("0.95", confidence="0.5"))
    old = lapses(story, story.only(Status.PENDING))
    new = again(story, old, MIA)
    assert codes(new) == [Reason.ASKED_AGAIN, Reason.FRAUD_FLAG, Reason.LOW_CONFIDENCE]
    assert texts(new)[1] == "The fraud score 0.95 is over 0.80"


def test_what_was_unclear_stays_unclear_when_asked_again(story: Story) -> None:
    staff(story)
    old = lapses(story, waits(story, story.refund_call("5.00", scope="unclear", confidence=None)))
    assert codes(again(story, old)) == [
        Reason.ASKED_AGAIN,
        Reason.LOW_CONFIDENCE,
        Reason.EARLIER_NO,
        Reason.AMBIGUOUS,
    ]


def test_a_stricter_policy_is_heard_when_it_is_asked_again(story: Story) -> None:
    staff(story)
    old = lapses(story, waits(story, story.refund_call("45.00", confidence="0.5")))
    strict = story.under(policy(refunds={"auto_limit": {"USD": "40.00"}}))
    new = again(strict, old)
    assert "45.00 USD is over the automatic limit of 40.00 USD" in texts(new)


def test_who_changed_it_stays_said_and_how_high_it_may_go(story: Story) -> None:
    """The ratchet holds through a second asking: what the model asked for is the measure."""
    staff(story)
    raised = edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))
    new = again(story, lapses(story, raised), MIA)
    assert codes(new)[:2] == [Reason.ASKED_AGAIN, Reason.HUMAN_EDIT]
    assert new.proposed == raised.proposed
    assert (new.original_amount, new.amount) == (usd(12000), usd(15000))
    # Under what was raised, and still above the model's own amount: no vote.
    lowered = edited(story.edits(BEN, new, usd(14000)))
    assert (lowered.status, voted(story, lowered)) == (Status.PENDING, [])
    enough = edited(story.edits(MIA, lowered, usd(12000)))
    assert (enough.status, voted(story, enough)) == (Status.APPROVED, ["Mia"])


def test_nobody_asks_again_for_themselves(story: Story) -> None:
    staff(story)
    old = expired(story)
    links(story, ANA, Identity("customer", old.customer_id))
    own = refused(ask_again(story.desk, old.id, story.order(ANA)))
    assert (own.code, own.message) == (
        RefusalCode.SELF_APPROVAL,
        "This is your own request; somebody else asks again.",
    )
    assert story.approval(old.id).superseded_by is None
    assert again(story, old, BEN).status is Status.PENDING


@pytest.mark.parametrize("status", [Status.REJECTED, Status.APPROVED, Status.EXECUTED])
def test_what_was_decided_since_is_not_asked_again(story: Story, status: Status) -> None:
    staff(story)
    old = lapses(story, parked(story, "60.00"))
    twin = waits(story, story.refund_call("60.00", call_id="call_twin"))
    if status is Status.REJECTED:
        story.rejects(ANA, twin)
    else:
        story.approves(ANA, twin)
    if status is Status.EXECUTED:
        execute(story.desk, twin.id)
    answer = refused(ask_again(story.desk, old.id, story.order(BEN)))
    assert answer.code is RefusalCode.INVALID
    assert answer.message == (
        f"An identical request has been decided since: {twin.id} is {status.value}."
    )
    assert story.all(Status.PENDING) == ()


def test_what_was_paid_before_it_was_asked_for_is_another_matter(story: Story) -> None:
    staff(story)
    first = parked(story, "60.00")
    story.approves(ANA, first)
    story.rests()
    old = lapses(story, parked(story, "60.00"))
    new = again(story, old)
    assert (new.status, new.proposal_key) == (Status.PENDING, story.approval(first.id).proposal_key)


def test_what_lapsed_twice_is_asked_again_from_either(story: Story) -> None:
    """An identical request that lapsed as well was not decided: it stands in nobody's way."""
    staff(story)
    old = lapses(story, parked(story))
    lapses(story, parked(story))
    assert again(story, old).status is Status.PENDING


def test_what_waits_already_is_not_asked_again(story: Story) -> None:
    staff(story)
    old = stale(story)
    story.happens("UPDATE ledger_payments SET disputed = 0 WHERE order_id = 'ORD-1001'")
    waiting = parked(story)
    answer = refused(ask_again(story.desk, old.id, story.order(ANA)))
    assert answer.message == f"An identical request is waiting already: {waiting.id}."
    story.rejects(ANA, waiting)
    assert (
        "has been decided since" in refused(ask_again(story.desk, old.id, story.order(ANA))).message
    )


def test_the_editors_word_is_no_vote_below_what_the_new_tier_asks_of_each(story: Story) -> None:
    staff(story)
    row = parked(story, "120.00")
    strict = story.under(policy(refunds={"tiers": {"USD": [{"role": "refund_manager"}]}}))
    new = edited(strict.edits(ANA, row, usd(8000)))
    assert (new.status, new.tier.role, voted(story, new)) == (
        Status.PENDING,
        Role.REFUND_MANAGER,
        [],
    )
    assert isinstance(strict.approves(MIA, new), Decided)
    assert story.approval(new.id).status is Status.APPROVED
