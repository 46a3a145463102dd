"""People on call are reached by mail where Slack itself is the trouble."""

import logging
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.deadlines import backoff
from agent.domain.mail_text import readable
from agent.domain.roles import Channel
from agent.ports import Declined, Mail, MailAccepted
from storage import audit, deliveries, outbox
from storage.deliveries import Taken
from storage.outbox import Message, OutboxRow
from storage.transaction import Tx

_LOG = logging.getLogger(__name__)

PAGE = "page"
_BASE = timedelta(seconds=5)
_DOMAIN = "supportdesk"


def page(tx: Tx, desk: Desk, now: datetime, subject: str, text: str) -> bool:
    """Let people on call read something by mail; False where no mail reaches them."""
    if not desk.oncall_mail or not desk.mailer.available:
        return False
    message = Message(
        id=desk.ids.new("out"),
        lane=Lane.MAIL,
        kind=PAGE,
        key=f"page:{desk.ids.new('out')}",
        body={"to": list(desk.oncall_mail), "subject": subject, "text": readable(text)},
    )
    outbox.add(tx, now, message)
    return True


def send_page(desk: Desk, taken: Taken) -> None:
    """Send a page that is due.

    A page whose answer was lost is sent again under its Message-ID: better twice than not at all.
    """
    answer = desk.mailer.send(_mail(taken.row))
    with desk.store.transaction() as tx:
        now = desk.clock.now()
        match answer:
            case MailAccepted():
                deliveries.arrived(tx, taken)
            case Declined(code=code, message=problem):
                _give_up(tx, desk, taken, f"{code}: {problem}", now)
            case _:
                wait = backoff(taken.row.attempts, base=_BASE, jitter=desk.ids.jitter())
                deliveries.again(tx, taken, now + wait, answer.problem, ambiguous=True)
                _LOG.warning("a page to people on call did not leave: %s", answer.problem)


def _give_up(tx: Tx, desk: Desk, taken: Taken, problem: str, now: datetime) -> None:
    _LOG.critical("no page reaches people on call: %s", problem)
    deliveries.give_up(tx, taken, problem)
    data = {"kind": taken.row.kind, "key": taken.row.key, "problem": problem[:500]}
    fact = audit.Fact(AuditType.DELIVERY_FAILED, desk.replica, Channel.EMAIL, {**data})
    audit.append(tx, None, now, fact)


def _mail(row: OutboxRow) -> Mail:
    to = row.body["to"]
    return Mail(
        message_id=f"{row.id}@{_DOMAIN}",
        to=tuple(str(one) for one in to) if isinstance(to, list) else (),
        cc=(),
        bcc=(),
        subject=str(row.body["subject"]),
        body=str(row.body["text"]),
        date=row.created_at,
    )
