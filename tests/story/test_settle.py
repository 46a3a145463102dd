"""What stays unknown for a day is settled by a manager who names what they have seen."""

from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, EvidenceKind, Status
from agent.domain.breaker import BreakerState
from agent.domain.decision import RefusalCode
from agent.domain.ids import ApprovalId
from agent.domain.roles import Identity
from agent.ports import (
    Accepted,
    Declined,
    DeliveryKind,
    Mail,
    MailAnswer,
    NoClearAnswer,
    RefundRequest,
)
from agent.providers.sink_mail import SinkMailer
from agent.steps.breaker import breaker_status
from agent.steps.settlement import Settlement, settle_unknown
from bot.sandbox.payments_faults import FaultKind, FaultyPayments
from tests.story.test_execute import ScriptedPayments, with_payments
from tests.story.ways import (
    ANA,
    MIA,
    OLU,
    about,
    approved,
    booked,
    chips,
    executed,
    executing,
    links,
    long_unknown,
    parked,
    path,
    refused,
    settles,
    staff,
    told,
    unknown,
)
from tests.support.desk import SENDER, Story


def test_a_managers_word_ends_it_with_the_evidence_in_the_trail(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    posted = len(story.notifier.deliveries)
    done = settles(story, row, done=True, kind=EvidenceKind.BANK_RECORD, reference=" stmt 4711 ")
    assert isinstance(done, Approval)
    evidence = {
        "settled_by": "Mia",
        "evidence": "bank_record",
        "reference": "stmt 4711",
        "note": "seen in the provider's dashboard",
    }
    assert (done.status, done.result) == (Status.EXECUTED, evidence)
    story.rests()
    fact = next(f for f in story.facts(row) if f["type"] == "execution.settled")
    assert fact["data"]["settlement"] == evidence
    assert fact["data"]["evidence"] == "refund_manager by fixed"
    assert (fact["data"]["status"], fact["data"]["identity"]) == ("executed", "cli:mia")
    news = [d for d in about(story, row, posted) if d.kind is DeliveryKind.ALERT_LINE]
    (line,) = (str(delivery.body["text"]) for delivery in news)
    assert line.startswith("Mia settled Refund of 160.00 USD on order ORD-1001: it went through")
    assert line.endswith("(bank record, stmt 4711).")
    assert told(story, row)[-1]["outcome"] == "executed"
    story.clock.advance(days=2)
    story.sweeps()
    assert story.approval(row.id).status is Status.EXECUTED
    assert booked(story, row) == 0


def test_settled_as_failed_it_frees_the_orders_money(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    call = story.refund_call("150.00", call_id="call_2")
    (held,) = story.proposes(row.conversation_id, call)
    assert held["error"] == "over_remaining"
    settles(story, row, done=False)
    story.rests()
    call = story.refund_call("150.00", call_id="call_3")
    (free,) = story.proposes(row.conversation_id, call)
    assert free["status"] == "pending_approval"


@pytest.mark.parametrize("done", [True, False])
def test_the_providers_own_record_wins_over_anybodys_word(story: Story, *, done: bool) -> None:
    staff(story)
    row = unknown(story, FaultKind.TIMEOUT_AFTER)
    blind = ScriptedPayments(story.payments)
    desk = with_payments(story, blind)
    story.clock.advance(hours=23)
    desk.sweeps()
    story.clock.advance(minutes=10)
    desk.sweeps()
    assert story.approval(row.id).clean_looks == 2
    after = settles(story, row, done=done)
    assert isinstance(after, Approval)
    assert (after.status, path(story, row)[-1]) == (Status.EXECUTED, Status.EXECUTED)
    assert (after.result or {})["refund_id"]
    assert "execution.settled" not in story.trail()


def test_too_early_while_the_key_is_still_good(story: Story) -> None:
    staff(story)
    row = unknown(story)
    story.clock.advance(hours=22, minutes=59, seconds=59)
    early = refused(settles(story, row, done=True))
    assert early.code is RefusalCode.TOO_EARLY
    assert "23 hours after the first try" in early.message
    assert story.approval(row.id) == row
    assert story.facts(row)[-1]["data"]["code"] == "too_early"


def test_one_look_is_not_enough_and_two_at_once_are_one(story: Story) -> None:
    staff(story)
    row = unknown(story)
    story.clock.advance(hours=23)
    story.sweeps()
    assert "(1 so far)" in refused(settles(story, row, done=True)).message
    story.clock.advance(minutes=10)
    story.sweeps()
    assert isinstance(settles(story, row, done=True), Approval)


def test_looks_before_the_last_try_prove_nothing(story: Story) -> None:
    """Sent again an hour before the end: only what is looked up after that counts."""
    staff(story)
    row = unknown(story, *[FaultKind.TIMEOUT_BEFORE] * 200)
    for _ in range(22 * 4):
        story.clock.advance(minutes=15)
        story.sweeps()
    resent = story.approval(row.id)
    assert resent.attempts > 2
    story.clock.at = row.created_at
    story.clock.advance(hours=23, minutes=1)
    assert refused(settles(story, row, done=True)).code is RefusalCode.TOO_EARLY


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"who": ANA}, RefusalCode.NOT_ALLOWED),
        ({"who": OLU}, RefusalCode.NOT_ALLOWED),
        ({"who": Identity("cli", "nobody")}, RefusalCode.NOT_ALLOWED),
        ({"reference": " x "}, RefusalCode.INVALID),
    ],
    ids=["approver", "on call", "stranger", "no reference"],
)
def test_it_takes_the_role_and_a_reference(
    story: Story, changes: dict[str, Any], code: RefusalCode
) -> None:
    staff(story)
    row = long_unknown(story)
    answer = refused(settles(story, row, done=True, **changes))
    assert answer.code is code
    fact = story.facts(row)[-1]["data"]
    assert (fact["verdict"], fact["code"]) == ("settle", code.value)
    assert story.approval(row.id) == row


