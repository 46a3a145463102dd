"""What the provider had only accepted is finished: record, chip and card say so."""

from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import Approval
from agent.domain.audit import AuditType
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.domain.wording import is_on_its_way
from agent.ports import DeliveryKind
from agent.steps.outcomes import show_chip, slack_message
from agent.steps.owe_mail import owe_mail
from storage import approvals, audit, outbox
from storage.transaction import Tx


def finish(tx: Tx, desk: Desk, current: Approval, record: Payload, now: datetime) -> Approval:
    """Keep the provider's final record of what it had accepted; it is asked about no more.

    Whoever was told that the money is on its way reads that it has been paid. The run heard of it
    when the provider accepted, and is not asked for words again. The caller holds the row.
    """
    if not is_on_its_way(current):
        # Its record stands; that the provider says the same again is no news.
        return approvals.shift_locked(tx, current, None, wake_at=None)
    finished = approvals.shift_locked(tx, current, None, result=record, wake_at=None)
    shown = show_chip(tx, desk, finished, now)
    owe_mail(tx, desk, finished, now, "", shown)
    if not finished.automatic:
        key = f"card_update:{finished.id}:finished"
        outbox.add(tx, now, slack_message(desk, DeliveryKind.CARD_UPDATE, key, {}, finished))
    data: Payload = {"record": record}
    fact = audit.Fact(AuditType.EXECUTION_FINISHED, desk.replica, Channel.TIMER, data, finished.id)
    audit.append(tx, finished.run_id, now, fact)
    return finished
