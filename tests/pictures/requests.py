"""Requests of a shop's day in every state, with what stands around them."""

from datetime import timedelta
from typing import Any

from agent.domain.approvals import Approval, ApprovalView, Snapshot, Vote
from agent.domain.ids import ApprovalId, CustomerId
from agent.domain.payload import Payload
from agent.domain.risk import Finding, Reason
from agent.domain.roles import Role, Tier
from tests.support.builders import (
    ANN,
    BOB,
    MIA,
    approval,
    email_approval,
    flag_approval,
    usd,
)
from tests.support.doubles import START

NOW = START + timedelta(minutes=4)
PEOPLE = {ANN: "U07ANA", BOB: "U07BOB", MIA: "U07MIA"}
NEWER = ApprovalId("apr_01ARZ3NDEKTSV4RRFFQ69G5FAW")
CLARA = CustomerId("cus_clara")
_WORDS = (
    "Hi, my order ORD-1001 came today.",
    "The chair arrived broken, one leg is split right through. I want my money back.",
)
_EMAIL: Payload = {
    "customer_id": CLARA,
    "order_id": "ORD-1001",
    "template": None,
    "to": ["clara.nguyen@example.com"],
    "cc": [],
    "bcc": ["returns@partner.example"],
    "subject": "Your chair: we are sorry",
    "body": (
        "Hello Clara,\n\nwe are sorry that the chair reached you with a split leg. A courier will "
        "collect it on Thursday between 9 and 12.\n\nKind regards\nShopStream support"
    ),
}
_FLAG: Payload = {
    "customer_id": CLARA,
    "order_id": "ORD-1001",
    "score": "0.92",
    "action": "hold",
    "signals": ["paid with somebody else's card", "12 refunds in 30 days"],
}


def refund(amount: str = "160.00", **changes: Any) -> Approval:
    """Return a refund of Clara's chair."""
    shown: dict[str, Any] = {
        "amount": usd(amount),
        "customer_id": CLARA,
        "model": "gpt-5-mini",
        "confidence": "0.93",
        "model_reason": "The chair arrived broken, and the customer wants all of it back.",
        "snapshot": _bought("198.00" if usd(amount).minor < 20_000 else "1410.00"),
        "findings": (
            Finding(Reason.AMOUNT_OVER_LIMIT, f"{amount} USD is over the limit of 50.00 USD"),
            Finding(Reason.EARLIER_NO, "a refund on this order was rejected on 12 November"),
        ),
    }
    return approval(**(shown | changes))


def _bought(total: str) -> Snapshot:
    """Return an order of which 20.00 USD are paid back already."""
    paid, back = usd(total), usd("20.00")
    return Snapshot(paid, paid, back, paid.minus(back))


def email(**changes: Any) -> Approval:
    """Return an e-mail that the agent wrote itself."""
    shown: dict[str, Any] = {
        "payload": _EMAIL,
        "customer_id": CLARA,
        "model": "gpt-5-mini",
        "model_reason": "The customer should know when the courier comes.",
        "expires_at": START + timedelta(hours=4),
        "findings": (
            Finding(Reason.IRREVERSIBLE_MESSAGE, "a text of the agent's own, and a second address"),
        ),
    }
    return email_approval(**(shown | changes))


def flag(**changes: Any) -> Approval:
    """Return a fraud flag that holds the customer."""
    shown: dict[str, Any] = {
        "payload": _FLAG,
        "customer_id": CLARA,
        "model": "gpt-5-mini",
        "model_reason": "The customer says that the card is somebody else's.",
        "expires_at": START + timedelta(hours=24),
        "tier": Tier(Role.REFUND_MANAGER),
        "findings": (Finding(Reason.FRAUD_FLAG, "the score 0.92 is over 0.80"),),
    }
    return flag_approval(**(shown | changes))


def seen(shown: Approval, *votes: Vote, stopped: bool = False, **around: Any) -> ApprovalView:
    """Return a request as a card shows it."""
    words: tuple[str, ...] = around.get("words", _WORDS)
    return ApprovalView(
        shown, votes, "Clara Nguyen", "clara.nguyen@example.com", words, stopped=stopped
    )
