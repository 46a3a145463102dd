"""Each reason to wait and each reason to refuse, reached through the real gate by real tools."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent.domain.approvals import Approval, Status
from agent.domain.risk import Reason, Refusal
from agent.ports import DeliveryKind
from agent.providers.sink_mail import NoMailer
from agent.steps.ask_again import ask_again
from agent.steps.stop import stop_all
from tests.story.orders import owner_of
from tests.story.ways import ANA, BEN, MIA, OLU, edited, expired, parked, staff, usd
from tests.support.builders import policy
from tests.support.desk import Story

Call = tuple[str, str, str]


@dataclass(frozen=True)
class Waits:
    """A way to make something wait; `words` stand on its card beside the reason."""

    reach: Callable[[Story], Approval]
    words: str


@dataclass(frozen=True)
class Refuses:
    """A way to have something refused; returns the tool's result. `words` are its message."""

    reach: Callable[[Story], dict[str, Any]]
    words: str


def asked(story: Story, call: Call, order: str = "ORD-1001") -> dict[str, Any]:
    """Let the order's owner's agent make one call and return what it was answered."""
    (result,) = story.proposes(story.opens_chat(owner_of(story, order)), call)
    return result


def waiting(story: Story, call: Call, order: str = "ORD-1001") -> Approval:
    """Let a call wait and return its row."""
    result = asked(story, call, order)
    row = story.newest(call[1])
    assert row.status is Status.PENDING, result
    told = {"ok": True, "status": "noted"} if row.tool == "flag_for_fraud" else None
    assert (told or result) == result
    assert result.get("approval_id", row.id) == row.id
    return row


def a_refund(amount: str, order: str = "ORD-1001", **more: Any) -> Callable[[Story], Approval]:
    return lambda story: waiting(story, story.refund_call(amount, order, **more), order)


def a_split(story: Story) -> Approval:
    assert asked(story, story.refund_call("30.00"))["status"] == "executed"
    return waiting(story, story.refund_call("20.01"))


def an_own_text(story: Story) -> Approval:
    return waiting(story, story.email_call(subject="About your chair", body="It is on its way."))


def a_high_score(story: Story) -> Approval:
    return waiting(story, story.flag_call("0.8001"))


def after_a_no(story: Story) -> Approval:
    story.rejects(ANA, parked(story))
    story.rests()
    return waiting(story, story.refund_call("5.00"))


def a_tool_without_limits(story: Story) -> Approval:
    careful = story.under(policy(emails={"templates_run": False}))
    call = story.email_call(template="photo_request", order_id="ORD-1001")
    return waiting(careful, call)


def with_an_open_breaker(story: Story) -> Approval:
    parks = story.under(policy(breaker={"when_open": "park", "max_refunds": 1}))
    assert asked(parks, story.refund_call("5.00"))["status"] == "executed"
    return waiting(parks, story.refund_call("6.00"))


def while_paused(story: Story) -> Approval:
    story.approves(MIA, a_high_score(story))
    story.rests()
    return waiting(story, story.refund_call("5.00"))


def after_an_edit(story: Story) -> Approval:
    return edited(story.edits(ANA, parked(story, "120.00"), usd(15000)))


def after_asking_again(story: Story) -> Approval:
    again = ask_again(story.desk, expired(story).id, story.order(ANA))
    assert isinstance(again, Approval)
    return again


