"""Fraud flags: a low score is noted, a high one waits and holds; the customer never hears of it."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode
from agent.domain.ids import CustomerId
from agent.domain.risk import Reason
from agent.domain.roles import Identity
from agent.ports import DeliveryKind, FlagRecord, FlagRequest
from agent.providers.embedded_flags import EmbeddedFlags
from agent.steps.execute import execute
from agent.steps.review import resume_automatic
from storage import pauses
from tests.story.test_execute import Killed
from tests.story.ways import (
    ANA,
    MIA,
    OLU,
    about,
    path,
    refused,
    staff,
    told,
)
from tests.support.builders import policy
from tests.support.desk import Story

CLARA = CustomerId("cus_clara")
# Whatever became of it: the model can tell the customer nothing that it does not know.
NOTED = {"ok": True, "status": "noted"}
SECRETS = ("fraud", "flag", "suspicio", "apr_", "score", "hold")


def flags(story: Story) -> tuple[FlagRecord, ...]:
    """Return what the shop's own book holds."""
    return EmbeddedFlags(story.desk.store, story.clock, story.desk.ids).book()


def waits(story: Story, score: str = "0.95", customer: str = "cus_clara") -> Approval:
    """Let a flag wait."""
    chat = story.opens_chat(customer)
    (result,) = story.proposes(chat, story.flag_call(score, order_id=None))
    assert result == NOTED
    row = story.newest("flag_for_fraud")
    assert row.status is Status.PENDING
    return row


def held(story: Story) -> Approval:
    """Let a customer be held."""
    row = waits(story)
    assert isinstance(story.approves(MIA, row), Decided)
    story.rests()
    return story.approval(row.id)


def pause_of(story: Story) -> str | None:
    with story.desk.store.transaction(write=False) as tx:
        return pauses.reason(tx, CLARA)


def test_a_score_of_eighty_is_noted_and_nothing_else_happens(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.flag_call("0.80", order_id="ORD-1001"))
    assert result == NOTED
    assert story.newest("flag_for_fraud").status is Status.EXECUTED
    (flag,) = flags(story)
    assert (flag.action, flag.score, flag.order_id) == ("monitor", "0.80", "ORD-1001")
    assert flag.signals == ("three claims in a week",)
    assert pause_of(story) is None
    (refund,) = story.proposes(chat, story.refund_call("5.00", call_id="call_2"))
    assert refund["status"] == "executed"


def test_a_higher_score_waits_for_a_manager_with_its_signals(story: Story) -> None:
    staff(story)
    row = waits(story, "0.8001")
    assert (row.status, row.tier.role, row.amount) == (Status.PENDING, "refund_manager", None)
    assert row.expires_at == story.clock.now() + timedelta(hours=24)
    assert [finding.code for finding in row.findings] == [Reason.FRAUD_FLAG]
    (card,) = about(story, row)
    assert card.approval is not None
    assert card.approval.approval.payload == {
        "customer_id": "cus_clara",
        "order_id": None,
        "score": "0.8001",
        "action": "hold",
        "signals": ["three claims in a week"],
    }
    assert flags(story) == ()
    assert refused(story.approves(ANA, row)).code is RefusalCode.NOT_ALLOWED
    assert isinstance(story.approves(MIA, row), Decided)
    story.rests()
    assert [(flag.action, flag.key) for flag in flags(story)] == [("hold", row.idempotency_key)]


