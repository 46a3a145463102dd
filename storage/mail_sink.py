"""What the sandbox's mail server was given: every message once, by its Message-ID."""

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, insert, select

from storage.outside_tables import mail_sink
from storage.times import from_micros, to_micros
from storage.transaction import Row, Tx

_KEEP = insert(mail_sink)
_BOOK = select(mail_sink).order_by(mail_sink.c.at, mail_sink.c.id)
_BY_ID = select(mail_sink).where(mail_sink.c.id == bindparam("mail"))


@dataclass(frozen=True, slots=True)
class Envelope:
    """Who the mail is from and for, and its words as they were handed in."""

    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class KeptMail:
    """One delivered mail; `raw` is the whole message as a server would have received it."""

    id: str
    message_id: str
    envelope: Envelope
    raw: str
    at: datetime


def keep(tx: Tx, mail: KeptMail) -> None:
    """Keep a mail; raises Conflict when one of this id is there."""
    envelope = mail.envelope
    stored = {
        "from": envelope.sender,
        "to": envelope.to,
        "cc": envelope.cc,
        "bcc": envelope.bcc,
        "subject": envelope.subject,
        "body": envelope.body,
    }
    row = {
        "id": mail.id,
        "message_id": mail.message_id,
        "envelope": json.dumps(stored),
        "raw": mail.raw,
        "at": to_micros(mail.at),
    }
    tx.put(_KEEP, row)


def get(tx: Tx, mail_id: str) -> KeptMail | None:
    """Return a mail, None when it was never delivered."""
    row = tx.one(_BY_ID, mail=mail_id)
    return None if row is None else _mail(row)


def book(tx: Tx) -> tuple[KeptMail, ...]:
    """Return every mail there is, the newest last."""
    return tuple(_mail(row) for row in tx.all(_BOOK))


def _mail(row: Row) -> KeptMail:
    stored = json.loads(row["envelope"])
    return KeptMail(
        id=row["id"],
        message_id=row["message_id"],
        envelope=Envelope(
            sender=stored["from"],
            to=tuple(stored["to"]),
            cc=tuple(stored["cc"]),
            bcc=tuple(stored["bcc"]),
            subject=stored["subject"],
            body=stored["body"],
        ),
        raw=row["raw"],
        at=from_micros(row["at"]),
    )