WAITS: dict[Reason, Waits] = {
    Reason.AMOUNT_OVER_LIMIT: Waits(
        a_refund("50.01"), "50.01 USD is over the automatic limit of 50.00 USD"
    ),
    Reason.CUMULATIVE_OVER_LIMIT: Waits(a_split, "would reach 50.01 USD, over the limit of 50.00"),
    Reason.LOW_CONFIDENCE: Waits(
        a_refund("5.00", confidence="0.8999"), "confidence 0.8999 is under 0.90"
    ),
    Reason.IRREVERSIBLE_MESSAGE: Waits(an_own_text, "The text is the agent's own"),
    Reason.FRAUD_FLAG: Waits(a_high_score, "The fraud score 0.8001 is over 0.80"),
    Reason.EARLIER_NO: Waits(after_a_no, "was declined in the last 30 days"),
    Reason.NO_LIMIT_FOR_CURRENCY: Waits(
        a_refund("5.00", "ORD-1009", currency="EUR"), "No automatic limit is set for EUR"
    ),
    Reason.AMBIGUOUS: Waits(a_refund("5.00", scope="unclear"), "full or a partial refund"),
    Reason.TOOL_REQUIRES_APPROVAL: Waits(a_tool_without_limits, "no e-mail leave without a person"),
    Reason.BREAKER_OPEN: Waits(with_an_open_breaker, "Too many automatic refunds"),
    Reason.AUTOMATIC_PAUSED: Waits(while_paused, "a fraud flag holds the customer"),
    Reason.HUMAN_EDIT: Waits(after_an_edit, "Ana changed the amount from 120.00 USD to 150.00 USD"),
    Reason.ASKED_AGAIN: Waits(after_asking_again, "Ana asked again after it expired"),
}


def a_call(tool: str, arguments: str) -> Callable[[Story], dict[str, Any]]:
    return lambda story: asked(story, ("call_1", tool, arguments))


def of_a_refund(amount: str, order: str = "ORD-1001", **more: Any) -> Callable[[Story], Any]:
    return lambda story: asked(story, story.refund_call(amount, order, **more), order)


def of_a_visitor(story: Story) -> dict[str, Any]:
    (result,) = story.proposes(story.opens_chat(None), story.refund_call("5.00"))
    return result


def of_somebody_else(story: Story) -> dict[str, Any]:
    (result,) = story.proposes(story.opens_chat("cus_ben"), story.refund_call("5.00"))
    return result


def once_more_after_a_no(story: Story) -> dict[str, Any]:
    row = parked(story)
    story.rejects(ANA, row)
    story.rests()
    call = story.refund_call("160.00", call_id="call_2")
    (result,) = story.proposes(row.conversation_id, call)
    return result


def once_more_after_an_edit(story: Story) -> dict[str, Any]:
    row = parked(story, "100.00")
    edited(story.edits(ANA, row, usd(6000)))
    call = story.refund_call("100.00", call_id="call_2")
    (result,) = story.proposes(row.conversation_id, call)
    return result


def after_three_noes(story: Story) -> dict[str, Any]:
    chat = story.opens_chat("cus_clara")
    for amount in ("160.00", "140.00", "120.00"):
        story.proposes(chat, story.refund_call(amount, call_id=f"call_{amount}"))
        story.rejects(ANA, story.only(Status.PENDING))
        story.rests()
    return asked(story, story.refund_call("60.00"))


def a_sixth(story: Story) -> dict[str, Any]:
    for number in range(5):
        parked(story, f"{60 + number}.00")
    return asked(story, story.refund_call("70.00"))


def while_stopped(story: Story) -> dict[str, Any]:
    stop_all(story.desk, story.order(OLU))
    return asked(story, story.refund_call("5.00"))


def past_the_breaker(story: Story) -> dict[str, Any]:
    strict = story.under(policy(breaker={"max_refunds": 1}))
    assert asked(strict, story.refund_call("5.00"))["status"] == "executed"
    return asked(strict, story.refund_call("6.00"))


def without_a_mail_server(story: Story) -> dict[str, Any]:
    mute = replace(story, desk=replace(story.desk, mailer=NoMailer()))
    return asked(mute, story.email_call(template="photo_request", order_id="ORD-1001"))


