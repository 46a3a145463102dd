"""Domain values with sensible defaults: a test names only what its case is about."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from agent.domain.approvals import Approval, Snapshot, Status, Verdict, Vote
from agent.domain.breaker import Breaker, BreakerLimits, BreakerState
from agent.domain.decision import Decision
from agent.domain.fraud import FlagFacts, FlagProposal
from agent.domain.ids import (
    ActorId,
    ApprovalId,
    ConversationId,
    CustomerId,
    RunId,
    idempotency_key,
)
from agent.domain.messages import EmailFacts, EmailProposal
from agent.domain.money import Money, parse_money
from agent.domain.payload import Json, Payload, canonical, payload_hash, proposal_key
from agent.domain.policy import Policy, read_policy
from agent.domain.risk import Finding, OrderFacts, Reason, RefundFacts, RefundProposal
from agent.domain.roles import Actor, ActorKind, Channel, Identity, Role, RoleGrant, Tier
from tests.support.doubles import START

POLICY_FILE = Path(__file__).parents[2] / "agent" / "policy.yml"
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
APPROVAL_ID = ApprovalId(f"apr_{ULID}")
CUSTOMER = CustomerId("cus_ana")
ORDER = "ORD-1001"
ADDRESS = "ana@example.com"
ANN, BOB, MIA = ActorId("act_ann"), ActorId("act_bob"), ActorId("act_mia")
_TOOL = "issue_refund"


def usd(text: str) -> Money:
    """Return dollars, e.g. `usd("50.01")`."""
    return parse_money(text, "USD")


def policy_document() -> dict[str, Any]:
    """Return the shipped policy as parsed YAML, the test's own to change."""
    return deepcopy(_parsed_policy())


@cache
def _parsed_policy() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(POLICY_FILE.read_text("utf-8"))
    return document


def policy(**changes: Mapping[str, object] | int) -> Policy:
    """Return the shipped policy; a mapping changes entries of its section, a number an entry."""
    document = policy_document()
    for name, change in changes.items():
        if isinstance(change, Mapping):
            document[name] |= change
        else:
            document[name] = change
    return read_policy(document)


def order_facts(
    total: str = "160.00",
    *,
    captured: str | None = None,
    refunded: str = "0",
    final_sale: str = "0",
    disputed: bool = False,
    currency: str = "USD",
) -> OrderFacts:
    """Return a paid order of 160.00 USD; amounts are decimal text, `captured` is all of it."""
    return OrderFacts(
        order_id=ORDER,
        customer_id=CUSTOMER,
        total=parse_money(total, currency),
        captured=parse_money(total if captured is None else captured, currency),
        refunded=parse_money(refunded, currency),
        final_sale=parse_money(final_sale, currency),
        disputed=disputed,
        read_at=START,
    )


def refund_facts(**changes: Any) -> RefundFacts:
    """Return facts of a verified customer's paid order against which nothing speaks."""
    clean = RefundFacts(
        verified=True,
        order=order_facts(),
        reserved=None,
        automatic_on_order=0,
        automatic_by_customer=0,
        automatic_number=0,
        earlier_no=None,
        decided_before=None,
        rejections=0,
        open_approvals=0,
        stopped=False,
        paused=None,
    )
    return replace(clean, **changes)


def refund_proposal(amount: Money | str = "20.00", **changes: Any) -> RefundProposal:
    """Return a clear, sure proposal; a text amount is in dollars."""
    money = usd(amount) if isinstance(amount, str) else amount
    return replace(RefundProposal(ORDER, money, "partial", Decimal("0.95")), **changes)


def refund_payload(
    amount: Money, order_id: str = ORDER, customer_id: CustomerId = CUSTOMER
) -> Payload:
    """Return a refund's payload as the gate binds it."""
    return {
        "order_id": order_id,
        "customer_id": customer_id,
        "amount": {"minor": amount.minor, "currency": amount.currency},
    }


def approval(**changes: Any) -> Approval:
    """Return a pending refund of 160.00 USD, 30 minutes to decide by one approver.

    Payload, text, hash and keys follow the other fields unless a change names them.
    """
    amount = changes.get("amount", usd("160.00"))
    order_id = changes.get("order_id", ORDER)
    customer_id = changes.get("customer_id", CUSTOMER)
    payload = changes.get("payload")
    if payload is None:
        payload = {} if amount is None else refund_payload(amount, order_id, customer_id)
    approval_id = changes.get("id", APPROVAL_ID)
    tool, version = changes.get("tool", _TOOL), changes.get("policy_version", "0123456789ab")
    derived = {
        "payload": payload,
        "payload_text": canonical(payload),
        "payload_hash": payload_hash(
            tool=tool, payload=payload, approval_id=approval_id, policy_version=version
        ),
        "proposal_key": proposal_key(customer_id=customer_id, tool=tool, payload=payload),
        "idempotency_key": idempotency_key(approval_id),
        "amount": amount,
    }
    return replace(_PENDING, **(derived | changes))


def email_payload(**changes: Json) -> Payload:
    """Return a template's e-mail to the customer's own address, as the gate binds it."""
    return {
        "customer_id": CUSTOMER,
        "order_id": ORDER,
        "template": "delay_apology",
        "to": [ADDRESS],
        "cc": [],
        "bcc": [],
        "subject": "Order ORD-1001 is late",
        "body": "Hello Ana, we are sorry.",
        **changes,
    }


