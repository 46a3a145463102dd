"""What runs at once, what waits, what is refused: the whole way from the call to the book."""

import json
from typing import Any

import pytest

from agent.domain.approvals import Status
from agent.domain.money import Money
from agent.domain.roles import Role
from storage.transaction import Store
from tests.story.orders import owner_of
from tests.support.desk import Story, shipped_policy, tell_story
from tests.support.doubles import CountingIds, HandClock


def last_result(story: Story) -> dict[str, Any]:
    """Return the newest tool result that the model was shown."""
    for message in reversed(story.model.asked[-1].messages):
        if message.role == "tool":
            found: dict[str, Any] = json.loads(message.content)
            return found
    raise AssertionError("no tool result was shown")


def ask(story: Story, amount: str, order: str = "ORD-1001", **more: str) -> dict[str, Any]:
    """Ask for a refund in a fresh conversation of the order's owner."""
    chat = story.opens_chat(owner_of(story, order))
    story.asks_refund(chat, amount, order, **more)
    return last_result(story)


@pytest.mark.parametrize(
    ("amount", "order", "more", "code"),
    [
        ("0", "ORD-1001", {}, "invalid_amount"),
        ("-5", "ORD-1001", {}, "invalid_amount"),
        ("10.555", "ORD-1001", {}, "invalid_arguments"),
        ("NaN", "ORD-1001", {}, "invalid_arguments"),
        ("1000000000000", "ORD-1001", {}, "invalid_arguments"),
        ("6,95", "ORD-1001", {}, "invalid_arguments"),
        ("5000.00", "ORD-1001", {}, "over_remaining"),
        ("5.00", "ORD-1001", {"currency": "EUR"}, "wrong_currency"),
        ("5.00", "ORD-1001", {"currency": "QQQ"}, "invalid_arguments"),
    ],
)
def test_a_bad_amount_is_refused_and_audited(
    story: Story, amount: str, order: str, more: dict[str, str], code: str
) -> None:
    result = ask(story, amount, order, **more)
    assert result["ok"] is False
    assert result["error"] == code
    assert "proposal.refused" in story.trail()
    assert story.paid() == []
    assert story.all(Status.PENDING) == ()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unpaid", "not_paid"),
        ("disputed", "disputed"),
        ("final_sale", "final_sale"),
    ],
)
def test_an_order_that_cannot_be_refunded_is_refused(story: Story, kind: str, code: str) -> None:
    order = special_order(kind)
    assert ask(story, "5.00", order)["error"] == code


def test_somebody_elses_order_looks_like_none(story: Story) -> None:
    chat = story.opens_chat("cus_ben")
    assert owner_of(story, "ORD-1001") != "cus_ben"
    story.asks_refund(chat, "5.00", "ORD-1001")
    foreign = last_result(story)
    story.asks_refund(chat, "5.00", "ORD-9999", call_id="call_2")
    unknown = last_result(story)
    assert foreign == unknown
    assert foreign["error"] == "not_found"


def test_an_anonymous_visitor_cannot_ask_for_money(story: Story) -> None:
    chat = story.opens_chat(None)
    story.asks_refund(chat, "5.00")
    assert last_result(story)["error"] == "not_verified"
    assert story.paid() == []


def test_exactly_the_limit_runs_and_one_cent_more_waits(story: Story) -> None:
    assert ask(story, "50.01")["status"] == "pending_approval"
    parked = story.only(Status.PENDING)
    assert parked.findings[0].code == "amount_over_limit"
    assert ask(story, "50.00")["status"] == "executed"
    assert story.paid() == [("ORD-1001", Money(5000, "USD"))]


def test_splitting_is_seen(story: Story) -> None:
    assert ask(story, "30.00")["status"] == "executed"
    assert ask(story, "20.01")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "cumulative_over_limit"
    assert ask(story, "20.00")["status"] == "executed"


@pytest.mark.parametrize(
    ("confidence", "waits"), [("0.90", False), ("0.8999", True), (None, True), ("1", False)]
)
def test_low_confidence_waits(story: Story, confidence: str | None, waits: bool) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.model.calls(story.refund_call("5.00", confidence=confidence))
    story.model.says("Asked.")
    story.says(chat, "refund 5")
    assert (last_result(story).get("status") == "pending_approval") is waits


def test_an_unclear_wish_waits(story: Story) -> None:
    assert ask(story, "5.00", scope="unclear")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "ambiguous"


