"""What is approved is what is read: headers, envelope and text of a message."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email import message_from_bytes, policy
from email.message import EmailMessage
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.domain.errors import InvalidInput
from agent.ports import Mail
from agent.providers.mail_message import Sender, compose, read_sender

SENDER = Sender("ShopStream", "support@shopstream.example")
MAIL = Mail(
    message_id="rd-01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk",
    to=("ben@example.com",),
    cc=("clara@example.com", "dora@example.com"),
    bcc=("audit@shopstream.example",),
    subject="Your order ORD-1001",
    body="Hello Ben,\r\nit is on its way.\r\n",
    date=datetime(2026, 11, 29, 14, 0, tzinfo=timezone(timedelta(hours=2))),
)

LINES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=300)
# Words that fall apart in careless hands: blanks between encoded words, what looks like one.
PIECES = st.sampled_from(
    [" ", "  ", "é", "🎉", "word", "=?utf-8?q?x?=", "=?", "?=", "שלום", ",", ":", "x" * 90]
)
BODIES = st.lists(
    LINES | st.sampled_from(["\n", "\r\n", "\n.", "\n..", "\nFrom ", "\t", " \n", "\u2028"]),
    max_size=20,
).map("".join)


def read(raw: bytes) -> EmailMessage:
    return message_from_bytes(raw, policy=policy.default)


def lines(text: str) -> list[str]:
    """Return the lines of a text, however they end; an ended last line is no further line."""
    return re.split("\r\n|\r|\n", re.sub(r"(\r\n|\r|\n)\Z", "", text))


def test_the_message_is_this_byte_by_byte() -> None:
    letter = compose(MAIL, SENDER)
    assert letter.raw.decode("ascii").split("\r\n") == [
        "From: ShopStream <support@shopstream.example>",
        "To: ben@example.com",
        "Cc: clara@example.com,",
        " dora@example.com",
        "Subject: Your order ORD-1001",
        "Date: Sun, 29 Nov 2026 12:00:00 +0000",
        "Message-ID: <rd-01J8ZQ4T7B9V3N5M6K2P8R0S1T@supportdesk>",
        "Auto-Submitted: auto-generated",
        "X-Auto-Response-Suppress: All",
        'Content-Type: text/plain; charset="utf-8"',
        "Content-Transfer-Encoding: 7bit",
        "MIME-Version: 1.0",
        "",
        "Hello Ben,",
        "it is on its way.",
        "",
    ]
    assert letter.sender == "support@shopstream.example"
    assert letter.recipients == (
        "ben@example.com",
        "clara@example.com",
        "dora@example.com",
        "audit@shopstream.example",
    )
    assert letter.international is False


def test_the_same_mail_is_the_same_message_each_time() -> None:
    assert compose(MAIL, SENDER) == compose(MAIL, SENDER)


def test_hidden_recipients_are_in_the_envelope_only() -> None:
    letter = compose(replace(MAIL, to=(), cc=()), SENDER)
    assert letter.recipients == ("audit@shopstream.example",)
    assert b"audit@" not in letter.raw
    assert read(letter.raw).keys()[:2] == ["From", "Subject"]


def test_an_address_named_twice_is_told_once() -> None:
    letter = compose(replace(MAIL, cc=("ben@example.com",), bcc=("ben@example.com",)), SENDER)
    assert letter.recipients == ("ben@example.com",)


@given(LINES | st.lists(PIECES, max_size=40).map("".join))
def test_any_subject_is_read_as_it_was_approved(subject: str) -> None:
    raw = compose(replace(MAIL, subject=subject), SENDER).raw
    head, _, _ = raw.partition(b"\r\n\r\n")
    assert read(raw)["Subject"] == subject
    assert head.isascii()
    assert max(map(len, head.split(b"\r\n"))) <= 78
    assert read(raw).keys()[:5] == ["From", "To", "Cc", "Subject", "Date"]


@given(BODIES)
def test_any_text_is_read_as_it_was_approved(body: str) -> None:
    raw = compose(replace(MAIL, body=body), SENDER).raw
    assert raw.isascii()
    assert raw.endswith(b"\r\n")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    assert lines(read(raw).get_content()) == lines(body)


@given(st.text(max_size=30))
def test_no_recipient_brings_anything_but_an_address(text: str) -> None:
    mail = replace(MAIL, to=(f"{text}@example.com",), cc=(), bcc=())
    with suppress(InvalidInput):
        letter = compose(mail, SENDER)
        (address,) = letter.recipients
        head = letter.raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        assert head[1] == f"To: {address}"
        assert head[2].startswith("Subject: ")
        assert address == normalize("NFC", f"{text}@example.com")
        assert letter.international is not address.isascii()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"to": (), "cc": (), "bcc": ()}, "to"),
        ({"to": ("ben@example.com\r\nBcc: thief@evil.example",)}, "to"),
        ({"to": ("ben@example.com, thief@evil.example",)}, "to"),
        ({"to": ("Ben <ben@example.com>",)}, "to"),
        ({"to": ("",)}, "to"),
        ({"to": ("root@localhost",)}, "to"),
        ({"to": ("half\ud83c@example.com",)}, "to"),
        ({"cc": ("ben@example.com\n",)}, "cc"),
        ({"bcc": ("not an address",)}, "bcc"),
        ({"subject": "Hi\r\nBcc: thief@evil.example"}, "subject"),
        ({"subject": "Hi\nBcc: thief@evil.example"}, "subject"),
        ({"subject": "Hi\rthere"}, "subject"),
        ({"subject": "Hi\u2028there"}, "subject"),
        ({"subject": "Hi\x85there"}, "subject"),
        ({"subject": "\ud83c"}, "subject"),
        ({"body": "nul\0"}, "body"),
        ({"body": "\ud83c"}, "body"),
        ({"message_id": "no-right-half"}, "message_id"),
        ({"message_id": "a@b>\r\nBcc: thief@evil.example"}, "message_id"),
        ({"message_id": "a@b\n"}, "message_id"),
        ({"message_id": f"{'a' * 250}@desk"}, "message_id"),
    ],
)
def test_what_would_leave_otherwise_is_refused(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compose(replace(MAIL, **changes), SENDER)  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_domain_of_another_script_is_written_in_ascii() -> None:
    letter = compose(replace(MAIL, to=("ben@bücher.example",), cc=()), SENDER)
    assert letter.recipients[0] == "ben@xn--bcher-kva.example"
    assert b"To: ben@xn--bcher-kva.example\r\n" in letter.raw
    assert letter.international is False


def test_a_name_of_another_script_needs_a_server_that_takes_it() -> None:
    letter = compose(replace(MAIL, to=("bén@example.com",)), SENDER)
    assert letter.international is True
    assert "To: bén@example.com\r\n" in letter.raw.decode()


@pytest.mark.parametrize(
    ("text", "sender", "header"),
    [
        ("help@shop.example", Sender("", "help@shop.example"), "help@shop.example"),
        (
            " Shop Help <help@shop.example> ",
            Sender("Shop Help", "help@shop.example"),
            "Shop Help <help@shop.example>",
        ),
        (
            "Shop, Inc. (EU) <help@shop.example>",
            Sender("Shop, Inc. (EU)", "help@shop.example"),
            '"Shop, Inc. (EU)" <help@shop.example>',
        ),
        (
            "Bücher <help@shop.example>",
            Sender("Bücher", "help@shop.example"),
            "=?utf-8?q?B=C3=BCcher?= <help@shop.example>",
        ),
        ("desk@localhost", Sender("", "desk@localhost"), "desk@localhost"),
        ("desk+mail@shop.local", Sender("", "desk+mail@shop.local"), "desk+mail@shop.local"),
    ],
)
def test_a_sender_has_an_address_and_perhaps_a_name(text: str, sender: Sender, header: str) -> None:
    assert read_sender(text) == sender
    assert compose(MAIL, sender).raw.startswith(f"From: {header}\r\n".encode())
    mailbox = read(compose(MAIL, sender).raw)["From"].addresses[0]
    assert (mailbox.display_name, mailbox.addr_spec) == (sender.name, sender.address)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "@shop.example",
        "help@",
        "help@shop..example",
        "help @shop.example",
        "a@shop.example, b@shop.example",
        "<help@shop.example>",
        "Shop help@shop.example",
        "Shop <help@shop.example",
        "Shop <Help> <help@shop.example>",
        "Shop\r\nBcc: thief@evil.example\r\nX: <help@shop.example>",
        "Shop\x00 <help@shop.example>",
        "hélp@shop.example",
        f"{'x' * 250}@shop.example",
    ],
)
def test_another_sender_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"such as Shop <help@shop.example>"):
        read_sender(text)


def test_a_date_is_told_in_utc() -> None:
    raw = compose(replace(MAIL, date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)), SENDER).raw
    assert b"\r\nDate: Fri, 02 Jan 2026 03:04:05 +0000\r\n" in raw
