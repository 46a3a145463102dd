"""E-mails: a template leaves at once and once, everything else waits for a person."""

from dataclasses import replace
from datetime import timedelta
from email import message_from_string
from typing import Any

import pytest
from typing_extensions import override

from agent.domain.alerts import AlertKind
from agent.domain.approvals import Approval, Status
from agent.domain.decision import Decided, RefusalCode
from agent.domain.risk import Reason
from agent.ports import Declined, DeliveryKind, Mail, MailAnswer, Mailer, NoClearAnswer, NotStarted
from agent.providers.sink_mail import SinkMailer
from agent.steps.breaker import breaker_status
from agent.steps.execute import execute
from agent.tools.registry import EFFECTS
from tests.story.orders import owner_of
from tests.story.ways import ANA, MIA, about, chips, path, refused, staff, told
from tests.support.desk import SENDER, Story

CLARA = "clara.nguyen@example.com"
OWN_TEXT: dict[str, Any] = {
    "subject": "About your chair",
    "body": "We sent it yesterday.",
    "order_id": "ORD-1001",
}


def propose(story: Story, **arguments: Any) -> dict[str, Any]:
    """Let Clara's agent propose an e-mail and return what it was answered."""
    call = story.email_call("call_1", **arguments)
    (result,) = story.proposes(story.opens_chat("cus_clara"), call)
    return result


def waiting(story: Story, **arguments: Any) -> Approval:
    """Let an e-mail wait and return its row."""
    result = propose(story, **(OWN_TEXT | arguments))
    assert result["status"] == "pending_approval", result
    return story.approval(result["approval_id"])


def test_a_template_leaves_at_once_and_once(story: Story) -> None:
    staff(story)
    result = propose(story, template="photo_request", order_id="ord-1001")
    assert (result["ok"], result["status"]) == (True, "executed")
    row = story.only(Status.EXECUTED)
    assert (row.automatic, row.amount, row.order_id) == (True, None, "ORD-1001")
    (sent,) = story.mails()
    assert sent.envelope.to == (CLARA,)
    assert sent.envelope.subject == "A photo for order ORD-1001"
    assert sent.envelope.body.startswith("Hello Clara Nguyen,\n\ncould you answer this e-mail")
    assert sent.message_id == f"{row.idempotency_key}@supportdesk"
    assert [chip.data["text"] for chip in chips(story, row)] == [
        "E-mail about order ORD-1001: done"
    ]
    assert about(story, row) == [d for d in about(story, row) if d.kind is DeliveryKind.REVIEW]
    # However often it is carried out, the server has it once.
    story.desk.mailer.send(mail_of(story, row))
    assert len(story.mails()) == 1


def mail_of(story: Story, row: Approval) -> Mail:
    """Return the mail of a row, as every try sends it."""
    seen: list[Mail] = []

    class Seeing(SinkMailer):
        @override
        def send(self, mail: Mail) -> MailAnswer:
            seen.append(mail)
            return super().send(mail)

    seeing = Seeing(story.desk.store, story.clock, SENDER)
    other = replace(story.desk, mailer=seeing)
    EFFECTS[row.tool].run(other, row)
    return seen[0]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "The text is the agent's own"),
        ({"to": ["clara@work.example"]}, "The address is not the customer's own"),
        ({"cc": ["friend@example.com"]}, "It goes to 2 people"),
        ({"bcc": ["a@example.com", "b@example.com"]}, "It goes to 3 people"),
        ({"to": ["clara@xn--e1afmkfd.example"]}, "is written in punycode"),
        ({"confidence": "0.8999"}, "confidence 0.8999 is under"),
        ({"confidence": None}, "stated no confidence"),
    ],
    ids=["own text", "to", "cc", "bcc", "punycode", "unsure", "no confidence"],
)
def test_everything_else_waits_and_says_why(
    story: Story, arguments: dict[str, Any], reason: str
) -> None:
    staff(story)
    text = {} if not arguments else {"template": "photo_request", "subject": None, "body": None}
    row = waiting(story, **(text | arguments))
    assert any(reason in finding.text for finding in row.findings)
    assert story.mails() == ()
    assert isinstance(story.approves(ANA, row), Decided)
    story.rests()
    (sent,) = story.mails()
    assert list(sent.envelope.to) == row.payload["to"]
    assert "has been sent" in story.agent_words(row.conversation_id)[-1]


