"""A chat with the offline model over orders in a dict; the gate's judgement is the real one."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from agent.domain.conversation import ChatMessage
from agent.domain.errors import InvalidInput
from agent.domain.money import Money
from agent.domain.policy import Policy
from agent.domain.risk import OrderFacts, Park, RefundFacts, Refuse, assess
from agent.ports import ChatRequest
from agent.providers.offline_model import OfflineModel
from agent.tools.base import parse_arguments
from agent.tools.orders import LookupOrder, money_json
from agent.tools.refunds import IssueRefund, to_proposal
from agent.tools.registry import INSTRUCTIONS, SPECS, TOOLS
from agent.tools.rules import CheckPolicy
from tests.support.desk import shipped_policy
from tests.support.doubles import START

JsonObject = dict[str, Any]


@cache
def _policy() -> Policy:
    return shipped_policy()


@dataclass
class Line:
    """One line of an order; `price` in minor units."""

    name: str
    price: int
    quantity: int = 1
    final_sale: bool = False


@dataclass
class Order:
    """An order of the book, in minor units."""

    lines: list[Line]
    currency: str = "USD"
    refunded: int = 0
    paid: bool = True
    disputed: bool = False
    fulfillment: str = "fulfilled"

    @property
    def total(self) -> int:
        """Return what its lines cost."""
        return sum(line.price * line.quantity for line in self.lines)

    def money(self, minor: int) -> Money:
        """Return an amount in its currency."""
        return Money(minor, self.currency)


@dataclass
class Chat:
    """One conversation; `orders` are the customer's own, newest first, None for a stranger."""

    orders: dict[str, Order] | None
    requests: list[JsonObject] = field(default_factory=list)
    hand_off_fails: bool = False
    forced: list[JsonObject] = field(default_factory=list)
    messages: list[ChatMessage] = field(
        default_factory=lambda: [ChatMessage("system", INSTRUCTIONS)]
    )
    made: list[tuple[str, JsonObject]] = field(default_factory=list)

    def says(self, text: str) -> str:
        """Send a customer's message and return the answer; `made` holds the calls for it."""
        self.messages.append(ChatMessage("user", text))
        return self.answer()

    def hears(self, **fields: object) -> str:
        """Send the outcome of a request and return what the customer is told."""
        told = {"event": "approval_outcome", "approval_id": "apr_1", **fields}
        self.messages.append(ChatMessage("system", json.dumps(told)))
        return self.answer()

    def answer(self) -> str:
        """Let the model answer what is open, running its calls, as a turn does."""
        self.made = []
        for _ in range(8):
            said = OfflineModel().complete(ChatRequest(tuple(self.messages), SPECS))
            self.messages.append(ChatMessage("assistant", said.text, calls=said.calls))
            if not said.calls:
                assert said.text.strip()
                return said.text
            assert not said.text
            for call in said.calls:
                arguments = json.loads(call.arguments)
                assert not self.made or self.made[-1] != (call.name, arguments)
                self.made.append((call.name, arguments))
                result = self._run(call.name, call.arguments)
                self.messages.append(ChatMessage("tool", json.dumps(result), call_id=call.call_id))
        raise AssertionError("the model went round in circles")

    @property
    def proposals(self) -> list[str]:
        """Return the refunds proposed for the last message, e.g. `ORD-1001 5.00 USD partial`."""
        return [
            f"{a['order_id']} {a['amount']} {a['currency']} {a['scope']}"
            for name, a in self.made
            if name == "issue_refund"
        ]

    @property
    def tools(self) -> list[str]:
        """Return the tools called for the last message."""
        return [name for name, _ in self.made]

    def _run(self, name: str, raw: str) -> JsonObject:
        arguments = parse_arguments(TOOLS[name], raw)
        match arguments:
            case LookupOrder():
                return self._lookup(arguments.order_id)
            case CheckPolicy():
                return _check(arguments.question)
            case IssueRefund():
                return self.forced.pop(0) if self.forced else self._propose(arguments)
            case _:
                return self._run_plain(name)

    def _run_plain(self, name: str) -> JsonObject:
        if name == "hand_off":
            return {"ok": False, "error": "x"} if self.hand_off_fails else {"ok": True}
        if self.orders is None:
            return {"ok": False, "error": "not_verified", "message": "Please sign in."}
        if name == "refund_status":
            return {"ok": True, "requests": self.requests}
        return {"ok": True, "orders": [self._show(order_id) for order_id in self.orders]}

    def _find(self, reference: str) -> str | None:
        """Find an order as the embedded shop does: by its id, a leading # and case aside."""
        wanted = reference.strip().removeprefix("#").upper()
        return next((i for i in self.orders or {} if i.removeprefix("#") == wanted), None)

    def _lookup(self, reference: str) -> JsonObject:
        found = self._find(reference)
        if found is None:
            return {"ok": False, "error": "not_found", "message": "No such order was found."}
        return {"ok": True, "order": self._show(found)}

    def _show(self, order_id: str) -> JsonObject:
        order = (self.orders or {})[order_id]
        captured = order.total if order.paid else 0
        return {
            "order_id": order_id,
            "status": "unpaid"
            if not order.paid
            else "partly_refunded"
            if order.refunded
            else "paid",
            "fulfillment": order.fulfillment,
            "placed_at": "2026-11-01",
            "currency": order.currency,
            "total": money_json(order.money(order.total)),
            "refunded": money_json(order.money(order.refunded)),
            "remaining": money_json(order.money(captured - order.refunded)),
            "disputed": order.disputed,
            "lines": [
                {
                    "name": line.name,
                    "quantity": line.quantity,
                    "price": money_json(order.money(line.price)),
                    "final_sale": line.final_sale,
                }
                for line in order.lines
            ],
        }

    def _propose(self, arguments: IssueRefund) -> JsonObject:
        found = self._find(arguments.order_id)
        try:
            proposal = to_proposal(arguments, found or arguments.order_id)
        except InvalidInput as invalid:
            return {"ok": False, "error": "invalid_arguments", "message": str(invalid)}
        verdict = assess(proposal, self._facts(found), _policy())
        if isinstance(verdict, Refuse):
            return {"ok": False, "error": verdict.code.value, "message": verdict.message}
        known = {
            "approval_id": "apr_1",
            "order_id": proposal.order_id,
            "amount": str(proposal.amount),
        }
        if isinstance(verdict, Park):
            return {"status": "pending_approval", **known}
        assert self.orders is not None
        self.orders[proposal.order_id].refunded += proposal.amount.minor
        return {"ok": True, "status": "executed", **known}

    def _facts(self, order_id: str | None) -> RefundFacts:
        order = None if order_id is None else (self.orders or {})[order_id]
        shown = None
        if order is not None and order_id is not None:
            final = sum(line.price * line.quantity for line in order.lines if line.final_sale)
            shown = OrderFacts(
                order_id=order_id,
                customer_id="cus_1",
                total=order.money(order.total),
                captured=order.money(order.total if order.paid else 0),
                refunded=order.money(order.refunded),
                final_sale=order.money(final),
                disputed=order.disputed,
                read_at=START,
            )
        return RefundFacts(
            verified=self.orders is not None,
            order=shown,
            reserved=None,
            automatic_on_order=0,
            automatic_by_customer=0,
            earlier_no=None,
            rejected_in_conversation=False,
            open_approvals=0,
            stopped=False,
        )


def _check(question: str) -> JsonObject:
    asked = set(question.lower().replace("?", " ").split())
    topics = sorted(
        _policy().shop_rules, key=lambda topic: -len(asked.intersection(topic.keywords))
    )
    hits = [topic for topic in topics if asked.intersection(topic.keywords)]
    return {"ok": True, "passages": [{"title": t.title, "text": t.text} for t in hits[:3]]}
