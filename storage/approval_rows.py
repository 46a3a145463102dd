"""Between an approval and its row; a row that does not say what it is bound to is refused."""

import json

from agent.domain.approvals import Approval, Snapshot, Status
from agent.domain.errors import Corrupt, InvalidInput
from agent.domain.ids import ActorId, ApprovalId, ConversationId, CustomerId, RunId
from agent.domain.money import Money
from agent.domain.payload import Json, Payload, canonical, parse_strict
from agent.domain.risk import Finding, Reason
from agent.domain.roles import Role, Tier
from storage.times import from_micros, micros_or_none, time_or_none, to_micros
from storage.transaction import Row


def to_row(approval: Approval) -> dict[str, object]:
    """Return the columns of an approval."""
    amount, original = approval.amount, approval.original
    findings: list[Json] = [{"code": f.code.value, "text": f.text} for f in approval.findings]
    return {
        "id": approval.id,
        "run_id": approval.run_id,
        "call_id": approval.call_id,
        "conversation_id": approval.conversation_id,
        "customer_id": approval.customer_id,
        "tool": approval.tool,
        "payload": approval.payload_text,
        "payload_hash": approval.payload_hash,
        "proposal_key": approval.proposal_key,
        "policy_version": approval.policy_version,
        "model": approval.model,
        "confidence": approval.confidence,
        "model_reason": approval.model_reason,
        "status": approval.status.value,
        "automatic": int(approval.automatic),
        "findings": json.dumps(findings),
        "tier_role": approval.tier.role.value,
        "approvals_needed": approval.tier.approvals_needed,
        "fresh_role": int(approval.tier.fresh_role),
        "order_id": approval.order_id,
        "amount_minor": None if amount is None else amount.minor,
        "original": None if original is None else canonical(original),
        "currency": None if amount is None else amount.currency,
        "snapshot": _snapshot_text(approval.snapshot),
        "idempotency_key": approval.idempotency_key,
        "created_at": to_micros(approval.created_at),
        "expires_at": to_micros(approval.expires_at),
        "use_within_s": approval.use_within_s,
        "use_by": micros_or_none(approval.use_by),
        "decided_at": micros_or_none(approval.decided_at),
        "ended_at": micros_or_none(approval.ended_at),
        "requested_by": approval.requested_by,
        "supersedes": approval.supersedes,
        "superseded_by": approval.superseded_by,
        "revision": approval.revision,
        "edited_by": json.dumps(approval.edited_by),
        "raised_by": json.dumps(approval.raised_by),
        "attempts": approval.attempts,
        "result": None if approval.result is None else canonical(approval.result),
        "lease_owner": approval.lease_owner,
        "lease_until": micros_or_none(approval.lease_until),
        "first_sent_at": micros_or_none(approval.first_sent_at),
        "clean_looks": approval.clean_looks,
        "looked_at": micros_or_none(approval.looked_at),
        "alerted": int(approval.alerted),
        "wake_at": micros_or_none(approval.wake_at),
        "shown_at": micros_or_none(approval.shown_at),
        "pinged": approval.pinged,
        "escalations": approval.escalations,
        "taken_by": approval.taken_by,
        "taken_at": micros_or_none(approval.taken_at),
        "waits_since": micros_or_none(approval.waits_since),
        "extra_s": approval.extra_s,
    }


def from_row(row: Row) -> Approval:
    """Return the approval of a row; raises Corrupt if the row does not validate."""
    try:
        return _validated(row)
    except (InvalidInput, ValueError, KeyError, TypeError, OverflowError) as error:
        raise Corrupt(row["id"], str(error)) from error


def _money(minor: int | None, currency: str | None) -> Money | None:
    return None if minor is None or currency is None else Money(minor, currency)


def _validated(row: Row) -> Approval:
    payload, amount = parse_strict(row["payload"]), _money(row["amount_minor"], row["currency"])
    _check_columns(row, payload)
    findings = tuple(Finding(Reason(f["code"]), f["text"]) for f in json.loads(row["findings"]))
    return Approval(
        id=ApprovalId(row["id"]),
        run_id=RunId(row["run_id"]),
        conversation_id=ConversationId(row["conversation_id"]),
        call_id=row["call_id"],
        customer_id=CustomerId(row["customer_id"]),
        tool=row["tool"],
        payload_text=row["payload"],
        payload=payload,
        payload_hash=row["payload_hash"],
        proposal_key=row["proposal_key"],
        policy_version=row["policy_version"],
        model=row["model"],
        confidence=row["confidence"],
        model_reason=row["model_reason"],
        status=Status(row["status"]),
        automatic=bool(row["automatic"]),
        findings=findings,
        tier=Tier(
            Role(row["tier_role"]), row["approvals_needed"], fresh_role=bool(row["fresh_role"])
        ),
        order_id=row["order_id"],
        amount=amount,
        original=None if row["original"] is None else parse_strict(row["original"]),
        snapshot=_snapshot(row["snapshot"]),
        idempotency_key=row["idempotency_key"],
        created_at=from_micros(row["created_at"]),
        expires_at=from_micros(row["expires_at"]),
        use_within_s=row["use_within_s"],
        use_by=time_or_none(row["use_by"]),
        decided_at=time_or_none(row["decided_at"]),
        ended_at=time_or_none(row["ended_at"]),
        requested_by=row["requested_by"],
        supersedes=row["supersedes"],
        superseded_by=row["superseded_by"],
        revision=row["revision"],
        edited_by=tuple(ActorId(a) for a in json.loads(row["edited_by"])),
        raised_by=tuple(ActorId(a) for a in json.loads(row["raised_by"])),
        attempts=row["attempts"],
        result=None if row["result"] is None else json.loads(row["result"]),
        lease_owner=row["lease_owner"],
        lease_until=time_or_none(row["lease_until"]),
        first_sent_at=time_or_none(row["first_sent_at"]),
        clean_looks=row["clean_looks"],
        looked_at=time_or_none(row["looked_at"]),
        alerted=bool(row["alerted"]),
        wake_at=time_or_none(row["wake_at"]),
        shown_at=time_or_none(row["shown_at"]),
        pinged=row["pinged"],
        escalations=row["escalations"],
        taken_by=row["taken_by"],
        taken_at=time_or_none(row["taken_at"]),
        waits_since=time_or_none(row["waits_since"]),
        extra_s=row["extra_s"],
    )


def _check_columns(row: Row, payload: Payload) -> None:
    """Refuse a row whose columns, which sums and cards use, say other than what is bound."""
    money = payload.get("amount")
    bound = (
        payload.get("order_id"),
        payload.get("customer_id"),
        money.get("minor") if isinstance(money, dict) else None,
        money.get("currency") if isinstance(money, dict) else None,
    )
    if bound != (row["order_id"], row["customer_id"], row["amount_minor"], row["currency"]):
        raise ValueError("order, customer or amount differ from the payload")


def _snapshot_text(snapshot: Snapshot | None) -> str | None:
    if snapshot is None:
        return None
    return canonical(
        {
            "currency": snapshot.order_total.currency,
            "order_total": snapshot.order_total.minor,
            "captured": snapshot.captured.minor,
            "refunded": snapshot.refunded.minor,
            "remaining": snapshot.remaining.minor,
        }
    )


def _snapshot(stored: str | None) -> Snapshot | None:
    if stored is None:
        return None
    value = json.loads(stored)
    currency = value["currency"]
    return Snapshot(
        order_total=Money(value["order_total"], currency),
        captured=Money(value["captured"], currency),
        refunded=Money(value["refunded"], currency),
        remaining=Money(value["remaining"], currency),
    )
