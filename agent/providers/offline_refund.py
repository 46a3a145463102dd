"""From a wish to a proposal: how much, how sure; or the question that is missing."""

import re
from dataclasses import dataclass
from typing import Literal, assert_never

from agent.domain.errors import InvalidInput
from agent.domain.money import Money, parse_money
from agent.providers.offline_amounts import Exact, Share, Unreadable
from agent.providers.offline_answers import (
    UNREADABLE_RESULT,
    nothing_left_words,
)
from agent.providers.offline_offers import ASK_AMOUNT, offer_refund
from agent.providers.offline_orders import SeenOrder, pieces_meant, read_order
from agent.providers.offline_outcomes import edited_words, refund_words
from agent.providers.offline_requests import Request, edited_refund
from agent.providers.offline_search import (
    Found,
    Missing,
    Note,
    Question,
    find_orders,
    fresh_reads,
    lookup,
    order_reads,
    which_item,
)
from agent.providers.offline_transcript import Call, Move, Say, Turn, Wanted
from agent.providers.offline_wish import Piece, read_wish
from agent.providers.offline_words import complains, quote

# How sure: order and amount said; one of them beyond doubt from what came before; the whole order
# taken because no part was named; a guess that a person should look at.
_SAID, _CLEAR, _IMPLIED, _GUESS = "0.97", "0.95", "0.92", "0.80"
_MOST_PROPOSALS = 5
# A number right where the amount belongs that is none: "refund 20 clams".
_STRAY_NUMBER = re.compile(
    r"\b(?:refund|reimburse|credit|give|pay)(?: (?:me|us|back|of|just|only))* -?[$€£¥]?[0-9]"
)
_ORDER_WORD = re.compile(r"\b(?:order|purchase|parcel|package|delivery)\b")

_MORE_THAN_ONE = Question(f"I read more than one amount. {ASK_AMOUNT}")

Scope = Literal["full", "partial", "unclear"]


@dataclass(frozen=True, slots=True)
class Target:
    """One refund to propose; `amount` is plain decimal text, as the customer asked."""

    order_id: str
    amount: str
    currency: str
    scope: Scope
    confidence: str

    def wanted(self, reason: str) -> Wanted:
        """Return the call that proposes it."""
        return Wanted(
            "issue_refund",
            {
                "order_id": self.order_id,
                "amount": self.amount,
                "currency": self.currency,
                "scope": self.scope,
                "reason": reason,
                "confidence": self.confidence,
            },
        )

    def edited(self, turn: Turn) -> Request | None:
        """Return the request of exactly this refund that a person has changed for good."""
        return edited_refund(turn, self.order_id, self.amount, self.currency)


def plan_refund(turn: Turn, *, offer: str | None = None) -> Move:
    """Return the next move towards a refund.

    With `offer`, words of their own, the customer is asked first, unless an amount was said.
    """
    pieces = read_wish(turn)
    amounts = [amount for piece in pieces for amount in piece.amounts]
    unreadable = next((amount for amount in amounts if isinstance(amount, Unreadable)), None)
    if unreadable is not None:
        return Say(
            f'I am not sure how to read "{quote(unreadable.text)}". {ASK_AMOUNT} Please write it '
            "as a plain number, such as 12.50."
        )
    reads = fresh_reads(turn, [read for piece in pieces for read in order_reads(turn, piece)])
    if reads:
        return Call(reads)
    alone = len(pieces) == 1
    parts = [part for piece in pieces for part in _resolve(turn, piece, alone=alone)]
    notes = [part.text for part in parts if isinstance(part, Note)]
    if turn.results("issue_refund"):
        return Say(" ".join(dict.fromkeys([*proposal_words(turn), *notes])))
    question = next((part for part in parts if isinstance(part, Question)), None)
    if question is not None:
        return Say(question.text)
    wanted = [part for part in parts if isinstance(part, Target)][:_MOST_PROPOSALS]
    final = {target: edit for target in wanted if (edit := target.edited(turn)) is not None}
    notes += [edited_words(edit) for edit in final.values()]
    targets = [target for target in wanted if target not in final]
    if not targets:
        return Say(" ".join(dict.fromkeys(notes)) or UNREADABLE_RESULT)
    if offer is not None and not amounts:
        paid = parse_money(targets[0].amount, targets[0].currency)
        return Say(f"{offer} {offer_refund(paid, targets[0].order_id)}".strip())
    return Call(tuple(target.wanted(_reason(turn, target.scope)) for target in targets))


def take_offer(turn: Turn, amount: str, currency: str, order_id: str) -> Move:
    """Return the next move after a yes to an offered refund."""
    reads = fresh_reads(turn, [lookup(order_id)])
    if reads:
        return Call(reads)
    if turn.results("issue_refund"):
        return Say(" ".join(dict.fromkeys(proposal_words(turn))))
    order = turn.looked_up(order_id)
    if order is None:
        return Say(UNREADABLE_RESULT)
    target = _exact(Exact(amount, (currency,), 0), order, _CLEAR)
    edit = target.edited(turn)
    if edit is not None:
        return Say(edited_words(edit))
    return Call((target.wanted(_reason(turn, target.scope)),))