def test_a_hold_makes_everything_wait_until_a_manager_lifts_it(story: Story) -> None:
    staff(story)
    row = held(story)
    assert row.status is Status.EXECUTED
    (flag,) = flags(story)
    assert pause_of(story) == f"a fraud flag holds the customer ({flag.id})"
    chat = story.opens_chat("cus_clara")
    results = story.proposes(
        chat,
        story.refund_call("5.00", call_id="call_1"),
        story.email_call("call_2", template="photo_request", order_id="ORD-1001"),
        story.flag_call("0.10", "call_3"),
    )
    assert [result["status"] for result in results] == ["pending_approval"] * 2 + ["noted"]
    waiting = story.all(Status.PENDING)
    assert [row.tool for row in waiting] == ["issue_refund", "send_email"]
    for one in waiting:
        assert [finding.code for finding in one.findings] == [Reason.AUTOMATIC_PAUSED]
    # A hold keeps no other signal from being noted.
    assert [(flag.action, flag.score) for flag in flags(story)] == [
        ("hold", "0.95"),
        ("monitor", "0.10"),
    ]
    other = story.proposes(story.opens_chat("cus_ben"), story.refund_call("5.00", "ORD-1003"))
    assert other[0]["status"] == "executed"

    for who, reason, code in (
        (ANA, "all is well", RefusalCode.NOT_ALLOWED),
        (OLU, "all is well", RefusalCode.NOT_ALLOWED),
        (Identity("cli", "nobody"), "all is well", RefusalCode.NOT_ALLOWED),
        (MIA, "ok", RefusalCode.REASON_REQUIRED),
    ):
        denied = refused(resume_automatic(story.desk, CLARA, story.order(who, reason)))
        assert denied.code is code
    assert resume_automatic(story.desk, CLARA, story.order(MIA, "talked to them")) is True
    assert resume_automatic(story.desk, CLARA, story.order(MIA, "talked to them")) is False
    assert story.trail().count("automatic.resumed") == 1
    (again,) = story.proposes(chat, story.refund_call("6.00", call_id="call_4"))
    assert again["status"] == "executed"


def test_two_holds_are_one_pause(story: Story) -> None:
    staff(story)
    held(story)
    second = waits(story, "0.99")
    story.approves(MIA, second)
    story.rests()
    first, other = flags(story)
    assert (first.score, other.score) == ("0.95", "0.99")
    # One pause with both its reasons: lifting it is a word about both.
    assert pause_of(story) == (
        f"a fraud flag holds the customer ({first.id}); "
        f"a fraud flag holds the customer ({other.id})"
    )
    resume_automatic(story.desk, CLARA, story.order(MIA, "talked to them"))
    assert pause_of(story) is None


@pytest.mark.parametrize("ends", ["approved", "rejected", "expired"])
def test_the_customer_never_reads_a_word_of_it(story: Story, ends: str) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    story.model.otherwise = "Is there anything else?"
    story.proposes(chat, story.flag_call("0.95"))
    row = story.only(Status.PENDING)
    if ends == "approved":
        story.approves(MIA, row)
    elif ends == "rejected":
        story.rejects(MIA, row, reason="this is a good customer")
    else:
        story.clock.advance(hours=24)
    story.sweeps()
    story.rests()
    asked = len(story.model.asked)
    assert story.approval(row.id).status is not Status.PENDING
    log = story.log(chat)
    assert [event.type.value for event in log] == ["message", "message"]
    read = json.dumps([event.data for event in log]).lower()
    assert [word for word in SECRETS if word in read] == []
    # The run is told, and the model is not asked: it would answer the customer.
    assert len(told(story, row)) == 1
    assert len(story.model.asked) == asked == 2
    (listed,) = story.proposes(chat, ("call_2", "refund_status", "{}"))
    assert listed["requests"] == []


def test_the_customer_hears_of_a_refund_that_waits_for_the_hold_like_of_any(story: Story) -> None:
    staff(story)
    held(story)
    chat = story.opens_chat("cus_clara")
    story.asks_refund(chat, "5.00")
    (chip,) = (e for e in story.log(chat) if e.type.value == "approval")
    assert chip.data["text"] == (
        "Refund of 5.00 USD on order ORD-1001: needs a quick review by our team"
    )