def email_approval(**changes: Any) -> Approval:
    """Return a pending e-mail; its payload names the approval's order unless a change says else."""
    payload = email_payload(order_id=changes.get("order_id", ORDER))
    bare = {"tool": "send_email", "amount": None, "snapshot": None, "payload": payload}
    return approval(**(bare | changes))


def flag_approval(**changes: Any) -> Approval:
    """Return a pending fraud flag of 0.85, which holds the customer."""
    payload: Payload = {
        "customer_id": CUSTOMER,
        "order_id": changes.get("order_id", ORDER),
        "score": "0.85",
        "action": "hold",
        "signals": ["three cards in one hour"],
    }
    bare = {"tool": "flag_for_fraud", "amount": None, "snapshot": None, "payload": payload}
    return approval(**(bare | changes))


def email_proposal(**changes: Any) -> EmailProposal:
    """Return an unchanged template to the customer's own address."""
    template = EmailProposal("delay_apology", (ADDRESS,), (), (), Decimal("0.95"))
    return replace(template, **changes)


def email_facts(**changes: Any) -> EmailFacts:
    """Return facts against which nothing speaks."""
    clean = EmailFacts(
        verified=True,
        decided_before=None,
        rejections=0,
        earlier_no=None,
        open_approvals=0,
        stopped=False,
        paused=None,
        own_address=ADDRESS,
        order_found=True,
        available=True,
        automatic_number=0,
    )
    return replace(clean, **changes)


def flag_proposal(score: str = "0.30", **changes: Any) -> FlagProposal:
    """Return a low, sure flag."""
    return replace(FlagProposal(Decimal(score), Decimal("0.95")), **changes)


def flag_facts(**changes: Any) -> FlagFacts:
    """Return facts against which nothing speaks."""
    clean = FlagFacts(
        verified=True,
        decided_before=None,
        rejections=0,
        earlier_no=None,
        open_approvals=0,
        stopped=False,
        paused=None,
        order_found=True,
    )
    return replace(clean, **changes)


_PENDING = Approval(
    id=APPROVAL_ID,
    run_id=RunId(f"run_{ULID}"),
    conversation_id=ConversationId(f"cnv_{ULID}"),
    call_id="call_1",
    customer_id=CUSTOMER,
    tool=_TOOL,
    payload_text="",
    payload={},
    payload_hash="",
    proposal_key="",
    policy_version="0123456789ab",
    model="scripted-1",
    confidence="0.95",
    model_reason="it wobbles",
    status=Status.PENDING,
    automatic=False,
    findings=(Finding(Reason.AMOUNT_OVER_LIMIT, "160.00 USD is over the limit of 50.00 USD"),),
    tier=Tier(Role.REFUND_APPROVER),
    order_id=ORDER,
    amount=None,
    original=None,
    snapshot=Snapshot(usd("160.00"), usd("160.00"), usd("0.00"), usd("160.00")),
    idempotency_key="",
    created_at=START,
    expires_at=START + timedelta(minutes=30),
    use_within_s=900,
    use_by=None,
    decided_at=None,
    ended_at=None,
    requested_by=f"customer:{CUSTOMER}",
    supersedes=None,
    superseded_by=None,
    revision=1,
    edited_by=(),
    raised_by=(),
    attempts=0,
    result=None,
    lease_owner=None,
    lease_until=None,
    first_sent_at=None,
    clean_looks=0,
    looked_at=None,
    alerted=False,
    wake_at=START + timedelta(minutes=30),
)


def actor(*roles: Role, **changes: Any) -> Actor:
    """Return Ann, an active member with fixed grants of the roles."""
    ann = Actor(
        id=ANN,
        name="Ann",
        kind=ActorKind.MEMBER,
        active=True,
        grants=tuple(RoleGrant(role, "fixed", None) for role in roles),
        identities=(Identity("slack", "T1:U1"),),
    )
    return replace(ann, **changes)


def decision(on: Approval | None = None, **changes: Any) -> Decision:
    """Return Ann's approval, in Slack, of what she was shown."""
    shown = approval() if on is None else on
    word = Decision(
        approval_id=shown.id,
        identity=Identity("slack", "T1:U1"),
        verdict=Verdict.APPROVE,
        shown_hash=shown.payload_hash,
        channel=Channel.SLACK,
    )
    return replace(word, **changes)


def vote(by: ActorId = BOB, name: str = "Bob", **changes: Any) -> Vote:
    """Return Bob's recorded approval."""
    cast = Vote(
        id=f"dec_{ULID}",
        approval_id=APPROVAL_ID,
        actor_id=by,
        actor_name=name,
        verdict="approve",
        channel=Channel.SLACK,
        at=START,
        reason="",
        category=None,
        note="",
    )
    return replace(cast, **changes)


LIMITS = BreakerLimits(max_refunds=5, window=timedelta(seconds=60), cooldown=timedelta(seconds=30))


def breaker(**changes: Any) -> Breaker:
    """Return a closed breaker of generation 1 that has seen START."""
    closed = Breaker(
        state=BreakerState.CLOSED,
        generation=1,
        retry_at=None,
        trial_id=None,
        trial_until=None,
        last_seen=START,
        stopped=False,
    )
    return replace(closed, **changes)
