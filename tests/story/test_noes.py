"""After so many noes a person takes over, and what nobody said yes to is looked at by people."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.conversation import RunState
from agent.domain.ids import ConversationId
from agent.domain.risk import Reason
from agent.ports import DeliveryKind
from storage import runs
from tests.story.ways import ANA, MIA, parked, staff
from tests.support.builders import policy
from tests.support.desk import Story

AMOUNTS = ("160.00", "140.00", "120.00")
OFFER = "If you like, I can pass you to a person."
DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
TEMPLATE = {"template": "photo_request", "order_id": "ORD-1001"}


def asks(
    story: Story, amount: str = "60.00", chat: ConversationId | None = None, order: str = "ORD-1001"
) -> dict[str, Any]:
    """Let Clara's agent ask for a refund and return what it was answered."""
    where = chat or story.opens_chat("cus_clara")
    call = story.refund_call(amount, order, call_id=f"call_{amount}_{len(story.trail())}")
    (result,) = story.proposes(where, call)
    return result


def hears_no(story: Story, chat: ConversationId, amount: str, order: str = "ORD-1001") -> Approval:
    """Let people say no to a refund."""
    row = story.approval(asks(story, amount, chat, order)["approval_id"])
    story.rejects(ANA, row)
    story.rests()
    return story.approval(row.id)


def three_noes(story: Story) -> ConversationId:
    """Let people say no three times about one order, in one chat."""
    chat = story.opens_chat("cus_clara")
    for amount in AMOUNTS:
        hears_no(story, chat, amount)
    return chat


def test_after_three_noes_the_gate_is_shut_for_this_order(story: Story) -> None:
    staff(story)
    chat = three_noes(story)
    shut_in = (chat, story.opens_chat("cus_clara"))
    for where in shut_in:
        # An amount that would run without a person is refused as well.
        for amount in ("60.00", "5.00"):
            shut = asks(story, amount, where)
            assert (shut["ok"], shut["error"]) == (False, "too_many_rejections")
            assert shut["message"] == (
                "The team has declined this before; a person takes over from here."
            )
    assert story.paid() == []
    # Each conversation that reads so is passed to a person.
    handed = [one.body["conversation_id"] for one in story.notifier.of(DeliveryKind.HAND_OFF)]
    assert set(handed) == set(shut_in)
    # Another order, and another way, have counts of their own.
    assert asks(story, "5.00", chat, "ORD-1002")["status"] == "executed"
    (mail,) = story.proposes(chat, story.email_call("call_m", **TEMPLATE))
    assert mail["status"] == "executed"


@pytest.mark.parametrize(("later", "shut"), [(DAY - MICROSECOND, True), (DAY, False)])
def test_a_new_chat_is_shut_for_a_day(story: Story, later: timedelta, shut: bool) -> None:
    staff(story)
    chat = three_noes(story)
    story.clock.at += later
    elsewhere = asks(story)
    assert elsewhere.get("error", elsewhere.get("status")) == (
        "too_many_rejections" if shut else "pending_approval"
    )
    # In the chat where it was said, no time opens it.
    assert asks(story, "61.00", chat)["error"] == "too_many_rejections"


