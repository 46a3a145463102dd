"""Automatic effects are looked at afterwards: a share by chance, the large ones all."""

from dataclasses import dataclass, replace

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.decision import RefusalCode
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.reviews import Review, ReviewState
from agent.domain.risk import Reason
from agent.domain.roles import Identity
from agent.ports import DeliveryKind
from agent.steps.review import answer_review, resume_automatic
from bot.sandbox.payments_faults import FaultKind
from storage import pauses, reviews
from tests.story.ways import ANA, BEN, MAX, MIA, OLU, approved, booked, links, refused, staff, told
from tests.support.builders import policy
from tests.support.desk import Story
from tests.support.doubles import CountingIds


@dataclass
class LoadedIds(CountingIds):
    """Ids with a chance of the story's choosing."""

    chance: float = 0.0

    @override
    def jitter(self) -> float:
        """Return the chosen chance."""
        return self.chance


def by_chance(story: Story, chance: float) -> Story:
    """Return the story with a loaded die."""
    ids = LoadedIds(chance=chance)
    assert isinstance(story.desk.ids, CountingIds)
    ids.numbers = story.desk.ids.numbers
    return replace(story, desk=replace(story.desk, ids=ids))


def review_of(story: Story, row: Approval) -> Review | None:
    with story.desk.store.transaction(write=False) as tx:
        return reviews.get(tx, row.id)


def ran(story: Story, amount: str = "5.00", order: str = "ORD-1001") -> Approval:
    """Let an automatic refund run."""
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.refund_call(amount, order))
    assert result["status"] == "executed", result
    return story.approval(result["approval_id"])


def answers(
    story: Story, row: Approval, *, right: bool, who: Identity = ANA, reason: str = ""
) -> object:
    return answer_review(story.desk, row.id, story.order(who, reason), right=right)


@pytest.mark.parametrize(
    ("amount", "chance", "why"),
    [
        ("5.00", 0.0, "share"),
        ("5.00", 0.0999, "share"),
        ("5.00", 0.1, None),
        ("25.00", 0.999, None),
        ("25.01", 0.999, "large"),
        ("50.00", 0.999, "large"),
        ("25.01", 0.0, "large"),
    ],
)
def test_a_share_by_chance_and_every_large_one(
    story: Story, amount: str, chance: float, why: str | None
) -> None:
    staff(story)
    row = ran(by_chance(story, chance), amount)
    review = review_of(story, row)
    assert (None if review is None else review.why) == why
    asked = story.notifier.of(DeliveryKind.REVIEW)
    assert [delivery.body["why"] for delivery in asked] == ([] if why is None else [why])
    assert story.trail().count("review.asked") == len(asked)
    assert all(d.approval is not None and d.approval.approval.id == row.id for d in asked)


@pytest.mark.parametrize(("chance", "asked"), [(0.0499, 1), (0.05, 0)])
def test_other_tools_have_shares_of_their_own(story: Story, chance: float, asked: int) -> None:
    staff(story)
    loaded = by_chance(story, chance)
    call = story.email_call(template="photo_request", order_id="ORD-1001")
    loaded.proposes(loaded.opens_chat("cus_clara"), call)
    assert len(story.notifier.of(DeliveryKind.REVIEW)) == asked


def test_what_people_approved_is_not_looked_at_again(story: Story) -> None:
    staff(story)
    row = approved(story)
    story.rests()
    assert story.approval(row.id).status is Status.EXECUTED
    assert review_of(story, row) is None


def test_what_did_not_run_is_not_looked_at(story: Story) -> None:
    staff(story)
    story.payments.plan(FaultKind.DECLINED, 1)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.refund_call("50.00"))
    assert review_of(story, story.only(Status.FAILED)) is None


def test_what_was_found_done_later_is_looked_at_too(story: Story) -> None:
    staff(story)
    story.payments.plan(FaultKind.TIMEOUT_AFTER, 1)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.refund_call("50.00"))
    row = story.only(Status.UNKNOWN)
    assert review_of(story, row) is None
    story.clock.advance(seconds=10)
    story.sweeps()
    review = review_of(story, row)
    assert review is not None
    assert (review.why, review.state) == ("large", ReviewState.OPEN)


