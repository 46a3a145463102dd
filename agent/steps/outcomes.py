"""What every change of an approval owes to others: chip, card, thread line, run, trail."""

from dataclasses import dataclass
from datetime import datetime

from agent.desk import Desk
from agent.domain import places
from agent.domain.approvals import FINAL, Approval, Status
from agent.domain.audit import AuditType
from agent.domain.conversation import CHIP, EventType
from agent.domain.escalation import Level
from agent.domain.hand_offs import HandOff, named, subject_of
from agent.domain.ids import ConversationId
from agent.domain.money import money_json
from agent.domain.payload import Payload
from agent.domain.roles import Channel
from agent.domain.wording import chip_text, is_for_customer, outcome_for_model, outcome_text
from agent.ports import DeliveryKind
from agent.steps.owe_mail import owe_mail
from storage import audit, breaker, conversations, joins, outbox
from storage.joins import Listener
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
# Where a request goes that no longer waits.
_AFTER_WAITING = FINAL | {Status.APPROVED}


@dataclass(frozen=True, slots=True)
class Telling:
    """Whom to tell besides the customer's chip; `reason` is safe for the customer's ears.

    `category` is the reviewer's of a rejection; runs hear it, the customer does not. `quiet`
    redraws the card and says nothing, for what everybody has read already. `heard_in` is a
    conversation whose turn under way learns it in another way. `by_customer`: they did it
    themselves, and need no mail about it.
    """

    reason: str = ""
    category: str | None = None
    run: bool = True
    quiet: bool = False
    heard_in: ConversationId | None = None
    by_customer: bool = False


def show(tx: Tx, desk: Desk, approval: Approval, now: datetime, telling: Telling) -> None:
    """Write all that follows from the approval's new status, in the transaction of the change."""
    listeners = listeners_of(tx, approval)
    if is_for_customer(approval) and not telling.quiet:
        shown = show_chip(tx, desk, approval, now, telling.reason)
        if not telling.by_customer:
            owe_mail(tx, desk, approval, now, telling.reason, shown)
    messages = [] if approval.automatic else _for_slack(desk, approval, quiet=telling.quiet)
    if telling.run and approval.status in _TOLD:
        messages += [
            _for_run(tx, desk, approval, one, telling)
            for one in listeners
            if one.conversation_id != telling.heard_in
        ]
    outbox.add(tx, now, *messages)


def listeners_of(tx: Tx, approval: Approval) -> tuple[Listener, ...]:
    """Return who waits for the outcome: the call itself, and one that joined a conversation.

    Sorted by conversation, so that everybody locks them in one order.
    """
    own = Listener(approval.run_id, approval.call_id, approval.conversation_id)
    joined = () if approval.automatic else joins.of(tx, approval.id)
    found = {one.conversation_id: one for one in (*reversed(joined), own)}
    return tuple(found[conversation] for conversation in sorted(found))


def show_chip(
    tx: Tx, desk: Desk, approval: Approval, now: datetime, reason: str = ""
) -> dict[ConversationId, int]:
    """Append the chip of the approval as it stands to the log of each conversation it is in.

    Returns the seq that it has in each of them.
    """
    return {
        one.conversation_id: show_chip_in(tx, desk, approval, one, now, reason)
        for one in listeners_of(tx, approval)
    }


def show_chip_in(
    tx: Tx, desk: Desk, approval: Approval, listener: Listener, now: datetime, reason: str = ""
) -> int:
    """Append the chip of the approval as it stands to one conversation's log; return its seq."""
    stopped = approval.status is Status.APPROVED and breaker.is_stopped(tx)
    language = conversations.spoken(tx, listener.conversation_id)
    chip: Payload = {
        "approval_id": approval.id,
        "status": CHIP[approval.status],
        "text": chip_text(approval, reason, language, stopped=stopped),
        "tool": approval.tool,
        "order_id": approval.order_id,
        "amount": None if approval.amount is None else money_json(approval.amount),
    }
    if approval.superseded_by is not None:
        chip["replaced_by"] = approval.superseded_by
    entry = conversations.Entry(
        desk.ids.new("msg"), EventType.APPROVAL, chip, run_id=listener.run_id
    )
    return conversations.append(tx, listener.conversation_id, now, entry)


def note_for_run(desk: Desk, about: Approval | HandOff, key: str, told: Payload) -> Message:
    """Return a system message for the run that nobody answers: it is there at the next turn."""
    return Message(
        id=desk.ids.new("out"),
        lane="turn",
        kind="note",
        key=key,
        body={"told": told},
        conversation_id=about.conversation_id,
        run_id=about.run_id,
        approval_id=about.id if isinstance(about, Approval) else None,
    )


def entered(row: Approval, tag: AuditType) -> audit.Fact:
    """Return the fact that brings an approval into being, with everything that is bound."""
    return audit.Fact(
        tag,
        row.model,
        Channel.POLICY,
        {
            "status": (Status.APPROVED if row.automatic else row.status).value,
            "tool": row.tool,
            "payload": row.payload,
            "payload_hash": row.payload_hash,
            "policy_version": row.policy_version,
            "reasons": [finding.code.value for finding in row.findings],
            "tier": {"role": row.tier.role.value, "approvals_needed": row.tier.approvals_needed},
            "confidence": row.confidence,
            "model_reason": row.model_reason,
            "supersedes": row.supersedes,
        },
        row.id,
    )