def test_the_card_is_given_every_word_that_leaves(story: Story) -> None:
    staff(story)
    row = waiting(story, cc=["friend@example.com"], bcc=["boss@shop.example"])
    card = about(story, row)[-1]
    assert card.approval is not None
    assert card.approval.approval.payload == {
        "customer_id": "cus_clara",
        "order_id": "ORD-1001",
        "template": None,
        "to": [CLARA],
        "cc": ["friend@example.com"],
        "bcc": ["boss@shop.example"],
        "subject": "About your chair",
        "body": "We sent it yesterday.",
    }
    story.approves(ANA, row)
    story.rests()
    (sent,) = story.mails()
    assert sent.envelope.bcc == ("boss@shop.example",)
    message = message_from_string(sent.raw)
    assert (message["To"], message["Cc"]) == (CLARA, "friend@example.com")
    assert (message["Bcc"], "boss@shop.example" in sent.raw) == (None, False)
    assert message["Message-ID"] == f"<{row.idempotency_key}@supportdesk>"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"subject": None}, "give subject and body, or a template"),
        ({"template": "no_such"}, "is not one of"),
        ({"template": "photo_request"}, "a template's text is not changed"),
        ({"template": "photo_request", "subject": None, "body": None, "order_id": None}, "order"),
        ({"to": ["nobody"]}, "is not an address"),
        ({"to": ["\u0441lara@example.com"]}, "is not an address"),
        ({"to": [CLARA, CLARA]}, "an address appears twice"),
        ({"subject": "a\nBcc: all@example.com"}, "one line"),
        ({"bcc": [f"p{n}@example.com" for n in range(10)]}, "more than 10 recipients"),
        ({"body": "x" * 12_001}, "12000"),
    ],
    ids=[
        "no subject",
        "unknown template",
        "changed template",
        "template without order",
        "no address",
        "cyrillic",
        "twice",
        "injection",
        "too many",
        "too long",
    ],
)
def test_what_cannot_be_an_e_mail_is_refused(
    story: Story, arguments: dict[str, Any], word: str
) -> None:
    staff(story)
    result = propose(story, **(OWN_TEXT | arguments))
    assert (result["ok"], result["error"]) == (False, "invalid_arguments")
    assert word in result["message"]
    assert story.mails() == ()


@pytest.mark.parametrize(
    ("customer", "order", "code"),
    [
        (None, "ORD-1001", "not_verified"),
        ("cus_ben", "ORD-1001", "not_found"),
        ("cus_ben", "ORD-9999", "not_found"),
        ("cus_nobody", None, "not_found"),
    ],
)
def test_nobody_writes_about_what_is_not_theirs(
    story: Story, customer: str | None, order: str | None, code: str
) -> None:
    staff(story)
    assert owner_of(story, "ORD-1001") == "cus_clara"
    to = {"to": ["who@example.com"]} if customer != "cus_ben" else {}
    call = story.email_call("call_1", **(OWN_TEXT | {"order_id": order} | to))
    (result,) = story.proposes(story.opens_chat(customer), call)
    assert result["error"] == code


def test_an_e_mail_waits_four_hours_and_is_then_not_sent(story: Story) -> None:
    staff(story)
    row = waiting(story)
    assert row.expires_at == story.clock.now() + timedelta(hours=4)
    story.clock.advance(hours=4, microseconds=-1)
    story.sweeps()
    assert story.approval(row.id).status is Status.PENDING
    story.clock.advance(microseconds=1)
    assert refused(story.approves(ANA, row)).code is RefusalCode.EXPIRED
    story.rests()
    assert story.mails() == ()
    assert story.agent_words(row.conversation_id)[-1].startswith(
        "No one decided on the e-mail about order ORD-1001 in time, so nothing was sent."
    )


def test_an_address_that_changed_meanwhile_is_still_the_one_that_was_shown(story: Story) -> None:
    staff(story)
    row = waiting(story)
    story.happens("UPDATE customers SET email = 'new@example.com' WHERE id = 'cus_clara'")
    story.approves(ANA, row)
    story.rests()
    (sent,) = story.mails()
    assert sent.envelope.to == (CLARA,)


def test_an_order_that_is_theirs_no_more_stops_it(story: Story) -> None:
    staff(story)
    row = waiting(story)
    story.approves(ANA, row)
    story.happens("UPDATE orders SET customer_id = 'cus_ben' WHERE id = 'ORD-1001'")
    story.rests()
    assert story.approval(row.id).status is Status.STALE
    assert story.mails() == ()
    assert told(story, row)[-1]["error"] == "stale"
    assert "nothing was sent" in story.agent_words(row.conversation_id)[-1]


class SaidBy(Mailer):
    """A mail server that gives one answer."""

    def __init__(self, answer: MailAnswer) -> None:
        self._answer = answer
        self.sent: list[Mail] = []

    @override
    def send(self, mail: Mail) -> MailAnswer:
        self.sent.append(mail)
        return self._answer

    @override
    def find(self, message_id: str) -> NoClearAnswer:
        return NoClearAnswer(f"a mail server cannot be asked about {message_id}")


