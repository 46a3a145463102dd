"""Mail handed to a real SMTP server: what arrives, and what is said when it does not."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from agent.ports import Declined, Mail, MailAccepted, MailAnswer, NoClearAnswer, NotStarted
from agent.providers.mail_message import Sender
from agent.providers.smtp_address import read_smtp_url
from agent.providers.smtp_mail import DIALOGUE_S, SmtpMailer
from tests.support.smtp_server import (
    BUSY_AFTER_DATA,
    DROP,
    DROP_AFTER_DATA,
    REFUSE_CONNECTION,
    REFUSE_DATA,
    REFUSE_RCPT,
    STALL,
    STALL_AFTER_DATA,
    Certificate,
    Encryption,
    MailServer,
    Step,
    certificate_for,
    mail_server,
)

SENDER = Sender("ShopStream", "support@shopstream.example")
MAIL = Mail(
    message_id="rd-01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk",
    to=("ben@example.com",),
    cc=("clara@example.com",),
    bcc=("audit@shopstream.example",),
    subject="Grüße zu ORD-1001 🎉",
    body="Hallo Ben,\r\n.ein Punkt\r\n..zwei\r\n.\r\nFrom here on: שלום\r\n" + "lang " * 400,
    date=datetime(2026, 11, 29, 12, 0, tzinfo=UTC),
)
LOGIN = ("desk@shop.example", "pass word/1")
# Above what a busy machine needs to answer, below what anybody waits for in vain.
SHORT_S = 0.3


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def certificate() -> Iterator[Certificate]:
    with certificate_for("127.0.0.1") as certificate:
        yield certificate


def mailer(
    server: MailServer,
    certificate: Certificate | None = None,
    *,
    timeout_s: float = 10.0,
    options: str = "",
) -> SmtpMailer:
    """Return a mailer to the server; it trusts the certificate that it is given."""
    tls = None if certificate is None else certificate.client
    address = read_smtp_url(server.url + options)
    return SmtpMailer(address, SENDER, timeout_s=timeout_s, tls=tls)


def said(answer: MailAnswer) -> str:
    """Return what the server, or the link to it, had to say."""
    match answer:
        case MailAccepted(reply=words) | Declined(message=words):
            return words
        case NotStarted(problem=words) | NoClearAnswer(problem=words):
            return words


def test_a_mail_arrives_as_it_was_approved(server: MailServer) -> None:
    answer = mailer(server).send(MAIL)
    assert answer == MailAccepted(MAIL.message_id, "250 2.0.0 Ok: queued as 4F2A")
    (mail,) = server.mails
    assert mail.sender == "support@shopstream.example"
    assert mail.recipients == ("ben@example.com", "clara@example.com", "audit@shopstream.example")
    assert mail.message.items() == [
        ("From", "ShopStream <support@shopstream.example>"),
        ("To", "ben@example.com"),
        ("Cc", "clara@example.com"),
        ("Subject", "Grüße zu ORD-1001 🎉"),
        ("Date", "Sun, 29 Nov 2026 12:00:00 +0000"),
        ("Message-ID", "<rd-01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk>"),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
        ("Content-Type", 'text/plain; charset="utf-8"'),
        ("Content-Transfer-Encoding", "quoted-printable"),
        ("MIME-Version", "1.0"),
    ]
    assert mail.text == MAIL.body.replace("\r\n", "\n") + "\n"
    assert b"audit@" not in mail.raw
    assert mail.raw.isascii()
    assert max(map(len, mail.raw.split(b"\r\n"))) <= 78
    assert server.commands == ["EHLO", "MAIL", "RCPT", "RCPT", "RCPT", "DATA", "QUIT"]


def test_lines_that_begin_with_a_dot_arrive_whole(server: MailServer) -> None:
    # Short ASCII lines leave as they are, so that the dots are on the wire.
    mailer(server).send(replace(MAIL, body=".\r\n..\r\n. a\r\nb\r\n.\r\n"))
    (mail,) = server.mails
    assert mail.message["Content-Transfer-Encoding"] == "7bit"
    assert mail.raw.endswith(b"\r\n\r\n.\r\n..\r\n. a\r\nb\r\n.\r\n")


def test_every_try_is_the_same_message(server: MailServer) -> None:
    mailer(server).send(MAIL)
    mailer(server).send(MAIL)
    first, second = server.mails
    assert first.raw == second.raw


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"subject": "Hi\r\nBcc: thief@evil.example"}, "subject"),
        ({"to": ("ben@example.com>\r\nRCPT TO:<thief@evil.example",)}, "to"),
        ({"cc": ("thief@evil.example\r\n.\r\nMAIL FROM:<x@y.example>",)}, "cc"),
        ({"message_id": "a@b>\r\nBcc: thief@evil.example"}, "message_id"),
        ({"to": (), "cc": (), "bcc": ()}, "to"),
    ],
)
def test_what_would_smuggle_something_in_is_refused_before_anything_is_sent(
    server: MailServer, changes: dict[str, object], field: str
) -> None:
    answer = mailer(server).send(replace(MAIL, **changes))  # type: ignore[arg-type]
    assert isinstance(answer, Declined)
    assert answer.code == "invalid"
    assert answer.message.startswith(f"{field}: ")
    assert server.commands == []


NOT_STARTED, DECLINED, UNCLEAR = NotStarted, Declined, NoClearAnswer


@pytest.mark.parametrize(
    ("faults", "answer", "words"),
    [
        (REFUSE_CONNECTION, NOT_STARTED, "421 4.3.2 closing for maintenance"),
        ({"CONNECT": "554 5.7.1 not you"}, NOT_STARTED, "554 5.7.1 not you"),
        ({"CONNECT": "who is there"}, NOT_STARTED, "no reply"),
        ({"CONNECT": DROP}, NOT_STARTED, "closed"),
        ({"CONNECT": STALL}, NOT_STARTED, "timed out"),
        ({"EHLO": DROP}, NOT_STARTED, "closed"),
        ({"EHLO": STALL}, NOT_STARTED, "timed out"),
        ({"EHLO": "421 4.3.2 bye"}, NOT_STARTED, "closed"),
        ({"EHLO": "550 no", "HELO": "550 go away"}, NOT_STARTED, "550 go away"),
        ({"MAIL": "421 4.3.2 bye"}, NOT_STARTED, "421 4.3.2 bye"),
        ({"MAIL": "451 4.3.0 later"}, NOT_STARTED, "451 4.3.0 later"),
        ({"MAIL": "550 5.7.1 not you"}, DECLINED, "550 5.7.1 not you"),
        ({"MAIL": DROP}, NOT_STARTED, "closed"),
        ({"MAIL": STALL}, NOT_STARTED, "timed out"),
        ({"MAIL": "yes"}, NOT_STARTED, "no reply"),
        ({"RCPT": "421 4.3.2 bye"}, NOT_STARTED, "421 4.3.2 bye"),
        ({"RCPT": "450 4.2.0 greylisted"}, NOT_STARTED, "450 4.2.0 greylisted"),
        (REFUSE_RCPT, DECLINED, "ben@example.com: 550 5.1.1 no such user here"),
        ({"RCPT": DROP}, NOT_STARTED, "closed"),
        ({"RCPT": STALL}, NOT_STARTED, "timed out"),
        ({"DATA": "421 4.3.2 bye"}, NOT_STARTED, "421 4.3.2 bye"),
        ({"DATA": "451 4.3.0 later"}, NOT_STARTED, "451 4.3.0 later"),
        ({"DATA": "554 5.5.1 nobody left"}, DECLINED, "554 5.5.1 nobody left"),
        ({"DATA": "250 fine"}, NOT_STARTED, "250 fine"),
        ({"DATA": DROP}, NOT_STARTED, "closed"),
        ({"DATA": STALL}, NOT_STARTED, "timed out"),
        ({"END": "250-first line\r\n250 last line"}, MailAccepted, "250 last line"),
        (REFUSE_DATA, DECLINED, "554 5.7.1 that looks like spam"),
        (BUSY_AFTER_DATA, NOT_STARTED, "451 4.3.0 try again later"),
        (DROP_AFTER_DATA, UNCLEAR, "closed"),
        (STALL_AFTER_DATA, UNCLEAR, "timed out"),
        ({"CONTENT": STALL}, UNCLEAR, "timed out"),
        ({"END": "ok"}, UNCLEAR, "no reply"),
        ({"END": "354 go on"}, UNCLEAR, "354 go on"),
        ({"END": f"250 {'x' * 9000}"}, UNCLEAR, "500 Line too long."),
    ],
)
def test_each_way_to_fail_has_its_own_answer(
    faults: dict[Step, str], answer: type[MailAnswer], words: str
) -> None:
    stalls = STALL in faults.values()
    with mail_server(faults) as server:
        got = mailer(server, timeout_s=SHORT_S if stalls else 10.0).send(MAIL)
    assert isinstance(got, answer), got
    assert words in said(got)
    # Nobody has a mail that is told as not sent.
    assert not server.mails or isinstance(got, MailAccepted | NoClearAnswer)


@pytest.mark.parametrize("what", [DROP, STALL])
def test_a_mail_cut_off_before_its_final_dot_was_not_sent(what: str) -> None:
    # More than the buffers of both ends hold, so that the rest is not even on its way.
    long = replace(MAIL, body="a line of a long text\r\n" * 600_000)
    with mail_server({"CONTENT": what}) as server:
        answer = mailer(server, timeout_s=SHORT_S).send(long)
    assert isinstance(answer, NotStarted)
    assert server.mails == []


@pytest.mark.parametrize(
    ("faults", "code"),
    [
        ({"MAIL": "550 5.7.1 not you"}, "sender_refused"),
        (REFUSE_RCPT, "recipient_refused"),
        ({"DATA": "554 5.5.1 nobody left"}, "mail_refused"),
        (REFUSE_DATA, "mail_refused"),
    ],
)
def test_a_no_says_what_was_refused(faults: dict[Step, str], code: str) -> None:
    with mail_server(faults) as server:
        answer = mailer(server).send(MAIL)
    assert isinstance(answer, Declined)
    assert answer.code == code


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("550 5.1.1 no such user here", Declined), ("450 4.2.0 greylisted", NotStarted)],
)
@pytest.mark.parametrize("refused", [MAIL.to[0], MAIL.cc[0], MAIL.bcc[0]])
def test_one_recipient_refused_and_nobody_gets_it(
    refused: str, reply: str, answer: type[MailAnswer]
) -> None:
    with mail_server(refused={refused: reply}) as server:
        got = mailer(server).send(MAIL)
        assert isinstance(got, answer)
        assert server.mails == []
        assert "DATA" not in server.commands
        assert server.commands[-2:] == ["RSET", "QUIT"]
        server.refused.clear()
        assert isinstance(mailer(server).send(MAIL), MailAccepted)
    assert len(server.mails) == 1


@pytest.mark.parametrize("what", [DROP, STALL, "500 what?"])
def test_what_is_said_at_parting_changes_nothing(what: str) -> None:
    with mail_server({"QUIT": what}) as server:
        assert isinstance(mailer(server).send(MAIL), MailAccepted)
    with mail_server({"RSET": what, **REFUSE_RCPT}) as server:
        assert isinstance(mailer(server).send(MAIL), Declined)


def test_an_old_server_that_only_knows_helo_takes_mail() -> None:
    with mail_server({"EHLO": "502 5.5.1 never heard of it"}) as server:
        assert isinstance(mailer(server).send(MAIL), MailAccepted)
    assert server.commands[:2] == ["EHLO", "HELO"]
    assert server.mails[0].options == ()


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    answer = SmtpMailer(read_smtp_url(f"smtp://127.0.0.1:{port}"), SENDER).send(MAIL)
    assert isinstance(answer, NotStarted)
    assert "refused" in answer.problem


def test_a_name_that_nobody_knows() -> None:
    # The domain is reserved, so that it never resolves (RFC 6761).
    answer = SmtpMailer(read_smtp_url("smtp://no-such-host.invalid"), SENDER).send(MAIL)
    assert isinstance(answer, NotStarted)


def test_a_server_that_answers_slowly_all_along_is_given_up_in_time(server: MailServer) -> None:
    # Every look at the clock finds a quarter of the time gone.
    ticks = (step * DIALOGUE_S / 4 for step in count())
    slow = SmtpMailer(read_smtp_url(server.url), SENDER, monotonic=lambda: next(ticks))
    answer = slow.send(MAIL)
    assert isinstance(answer, NotStarted)
    assert "too slow" in answer.problem
    assert server.mails == []
    assert "DATA" not in server.commands


@pytest.mark.parametrize("encryption", ["offered", "required", "whole"])
def test_a_password_is_sent_encrypted_to_the_right_server(
    certificate: Certificate, encryption: Encryption
) -> None:
    with mail_server(encryption=encryption, certificate=certificate, login=LOGIN) as server:
        assert isinstance(mailer(server, certificate).send(MAIL), MailAccepted)
        (mail,) = server.mails
        assert mail.encrypted
        assert mail.user == LOGIN[0]


@pytest.mark.parametrize("encryption", ["required", "whole"])
def test_a_server_that_nobody_vouches_for_gets_neither_password_nor_mail(
    certificate: Certificate, encryption: Encryption
) -> None:
    with mail_server(encryption=encryption, certificate=certificate, login=LOGIN) as server:
        answer = mailer(server).send(MAIL)
        assert isinstance(answer, NotStarted)
        assert "certificate verify failed" in answer.problem
        assert "AUTH" not in server.commands
        assert server.mails == []


def test_a_certificate_of_another_name_is_not_believed() -> None:
    with ExitStack() as held:
        other = held.enter_context(certificate_for("mail.example"))
        server = held.enter_context(
            mail_server(encryption="required", certificate=other, login=LOGIN)
        )
        answer = mailer(server, other).send(MAIL)
        assert isinstance(answer, NotStarted)
        assert "127.0.0.1" in answer.problem
        assert "AUTH" not in server.commands


def test_no_password_is_sent_in_the_clear() -> None:
    with mail_server(login=LOGIN) as server:
        answer = mailer(server).send(MAIL)
        assert isinstance(answer, NotStarted)
        assert "STARTTLS" in answer.problem
        assert "AUTH" not in server.commands


def test_encryption_that_is_required_is_not_done_without(server: MailServer) -> None:
    answer = mailer(server, options="?starttls=required").send(MAIL)
    assert isinstance(answer, NotStarted)
    assert "STARTTLS" in answer.problem
    assert server.commands == ["EHLO", "QUIT"]


def test_encryption_that_is_offered_on_this_machine_is_used_whoever_vouches(
    certificate: Certificate,
) -> None:
    with mail_server(encryption="required", certificate=certificate) as server:
        assert isinstance(mailer(server).send(MAIL), MailAccepted)
        assert server.mails[0].encrypted


@pytest.mark.parametrize("what", ["454 4.7.0 not now", "501 what?", DROP, STALL])
def test_encryption_that_fails_ends_the_try(certificate: Certificate, what: str) -> None:
    with mail_server({"STARTTLS": what}, encryption="offered", certificate=certificate) as server:
        answer = mailer(server, certificate, timeout_s=SHORT_S).send(MAIL)
        assert isinstance(answer, NotStarted)
        assert "MAIL" not in server.commands


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (f"535 5.7.8 {LOGIN[1]} is wrong", "the mail server refused user name or password (535)"),
        ("454 4.7.0 not now", "the mail server refused user name or password (454)"),
        ("334 !not base64", "nonsense"),
        (DROP, "closed"),
        (STALL, "timed out"),
    ],
)
def test_a_login_that_fails_ends_the_try(certificate: Certificate, what: str, words: str) -> None:
    with mail_server(
        {"AUTH": what}, encryption="required", certificate=certificate, login=LOGIN
    ) as server:
        answer = mailer(server, certificate, timeout_s=SHORT_S).send(MAIL)
        assert isinstance(answer, NotStarted)
        assert words in answer.problem.lower()
        assert LOGIN[1] not in answer.problem
        assert server.mails == []


def test_a_wrong_password_is_told_without_repeating_it(certificate: Certificate) -> None:
    with mail_server(encryption="required", certificate=certificate, login=LOGIN) as server:
        server.password = "another"
        wrong = mailer(server, certificate)
        server.password = LOGIN[1]
        answer = wrong.send(MAIL)
    assert answer == NotStarted("the mail server refused user name or password (535)")


def test_a_server_without_logins_is_told_apart(certificate: Certificate) -> None:
    with mail_server(
        {"EHLO": "250 mail.test"}, encryption="whole", certificate=certificate, login=LOGIN
    ) as server:
        answer = mailer(server, certificate).send(MAIL)
    assert answer == NotStarted("SMTP AUTH extension not supported by server.")


def test_an_international_address_needs_a_server_that_takes_it() -> None:
    mail = replace(MAIL, to=("bén@example.com",))
    with mail_server() as server:
        assert isinstance(mailer(server).send(mail), MailAccepted)
        assert server.mails[0].recipients[0] == "bén@example.com"
        assert "SMTPUTF8" in server.mails[0].options
    with mail_server(smtputf8=False) as server:
        answer = mailer(server).send(mail)
        assert isinstance(answer, Declined)
        assert answer.code == "not_supported"
        assert "MAIL" not in server.commands


def test_what_a_server_says_is_told_in_one_printable_line(server: MailServer) -> None:
    server.faults["END"] = f"250 ok\x00\x1b[2J\t{'x' * 400}"
    answer = mailer(server).send(MAIL)
    assert isinstance(answer, MailAccepted)
    assert answer.reply.isprintable()
    assert re.fullmatch(r"250 ok  \[2J x+", answer.reply)
    assert len(answer.reply) == 300


def test_nobody_can_be_asked_about_an_earlier_mail(server: MailServer) -> None:
    mailer(server).send(MAIL)
    assert isinstance(mailer(server).find(MAIL.message_id), NoClearAnswer)
    assert mailer(server).available
