"""Outgoing mail through an SMTP server, step by step, so that every answer can be told honestly."""

import re
import smtplib
import ssl
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.ports import (
    Declined,
    Mail,
    MailAccepted,
    MailAnswer,
    Mailer,
    NoClearAnswer,
    NotStarted,
)
from agent.providers.mail_message import Letter, Sender, compose
from agent.providers.smtp_address import Encryption, SmtpServer

TIMEOUT_S = 10.0
# Of everything before the final dot; what follows it still fits into the execution lease.
DIALOGUE_S = 30.0
_GOODBYE_S = 1.0
_GO_AHEAD = 354
_LONGEST_TOLD = 300
# Whatever a server does ends in one of these: SMTPException is an OSError, and a challenge that
# cannot be decoded is a ValueError.
_TROUBLE = (OSError, ValueError)


class SmtpMailer(Mailer):
    """Mail to one server; each mail has a connection of its own, so threads share nothing.

    `timeout_s` seconds is the longest wait for one answer. `tls` verifies the server; without it
    the authorities of this system do.
    """

    def __init__(
        self,
        server: SmtpServer,
        sender: Sender,
        *,
        timeout_s: float = TIMEOUT_S,
        tls: ssl.SSLContext | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep where mail goes; nothing is connected before there is some."""
        self._server = server
        self._sender = sender
        self._timeout_s = timeout_s
        self._monotonic = monotonic
        self._tls = tls or _tls(server.encryption)

    @override
    def send(self, mail: Mail) -> MailAnswer:
        """Hand the mail over. Declined and NotStarted: no recipient has it, and none will."""
        try:
            letter = compose(mail, self._sender)
        except InvalidInput as error:
            return Declined("invalid", str(error))
        patience = _Patience(self._timeout_s, self._monotonic)
        with ExitStack() as held:
            try:
                link = self._connect()
                held.callback(_leave, link)
                self._sign_in(link, patience)
                _address(link, letter, patience)
                _begin(link, letter, patience)
            except _NotTaken as refusal:
                return refusal.answer
            except _TROUBLE as error:
                return NotStarted(_told(error))
            # From here on, an error proves nothing.
            return _end(link, mail.message_id, self._timeout_s)

    @override
    def find(self, message_id: str) -> NoClearAnswer:
        """Say that nobody knows: SMTP has no question about an earlier mail."""
        return NoClearAnswer("a mail server cannot be asked what became of a mail")

    def try_out(self) -> str | None:
        """Connect and sign in as for a mail, send none, and return what went wrong, if anything."""
        patience = _Patience(self._timeout_s, self._monotonic)
        with ExitStack() as held:
            try:
                link = self._connect()
                held.callback(_leave, link)
                self._sign_in(link, patience)
            except _TROUBLE as error:
                return _told(error)
        return None

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        # The library would look its own name up in the DNS, without a time-out.
        name, timeout = self._sender.domain, self._timeout_s
        if server.encryption is Encryption.WHOLE:
            return smtplib.SMTP_SSL(
                server.host, server.port, name, timeout=timeout, context=self._tls
            )
        return smtplib.SMTP(server.host, server.port, name, timeout=timeout)

    def _sign_in(self, link: smtplib.SMTP, patience: "_Patience") -> None:
        """Greet, encrypt and log in, as far as each is wanted."""
        encryption = self._server.encryption
        patience.arm(link)
        link.ehlo_or_helo_if_needed()
        offered = encryption is Encryption.OFFERED and link.has_extn("starttls")
        if offered or encryption is Encryption.REQUIRED:
            patience.arm(link)
            link.starttls(context=self._tls)
            patience.arm(link)
            link.ehlo_or_helo_if_needed()
        if self._server.user is not None:
            patience.arm(link)
            link.login(self._server.user, self._server.password)


class _NotTaken(Exception):
    """The server does not take the mail; `answer` says whether it ever will."""

    def __init__(self, answer: Declined | NotStarted) -> None:
        super().__init__(answer)
        self.answer = answer


class _Patience:
    """How long one mail may keep its worker before the final dot."""

    def __init__(self, timeout_s: float, monotonic: Callable[[], float]) -> None:
        self._timeout_s = timeout_s
        self._monotonic = monotonic
        self._until = monotonic() + DIALOGUE_S

    def arm(self, link: smtplib.SMTP) -> None:
        """Set the time-out of the next answer; raises TimeoutError when all time is used up."""
        left = self._until - self._monotonic()
        if left <= 0:
            raise TimeoutError(f"the mail server was too slow: more than {DIALOGUE_S:g} s")
        _wait_at_most(link, min(self._timeout_s, left))


def _address(link: smtplib.SMTP, letter: Letter, patience: _Patience) -> None:
    """Name sender and recipients: all of them are accepted, or nobody gets the mail."""
    options = [f"size={len(letter.raw)}"] if link.has_extn("size") else []
    if letter.international:
        if not link.has_extn("smtputf8"):
            problem = "the mail server takes only addresses in ASCII"
            raise _NotTaken(Declined("not_supported", problem))
        options.append("SMTPUTF8")
    patience.arm(link)
    _expect(link, link.mail(letter.sender, options), "sender_refused")
    for recipient in letter.recipients:
        patience.arm(link)
        _expect(link, link.rcpt(recipient), "recipient_refused", recipient)


def _begin(link: smtplib.SMTP, letter: Letter, patience: _Patience) -> None:
    """Send everything but the final dot; without it no server may deliver (RFC 5321 §4.1.1.4)."""
    patience.arm(link)
    answer = link.docmd("DATA")
    if answer[0] != _GO_AHEAD:
        _expect(link, answer, "mail_refused")
        raise _NotTaken(NotStarted(_said(answer)))
    link.send(re.sub(rb"(?m)^\.", b"..", letter.raw))


def _end(link: smtplib.SMTP, message_id: str, timeout_s: float) -> MailAnswer:
    """Send the final dot and tell what came of it."""
    try:
        _wait_at_most(link, timeout_s)
        link.send(b".\r\n")
        answer = link.getreply()
    except _TROUBLE as error:
        return NoClearAnswer(_told(error))
    match answer[0] // 100:
        case 2:
            return MailAccepted(message_id, _said(answer))
        case 4:
            return NotStarted(_said(answer))
        case 5:
            return Declined("mail_refused", _said(answer))
        case _:
            return NoClearAnswer(_said(answer))


def _leave(link: smtplib.SMTP) -> None:
    """Say goodbye; what the server answers to that changes nothing."""
    with suppress(*_TROUBLE):
        _wait_at_most(link, _GOODBYE_S)
        link.quit()
    with suppress(*_TROUBLE):
        link.close()


def _expect(link: smtplib.SMTP, answer: tuple[int, bytes], code: str, whom: str = "") -> None:
    """Go on after a yes; after anything else, drop the mail and raise _NotTaken."""
    refusal: Declined | NotStarted
    match answer[0] // 100:
        case 2:
            return
        case 5:
            refusal = Declined(code, f"{whom}: {_said(answer)}" if whom else _said(answer))
        case _:
            refusal = NotStarted(_said(answer))
    with suppress(*_TROUBLE):
        _wait_at_most(link, _GOODBYE_S)
        link.rset()
    raise _NotTaken(refusal)


def _wait_at_most(link: smtplib.SMTP, seconds: float) -> None:
    if link.sock is None:
        raise smtplib.SMTPServerDisconnected("the link is closed")
    link.sock.settimeout(seconds)


def _said(answer: tuple[int, bytes]) -> str:
    """Return the last line of a reply, e.g. `250 2.0.0 Ok: queued as 4F2`."""
    status, reply = answer
    line = reply.decode("utf-8", "replace").rpartition("\n")[2]
    return _printable(f"{status} {line}" if status > 0 else f"an answer that is no reply: {line!r}")


def _told(error: Exception) -> str:
    match error:
        case smtplib.SMTPAuthenticationError():
            # The server's own words may repeat what was sent.
            return f"the mail server refused user name or password ({error.smtp_code})"
        case smtplib.SMTPResponseException():
            reply = error.smtp_error
            return _said((error.smtp_code, reply.encode() if isinstance(reply, str) else reply))
        case OSError():
            return _printable(str(error) or type(error).__name__)
        case _:
            return _printable(f"nonsense from the mail server: {error}")


def _printable(text: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown[:_LONGEST_TOLD]


def _tls(encryption: Encryption) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if encryption is Encryption.OFFERED:
        # Where plain text would do, a key nobody vouches for is still better (RFC 7435).
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