def test_two_noes_leave_the_gate_open_and_the_policy_says_how_many(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    for amount in AMOUNTS[:2]:
        hears_no(story, chat, amount)
    short = story.under(policy(max_revisions=2))
    assert asks(short, "60.00", chat)["error"] == "too_many_rejections"
    assert asks(story, "60.00", chat)["status"] == "pending_approval"


def test_only_the_third_no_takes_the_offer_back(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    for amount, offered in zip(AMOUNTS, (True, True, False), strict=True):
        row = hears_no(story, chat, amount)
        last = story.agent_words(chat)[-1]
        assert last.startswith(f"Our team has declined the refund of {amount} USD")
        assert "outside the return window" in last
        assert (OFFER in last) is offered
        assert state(story, row) is (RunState.DONE if offered else RunState.ESCALATED)
    (handed,) = story.notifier.of(DeliveryKind.HAND_OFF)
    assert (handed.body["rejections"], handed.body["customer"]) == (3, "Clara Nguyen (cus_clara)")


def state(story: Story, row: Approval) -> RunState:
    with story.desk.store.transaction(write=False) as tx:
        run = runs.get(tx, row.run_id)
    assert run is not None
    return run.state


def test_noes_of_one_customer_are_not_another_ones(story: Story) -> None:
    """Without an order all of a customer's requests by the tool count, and nobody else's."""
    staff(story)
    for number in range(3):
        row = own_text(story, "cus_clara", f"Word {number}.")
        story.rejects(ANA, row)
        story.rests()
    chat = story.opens_chat("cus_clara")
    call = story.email_call("call_x", subject="About you", body="One more.")
    (shut,) = story.proposes(chat, call)
    assert shut["error"] == "too_many_rejections"
    assert own_text(story, "cus_ben", "Hello Ben.").status is Status.PENDING
    # With an order it is another matter.
    about = story.email_call("call_y", subject="About it", body="One.", order_id="ORD-1001")
    (other,) = story.proposes(chat, about)
    assert other["status"] == "pending_approval"


def own_text(story: Story, customer: str, body: str) -> Approval:
    """Let an e-mail about no order wait, in a chat of its own."""
    call = story.email_call("call_1", subject="About you", body=body)
    (result,) = story.proposes(story.opens_chat(customer), call)
    assert result["status"] == "pending_approval", result
    return story.approval(result["approval_id"])


@dataclass(frozen=True)
class Kind:
    """A tool whose call waits once for another reason, and would not wait by itself."""

    tool: str
    words: str

    def call(self, story: Story, confidence: str) -> tuple[str, str, str]:
        call_id = f"call_{len(story.trail())}"
        if self.tool == "send_email":
            return story.email_call(call_id, **(TEMPLATE | {"confidence": confidence}))
        return story.flag_call("0.50", call_id, confidence=confidence)


KINDS = pytest.mark.parametrize(
    "kind",
    [Kind("send_email", "The same e-mail"), Kind("flag_for_fraud", "The same flag")],
    ids=["e-mail", "flag"],
)


def proposed(story: Story, kind: Kind, confidence: str = "0.95") -> Approval:
    """Let Clara's agent propose it in a new chat, and return its row."""
    story.proposes(story.opens_chat("cus_clara"), kind.call(story, confidence))
    return story.newest(kind.tool)


@KINDS
@pytest.mark.parametrize("ends", ["rejected", "expired"])
def test_what_got_no_yes_waits_when_it_comes_again(story: Story, kind: Kind, ends: str) -> None:
    staff(story)
    doubtful = proposed(story, kind, "0.5")
    assert doubtful.status is Status.PENDING
    if ends == "rejected":
        story.rejects(MIA, doubtful)
    else:
        story.clock.at = doubtful.expires_at
    story.sweeps()
    story.rests()
    ended_at = story.clock.now()
    row = proposed(story, kind)
    assert row.id != doubtful.id
    assert [(f.code, f.text) for f in row.findings] == [
        (
            Reason.EARLIER_NO,
            f"{kind.words} {went(ends)} in the last 30 days",
        )
    ]
    story.approves(MIA, row)
    story.rests()
    for later, codes in (
        (timedelta(days=30) - MICROSECOND, [Reason.LOW_CONFIDENCE, Reason.EARLIER_NO]),
        (timedelta(days=30), [Reason.LOW_CONFIDENCE]),
    ):
        story.clock.at = ended_at + later
        late = proposed(story, kind, "0.5")
        assert [finding.code for finding in late.findings] == codes
        story.approves(MIA, late)
        story.rests()


def went(ends: str) -> str:
    return "was declined" if ends == "rejected" else "was not decided in time"


@KINDS
def test_only_an_identical_one_is_remembered(story: Story, kind: Kind) -> None:
    staff(story)
    doubtful = proposed(story, kind, "0.5")
    story.rejects(MIA, doubtful)
    story.rests()
    other = {
        "send_email": story.email_call("call_o", template="delay_apology", order_id="ORD-1001"),
        "flag_for_fraud": story.flag_call("0.51", "call_o"),
    }[kind.tool]
    story.proposes(story.opens_chat("cus_clara"), other)
    assert story.newest(kind.tool).status is Status.EXECUTED


def test_of_money_any_amount_is_remembered(story: Story) -> None:
    staff(story)
    story.rejects(ANA, parked(story))
    story.rests()
    row = story.approval(asks(story, "5.00")["approval_id"])
    assert [finding.code for finding in row.findings] == [Reason.EARLIER_NO]
    assert asks(story, "5.00", order="ORD-1002")["status"] == "executed"
