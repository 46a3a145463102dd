"""Who has closed the tab hears by mail what became of it: once, true, and not if they read it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email import message_from_string, policy
from typing import NoReturn

import pytest
from typing_extensions import override

from agent.desk import CustomerMail
from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.asking import Question
from agent.domain.asks import AskedOf
from agent.domain.ids import ConversationId, CustomerId
from agent.ports import (
    Customer,
    Declined,
    DeliveryKind,
    Mail,
    MailAccepted,
    MailAnswer,
    Mailer,
    NoClearAnswer,
    NotStarted,
    ProviderStatus,
)
from agent.providers.embedded_shop import EmbeddedShop
from agent.providers.sink_mail import NoMailer, SinkMailer
from agent.steps.ask import ask
from agent.steps.ask_again import ask_again
from agent.steps.decide import withdraw
from agent.steps.hear import ProviderEvent, hear
from agent.steps.mail import send_mail
from agent.steps.owe_mail import owe_mail
from agent.steps.receive import open_conversation
from agent.steps.revoke import revoke
from storage import conversations, customer_mails
from storage.mail_sink import KeptMail
from tests.story.test_execute import with_payments
from tests.story.test_joins import joins
from tests.story.test_races import at_once, other
from tests.story.test_unknown import Slow
from tests.story.ways import ANA, MIA, hears, parked, staff
from tests.support.desk import SENDER, Story

__all__ = ["other"]

CLARA = "clara.nguyen@example.com"
AFTER = timedelta(minutes=5)
LINK = "https://shop.example/help#support-desk"


@pytest.fixture
def story(story: Story) -> Story:
    """Return the story of a desk that mails what was not read within five minutes."""
    desk = replace(story.desk, customer_mail=CustomerMail(AFTER, LINK, "help@shop.example"))
    told = replace(story, desk=desk)
    staff(told)
    return told


def mails(story: Story) -> tuple[KeptMail, ...]:
    """Let the mail worker do what is due and return all mail so far."""
    while send_mail(story.desk):
        pass
    return story.mails()


def states(story: Story, row: Approval) -> list[tuple[str, str]]:
    """Return what became of each mail about a request."""
    with story.desk.store.transaction(write=False) as tx:
        found = customer_mails.of(tx, row.id)
    return sorted((one.outcome, one.state) for one in found)


def reads(story: Story, chat: ConversationId, up_to: int | None = None) -> None:
    """Let the customer read a chat, all of it where nothing else is said."""
    with story.desk.store.transaction() as tx:
        found = conversations.get(tx, chat)
        assert found is not None
        conversations.mark_read(tx, chat, found.last_seq if up_to is None else up_to)


def paid(story: Story) -> Approval:
    """Let a refund be approved and paid while nobody looks at the chat."""
    row = parked(story)
    story.approves(ANA, row)
    story.rests()
    return row


def test_what_was_not_read_in_time_is_mailed_once_and_says_the_same(
    story: Story, other: Story
) -> None:
    row = paid(story)
    story.clock.advance(seconds=299.999)
    assert mails(story) == ()
    story.clock.advance(seconds=0.001)
    # Two replicas, two workers each.
    at_once(*[lambda desk=desk: send_mail(desk) for desk in (story.desk, other.desk) * 2])
    (mail,) = mails(story)
    assert mail.envelope.to == (CLARA,)
    assert mail.envelope.subject == "Refund for order ORD-1001: done"
    assert mail.envelope.body.splitlines()[:3] == [
        "Hello Clara Nguyen,",
        "",
        "Good news: the refund of 160.00 USD on order ORD-1001 has been paid.",
    ]
    assert LINK in mail.envelope.body
    head = message_from_string(mail.raw)
    assert head["References"] == head["In-Reply-To"] == f"<{row.conversation_id}@supportdesk>"
    assert head["Reply-To"] == "help@shop.example"
    assert states(story, row) == [("executed", "sent")]
    (fact,) = [f for f in story.facts(row) if f["type"] == "customer.mailed"]
    assert fact["data"] == {
        "recipient": "cus_clara",
        "outcome": "executed",
        "message_id": mail.message_id,
    }
    story.clock.advance(days=1)
    assert mails(story) == (mail,)


def test_reading_cancels_it_to_the_last_moment(story: Story) -> None:
    row = paid(story)
    reads(story, row.conversation_id)
    late = parked(story, "55.00", "ORD-1004")
    story.rejects(ANA, late)
    story.rests()
    story.clock.advance(seconds=301)

    class SlowShop(EmbeddedShop):
        """While the shop looks the address up, the customer opens the chat."""

        @override
        def customer(self, customer_id: CustomerId) -> Customer | None:
            reads(story, late.conversation_id)
            return super().customer(customer_id)

    assert mails(replace(story, desk=replace(story.desk, shop=SlowShop(story.desk.store)))) == ()
    assert states(story, row) == [("executed", "read")]
    assert states(story, late) == [("rejected", "read")]


@pytest.mark.parametrize(("behind", "mailed"), [(0, 0), (1, 1)])
def test_the_chip_that_tells_it_is_what_has_to_be_read(
    story: Story, behind: int, mailed: int
) -> None:
    row = paid(story)
    told_at = [e.seq for e in story.log(row.conversation_id) if e.data.get("status") == "done"]
    reads(story, row.conversation_id, told_at[-1] - behind)
    story.clock.advance(seconds=301)
    assert len(mails(story)) == mailed


def test_both_chats_that_wait_are_one_mail_and_reading_one_is_enough(story: Story) -> None:
    row = parked(story)
    joined = joins(story, row)
    story.rejects(ANA, row, "It was used for <b>a year</b>.")
    story.rests()
    story.clock.advance(seconds=300)
    (mail,) = mails(story)
    assert "Our team has declined the refund of 160.00 USD" in mail.envelope.body
    assert "What our team says: It was used for <b>a year</b>." in mail.envelope.body
    assert "<b>" not in html_of(mail)
    again = parked(story)
    joined = joins(story, again)
    story.rejects(ANA, again)
    story.rests()
    reads(story, joined)
    story.clock.advance(seconds=300)
    assert mails(story) == (mail,)
    assert states(story, again) == [("rejected", "read")]


def html_of(mail: KeptMail) -> str:
    """Return the HTML of a mail."""
    message = message_from_string(mail.raw, policy=policy.default)
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def test_a_mail_never_says_what_is_not_true_any_more(story: Story) -> None:
    # It came back before anybody was told that it had been paid.
    row = paid(story)
    key = story.approval(row.id).idempotency_key
    story.happens("UPDATE ledger_refunds SET status = 'failed' WHERE key = :k", k=key)
    assert hears(story, row)
    story.rests()
    story.clock.advance(seconds=301)
    (mail,) = mails(story)
    assert "did not arrive: your bank did not take it" in mail.envelope.body
    assert states(story, row) == [("executed", "overtaken"), ("failed", "sent")]
    # What had expired waits for people again.
    expired = parked(story, "70.00", "ORD-1004")
    story.clock.at = expired.expires_at
    story.sweeps()
    assert isinstance(ask_again(story.desk, expired.id, story.order(MIA)), Approval)
    story.clock.advance(seconds=301)
    assert mails(story) == (mail,)
    assert states(story, expired) == [("expired", "overtaken")]


def test_accepted_is_mailed_and_so_is_paid_but_not_the_one_after_the_other(story: Story) -> None:
    slow = Slow(story.payments, wait=lambda _s: None)
    pending = with_payments(story, slow)
    rows = []
    for order, wait in (("ORD-1001", 300), ("ORD-1004", 0)):
        row = parked(pending, "60.00", order)
        pending.approves(ANA, row)
        pending.rests()
        story.clock.advance(seconds=wait)
        mails(story)
        rows.append(row)
    slow.status = ProviderStatus.SUCCEEDED
    for row in rows:
        assert hear(pending.desk, ProviderEvent(f"evt_{row.id}", "refund.updated", row.id))
    story.clock.advance(seconds=300)
    subjects = [mail.envelope.subject for mail in mails(story)]
    assert subjects == [
        "Refund for order ORD-1001: accepted, on its way",
        "Refund for order ORD-1001: done",
        "Refund for order ORD-1004: done",
    ]
    assert states(story, rows[0]) == [("accepted", "sent"), ("executed", "sent")]
    assert states(story, rows[1]) == [("accepted", "overtaken"), ("executed", "sent")]


def test_everything_the_desk_says_by_itself_is_in_the_conversations_language(
    story: Story,
) -> None:
    clara = CustomerId("cus_clara")
    chat = open_conversation(story.desk, clara, "de").conversation_id
    story.asks_refund(chat, "160.00")
    row = story.only(Status.PENDING)
    ask(story.desk, row.id, Question(AskedOf.CUSTOMER, "Where is the crack?"), story.order(ANA))
    story.rejects(ANA, row, "Past the 30 days.")
    story.rests()
    story.model.calls(("call_h", "hand_off", '{"reason": "asks for a person"}'))
    story.model.breaks()
    story.model.breaks()
    story.model.breaks()
    story.says(chat, "Ich will mit jemandem reden")
    said = [str(event.data["text"]) for event in story.log(chat) if "text" in event.data]
    what = "Erstattung von 160.00 USD für Bestellung ORD-1001"
    for words in (
        f"{what}: wird kurz von unserem Team geprüft",
        "Where is the crack?\n\nBitte antworten Sie hier bis",
        f"{what}: abgelehnt. Past the 30 days.",
        f"Unser Team hat die {what} abgelehnt. Past the 30 days.",
        "Hier übernimmt gleich ein Mensch aus unserem Team.",
    ):
        assert [one for one in said if one.startswith(words)] != [], words
    (declined,) = [e.data for e in story.log(chat) if e.data.get("status") == "declined"]
    assert (declined["tool"], declined["order_id"]) == ("issue_refund", "ORD-1001")
    assert declined["amount"] == {"minor": 16000, "currency": "USD", "display": "160.00 USD"}
    # The model is told in English; what the customer reads next follows the language they turn to.
    assert "denied_by_human" in str(story.transcript(row))
    assert "abgelehnt" not in str(story.transcript(row))
    with story.desk.store.transaction() as tx:
        conversations.speak(tx, chat, "ja")
    story.clock.advance(seconds=300)
    (mail,) = mails(story)
    assert mail.envelope.subject == "ご注文 ORD-1001 の返金: お断りしました"
    assert "Past the 30 days." in mail.envelope.body


def test_what_the_customer_took_back_is_not_mailed_what_the_team_called_off_is(
    story: Story,
) -> None:
    own = parked(story, "70.00", "ORD-1004")
    assert isinstance(withdraw(story.desk, own.id, own.customer_id), Approval)
    story.rests()
    ours = parked(story, "71.00", "ORD-1004")
    assert isinstance(revoke(story.desk, ours.id, story.order(MIA, "Sent twice.")), Approval)
    story.rests()
    story.clock.advance(seconds=301)
    (mail,) = mails(story)
    assert "Sent twice." in mail.envelope.body
    assert states(story, own) == []
    assert states(story, ours) == [("cancelled", "sent")]


def test_neither_a_flag_nor_an_email_that_left_nor_an_edit_is_mailed(story: Story) -> None:
    chat = story.opens_chat("cus_clara")
    story.proposes(chat, story.flag_call("0.90"))
    story.rejects(MIA, story.only(Status.PENDING))
    story.proposes(chat, story.email_call(template="photo_request", order_id="ORD-1001"))
    row = parked(story)
    story.edits(ANA, row, row.amount)
    story.rests()
    before = story.mails()
    story.clock.advance(seconds=301)
    assert mails(story)[len(before) :] == ()


def through(story: Story, mailer: Mailer) -> Story:
    """Return the story with another way out for mail."""
    return replace(story, desk=replace(story.desk, mailer=mailer))


class Answering(Mailer):
    """A mail server that answers as it is told, the last answer again and again."""

    def __init__(self, *answers: MailAnswer | Callable[[], NoReturn]) -> None:
        self.answers = list(answers)
        self.seen: list[Mail] = []

    @override
    def send(self, mail: Mail) -> MailAnswer:
        self.seen.append(mail)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            return answer()
        return answer

    @override
    def find(self, message_id: str) -> MailAccepted | NoClearAnswer | None:
        return None


class Killed(BaseException):
    """The process ends."""


def die() -> NoReturn:
    raise Killed


def test_no_clear_answer_and_a_crash_are_tried_again_under_the_same_message_id(
    story: Story,
) -> None:
    row = paid(story)
    server = Answering(NotStarted("450 busy"), NoClearAnswer("lost"), die, MailAccepted("", ""))
    slow = through(story, server)
    story.clock.advance(seconds=300)
    for _ in range(2):
        mails(slow)
        assert not send_mail(slow.desk)
        story.clock.advance(minutes=1)
    with pytest.raises(Killed):
        send_mail(slow.desk)
    assert states(story, row) == [("executed", "waiting")]
    assert not send_mail(slow.desk)
    story.clock.advance(minutes=5)
    assert send_mail(slow.desk)
    assert states(story, row) == [("executed", "sent")]
    assert len(server.seen) == 4
    assert all(one == server.seen[0] for one in server.seen)


@pytest.mark.parametrize("why", ["refused", "two days", "no address"])
def test_a_mail_that_cannot_arrive_is_told_to_staff(story: Story, why: str) -> None:
    row = paid(story)
    story.clock.advance(seconds=300)
    server = Answering(Declined("recipient_refused", "550 no such user"))
    if why == "two days":
        server = Answering(NotStarted("450 busy"))
        mails(through(story, server))
        story.clock.advance(days=2)
    if why == "no address":
        story.happens("UPDATE customers SET email = '' WHERE id = 'cus_clara'")
    mails(through(story, server))
    assert states(story, row) == [("executed", "failed")]
    (fact,) = [f for f in story.facts(row) if f["type"] == "customer.mail_failed"]
    problem = {
        "refused": "recipient_refused: 550 no such user",
        "two days": "450 busy",
        "no address": "the shop knows no address of this customer",
    }[why]
    assert fact["data"]["problem"] == problem
    story.rests()
    (line,) = story.notifier.of(DeliveryKind.MAIL_LINE)
    assert line.body == {"problem": problem}
    story.clock.advance(days=1)
    mails(story)
    assert story.mails() == ()


def test_where_no_mail_can_leave_none_is_owed(story: Story) -> None:
    for desk in (
        replace(story.desk, customer_mail=None),
        replace(story.desk, mailer=NoMailer()),
    ):
        untold = replace(story, desk=desk)
        row = parked(untold)
        untold.rejects(ANA, row)
        untold.rests()
        assert states(story, row) == []


@pytest.mark.parametrize(
    "answer", [Declined("mail_refused", "554 seen before"), MailAccepted("", "")], ids=["no", "yes"]
)
def test_who_loses_the_lease_notes_nothing(story: Story, answer: MailAnswer) -> None:
    row = paid(story)
    story.clock.advance(seconds=300)

    class Late(SinkMailer):
        """Takes longer than the lease; meanwhile another worker sends and notes it."""

        @override
        def send(self, mail: Mail) -> MailAnswer:
            super().send(mail)
            story.clock.advance(minutes=10)
            assert send_mail(story.desk)
            return answer

    assert send_mail(through(story, Late(story.desk.store, story.clock, SENDER)).desk)
    assert states(story, row) == [("executed", "sent")]
    assert story.trail().count("customer.mailed") == 1
    assert len(story.mails()) == 1


def test_an_answer_that_was_lost_before_it_was_read_is_not_forgotten(story: Story) -> None:
    row = paid(story)
    story.clock.advance(seconds=300)
    assert send_mail(through(story, Answering(NoClearAnswer("lost"))).desk)
    reads(story, row.conversation_id)
    story.clock.advance(minutes=1)
    assert mails(story) == ()
    with story.desk.store.transaction(write=False) as tx:
        (mail,) = customer_mails.of(tx, row.id)
    assert (mail.state, mail.problem) == ("read", "an earlier try may have arrived")


def test_what_is_owed_twice_is_mailed_once(story: Story) -> None:
    row = story.approval(paid(story).id)
    with story.desk.store.transaction() as tx:
        owe_mail(tx, story.desk, row, story.clock.now(), "", {row.conversation_id: 99})
    story.clock.advance(seconds=300)
    assert len(mails(story)) == 1


def test_a_damaged_request_is_an_alert_and_no_mail(story: Story) -> None:
    row = paid(story)
    story.damages("UPDATE approvals SET payload = '{' WHERE id = :i", i=row.id)
    story.clock.advance(seconds=300)
    assert mails(story) == ()
    assert states(story, row) == [("executed", "failed")]
    assert [alert.kind for alert in story.open_alerts()] == [AlertKind.CORRUPT_ROW]