REFUSES: dict[Refusal, Refuses] = {
    Refusal.UNKNOWN_TOOL: Refuses(a_call("drop_tables", "{}"), "There is no such tool"),
    Refusal.INVALID_ARGUMENTS: Refuses(of_a_refund("10.555"), "amount"),
    Refusal.NOT_VERIFIED: Refuses(of_a_visitor, "Please sign in"),
    Refusal.NOT_FOUND: Refuses(of_somebody_else, "No such order was found"),
    Refusal.NOT_PAID: Refuses(of_a_refund("5.00", "ORD-1014"), "ORD-1014 has not been paid"),
    Refusal.DISPUTED: Refuses(of_a_refund("5.00", "ORD-1007"), "is disputed with the bank"),
    Refusal.FINAL_SALE: Refuses(of_a_refund("5.00", "ORD-1011"), "Final-sale items"),
    Refusal.WRONG_CURRENCY: Refuses(of_a_refund("5.00", currency="EUR"), "was paid in USD"),
    Refusal.INVALID_AMOUNT: Refuses(of_a_refund("0"), "more than zero"),
    Refusal.OVER_REMAINING: Refuses(of_a_refund("160.01"), "Only 160.00 USD"),
    Refusal.ALREADY_REJECTED: Refuses(once_more_after_a_no, "already declined exactly this"),
    Refusal.ALREADY_EDITED: Refuses(once_more_after_an_edit, "has changed exactly this request"),
    Refusal.TOO_MANY_REJECTIONS: Refuses(after_three_noes, "a person takes over from here"),
    Refusal.TOO_MANY_OPEN: Refuses(a_sixth, "Too many requests are still waiting"),
    Refusal.STOPPED: Refuses(while_stopped, "paused at the moment"),
    Refusal.BREAKER_OPEN: Refuses(past_the_breaker, "paused for a moment"),
    Refusal.NOT_AVAILABLE: Refuses(without_a_mail_server, "cannot be sent at the moment"),
}


def test_every_reason_and_every_refusal_has_its_story() -> None:
    assert set(WAITS) == set(Reason)
    assert set(REFUSES) == set(Refusal)


@pytest.mark.parametrize("reason", WAITS)
def test_a_reason_makes_it_wait_and_stands_on_the_card(story: Story, reason: Reason) -> None:
    staff(story)
    row = WAITS[reason].reach(story)
    paid = story.paid()
    assert row.status is Status.PENDING
    finding = next(f for f in row.findings if f.code is reason)
    assert WAITS[reason].words in finding.text
    story.tells()
    card = story.notifier.of(DeliveryKind.CARD)[-1]
    assert card.approval is not None
    # Whether it was seen before is not on it.
    drawn = replace(card.approval.approval, shown_at=None)
    assert drawn == replace(row, shown_at=None)
    (begun,) = (f for f in story.facts(row) if f["type"] == "proposal.parked")
    assert reason.value in begun["data"]["reasons"]
    story.rests()
    assert story.approval(row.id).status is Status.PENDING
    assert story.paid() == paid


@pytest.mark.parametrize("refusal", REFUSES)
def test_a_refusal_is_told_and_nothing_waits(story: Story, refusal: Refusal) -> None:
    staff(story)
    result = REFUSES[refusal].reach(story)
    assert (result["ok"], result["error"]) == (False, refusal.value)
    assert REFUSES[refusal].words in result["message"]
    assert "approval_id" not in result
    refused = [fact for fact in story.facts() if fact["type"] == "proposal.refused"]
    assert [fact["data"]["code"] for fact in refused] == [refusal.value]
    rows = [row for status in Status for row in story.all(status)]
    before = {
        "already_rejected": 1,
        "already_edited": 2,
        "too_many_rejections": 3,
        "too_many_open": 5,
        "breaker_open": 1,
    }
    assert len(rows) == before.get(refusal.value, 0)


def test_of_several_reasons_each_is_named(story: Story) -> None:
    staff(story)
    row = a_refund("50.01", confidence="0.5", scope="unclear")(story)
    assert [finding.code for finding in row.findings] == [
        Reason.AMOUNT_OVER_LIMIT,
        Reason.LOW_CONFIDENCE,
        Reason.AMBIGUOUS,
    ]


def test_confidence_only_raises_the_gate(story: Story) -> None:
    staff(story)
    assert a_refund("50.01", confidence="1")(story).status is Status.PENDING
    assert asked(story, story.refund_call("161.00", confidence="1"))["error"] == "over_remaining"
    story.approves(BEN, story.only(Status.PENDING))
    story.rests()
    assert story.paid() == [("ORD-1001", usd(5001))]
