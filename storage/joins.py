"""Calls that asked for what was waiting already, and so wait for the same outcome."""

from dataclasses import dataclass

from sqlalchemy import bindparam, select, text

from agent.domain.ids import ApprovalId, ConversationId, RunId
from storage.tables import joins
from storage.transaction import Tx

_ADD = text(
    "INSERT INTO joins (approval_id, run_id, call_id, conversation_id) "
    "VALUES (:approval, :run, :call, :conversation) ON CONFLICT DO NOTHING"
)
_OF = (
    select(joins)
    .where(joins.c.approval_id == bindparam("approval"))
    .order_by(joins.c.run_id, joins.c.call_id)
)
_CARRY = text(
    "INSERT INTO joins (approval_id, run_id, call_id, conversation_id) "
    "SELECT :successor, run_id, call_id, conversation_id FROM joins "
    "WHERE approval_id = :approval ON CONFLICT DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class Listener:
    """A call of a run that waits for the outcome of an approval."""

    run_id: RunId
    call_id: str
    conversation_id: ConversationId


def add(tx: Tx, approval_id: ApprovalId, listener: Listener) -> None:
    """Let a call wait for the outcome, too; a repeat changes nothing."""
    tx.change(
        _ADD,
        approval=approval_id,
        run=listener.run_id,
        call=listener.call_id,
        conversation=listener.conversation_id,
    )


def of(tx: Tx, approval_id: ApprovalId) -> tuple[Listener, ...]:
    """Return the calls that joined, by run."""
    return tuple(
        Listener(RunId(row["run_id"]), row["call_id"], ConversationId(row["conversation_id"]))
        for row in tx.all(_OF, approval=approval_id)
    )


def carry(tx: Tx, approval_id: ApprovalId, successor: ApprovalId) -> None:
    """Let whoever waits for an approval wait for the one in its place."""
    tx.change(_CARRY, approval=approval_id, successor=successor)
