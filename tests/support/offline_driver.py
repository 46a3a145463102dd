"""A chat with the offline model over orders in a dict; the gate's judgement is the real one."""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from agent.domain.conversation import ChatMessage
from agent.domain.errors import InvalidInput
from agent.domain.fraud import assess_flag
from agent.domain.ids import ApprovalId
from agent.domain.messages import assess_email
from agent.domain.money import Money, money_json
from agent.domain.policy import Policy
from agent.domain.risk import OrderFacts, Park, RefundFacts, Refuse, RunNow, assess
from agent.ports import ChatRequest
from agent.providers.offline_model import OfflineModel
from agent.tools.base import parse_arguments
from agent.tools.emails import ComposeReply, SendEmail
from agent.tools.flags import FlagForFraud
from agent.tools.orders import LookupOrder
from agent.tools.refunds import IssueRefund, to_proposal
from agent.tools.registry import INSTRUCTIONS, SPECS, TOOLS
from agent.tools.rules import CheckPolicy
from agent.tools.status import WithdrawRequest
from tests.support.builders import (
    ADDRESS,
    email_facts,
    email_proposal,
    flag_facts,
    flag_proposal,
)
from tests.support.desk import shipped_policy
from tests.support.doubles import START

JsonObject = dict[str, Any]
# The customer never reads of suspicions (agent/tools/flags.py).
_NEVER_SAID = r"fraud|suspici|\bflag|\bsignal"