@pytest.mark.parametrize(
    ("answer", "ends", "word"),
    [
        (Declined("550", "no such mailbox"), Status.FAILED, "could not be completed"),
        (NoClearAnswer("the line dropped"), Status.UNKNOWN, ""),
        (NotStarted("no connection"), Status.APPROVED, ""),
    ],
    ids=["declined", "unclear", "not started"],
)
def test_what_the_server_answers_is_what_is_told(
    story: Story, answer: MailAnswer, ends: Status, word: str
) -> None:
    staff(story)
    row = waiting(story)
    story.approves(MIA, row)
    story.tells()
    server = SaidBy(answer)
    execute(replace(story.desk, mailer=server), row.id)
    story.tells()
    assert story.approval(row.id).status is ends
    assert word in story.agent_words(row.conversation_id)[-1]
    assert len(server.sent) == 1


def test_a_mail_nobody_knows_about_is_never_sent_twice_by_itself(story: Story) -> None:
    staff(story)
    row = waiting(story)
    story.approves(MIA, row)
    story.tells()
    server = SaidBy(NoClearAnswer("the line dropped"))
    lost = replace(story, desk=replace(story.desk, mailer=server))
    execute(lost.desk, row.id)
    for _ in range(8):
        story.clock.advance(hours=4)
        lost.sweeps()
    assert len(server.sent) == 1
    assert path(story, row)[-1] is Status.UNKNOWN
    (alert,) = story.notifier.alerts(AlertKind.UNKNOWN_OUTCOME)
    assert "E-mail about order ORD-1001 is still unknown" in str(alert.body["text"])


def test_every_try_is_the_same_message(story: Story) -> None:
    staff(story)
    row = waiting(story)
    story.approves(MIA, row)
    story.tells()
    busy, ready = SaidBy(NotStarted("no connection")), SaidBy(Declined("550", "no"))
    execute(replace(story.desk, mailer=busy), row.id)
    story.clock.advance(minutes=1)
    execute(replace(story.desk, mailer=ready), row.id)
    assert busy.sent == ready.sent


def test_a_draft_is_shown_and_nothing_is_sent(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    drafts = story.proposes(
        chat,
        ("call_1", "compose_reply", '{"subject": "Hi", "body": "Soon.", "order_id": "ORD-1001"}'),
        ("call_2", "compose_reply", '{"subject": "Hi", "body": "Soon.", "order_id": "ORD-1008"}'),
        ("call_3", "compose_reply", '{"subject": "Hi"}'),
    )
    assert drafts[0] == {
        "ok": True,
        "status": "draft",
        "sent": False,
        "draft": {"to": CLARA, "subject": "Hi", "body": "Soon."},
    }
    assert [draft["error"] for draft in drafts[1:]] == ["not_found", "invalid_arguments"]
    (stranger,) = story.proposes(
        story.opens_chat(None), ("call_4", "compose_reply", '{"subject": "Hi", "body": "Soon."}')
    )
    assert stranger["error"] == "not_verified"
    assert story.mails() == ()
    (kept,) = (f for f in story.facts() if f["type"] == "draft.made")
    assert kept["data"] == {"call_id": "call_1", "draft": drafts[0]["draft"]}
    assert [row for status in Status for row in story.all(status)] == []


def test_the_templates_are_told_to_the_agent(story: Story) -> None:
    staff(story)
    chat = story.opens_chat("cus_clara")
    (rules,) = story.proposes(chat, ("call_1", "check_policy", '{"question": "a photo?"}'))
    assert [one["name"] for one in rules["email_templates"]] == [
        "delay_apology",
        "photo_request",
        "return_instructions",
    ]


def test_so_many_templates_a_day_and_none_of_them_in_the_breaker(story: Story) -> None:
    staff(story)
    many = [("photo_request", order) for order in ("ORD-1001", "ORD-1002", "ORD-1013")]
    many += [("delay_apology", order) for order in ("ORD-1001", "ORD-1002")]
    for template, order in many:
        assert propose(story, template=template, order_id=order)["status"] == "executed"
    last = {"template": "delay_apology", "order_id": "ORD-1013"}
    assert propose(story, **last)["status"] == "pending_approval"
    (finding,) = story.only(Status.PENDING).findings
    assert finding.code is Reason.CUMULATIVE_OVER_LIMIT
    assert finding.text == "5 e-mails left without a person in 24 hours; the policy allows 5"
    assert len(story.mails()) == 5
    assert breaker_status(story.desk)["admitted_in_window"] == 0
    story.clock.advance(days=1)
    story.sweeps()
    tomorrow = {"template": "return_instructions", "order_id": "ORD-1013"}
    assert propose(story, **tomorrow)["status"] == "executed"