def test_nobody_settles_their_own(story: Story) -> None:
    staff(story)
    row = long_unknown(story)
    links(story, MIA, Identity("customer", row.customer_id))
    assert refused(settles(story, row, done=True)).code is RefusalCode.SELF_APPROVAL


@pytest.mark.parametrize("reach", [parked, approved, executing, executed])
def test_only_what_is_unknown_is_settled(story: Story, reach: Any) -> None:
    staff(story)
    row = reach(story)
    answer = refused(settles(story, row, done=True))
    assert answer.code is RefusalCode.ALREADY_DECIDED
    assert answer.message == f"Nothing is unknown about it: the request is {row.status}."
    assert story.approval(row.id) == row


def test_nothing_is_settled_that_does_not_exist(story: Story) -> None:
    staff(story)
    word = Settlement(done=True, kind=EvidenceKind.SERVER_LOG, reference="log 1")
    answer = refused(settle_unknown(story.desk, ApprovalId("apr_no"), word, story.order(MIA)))
    assert answer.code is RefusalCode.NOT_FOUND


@pytest.mark.parametrize("done", [True, False])
def test_evidence_that_there_cannot_be_of_a_tools_effect_settles_nothing(
    story: Story, *, done: bool
) -> None:
    staff(story)
    row = long_unknown(story)
    answer = refused(settles(story, row, done=done, kind=EvidenceKind.SERVER_LOG))
    assert answer.code is RefusalCode.INVALID
    assert answer.message == "evidence: there is no server log of issue_refund."
    assert story.approval(row.id) == row
    assert "execution.settled" not in story.trail()


def test_a_small_refund_is_settled_too_and_the_breaker_is_told(story: Story) -> None:
    staff(story)
    story.payments.plan(FaultKind.TIMEOUT_BEFORE, 1)
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.refund_call("5.00"))
    row = story.only(Status.UNKNOWN)
    assert row.automatic
    blind = ScriptedPayments(story.payments)
    blind.found = NoClearAnswer("502")
    story.clock.advance(hours=23)
    for _ in range(2):
        story.sweeps()
        story.clock.advance(minutes=10)
    done = settles(story, row, done=False)
    assert isinstance(done, Approval)
    assert done.status is Status.FAILED
    assert breaker_status(story.desk)["state"] == BreakerState.CLOSED
    story.rests()
    assert chips(story, row)[-1].data["status"] == "failed"


class MuteMailer(SinkMailer):
    """A mail server whose answer is lost, and that cannot be asked later."""

    @override
    def send(self, mail: Mail) -> MailAnswer:
        return NoClearAnswer("the line dropped after DATA")

    @override
    def find(self, message_id: str) -> None:
        raise AssertionError(f"nobody can be asked about {message_id}")


def test_an_e_mail_is_settled_at_once_for_nobody_can_be_asked(story: Story) -> None:
    staff(story)
    mute = MuteMailer(story.desk.store, story.clock, SENDER)
    desk = replace(story, desk=replace(story.desk, mailer=mute))
    chat = story.opens_chat("cus_clara")
    call = story.email_call(template="photo_request", order_id="ORD-1001")
    (result,) = desk.proposes(chat, call)
    assert (result["status"], result["message"]) == (
        "checking",
        "Not confirmed yet; the team looks into it.",
    )
    row = story.only(Status.UNKNOWN)
    done = settle_unknown(
        story.desk,
        row.id,
        Settlement(done=True, kind=EvidenceKind.SERVER_LOG, reference="queue id 4711"),
        story.order(MIA, "seen in the server's log"),
    )
    assert isinstance(done, Approval)
    assert done.status is Status.EXECUTED
    story.rests()
    assert "has been sent" in story.agent_words(chat)[-1]


def test_a_role_taken_away_while_the_provider_is_asked_settles_nothing(story: Story) -> None:
    staff(story)
    row = long_unknown(story)

    class Meanwhile(FaultyPayments):
        """A provider that is asked while an operator takes the role away."""

        @override
        def find(self, request: RefundRequest) -> Accepted | Declined | NoClearAnswer | None:
            story.happens("DELETE FROM role_members WHERE role = 'refund_manager'")
            return super().find(request)

    asking = with_payments(story, Meanwhile(story.payments, wait=lambda _s: None))
    late = refused(settles(asking, row, done=True))
    assert late.code is RefusalCode.NOT_ALLOWED
    assert story.approval(row.id).status is Status.UNKNOWN
