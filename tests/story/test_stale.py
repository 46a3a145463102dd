"""What changed while people were thinking stops the claim, and says so; asking again is new."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode, Voted
from agent.domain.ids import ApprovalId
from agent.domain.risk import Reason
from agent.domain.roles import Identity
from agent.ports import DeliveryKind
from agent.steps.ask_again import ask_again
from agent.steps.stop import stop_all
from tests.story.ways import (
    ANA,
    BEN,
    MAX,
    MIA,
    OLU,
    about,
    approved,
    booked,
    chips,
    disputes,
    edited,
    executed,
    expired,
    parked,
    pays_outside,
    refused,
    rejected,
    staff,
    stale,
    told,
    turned_away,
    usd,
    withdrawn,
)
from tests.support.builders import policy
from tests.support.desk import Story

OTHER_RULES = "The rules for such requests have changed since it was approved."
TWO_PEOPLE = {"tiers": {"USD": [{"role": "refund_manager", "approvals": 2}]}}


@dataclass(frozen=True)
class Change:
    """Something that happens between approval and claim; `happens` may return another story.

    `words` are for everybody, `detail` is for staff; `again` tells whether asking again helps.
    """

    happens: Callable[[Story], object]
    words: str
    detail: str = ""
    again: bool = False
    row: Callable[[Story], Approval] = approved


def sells_finally(story: Story) -> None:
    story.happens("UPDATE order_lines SET final_sale = 1 WHERE order_id = 'ORD-1001'")


def changes_hands(story: Story) -> None:
    story.happens("UPDATE orders SET customer_id = 'cus_ben' WHERE id = 'ORD-1001'")


def is_cancelled(story: Story) -> None:
    story.happens("UPDATE orders SET cancelled = 1 WHERE id = 'ORD-1001'")


def time_passes(story: Story) -> None:
    story.clock.advance(minutes=15)


def asks_for_more(story: Story) -> Story:
    return story.under(policy(refunds=TWO_PEOPLE))


def allows_less(story: Story) -> Story:
    return story.under(policy(refunds={"auto_limit": {"USD": "4.00"}}))


CHANGES = {
    "refunded elsewhere": Change(lambda s: pays_outside(s, 1), "Only 159.99 USD"),
    "dispute": Change(disputes, "is disputed with the bank"),
    "final sale": Change(sells_finally, "Final-sale items"),
    "ownership": Change(changes_hands, "No such order was found"),
    "cancelled": Change(is_cancelled, "has not been paid"),
    "tier": Change(asks_for_more, OTHER_RULES, "now asks for 2 x refund_manager", again=True),
    "automatic": Change(
        allows_less, OTHER_RULES, "without a person under another", again=True, row=turned_away
    ),
    "use-by": Change(time_passes, "approved too long ago", "usable until 2026-11-29", again=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_card_the_customer_and_the_model_read_what_changed(story: Story, change: str) -> None:
    staff(story)
    case = CHANGES[change]
    row = case.row(story)
    posted = len(story.notifier.deliveries)
    now = case.happens(story)
    later = now if isinstance(now, Story) else story
    later.clock.advance(seconds=5)
    later.rests()
    after = story.approval(row.id)
    assert after.status is Status.STALE
    result = after.result or {}
    assert case.words in str(result["problem"])
    assert case.detail in str(result["detail"])
    assert booked(story, row) == 0
    assert chips(story, row)[-1].data["status"] == "failed"
    (said,) = told(story, row)
    assert (said["error"], said["reason"]) == ("stale", result["problem"])
    heard = [*told(story, row), *(event.data for event in story.log(row.conversation_id))]
    assert not case.detail or case.detail not in str(heard)
    assert "something changed in the meantime" in story.agent_words(row.conversation_id)[-1]
    drawn = [] if row.automatic else [DeliveryKind.CARD_UPDATE, DeliveryKind.THREAD]
    cards = about(story, row, posted)
    assert [delivery.kind for delivery in cards] == drawn
    assert all(d.approval is not None and d.approval.approval == after for d in cards)
    fact = next(f for f in story.facts(row) if f["type"] == "approval.stale")
    assert {name: fact["data"][name] for name in result} == result

    answer = ask_again(later.desk, row.id, story.order(ANA))
    if case.again:
        assert isinstance(answer, Approval)
    else:
        denied = refused(answer)
        assert (denied.code, denied.message[:22]) == (RefusalCode.INVALID, "Not possible any more:")
        assert case.words.split(" USD")[0] in denied.message
        assert story.approval(row.id).superseded_by is None


@pytest.mark.parametrize("reach", [stale, expired])
def test_asking_again_is_a_row_of_its_own(story: Story, reach: Callable[[Story], Approval]) -> None:
    staff(story)
    old = reach(story)
    disputes(story, disputed=False)
    story.clock.advance(minutes=7)
    posted = len(story.notifier.deliveries)
    new = ask_again(story.desk, old.id, story.order(ANA, ""))
    assert isinstance(new, Approval)
    assert (new.status, new.payload, new.payload_text) == (
        Status.PENDING,
        old.payload,
        old.payload_text,
    )
    assert new.payload_hash != old.payload_hash
    assert new.idempotency_key != old.idempotency_key
    assert new.expires_at == story.clock.now() + timedelta(minutes=30)
    assert (new.supersedes, new.revision) == (old.id, 2)
    assert (new.attempts, new.result, new.decided_at, new.use_by) == (0, None, None, None)
    assert new.findings[0].code is Reason.ASKED_AGAIN
    before = story.approval(old.id)
    assert (before.status, before.superseded_by) == (old.status, new.id)
    story.rests()
    assert [d.kind for d in about(story, new, posted)] == [DeliveryKind.CARD]
    assert [d.kind for d in about(story, old, posted)] == [DeliveryKind.CARD_UPDATE]
    assert told(story, new) == [
        {"event": "asked_again", "approval_id": new.id, "instead_of": old.id}
    ]
    assert chips(story, new)[-1].data["status"] == "pending"
    fact = next(f for f in story.facts(old) if f["type"] == "approval.asked_again")
    assert fact["data"]["new_approval_id"] == new.id
    assert isinstance(story.approves(ANA, new), Decided)
    story.rests()
    assert (booked(story, new), booked(story, old)) == (16000, 0)


def test_it_is_asked_again_once(story: Story) -> None:
    staff(story)
    old = expired(story)
    new = ask_again(story.desk, old.id, story.order(ANA))
    assert isinstance(new, Approval)
    twice = refused(ask_again(story.desk, old.id, story.order(BEN)))
    assert (twice.code, twice.message) == (
        RefusalCode.SUPERSEDED,
        f"It was asked again already: {new.id}.",
    )
    story.clock.advance(minutes=30)
    story.sweeps()
    third = ask_again(story.desk, new.id, story.order(BEN))
    assert isinstance(third, Approval)
    assert [finding.code for finding in third.findings] == [
        Reason.ASKED_AGAIN,
        Reason.AMOUNT_OVER_LIMIT,
        Reason.EARLIER_NO,
    ]
    assert third.findings[0].text == "Ben asked again after it expired"
    assert third.findings[2].text == (
        "A refund on this order was not decided in time in the last 30 days"
    )


@pytest.mark.parametrize("reach", [parked, executed, rejected, withdrawn])
def test_only_what_lapsed_is_asked_again(story: Story, reach: Callable[[Story], Approval]) -> None:
    staff(story)
    row = reach(story)
    answer = refused(ask_again(story.desk, row.id, story.order(MIA)))
    assert answer.code is RefusalCode.INVALID
    assert answer.message.endswith(f"is asked again; this is {row.status}.")
    assert story.approval(row.id) == row


def test_nothing_is_asked_again_that_does_not_exist(story: Story) -> None:
    staff(story)
    nothing = refused(ask_again(story.desk, ApprovalId("apr_no"), story.order(MIA)))
    assert nothing.code is RefusalCode.NOT_FOUND


def test_an_identical_request_that_waits_is_enough(story: Story) -> None:
    staff(story)
    old = expired(story)
    waiting = parked(story)
    answer = refused(ask_again(story.desk, old.id, story.order(ANA)))
    assert answer.message == f"An identical request is waiting already: {waiting.id}."


@pytest.mark.parametrize("who", [OLU, Identity("cli", "nobody")])
def test_asking_again_takes_the_tiers_role(story: Story, who: Identity) -> None:
    staff(story)
    old = expired(story)
    answer = refused(ask_again(story.desk, old.id, story.order(who)))
    assert answer.code is RefusalCode.NOT_ALLOWED
    assert story.facts(old)[-1]["data"]["verdict"] == "ask_again"


def test_a_small_refund_asked_again_waits_for_people(story: Story) -> None:
    staff(story)
    row = turned_away(story)
    story.clock.advance(minutes=15)
    story.rests()
    assert story.approval(row.id).status is Status.STALE
    new = ask_again(story.desk, row.id, story.order(ANA))
    assert isinstance(new, Approval)
    assert (new.automatic, new.status) == (False, Status.PENDING)
    story.rests()
    assert story.paid() == []


def test_the_higher_tier_of_then_and_now_decides(story: Story) -> None:
    staff(story)
    old = parked(story, "2340.00", "ORD-1004")
    story.approves(ANA, old)
    # So much money has the same time once more.
    story.clock.advance(minutes=60)
    story.sweeps()
    lax = story.under(policy(refunds={"tiers": {"USD": [{"role": "refund_approver"}]}}))
    new = ask_again(lax.desk, old.id, story.order(ANA))
    assert isinstance(new, Approval)
    assert new.tier.approvals_needed == 2
    # The vote on the row that lapsed does not count for this one.
    assert isinstance(lax.approves(ANA, new), Voted)
    assert isinstance(lax.approves(MIA, new), Decided)


def test_who_edited_is_still_left_out(story: Story) -> None:
    staff(story)
    raised = edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))
    story.clock.advance(minutes=30)
    story.sweeps()
    new = ask_again(story.desk, raised.id, story.order(ANA))
    assert isinstance(new, Approval)
    assert refused(story.approves(ANA, new)).code is RefusalCode.SELF_APPROVAL
    assert isinstance(story.approves(MAX, new), Decided)


def test_while_everything_is_stopped_it_may_be_asked_again(story: Story) -> None:
    staff(story)
    old = expired(story)
    stop_all(story.desk, story.order(OLU))
    assert isinstance(ask_again(story.desk, old.id, story.order(ANA)), Approval)


def test_the_customer_who_comes_back_may_join_what_was_asked_again(story: Story) -> None:
    staff(story)
    old = expired(story)
    new = ask_again(story.desk, old.id, story.order(ANA))
    assert isinstance(new, Approval)
    call = story.refund_call("160.00", call_id="call_2")
    (joined,) = story.proposes(old.conversation_id, call)
    assert joined["approval_id"] == new.id
