"""An e-mail as it goes over the wire: checked, encoded, its hidden recipients left out."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC
from email import policy
from email.header import Header
from email.message import EmailMessage
from email.utils import format_datetime, formataddr

from email_validator import EmailNotValidError, validate_email

from agent.domain.errors import InvalidInput
from agent.domain.mail_text import is_mail_line, is_mail_text
from agent.ports import Mail

_CRLF = "\r\n"
# Every server takes ASCII: whatever is not, is encoded.
_SEVEN_BITS = policy.SMTP.clone(cte_type="7bit")
# RFC 5322 wants lines of at most 78 characters; a blank and a colon are wanted too.
_LONGEST_LINE = 76
_LONGEST_WORD = 60
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = rf"{_ATOM}(?:\.{_ATOM})*"
_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"
# Unlike that of a customer, the sender's domain may be one that only this network knows.
_SENDER = re.compile(
    rf"(?:(?P<name>[^<>\"\\]*[^<>\"\\\s])\s*<(?P<named>{_LOCAL}@{_HOST})>|(?P<bare>{_LOCAL}@{_HOST}))"
)
_MESSAGE_ID = re.compile(rf"{_LOCAL}@{_HOST}")
_MOST_CHARACTERS = 254
_BOUNDARY = 32


@dataclass(frozen=True, slots=True)
class Sender:
    """Who the mail is from; `name` is empty when there is only an address."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        """Return what is behind the @."""
        return self.address.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Letter:
    """What a server is given: the envelope, and the message with headers and CRLF line ends.

    `recipients` holds To, Cc and Bcc, each once. `international`: an address is not ASCII, so
    only a server with SMTPUTF8 can take the letter.
    """

    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    international: bool


def read_sender(text: str) -> Sender:
    """Read `help@shop.example` or `Shop <help@shop.example>`; raises InvalidInput otherwise."""
    found = _SENDER.fullmatch(text.strip())
    if found is None or not is_mail_line(text) or len(text) > _MOST_CHARACTERS:
        raise InvalidInput("from", "is not an address such as Shop <help@shop.example>")
    return Sender(found["name"] or "", found["named"] or found["bare"])


def read_recipients(text: str) -> tuple[str, ...]:
    """Read addresses that commas or blanks separate; raises InvalidInput for one that is none."""
    return _addresses("to", text.replace(",", " ").split())


def compose(mail: Mail, sender: Sender) -> Letter:
    """Write the message; raises InvalidInput when it cannot leave exactly as it is."""
    to, cc, bcc = (
        _addresses(name, addresses)
        for name, addresses in (("to", mail.to), ("cc", mail.cc), ("bcc", mail.bcc))
    )
    recipients = tuple(dict.fromkeys((*to, *cc, *bcc)))
    if not recipients:
        raise InvalidInput("to", "nobody is to receive it")
    for one in (mail.message_id, *mail.references):
        if not _MESSAGE_ID.fullmatch(one) or len(one) > _MOST_CHARACTERS:
            raise InvalidInput("message_id", "is not of the form left@right")
    head = {
        "From": _mailbox(sender),
        "To": _listed(to),
        "Cc": _listed(cc),
        "Reply-To": None if mail.reply_to is None else _mailbox(read_sender(mail.reply_to)),
        "Subject": _subject(mail.subject),
        "Date": format_datetime(mail.date.astimezone(UTC)),
        "Message-ID": f"<{mail.message_id}>",
        "In-Reply-To": f"<{mail.references[-1]}>" if mail.references else None,
        "References": f"{_CRLF} ".join(f"<{one}>" for one in mail.references) or None,
        # No absence note or other machine answers it (RFC 3834; the second is Exchange's own).
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
    }
    # EmailMessage would write headers too, but loses blanks between encoded words when it folds.
    written = "".join(
        f"{name}: {value}{_CRLF}" for name, value in head.items() if value is not None
    )
    return Letter(
        sender=sender.address,
        recipients=recipients,
        raw=written.encode() + _content(mail),
        international=not all(address.isascii() for address in recipients),
    )


def _addresses(field: str, addresses: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses in ASCII wherever they have such a form."""
    found = []
    for address in addresses:
        try:
            valid = validate_email(address, check_deliverability=False)
        except EmailNotValidError as error:
            raise InvalidInput(field, f"{address!r} is not an address: {error}") from error
        found.append(valid.ascii_email or valid.normalized)
    return tuple(found)


def _mailbox(sender: Sender) -> str:
    if sender.name.isascii():
        return formataddr((sender.name, sender.address))
    return f"{_encoded(sender.name, 'From')} <{sender.address}>"


def _listed(addresses: tuple[str, ...]) -> str | None:
    return f",{_CRLF} ".join(addresses) or None


def _subject(text: str) -> str:
    if not is_mail_line(text):
        raise InvalidInput("subject", "holds a line break or a control character")
    # What looks like an encoded word would be read as the text it encodes.
    if text.isascii() and "=?" not in text and text == text.strip() and _folds(text):
        header = Header(text, "us-ascii", maxlinelen=_LONGEST_LINE, header_name="Subject")
        return header.encode(linesep=_CRLF)
    return _encoded(text, "Subject")


def _folds(text: str) -> bool:
    return "  " not in text and all(len(word) <= _LONGEST_WORD for word in text.split(" "))


def _encoded(text: str, name: str) -> str:
    return Header(text, "utf-8", maxlinelen=_LONGEST_LINE, header_name=name).encode(linesep=_CRLF)


def _content(mail: Mail) -> bytes:
    """Return the headers of the content, an empty line, and the text, alone or with its twin."""
    if not is_mail_text(mail.body) or not is_mail_text(mail.html or ""):
        raise InvalidInput("body", "holds a control character")
    message = EmailMessage(policy=_SEVEN_BITS)
    message.set_content(mail.body)
    if mail.html is not None:
        message.add_alternative(mail.html, subtype="html")
        # Every try is the same to the byte; no encoded text holds "=_".
        digest = hashlib.sha256(mail.message_id.encode()).hexdigest()
        message.set_boundary(f"=_{digest[:_BOUNDARY]}")
    return message.as_bytes()
