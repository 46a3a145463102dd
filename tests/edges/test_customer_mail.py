"""An outcome by mail as a real mail server receives it: two texts, nothing loaded, nothing run."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from html.parser import HTMLParser

import pytest
from typing_extensions import override

from agent.domain.approvals import Approval, Status
from agent.domain.languages import LANGUAGES, Language
from agent.domain.mailing import write_letter
from agent.letters import render
from agent.ports import Mail, MailAccepted
from agent.providers.mail_message import Sender
from agent.providers.smtp_address import read_smtp_url
from agent.providers.smtp_mail import SmtpMailer
from tests.support.builders import approval
from tests.support.smtp_server import MailServer, mail_server

SENDER = Sender("ShopStream", "support@shopstream.example")
LINK = "https://shop.example/help?a=1&b=2#support-desk"
HOSTILE = (
    "<script>alert(1)</script><img src=http://evil.example/x.png onerror=alert(1)> & \"'\n"
    "{{ 7*7 }} {% raw %} \u202egnp.exe\u0007 =_boundary"
)


@pytest.fixture(scope="module")
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


class Seen(HTMLParser):
    """What a mail program would make of the HTML: tags, attributes, text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


def received(
    server: MailServer,
    row: Approval,
    reason: str = "",
    name: str = "Clara",
    language: Language = "en",
) -> EmailMessage:
    """Send the mail about a request through a real server and return what it was given."""
    letter = write_letter(row, reason, name, language, LINK)
    text, html = render(letter)
    mail = Mail(
        message_id="out_01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk",
        to=("clara@example.com",),
        cc=(),
        bcc=(),
        subject=letter.subject,
        body=text,
        date=datetime(2026, 11, 29, 12, 0, tzinfo=UTC),
        html=html,
        reply_to="Help at ShopStream <help@shopstream.example>",
        references=("cnv_1@supportdesk",),
    )
    mailer = SmtpMailer(read_smtp_url(server.url), SENDER)
    assert isinstance(mailer.send(mail), MailAccepted)
    assert isinstance(mailer.send(mail), MailAccepted)
    first, again = server.mails[-2:]
    assert first.raw == again.raw
    assert max(map(len, first.raw.split(b"\r\n"))) <= 998
    assert first.raw.isascii()
    return message_from_bytes(first.raw, policy=policy.default)


def both(message: EmailMessage) -> tuple[str, ...]:
    """Return the plain text and the HTML, in the order of the message."""
    assert message.get_content_type() == "multipart/alternative"
    text, html = message.iter_parts()
    assert (text.get_content_type(), html.get_content_type()) == ("text/plain", "text/html")
    return tuple(part.get_content().replace("\r\n", "\n") for part in (text, html))


def test_it_is_a_mail_that_machines_leave_alone_and_people_can_answer(server: MailServer) -> None:
    message = received(server, approval(status=Status.EXECUTED))
    head = {name: str(message[name]) for name in message}
    assert head["Subject"] == "Refund for order ORD-1001: done"
    assert head["Message-ID"] == "<out_01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk>"
    assert head["In-Reply-To"] == head["References"] == "<cnv_1@supportdesk>"
    assert head["Auto-Submitted"] == "auto-generated"
    assert head["X-Auto-Response-Suppress"] == "All"
    assert head["Reply-To"] == "Help at ShopStream <help@shopstream.example>"
    text, html = both(message)
    assert text == (
        "Hello Clara,\n\n"
        "Good news: the refund of 160.00 USD on order ORD-1001 has been paid.\n\n"
        "Order: ORD-1001\nAmount: 160.00 USD\nStatus: done\n\n"
        "Have a question about it? Write to us in the chat, a person can help you too:\n"
        f"{LINK}\n\n"
        "This message was sent automatically, because something new about your request had not "
        "been read in our chat yet.\n"
    )
    seen = Seen(html)
    for words in ("Good news", "160.00 USD", "ORD-1001", "done", "Open the chat"):
        assert words in seen.text
    links = [attributes.get("href") for tag, attributes in seen.tags if tag == "a"]
    assert links == [LINK]


def test_nothing_hostile_is_markup_and_nothing_is_loaded(server: MailServer) -> None:
    row = approval(status=Status.REJECTED, order_id=f"ORD-1\r\nBcc: x@evil.example {HOSTILE}")
    message = received(server, row, HOSTILE, f"Clara\r\nX: y {HOSTILE}")
    assert message["Bcc"] is None
    assert len(message.get_all("Subject", [])) == 1
    assert "\u202e" not in str(message["Subject"])
    text, html = both(message)
    assert "\u202e" not in text + html
    assert "\x07" not in text + html
    assert "<script>alert(1)</script>" in text
    assert "{{ 7*7 }}" in text
    seen = Seen(html)
    assert "<script>alert(1)</script>" in seen.text
    tags = {tag for tag, _ in seen.tags}
    assert tags == {
        *("html", "head", "meta", "title", "style", "body", "div", "p", "table", "tr", "td"),
        *("bdi", "a"),
    }
    names = {name for _, attributes in seen.tags for name in attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "background"}
    assert re.findall(r"url\(|@import", html) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_says_amount_order_and_its_direction(
    server: MailServer, language: Language
) -> None:
    message = received(server, approval(status=Status.EXECUTED), name="كلارا", language=language)
    text, html = both(message)
    for words in ("160.00 USD", "ORD-1001", LINK, "كلارا"):
        assert words in text
    assert "ORD-1001" in str(message["Subject"])
    ((_, top),) = [one for one in Seen(html).tags if one[0] == "html"]
    assert top == {"lang": language, "dir": "rtl" if language == "ar" else "ltr"}
    assert ("\u2068160.00 USD\u2069" in text) is (language == "ar")
    english = both(received(server, approval(status=Status.EXECUTED), name="كلارا"))[0]
    assert (text == english) is (language == "en")


def test_without_a_page_there_is_no_link_and_without_a_name_no_gap() -> None:
    row = replace(approval(status=Status.FAILED), order_id=None)
    letter = write_letter(row, "", "\u202e", "en", None)
    text, html = render(letter)
    assert text.startswith("Hello,\n")
    assert letter.subject == "Refund: could not be completed"
    assert "href" not in html
    assert "http" not in text + html
    with pytest.raises(ValueError, match="pending"):
        write_letter(approval(), "", "", "en", None)
