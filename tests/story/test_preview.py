"""What an edit would come to, told before it is saved: by the checks of saving, and no trace."""

from dataclasses import replace

from agent.domain.approvals import Approval, Status, Verdict
from agent.domain.decision import Decision, Edits, RefusalCode
from agent.domain.ids import ApprovalId
from agent.domain.judgement import Denial
from agent.domain.money import Money
from agent.domain.roles import Channel, Identity, Role, Tier
from agent.steps.decide import decide
from agent.steps.preview import Preview, preview
from tests.support.desk import Story


def wish(approval: Approval, who: Identity, amount: str) -> Decision:
    return Decision(
        approval_id=approval.id,
        identity=who,
        verdict=Verdict.EDIT,
        shown_hash=approval.payload_hash,
        channel=Channel.SLACK,
        edits=Edits(amount=Money(int(amount.replace(".", "")), "USD")),
    )


def test_a_preview_says_what_saving_then_does(story: Story) -> None:
    ann, ben = (story.hire(name, Role.REFUND_APPROVER) for name in ("ann", "ben"))
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "100.00")
    first = story.only(Status.PENDING)
    before = story.trail()
    lower = preview(story.desk, wish(first, ann, "90.00"))
    assert isinstance(lower, Preview)
    assert (lower.payload["amount"], lower.counts) == ({"minor": 9000, "currency": "USD"}, True)
    assert lower.tier == Tier(Role.REFUND_APPROVER)
    assert lower.snapshot is not None
    higher = preview(story.desk, wish(first, ann, "150.00"))
    assert isinstance(higher, Preview)
    assert not higher.counts
    stranger = preview(story.desk, wish(first, Identity("cli", "nobody"), "90.00"))
    assert isinstance(stranger, Preview)
    assert not stranger.counts
    assert story.trail() == before

    # Who raised it once ends nothing alone, also below the agent's own proposal.
    decide(story.desk, wish(first, ann, "150.00"))
    second = story.only(Status.PENDING)
    for who, counts in ((ann, False), (ben, True)):
        again = preview(story.desk, wish(second, who, "90.00"))
        assert isinstance(again, Preview)
        assert again.counts is counts


def test_a_preview_of_what_cannot_be_says_why(story: Story) -> None:
    ann = story.hire("ann", Role.REFUND_APPROVER)
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "100.00")
    waiting = story.only(Status.PENDING)
    wanted = wish(waiting, ann, "90.00")

    def refused(decision: Decision) -> RefusalCode:
        found = preview(story.desk, decision)
        assert isinstance(found, Denial)
        return found.code

    missing = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert refused(replace(wanted, approval_id=missing)) is RefusalCode.NOT_FOUND
    assert refused(replace(wanted, shown_hash="0" * 64)) is RefusalCode.PAYLOAD_CHANGED
    assert refused(wish(waiting, ann, "5000.00")) is RefusalCode.INVALID
    assert refused(wish(waiting, ann, "100.00")) is RefusalCode.INVALID
    story.clock.at = waiting.expires_at
    assert refused(wanted) is RefusalCode.ALREADY_DECIDED