def test_a_currency_without_limit_waits(story: Story) -> None:
    order = special_order("eur")
    assert ask(story, "5.00", order, currency="EUR")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "no_limit_for_currency"


def test_an_earlier_no_waits(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ask(story, "160.00")
    story.model.says("Sorry, it was declined.")
    story.rejects(ana, story.only(Status.PENDING))
    story.rests()
    assert ask(story, "5.00")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "earlier_no"


def test_nobody_deciding_in_time_counts_as_an_earlier_no(story: Story) -> None:
    ask(story, "160.00")
    story.clock.advance(minutes=30)
    story.model.says("Nobody decided in time.")
    story.sweeps()
    assert ask(story, "5.00")["status"] == "pending_approval"
    finding = story.only(Status.PENDING).findings[0]
    assert finding.code == "earlier_no"
    assert "in time" in finding.text


def test_a_rejected_proposal_is_refused_again_in_its_conversation(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.asks_refund(chat, "160.00")
    story.model.says("Declined, sorry.")
    story.rejects(ana, story.only(Status.PENDING))
    story.rests()
    story.asks_refund(chat, "160.00", call_id="call_2")
    assert last_result(story)["error"] == "already_rejected"


def test_an_identical_pending_proposal_is_joined(story: Story) -> None:
    first = ask(story, "160.00")
    second = ask(story, "160.00")
    assert second["approval_id"] == first["approval_id"]
    assert len(story.all(Status.PENDING)) == 1
    assert "proposal.joined" in story.trail()


def test_a_twin_past_its_deadline_makes_way(story: Story) -> None:
    first = ask(story, "160.00")
    story.clock.advance(minutes=30)
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.model.calls(story.refund_call("160.00"))
    story.model.says("Asked again.")
    story.model.says("Nobody decided about the first one in time.")
    story.says(chat, "again please")
    assert story.only(Status.PENDING).id != first["approval_id"]
    assert len(story.all(Status.EXPIRED)) == 1


def test_too_many_open_requests_are_refused(story: Story) -> None:
    for number in range(5):
        ask(story, f"{60 + number}.00")
    assert ask(story, "70.00")["error"] == "too_many_open"


def test_two_pending_refunds_cannot_exceed_the_payment(story: Story) -> None:
    ana = story.hire("ana", Role.REFUND_APPROVER)
    ask(story, "100.00")
    ask(story, "90.00")
    first, second = story.all(Status.PENDING)
    story.approves(ana, first)
    story.approves(ana, second)
    story.model.says("Paid.")
    story.model.says("The order changed.")
    story.rests()
    assert story.paid() == [("ORD-1001", Money(10000, "USD"))]
    assert story.approval(second.id).status is Status.STALE


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("drop_tables", "{}", "unknown_tool"),
        ("issue_refund", "{", "invalid_arguments"),
        ("issue_refund", '{"order_id": "ORD-1001"}', "invalid_arguments"),
        ("issue_refund", '{"order_id": "a", "order_id": "b"}', "invalid_arguments"),
        ("lookup_order", '{"order_id": "ORD-1001", "as_admin": true}', "invalid_arguments"),
    ],
)
def test_what_the_model_garbles_is_a_tool_error(
    story: Story, tool: str, arguments: str, code: str
) -> None:
    chat = story.opens_chat(owner_of(story, "ORD-1001"))
    story.model.calls(("call_1", tool, arguments))
    story.model.says("Sorry, what do you mean?")
    story.says(chat, "hm")
    assert last_result(story)["error"] == code
    assert "proposal.refused" in story.trail()


def test_an_open_breaker_can_park_instead(store: Store, clock: HandClock, ids: CountingIds) -> None:
    policy = shipped_policy()
    rules = policy.breaker.model_copy(update={"when_open": "park", "max_refunds": 1})
    story = tell_story(store, clock, ids, policy.model_copy(update={"breaker": rules}))
    assert ask(story, "5.00")["status"] == "executed"
    assert ask(story, "6.00")["status"] == "pending_approval"
    assert story.only(Status.PENDING).findings[0].code == "breaker_open"


def special_order(kind: str) -> str:
    """Return an order of the demo shop of a special kind."""
    return {
        "unpaid": "ORD-1014",
        "disputed": "ORD-1007",
        "final_sale": "ORD-1011",
        "eur": "ORD-1009",
    }[kind]