def proposal_words(turn: Turn) -> list[str]:
    """Return what became of each refund proposed in this turn."""
    orders: dict[str, SeenOrder] = {order.id: order for order in turn.listed() or ()}
    shown = [read_order(step.result.get("order")) for step in turn.results("lookup_order")]
    orders |= {order.id: order for order in shown if order is not None}
    return [
        refund_words(step, orders.get(str(step.arguments.get("order_id"))))
        for step in turn.results("issue_refund")
    ]


def _resolve(turn: Turn, piece: Piece, *, alone: bool) -> list[Target | Question | Note]:
    hits = find_orders(turn, piece)
    if len(piece.amounts) > 1:
        return [_MORE_THAN_ONE]
    if len(hits) > 1 and isinstance(piece.amount, Exact) and not piece.each:
        return [Question(f"{ASK_AMOUNT} Please tell me the amount for each order.")]
    parts: list[Target | Question | Note] = []
    for hit in hits:
        match hit:
            case Found() if alone or piece.refs or hit.lines:
                parts.append(_price(piece, hit))
            case Found():
                parts.append(_MORE_THAN_ONE)
            case Missing():
                parts.append(_asked_regardless(piece, hit))
            case Question() | Note():
                parts.append(hit)
            case _:
                assert_never(hit)
    return parts


def _asked_regardless(piece: Piece, missing: Missing) -> Target | Note:
    """Propose an exact amount on an order that was not found: the gate refuses and records it."""
    if not isinstance(piece.amount, Exact):
        return Note(missing.words)
    amount, currency = piece.amount.in_currency("USD")
    return Target(missing.ref.reference, amount, currency, "partial", _SAID)


def _price(piece: Piece, found: Found) -> Target | Question | Note:
    order, said = found.order, _SAID if piece.refs else _CLEAR
    if isinstance(piece.amount, Exact):
        return _exact(piece.amount, order, said)
    if not order.refundable:
        return Note(nothing_left_words(order))
    items, counted = _items_price(piece, found)
    if isinstance(piece.amount, Share):
        whole = items or (order.remaining if piece.rest else order.total)
        return _target(order, piece.amount.of_money(whole), said)
    if piece.everything or piece.rest:
        return _target(order, order.remaining, said)
    if piece.vague and not piece.in_full:
        return _target(order, items or order.remaining, _GUESS, unclear=True)
    if not found.sure:
        return _target(order, order.remaining, _GUESS, unclear=True)
    if items is not None:
        return _target(order, items, said if counted else _GUESS, unclear=not counted)
    if not piece.in_full and _STRAY_NUMBER.search(piece.text):
        return Question(f"I am not sure which amount you mean. {ASK_AMOUNT}")
    if _one_of_several(piece, order):
        return which_item(order, order.lines)
    return _target(order, order.remaining, _CLEAR if piece.refs else _IMPLIED)


def _exact(said: Exact, order: SeenOrder, confidence: str) -> Target:
    amount, currency = said.in_currency(order.total.currency)
    try:
        full = parse_money(amount, currency) == order.remaining
    except InvalidInput:
        full = False
    return Target(order.id, amount, currency, "full" if full else "partial", confidence)


def _target(order: SeenOrder, amount: Money, confidence: str, *, unclear: bool = False) -> Target:
    scope: Scope = "full" if amount == order.remaining else "partial"
    return Target(
        order.id,
        amount.plain(),
        amount.currency,
        "unclear" if unclear else scope,
        confidence,
    )


def _items_price(piece: Piece, found: Found) -> tuple[Money | None, bool]:
    """Return the price of the named items and whether their number is sure.

    Discounts can make an order cost less than its items: no more than what is left is asked for.
    """
    if not found.lines:
        return None, True
    text, minor, sure = " ".join(piece.texts), 0, True
    for line in found.lines:
        count = pieces_meant(text, line)
        sure = sure and count is not None
        minor += line.price.minor * (count or 1)
    left = found.order.remaining
    return Money(min(minor, left.minor), left.currency), sure


def _one_of_several(piece: Piece, order: SeenOrder) -> bool:
    """Tell whether something is wrong with one item, and it is open which."""
    if piece.refs or piece.in_full or len(order.lines) < 2:  # noqa: PLR2004 - one is no choice
        return False
    text = " ".join(piece.texts)
    return complains(text) and not _ORDER_WORD.search(text)


def _reason(turn: Turn, scope: Scope) -> str:
    words = quote(" / ".join(reversed(turn.thread()))) or "no words"
    lead = (
        "The customer did not say exactly how much" if scope == "unclear" else "The customer asks"
    )
    return f'{lead}: "{words}"'
