"""What every change of an approval owes to others: chip, card, thread line, run, trail."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk
from agent.domain.approvals import Approval, Status
from agent.domain.conversation import CHIP, EventType
from agent.domain.payload import Payload
from agent.domain.wording import chip_text, outcome_for_model, outcome_text
from agent.ports import DeliveryKind
from storage import conversations, outbox
from storage.outbox import Message
from storage.transaction import Tx

# A change after which the run has something to hear.
_TOLD = frozenset(
    {
        Status.EXECUTED,
        Status.FAILED,
        Status.STALE,
        Status.REJECTED,
        Status.EXPIRED,
        Status.CANCELLED,
    }
)


@dataclass(frozen=True, slots=True)
class Telling:
    """Whom to tell besides the customer's chip; `reason` is safe for the customer's ears."""

    reason: str = ""
    run: bool = True


def show(tx: Tx, desk: Desk, approval: Approval, now: datetime, telling: Telling) -> None:
    """Write all that follows from the approval's new status, in the transaction of the change."""
    chip: Payload = {
        "approval_id": approval.id,
        "status": CHIP[approval.status],
        "text": chip_text(approval, telling.reason),
    }
    if approval.superseded_by is not None:
        chip["replaced_by"] = approval.superseded_by
    conversations.append(
        tx,
        approval.conversation_id,
        now,
        conversations.Entry(desk.ids.new("msg"), EventType.APPROVAL, chip, run_id=approval.run_id),
    )
    messages = [] if approval.automatic else _for_slack(desk, approval)
    if telling.run and approval.status in _TOLD:
        messages.append(_for_run(desk, approval, telling.reason))
    outbox.add(tx, now, *messages)


def slack_message(
    desk: Desk, kind: DeliveryKind, key: str, body: Payload, approval: Approval | None = None
) -> Message:
    """Return a message for Slack, to be added in the transaction of the fact."""
    return Message(
        id=desk.ids.new("out"),
        lane="slack",
        kind=kind.value,
        key=key,
        body=body,
        conversation_id=None if approval is None else approval.conversation_id,
        run_id=None if approval is None else approval.run_id,
        approval_id=None if approval is None else approval.id,
    )


def _for_slack(desk: Desk, approval: Approval) -> list[Message]:
    if approval.status is Status.PENDING:
        return [slack_message(desk, DeliveryKind.CARD, f"card:{approval.id}", {}, approval)]
    mark = f"{approval.id}:{approval.status}:{approval.attempts}"
    update = slack_message(desk, DeliveryKind.CARD_UPDATE, f"card_update:{mark}", {}, approval)
    if approval.status in {Status.EXECUTING, Status.SUPERSEDED}:
        return [update]
    line: Payload = {"status": approval.status.value}
    return [update, slack_message(desk, DeliveryKind.THREAD, f"thread:{mark}", line, approval)]


def _for_run(desk: Desk, approval: Approval, reason: str) -> Message:
    return Message(
        id=desk.ids.new("out"),
        lane="turn",
        kind="outcome",
        key=f"outcome:{approval.id}:{approval.status}",
        body={
            "told": outcome_for_model(approval, reason),
            "text": outcome_text(approval, reason),
            "outcome": approval.status.value,
            "call_id": approval.call_id,
        },
        conversation_id=approval.conversation_id,
        run_id=approval.run_id,
        approval_id=approval.id,
    )
