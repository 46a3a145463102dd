"""An outcome that the customer has not read in the chat by then is owed to them by mail."""

from collections.abc import Mapping
from datetime import datetime

from agent.desk import Desk, Lane
from agent.domain.approvals import Approval
from agent.domain.ids import ConversationId
from agent.domain.mailing import is_mailed, outcome_of
from agent.domain.payload import Json
from storage import customer_mails, outbox
from storage.customer_mails import CustomerMail
from storage.outbox import Message
from storage.transaction import Tx

CUSTOMER_MAIL = "customer_mail"


def owe_mail(
    tx: Tx,
    desk: Desk,
    approval: Approval,
    now: datetime,
    reason: str,
    shown: Mapping[ConversationId, int],
) -> None:
    """Let a mail about the outcome be due later, once for all chats that wait for it.

    `shown` is the seq under which each of them tells it; `reason` is safe for the customer's ears.
    """
    terms = desk.customer_mail
    if terms is None or not desk.mailer.available or not is_mailed(approval):
        return
    mail = CustomerMail(
        id=desk.ids.new("out"),
        conversation_id=approval.conversation_id,
        approval_id=approval.id,
        outcome=outcome_of(approval),
        recipient=approval.customer_id,
        seq=shown[approval.conversation_id],
        state="waiting",
        at=now,
    )
    if not customer_mails.add(tx, mail):
        return
    told_in: dict[str, Json] = {str(one): seq for one, seq in shown.items()}
    message = Message(
        id=mail.id,
        lane=Lane.MAIL,
        kind=CUSTOMER_MAIL,
        key=f"{CUSTOMER_MAIL}:{mail.id}",
        body={
            "outcome": mail.outcome,
            "recipient": mail.recipient,
            "reason": reason,
            "told_in": told_in,
        },
        conversation_id=approval.conversation_id,
        run_id=approval.run_id,
        approval_id=approval.id,
        due=now + terms.after,
    )
    outbox.add(tx, now, message)