def nth(number: int) -> ApprovalId:
    """Return the id of the request that was made as this one, counted from 1."""
    return ApprovalId(f"apr_{number:026}")


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
    """One conversation; `orders` are the customer's own, newest first, None for a stranger.

    `requests` are as `refund_status` shows them, newest first; `elsewhere` are those of the
    customer's other conversations. `forced` results are given to the next proposals instead.
    """

    orders: dict[str, Order] | None
    requests: list[JsonObject] = field(default_factory=list)
    elsewhere: list[JsonObject] = field(default_factory=list)
    hand_off_fails: bool = False
    forced: list[JsonObject] = field(default_factory=list)
    messages: list[ChatMessage] = field(
        default_factory=lambda: [ChatMessage("system", INSTRUCTIONS)]
    )
    made: list[tuple[str, JsonObject]] = field(default_factory=list)
    _last_id: int = 0

    def says(self, text: str) -> str:
        """Send a customer's message and return the answer; `made` holds the calls for it."""
        self.messages.append(ChatMessage("user", text))
        return self.answer()

    def hears(self, **fields: object) -> str:
        """Send the outcome of the newest request and return what the customer is told."""
        newest: JsonObject = self.requests[0] if self.requests else {"approval_id": nth(0)}
        named = ("approval_id", "tool", "order_id", "amount")
        about = {name: newest.get(name, "issue_refund") for name in named}
        self.knows(**({"event": "approval_outcome"} | about | fields))
        newest["status"] = "ended"
        return self.answer()

    def knows(self, **fields: object) -> None:
        """Put a system message into the transcript that nobody answers."""
        self.messages.append(ChatMessage("system", json.dumps(fields)))

    def answer(self) -> str:
        """Let the model answer what is open, running its calls, as a turn does."""
        self.made = []
        for _ in range(8):
            said = OfflineModel().complete(ChatRequest(tuple(self.messages), SPECS))
            self.messages.append(ChatMessage("assistant", said.text, calls=said.calls))
            if not said.calls:
                assert said.text.strip()
                assert not re.search(_NEVER_SAID, said.text, re.IGNORECASE)
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
        try:
            arguments = parse_arguments(TOOLS[name], raw)
        except InvalidInput as invalid:
            # Whether an address is one is for the tool to say; all else must fit.
            if invalid.field.split(".")[0] not in {"to", "cc", "bcc"}:
                raise
            return {"ok": False, "error": "invalid_arguments", "message": str(invalid)}
        match arguments:
            case LookupOrder():
                return self._lookup(arguments.order_id)
            case CheckPolicy():
                return _check(arguments.question)
            case IssueRefund() | SendEmail() | FlagForFraud() | WithdrawRequest() if self.forced:
                return self.forced.pop(0)
            case IssueRefund():
                return self._propose(arguments)
            case SendEmail():
                return self._send(arguments)
            case FlagForFraud():
                return self._flag(arguments)
            case ComposeReply():
                return self._compose(arguments)
            case WithdrawRequest():
                return self._withdraw(arguments.approval_id)
            case _:
                return self._run_plain(name)

    def _run_plain(self, name: str) -> JsonObject:
        if name == "hand_off":
            return {"ok": False, "error": "x"} if self.hand_off_fails else {"ok": True}
        if self.orders is None:
            return {"ok": False, "error": "not_verified", "message": "Please sign in."}
        if name == "refund_status":
            return {"ok": True, "requests": [*self.requests, *self.elsewhere]}
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
        result = self._judged("issue_refund", proposal.order_id, str(proposal.amount), verdict)
        if result.get("status") == "executed":
            assert self.orders is not None
            self.orders[proposal.order_id].refunded += proposal.amount.minor
        return result

    def _judged(
        self, tool: str, order_id: str | None, amount: str | None, verdict: RunNow | Park | Refuse
    ) -> JsonObject:
        """Return a verdict as the tool's result; what is asked for stands in `requests` then."""
        if isinstance(verdict, Refuse):
            return {"ok": False, "error": verdict.code.value, "message": verdict.message}
        for one in self.requests:
            # An identical refund that waits already is one and the same.
            same = amount is not None and (one["order_id"], one["amount"]) == (order_id, amount)
            if same and one["status"] == "pending":
                return {"status": "pending_approval", **_known(one)}
        self._last_id += 1
        known: JsonObject = {"approval_id": nth(self._last_id), "order_id": order_id}
        known["amount"] = amount
        status = "pending" if isinstance(verdict, Park) else "done"
        if tool != "flag_for_fraud":
            self.requests.insert(0, {**known, "tool": tool, "status": status})
        if isinstance(verdict, Park):
            return {"status": "pending_approval", **known}
        return {"ok": True, "status": "executed", **known}

    def _send(self, asked: SendEmail) -> JsonObject:
        template = _policy().emails.templates.get(asked.template or "")
        wrong = asked.template is not None and (template is None or asked.body is not None)
        unfilled = template is not None and "{order_id}" in template.body and not asked.order_id
        if wrong or unfilled or not (template or (asked.subject and asked.body)):
            return {"ok": False, "error": "invalid_arguments", "message": "body: is missing"}
        found = None if asked.order_id is None else self._find(asked.order_id)
        proposal = email_proposal(
            template=asked.template,
            to=asked.to or (ADDRESS,),
            cc=asked.cc,
            bcc=asked.bcc,
            confidence=Decimal(asked.confidence or "0"),
        )
        facts = email_facts(
            verified=self.orders is not None,
            order_found=asked.order_id is None or found is not None,
        )
        verdict = assess_email(proposal, facts, _policy())
        return self._judged("send_email", found or asked.order_id, None, verdict)

    def _flag(self, asked: FlagForFraud) -> JsonObject:
        found = None if asked.order_id is None else self._find(asked.order_id)
        facts = flag_facts(
            verified=self.orders is not None,
            order_found=asked.order_id is None or found is not None,
        )
        verdict = assess_flag(flag_proposal(asked.score), facts, _policy())
        return self._judged("flag_for_fraud", found, None, verdict)

    def _compose(self, asked: ComposeReply) -> JsonObject:
        if self.orders is None:
            return {"ok": False, "error": "not_verified", "message": "Please sign in."}
        if asked.order_id is not None and self._find(asked.order_id) is None:
            return {"ok": False, "error": "not_found", "message": "No such order was found."}
        draft = {"to": ADDRESS, "subject": asked.subject, "body": asked.body}
        return {"ok": True, "status": "draft", "sent": False, "draft": draft}

    def _withdraw(self, named: str | None) -> JsonObject:
        """Take back what the customer means, as agent/steps/turn.py does."""
        if self.orders is None:
            return {"ok": False, "error": "not_verified", "message": "Please sign in."}
        here = [one for one in self.requests if one["status"] == "pending"]
        if named is None and len(here) != 1:
            error = "ambiguous" if here else "not_found"
            return {"ok": False, "error": error, "message": "Which request is meant?"}
        every = [*self.requests, *self.elsewhere]
        meant = here if named is None else [r for r in every if r["approval_id"] == named]
        if not meant:
            return {"ok": False, "error": "not_found", "message": "There is no such request."}
        if meant[0]["status"] != "pending":
            message = "The request is executed."
            return {"ok": False, "error": "too_late_to_withdraw", "message": message}
        meant[0]["status"] = "withdrawn"
        return {"ok": True, "status": "cancelled", "approval_id": meant[0]["approval_id"]}

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
            automatic_number=0,
            earlier_no=None,
            decided_before=None,
            rejections=0,
            open_approvals=0,
            stopped=False,
            paused=None,
        )


def _known(request: JsonObject) -> JsonObject:
    return {name: request[name] for name in ("approval_id", "order_id", "amount")}


def _check(question: str) -> JsonObject:
    asked = set(question.lower().replace("?", " ").split())
    topics = sorted(
        _policy().shop_rules, key=lambda topic: -len(asked.intersection(topic.keywords))
    )
    hits = [topic for topic in topics if asked.intersection(topic.keywords)]
    templates = _policy().emails.templates.items()
    return {
        "ok": True,
        "passages": [{"title": t.title, "text": t.text} for t in hits[:3]],
        "email_templates": [{"name": name, "subject": one.subject} for name, one in templates],
    }
