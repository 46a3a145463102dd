"""What customers are told by mail: one row an outcome and recipient, whatever became of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, select, text, update

from agent.domain.ids import ApprovalId, ConversationId, CustomerId
from storage.mail_tables import customer_mails
from storage.times import from_micros, to_micros
from storage.transaction import Tx

State = Literal["waiting", "sent", "read", "overtaken", "failed"]

_ADD = text(
    "INSERT INTO customer_mails "
    "(id, conversation_id, approval_id, outcome, recipient, seq, state, at) "
    "VALUES (:id, :conversation, :approval, :outcome, :recipient, :seq, 'waiting', :at) "
    "ON CONFLICT DO NOTHING"
)
_OF = (
    select(customer_mails)
    .where(customer_mails.c.approval_id == bindparam("approval"))
    .order_by(customer_mails.c.at, customer_mails.c.id)
)
_CLOSE = (
    update(customer_mails)
    .where(customer_mails.c.id == bindparam("mail"), customer_mails.c.state == text("'waiting'"))
    .values(state=bindparam("became"), at=bindparam("now"), problem=bindparam("why"))
)


@dataclass(frozen=True, slots=True)
class CustomerMail:
    """One mail; `recipient` is the customer, whose address the shop knows when it leaves.

    `seq` is the event that tells the same in the conversation. `at` is when it came to its state,
    `problem` why it went no better.
    """

    id: str
    conversation_id: ConversationId
    approval_id: ApprovalId
    outcome: str
    recipient: CustomerId
    seq: int
    state: State
    at: datetime
    problem: str | None = None


def add(tx: Tx, mail: CustomerMail) -> bool:
    """Store a mail that waits; False when that outcome is mailed to that recipient already."""
    added = tx.change(
        _ADD,
        id=mail.id,
        conversation=mail.conversation_id,
        approval=mail.approval_id,
        outcome=mail.outcome,
        recipient=mail.recipient,
        seq=mail.seq,
        at=to_micros(mail.at),
    )
    return added == 1


def close(tx: Tx, mail_id: str, state: State, at: datetime, problem: str | None = None) -> bool:
    """Note what became of a mail that waits; False when that was noted before."""
    why = None if problem is None else problem[:500]
    return tx.change(_CLOSE, mail=mail_id, became=state, now=to_micros(at), why=why) == 1


def of(tx: Tx, approval_id: ApprovalId) -> tuple[CustomerMail, ...]:
    """Return the mails about a request, by when they came to their state."""
    return tuple(
        CustomerMail(
            id=row["id"],
            conversation_id=ConversationId(row["conversation_id"]),
            approval_id=ApprovalId(row["approval_id"]),
            outcome=row["outcome"],
            recipient=CustomerId(row["recipient"]),
            seq=row["seq"],
            state=row["state"],
            at=from_micros(row["at"]),
            problem=row["problem"],
        )
        for row in tx.all(_OF, approval=approval_id)
    )