def slack_message(
    desk: Desk, kind: DeliveryKind, key: str, body: Payload, approval: Approval | None = None
) -> Message:
    """Return a message for Slack, to be added in the transaction of the fact."""
    return Message(
        id=desk.ids.new("out"),
        lane="slack",
        place=place_of(kind, body),
        about=about_of(kind, body, approval),
        kind=kind.value,
        key=key,
        body=body,
        conversation_id=None if approval is None else approval.conversation_id,
        run_id=None if approval is None else approval.run_id,
        approval_id=None if approval is None else approval.id,
    )


def place_of(kind: DeliveryKind, body: Payload) -> str:
    """Return where in Slack a message goes: a channel by its purpose, `update`, or `user:<id>`.

    Updates are no messages: Slack counts them apart (facts/slack.md §1.7).
    """
    match kind:
        case (
            DeliveryKind.CARD
            | DeliveryKind.THREAD
            | DeliveryKind.QUESTION
            | DeliveryKind.ANSWER
            | DeliveryKind.HAND_OFF
            | DeliveryKind.MAIL_LINE
            | DeliveryKind.HAND_OFF_LINE
        ):
            return places.APPROVALS
        case DeliveryKind.PING_LINE | DeliveryKind.DAILY_DIGEST:
            return places.APPROVALS
        case DeliveryKind.PING | DeliveryKind.DIGEST:
            return places.ONCALL if body["level"] == Level.ONCALL.key else places.APPROVALS
        case DeliveryKind.REVIEW:
            return places.REVIEW
        case DeliveryKind.CARD_UPDATE | DeliveryKind.REVIEW_UPDATE:
            return places.UPDATE
        case DeliveryKind.ALERT_UPDATE | DeliveryKind.PING_UPDATE | DeliveryKind.HAND_OFF_UPDATE:
            return places.UPDATE
        case DeliveryKind.EPHEMERAL:
            return f"user:{body['user']}"
        case DeliveryKind.HOME:
            return places.HOME
        case _:
            return places.ONCALL


def about_of(kind: DeliveryKind, body: Payload, approval: Approval | None) -> str | None:
    """Return what a message draws or adds to; None for one that stands alone.

    Of messages about one thing only one is on its way at a time, and none before its first.
    """
    match kind:
        case (
            DeliveryKind.CARD
            | DeliveryKind.CARD_UPDATE
            | DeliveryKind.THREAD
            | DeliveryKind.QUESTION
            | DeliveryKind.ANSWER
            | DeliveryKind.PING
            | DeliveryKind.PING_UPDATE
            | DeliveryKind.PING_LINE
            | DeliveryKind.MAIL_LINE
        ):
            return None if approval is None else f"card:{approval.id}"
        case DeliveryKind.REVIEW | DeliveryKind.REVIEW_UPDATE:
            return None if approval is None else f"review:{approval.id}"
        case DeliveryKind.ALERT | DeliveryKind.ALERT_UPDATE | DeliveryKind.ALERT_LINE:
            return f"alert:{body['subject']}"
        case DeliveryKind.HAND_OFF | DeliveryKind.HAND_OFF_UPDATE | DeliveryKind.HAND_OFF_LINE:
            return subject_of(*named(body))
        case DeliveryKind.HOME:
            return f"home:{body['subject']}"
        case _:
            return None


def _for_slack(desk: Desk, approval: Approval, *, quiet: bool) -> list[Message]:
    if approval.status is Status.PENDING:
        return [slack_message(desk, DeliveryKind.CARD, f"card:{approval.id}", {}, approval)]
    mark = f"{approval.id}:{approval.status}:{approval.attempts}"
    told = [slack_message(desk, DeliveryKind.CARD_UPDATE, f"card_update:{mark}", {}, approval)]
    if approval.pinged and approval.status in _AFTER_WAITING:
        told.append(ping_update(desk, approval, approval.status.value))
    if quiet or approval.status in {Status.EXECUTING, Status.SUPERSEDED}:
        return told
    line: Payload = {"status": approval.status.value}
    return [*told, slack_message(desk, DeliveryKind.THREAD, f"thread:{mark}", line, approval)]


def ping_update(desk: Desk, approval: Approval, mark: str) -> Message:
    """Return the redrawing of every message by which a request was brought up again."""
    key = f"ping_update:{approval.id}:{mark}"
    body: Payload = {"senior": desk.policy.escalation.senior.value}
    return slack_message(desk, DeliveryKind.PING_UPDATE, key, body, approval)


def _for_run(
    tx: Tx, desk: Desk, approval: Approval, listener: Listener, telling: Telling
) -> Message:
    own = listener.conversation_id == approval.conversation_id
    suffix = "" if own else f":{listener.conversation_id}"
    key = f"outcome:{approval.id}:{approval.status}{suffix}"
    told = outcome_for_model(approval, telling.reason)
    if telling.category is not None:
        told["category"] = telling.category
    if not is_for_customer(approval):
        # The model would answer the customer, who must not hear of it.
        return note_for_run(desk, approval, key, told)
    language = conversations.spoken(tx, listener.conversation_id)
    return Message(
        id=desk.ids.new("out"),
        lane="turn",
        kind="outcome",
        key=key,
        body={
            "told": told,
            "text": outcome_text(approval, telling.reason, language),
            "outcome": approval.status.value,
            "call_id": listener.call_id,
        },
        conversation_id=listener.conversation_id,
        run_id=listener.run_id,
        approval_id=approval.id,
    )