def test_a_failing_model_lets_nothing_slip_either(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    story.model.calls(story.flag_call("0.95"))
    for _ in range(3):
        story.model.breaks()
    story.says(chat, "hello")
    for _ in range(3):
        story.clock.advance(seconds=30)
        story.rests()
    (words,) = story.agent_words(chat)
    assert "can't answer right now" in words


def test_without_a_limit_every_flag_waits(story: Story) -> None:
    staff(story)
    strict = story.under(policy(fraud_flags={"auto_score_max": None}))
    chat = strict.opens_chat("cus_clara")
    (result,) = strict.proposes(chat, strict.flag_call("0.10"))
    assert result == NOTED
    row = story.only(Status.PENDING)
    assert [finding.code for finding in row.findings] == [Reason.TOOL_REQUIRES_APPROVAL]
    assert row.payload["action"] == "monitor"


def test_a_policy_may_only_be_stricter_than_eighty(story: Story) -> None:
    staff(story)
    lax = story.under(policy(fraud_flags={"auto_score_max": "0.95"}))
    chat = lax.opens_chat("cus_clara")
    (high,) = lax.proposes(chat, lax.flag_call("0.90"))
    assert high == NOTED
    assert story.only(Status.PENDING).payload["score"] == "0.90"
    strict = story.under(policy(fraud_flags={"auto_score_max": "0.50"}))
    (middle,) = strict.proposes(chat, strict.flag_call("0.60", "call_2"))
    assert middle == NOTED
    row = story.newest("flag_for_fraud")
    assert (row.status, row.payload["score"]) == (Status.PENDING, "0.60")
    assert row.payload["action"] == "hold"
    assert row.findings[0].text == "The fraud score 0.60 is over 0.50"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"order_id": "ORD-1008"}, "not_found"),
        ({"signals": []}, "invalid_arguments"),
        ({"signals": ["x"] * 11}, "invalid_arguments"),
        ({"score": "1.1"}, "invalid_arguments"),
        ({"customer_id": "cus_ben"}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_a_flag_is_refused(story: Story, more: dict[str, object], code: str) -> None:
    staff(story)
    call_id, tool, raw = story.flag_call("0.95")
    call = (call_id, tool, json.dumps(json.loads(raw) | more))
    (result,) = story.proposes(story.opens_chat("cus_clara"), call)
    assert (result["ok"], result["error"]) == (False, code)
    assert flags(story) == ()
    assert [row for status in Status for row in story.all(status)] == []


@pytest.mark.parametrize(("score", "kept"), [(0.95, "0.95"), (1, "1")])
def test_a_score_may_come_as_a_number(story: Story, score: float, kept: str) -> None:
    staff(story)
    call_id, tool, raw = story.flag_call("0.95")
    call = (call_id, tool, json.dumps(json.loads(raw) | {"score": score}))
    (result,) = story.proposes(story.opens_chat("cus_clara"), call)
    assert result == NOTED
    assert story.only(Status.PENDING).payload["score"] == kept
    assert flags(story) == ()


def test_nobody_is_flagged_who_is_not_signed_in(story: Story) -> None:
    staff(story)
    (result,) = story.proposes(story.opens_chat(None), story.flag_call("0.95"))
    assert result["error"] == "not_verified"


def test_an_order_that_is_theirs_no_more_is_not_flagged(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    (result,) = story.proposes(chat, story.flag_call("0.95", order_id="ORD-1001"))
    assert result == NOTED
    row = story.only(Status.PENDING)
    story.approves(MIA, row)
    story.happens("UPDATE orders SET customer_id = 'cus_ben' WHERE id = 'ORD-1001'")
    story.rests()
    assert story.approval(row.id).status is Status.STALE
    assert flags(story) == ()


def test_a_death_before_the_book_enters_it_once(story: Story) -> None:
    staff(story)
    row = waits(story)
    story.approves(MIA, row)
    story.tells()

    class Dying(EmbeddedFlags):
        """A book at which the process dies, after it has entered the flag."""

        @override
        def put(self, request: FlagRequest) -> FlagRecord:
            super().put(request)
            raise Killed

    dying = Dying(story.desk.store, story.clock, story.desk.ids)
    with pytest.raises(Killed):
        execute(replace(story.desk, flags=dying), row.id)
    story.clock.advance(seconds=90)
    story.sweeps()
    assert path(story, row)[-2:] == [Status.UNKNOWN, Status.EXECUTED]
    assert len(flags(story)) == 1


def test_a_refused_flag_that_was_rejected_stays_refused(story: Story) -> None:
    staff(story)
    row = waits(story)
    story.rejects(MIA, row, reason="this is a good customer")
    story.rests()
    call = story.flag_call("0.95", "call_2", order_id=None)
    (again,) = story.proposes(row.conversation_id, call)
    assert again["error"] == "already_rejected"


def test_what_a_flag_is_to_staff_is_seen_in_the_hand_off_and_the_review(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.50"))
    (review,) = story.notifier.of(DeliveryKind.REVIEW)
    assert review.approval is not None
    assert review.approval.approval.tool == "flag_for_fraud"
