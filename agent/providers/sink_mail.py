"""Mail that stays here: kept in the desk's own database for the sandbox, or not sent at all."""

import hashlib
from contextlib import suppress

from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.ports import (
    Clock,
    Declined,
    Mail,
    MailAccepted,
    MailAnswer,
    Mailer,
    NoClearAnswer,
    NotStarted,
)
from agent.providers.mail_message import Letter, Sender, compose
from storage import mail_sink
from storage.transaction import Conflict, Store

_ID_DIGITS = 24


class SinkMailer(Mailer):
    """A mail server that delivers into the table `mail_sink`; each call is one transaction.

    Never call it inside a transaction of the desk: a provider is another system.
    """

    def __init__(self, store: Store, clock: Clock, sender: Sender) -> None:
        """Keep the store; mails are kept with the clock's time."""
        self._store = store
        self._clock = clock
        self._sender = sender

    @override
    def send(self, mail: Mail) -> MailAnswer:
        """Keep the mail; a second one under its Message-ID changes nothing and is accepted too."""
        try:
            letter = compose(mail, self._sender)
        except InvalidInput as error:
            return Declined("invalid", str(error))
        # A mail that is there already was accepted before.
        with suppress(Conflict), self._store.transaction() as tx:
            mail_sink.keep(tx, self._kept(mail, letter))
        return _accepted(mail.message_id)

    @override
    def find(self, message_id: str) -> MailAccepted | None:
        """Tell whether the mail is there; None proves that no try of it has come through yet."""
        with self._store.transaction(write=False) as tx:
            found = mail_sink.get(tx, _id(message_id))
        return None if found is None else _accepted(message_id)

    def _kept(self, mail: Mail, letter: Letter) -> mail_sink.KeptMail:
        return mail_sink.KeptMail(
            id=_id(mail.message_id),
            message_id=mail.message_id,
            envelope=mail_sink.Envelope(
                sender=letter.sender,
                to=mail.to,
                cc=mail.cc,
                bcc=mail.bcc,
                subject=mail.subject,
                body=mail.body,
            ),
            raw=letter.raw.decode(),
            at=self._clock.now(),
        )


class NoMailer(Mailer):
    """No way out for mail: nothing ever leaves, and `available` says so beforehand."""

    @property
    @override
    def available(self) -> bool:
        return False

    @override
    def send(self, mail: Mail) -> NotStarted:
        """Refuse; it can be sent once SMTP_URL is set."""
        return NotStarted("no mail server: SMTP_URL is not set")

    @override
    def find(self, message_id: str) -> NoClearAnswer:
        """Say that nobody knows: it may have left while SMTP_URL was set."""
        return NoClearAnswer("no mail server to ask: SMTP_URL is not set")


def _id(message_id: str) -> str:
    # Made of the Message-ID, so that the primary key holds every mail once.
    return f"mail_{hashlib.sha256(message_id.encode()).hexdigest()[:_ID_DIGITS]}"


def _accepted(message_id: str) -> MailAccepted:
    return MailAccepted(message_id, f"250 kept as {_id(message_id)}")