def test_looks_right_ends_it(story: Story) -> None:
    staff(story)
    row = ran(story)
    done = answers(story, row, right=True)
    assert isinstance(done, Review)
    assert (done.state, done.actor_name, done.reason) == (ReviewState.RIGHT, "Ana", "")
    assert done.answered_at == story.clock.now()
    story.rests()
    (update,) = story.notifier.of(DeliveryKind.REVIEW_UPDATE)
    assert update.approval is not None
    assert update.approval.approval.id == row.id
    ran(story, "6.00")
    late = refused(answers(story, row, right=False, who=BEN, reason="I think otherwise"))
    assert (late.code, late.message) == (
        RefusalCode.ALREADY_DECIDED,
        "Ana has answered already.",
    )
    with story.desk.store.transaction(write=False) as tx:
        assert reviews.counts(tx) == {
            ReviewState.OPEN: 1,
            ReviewState.RIGHT: 1,
            ReviewState.FLAGGED: 0,
        }


def test_a_flag_pauses_the_automatic_path_of_the_customer(story: Story) -> None:
    staff(story)
    row = ran(story)
    paid = booked(story, row)
    done = answers(story, row, right=False, who=MIA, reason="the lamp was fine")
    assert isinstance(done, Review)
    assert (done.state, done.reason) == (ReviewState.FLAGGED, "the lamp was fine")
    assert booked(story, row) == paid == 500
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.refund_call("6.00"))
    waiting = story.approval(result["approval_id"])
    assert [finding.code for finding in waiting.findings] == [Reason.AUTOMATIC_PAUSED]
    assert f"a review flagged {row.id}" in waiting.findings[0].text
    paused = next(f for f in story.facts() if f["type"] == "automatic.paused")
    assert (paused["data"]["customer_id"], paused["data"]["reason"]) == (
        "cus_clara",
        "the lamp was fine",
    )
    assert told(story, row) == []
    order = story.order(MIA, "talked to them")
    assert resume_automatic(story.desk, CustomerId("cus_clara"), order) is True
    ran(story, "7.00")


def test_a_policy_may_leave_the_path_open(story: Story) -> None:
    staff(story)
    lenient = story.under(policy(review={"flag_pauses_customer": False}))
    row = ran(lenient)
    assert isinstance(answers(lenient, row, right=False, reason="the lamp was fine"), Review)
    assert "automatic.paused" not in story.trail()
    ran(lenient, "6.00")


def test_a_second_flag_adds_its_reason_to_the_pause(story: Story) -> None:
    staff(story)
    first, second = ran(story), ran(story, "6.00")
    for row in (first, second):
        assert isinstance(answers(story, row, right=False, reason="the lamp was fine"), Review)
    assert story.trail().count("review.answered") == 2
    assert story.trail().count("automatic.paused") == 2
    with story.desk.store.transaction(write=False) as tx:
        (pause,) = pauses.everyone(tx)
    assert pause.customer_id == first.customer_id
    assert pause.reason == (f"a review flagged {first.id}; a review flagged {second.id}")
    assert resume_automatic(story.desk, first.customer_id, story.order(MIA)) is True
    assert ran(story, "7.00").status is Status.EXECUTED


@pytest.mark.parametrize(
    ("who", "right", "reason", "code"),
    [
        (OLU, True, "", RefusalCode.NOT_ALLOWED),
        (Identity("cli", "nobody"), True, "", RefusalCode.NOT_ALLOWED),
        (ANA, False, "no", RefusalCode.REASON_REQUIRED),
    ],
)
def test_who_may_look_and_what_a_flag_takes(
    story: Story, who: Identity, right: bool, reason: str, code: RefusalCode
) -> None:
    staff(story)
    row = ran(story)
    assert refused(answers(story, row, right=right, who=who, reason=reason)).code is code
    fact = story.facts(row)[-1]["data"]
    assert (fact["verdict"], fact["code"]) == ("review", code.value)
    review = review_of(story, row)
    assert review is not None
    assert review.state is ReviewState.OPEN


def test_there_is_nothing_to_look_at_where_nobody_was_asked(story: Story) -> None:
    staff(story)
    row = ran(by_chance(story, 0.999))
    assert refused(answers(story, row, right=True)).code is RefusalCode.NOT_FOUND
    nothing = answer_review(story.desk, ApprovalId("apr_no"), story.order(ANA), right=True)
    assert refused(nothing).code is RefusalCode.NOT_FOUND


def test_nobody_looks_at_their_own_or_lifts_their_own_pause(story: Story) -> None:
    staff(story)
    links(story, MIA, Identity("customer", "cus_clara"))
    row = ran(story)
    own = refused(answers(story, row, right=True, who=MIA))
    assert own.code is RefusalCode.SELF_APPROVAL
    answers(story, row, right=False, who=ANA, reason="the lamp was fine")
    lifted = resume_automatic(story.desk, CustomerId("cus_clara"), story.order(MIA, "that was me"))
    assert refused(lifted).code is RefusalCode.SELF_APPROVAL
    order = story.order(MAX, "talked to her")
    assert resume_automatic(story.desk, CustomerId("cus_clara"), order) is True
