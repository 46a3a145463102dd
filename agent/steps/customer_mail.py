"""A customer hears by mail of an outcome that they have not read in the chat, once."""

import logging
from datetime import datetime, timedelta

from agent.desk import Desk, Lane
from agent.domain.audit import AuditType
from agent.domain.deadlines import backoff
from agent.domain.errors import Corrupt
from agent.domain.ids import ConversationId, CustomerId
from agent.domain.mailing import still_holds, write_letter
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.letters import render
from agent.ports import (
    Customer,
    Declined,
    DeliveryKind,
    Mail,
    MailAccepted,
    MailAnswer,
    NoClearAnswer,
)
from agent.steps.execute import report_corrupt
from agent.steps.outcomes import slack_message
from storage import approvals, audit, conversations, customer_mails, deliveries, outbox
from storage.deliveries import Taken
from storage.outbox import OutboxRow
from storage.transaction import Tx

_LOG = logging.getLogger(__name__)

_BASE = timedelta(seconds=5)
# An outcome told later than this is of no use; mail servers give up about then, too.
_TRIED_FOR = timedelta(days=2)
_DOMAIN = "supportdesk"
_MAY_HAVE_ARRIVED = "an earlier try may have arrived"
_NO_ADDRESS = "the shop knows no address of this customer"


def send_to_customer(desk: Desk, taken: Taken) -> None:
    """Send a mail that is due, unless the customer has read it or it is not true any more.

    Where the answer was lost it is sent again under its Message-ID: mail programs show it once.
    """
    # The shop's own record; what a visitor types is nobody's address.
    customer = desk.shop.customer(CustomerId(str(taken.row.body["recipient"])))
    try:
        with desk.store.transaction() as tx:
            mail = _written(tx, desk, taken, customer)
    except Corrupt as corrupt:
        report_corrupt(desk, corrupt)
        with desk.store.transaction() as tx:
            _close(tx, taken, "failed", desk.clock.now(), str(corrupt))
        return
    if mail is not None:
        answer = desk.mailer.send(mail)
        with desk.store.transaction() as tx:
            _note(tx, desk, taken, answer, desk.clock.now())
    desk.wake(Lane.SLACK)


def _written(tx: Tx, desk: Desk, taken: Taken, customer: Customer | None) -> Mail | None:
    """Return the mail as its request stands now; None where none is to leave, which is noted."""
    row, now, terms = taken.row, desk.clock.now(), desk.customer_mail
    approval = None if row.approval_id is None else approvals.get(tx, row.approval_id)
    if approval is None or terms is None or not still_holds(approval, str(row.body["outcome"])):
        _close(tx, taken, "overtaken", now)
        return None
    if _is_read(tx, row):
        _close(tx, taken, "read", now, _MAY_HAVE_ARRIVED if row.ambiguous else None)
        return None
    if customer is None or not customer.email:
        _fail(tx, desk, taken, _NO_ADDRESS, now)
        return None
    language = conversations.spoken(tx, approval.conversation_id)
    letter = write_letter(approval, str(row.body["reason"]), customer.name, language, terms.link)
    text, html = render(letter)
    return Mail(
        message_id=f"{row.id}@{_DOMAIN}",
        to=(customer.email,),
        cc=(),
        bcc=(),
        subject=letter.subject,
        body=text,
        date=row.created_at,
        html=html,
        reply_to=terms.reply_to,
        # No mail began the conversation, but mail programs put together what names the same.
        references=(f"{approval.conversation_id}@{_DOMAIN}",),
    )


def _is_read(tx: Tx, row: OutboxRow) -> bool:
    """Tell whether the customer has read the news in one of the chats that tell it."""
    told_in = row.body["told_in"]
    for conversation_id, seq in told_in.items() if isinstance(told_in, dict) else ():
        found = conversations.get(tx, ConversationId(conversation_id))
        if found is not None and isinstance(seq, int) and found.read_seq >= seq:
            return True
    return False


def _note(tx: Tx, desk: Desk, taken: Taken, answer: MailAnswer, now: datetime) -> None:
    row = taken.row
    match answer:
        case MailAccepted(message_id=message_id):
            if _close(tx, taken, "sent", now):
                data: Payload = {"outcome": row.body["outcome"], "message_id": message_id}
                _record(tx, desk, row, AuditType.CUSTOMER_MAILED, data, now)
        case Declined(code=code, message=message):
            _fail(tx, desk, taken, f"{code}: {message}", now)
        case _ if now - row.created_at > _TRIED_FOR:
            _fail(tx, desk, taken, answer.problem, now)
        case _:
            wait = backoff(row.attempts, base=_BASE, jitter=desk.ids.jitter())
            lost = isinstance(answer, NoClearAnswer)
            deliveries.again(tx, taken, now + wait, answer.problem, ambiguous=lost)
            _LOG.warning("a mail to a customer did not leave: %s", answer.problem)


def _close(
    tx: Tx, taken: Taken, state: customer_mails.State, now: datetime, problem: str | None = None
) -> bool:
    """Note what became of a mail; False when its lease was lost and somebody else notes it."""
    held = deliveries.arrived(tx, taken)
    return held and customer_mails.close(tx, taken.row.id, state, now, problem)


def _fail(tx: Tx, desk: Desk, taken: Taken, problem: str, now: datetime) -> None:
    """Give a mail up, and let staff know that the customer was not told."""
    row = taken.row
    if not _close(tx, taken, "failed", now, problem):
        return
    _LOG.error("no mail reaches a customer: %s", problem)
    data: Payload = {"outcome": row.body["outcome"], "problem": problem[:500]}
    _record(tx, desk, row, AuditType.CUSTOMER_MAIL_FAILED, data, now)
    approval = None if row.approval_id is None else approvals.get(tx, row.approval_id)
    body: Payload = {"problem": problem[:500]}
    line = slack_message(desk, DeliveryKind.MAIL_LINE, f"mail_line:{row.id}", body, approval)
    outbox.add(tx, now, line)


def _record(
    tx: Tx, desk: Desk, row: OutboxRow, tag: AuditType, data: Payload, now: datetime
) -> None:
    told: Payload = {"recipient": row.body["recipient"], **data}
    fact = audit.Fact(tag, desk.replica, Channel.EMAIL, told, row.approval_id)
    audit.append(tx, row.run_id, now, fact)
