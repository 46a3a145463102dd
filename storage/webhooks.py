"""Events of the payment provider that were heard, so that a repeat is known."""

from datetime import datetime

from sqlalchemy import bindparam, insert, select

from agent.domain.ids import ApprovalId
from storage.tables import webhook_events
from storage.times import to_micros
from storage.transaction import Tx

_ADD = insert(webhook_events)
_KNOWN = select(webhook_events.c.id).where(webhook_events.c.id == bindparam("event"))


def is_known(tx: Tx, event_id: str) -> bool:
    """Tell whether an event was heard before."""
    return tx.one(_KNOWN, event=event_id) is not None


def add(
    tx: Tx, event_id: str, event_type: str, approval_id: ApprovalId | None, at: datetime
) -> None:
    """Store an event; raises Conflict for a repeat."""
    tx.put(
        _ADD,
        {
            "id": event_id,
            "type": event_type,
            "approval_id": approval_id,
            "received_at": to_micros(at),
        },
    )
