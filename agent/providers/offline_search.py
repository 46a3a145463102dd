"""Which orders and items a wish is about, and the reads that tell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.providers.offline_answers import SIGN_IN, listing, nothing_left_words
from agent.providers.offline_offers import ASK_AMOUNT, ASK_ITEM, ASK_ORDER, OFFER_PERSON
from agent.providers.offline_orders import OrderRef, SeenLine, SeenOrder, lines_named
from agent.providers.offline_transcript import CONFIDENTIAL, Turn, Wanted
from agent.providers.offline_wish import Piece, points_at_earlier_item

LIST_ORDERS = Wanted("list_orders", {})
# The tools that only look something up.
READS = frozenset({"lookup_order", "list_orders", "check_policy", "refund_status"})

_NAMES_A_THING = re.compile(
    r"\b(?:the|my|that|this|those|these|for|return(?:ing)?)"
    r" (?!(?:the|my|that|this|those|these)\b)([a-z][a-z-]*)"
)
_NO_THINGS = frozenset((
    "amount", "back", "bank", "card", "chat", "customer", "day", "delivery", "difference", "entire",
    "first", "full", "half", "him", "item", "it", "last", "me", "money", "my", "one", "order",
    "other", "package", "parcel", "payment", "price", "problem", "product", "purchase", "reason",
    "refund", "remaining", "rest", "same", "shipping", "shop", "some", "sum", "team", "that", "the",
    "thing", "this", "time", "total", "us", "way", "week", "whole", "wrong",
))  # fmt: skip
_UNSPECIFIC = frozenset({
    "both", "former", "fourth", "latest", "latter", "newest", "oldest", "others", "second", "third",
    "cost", "costs", "damage", "delay", "inconvenience", "mistake", "trouble",
})  # fmt: skip
# What is right behind "refund" or "return" is the thing itself, or a fee that no tool shows.
_REFUND_OF = re.compile(
    r"\b(?:refund|return|returning|back)(?: me)?(?: for| on| of)?"
    r" (?:the|my|this|that|these|those)"
    r"((?: (?!(?:and|as|at|because|for|from|in|it|of|on|please|since|to|which|with)\b)"
    r"[a-z-]+){1,3})"
)
_FEE = re.compile(
    r"\b(?:refund|return|back|reimburse)(?: me)?(?: for| on| of)?(?: the| my)?"
    r" (?:shipping|delivery|postage|tax|taxes|customs|fees?)\b"
)
# Two orders that were named, blanked out.
_EITHER = re.compile(r"  or  ")
_SEGMENT = re.compile(r"[,;&]|\band\b|\bplus\b")


@dataclass(frozen=True, slots=True)
class Found:
    """An order with the lines that were named, none if it is about the order itself.

    `sure` is false when a thing was named that the order does not hold.
    """

    order: SeenOrder
    lines: tuple[SeenLine, ...] = ()
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Missing:
    """An order that was named and that the customer does not have; `words` say so."""

    ref: OrderRef
    words: str


@dataclass(frozen=True, slots=True)
class Question:
    """What the customer must say first."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell about one part of the wish; the other parts go on."""

    text: str


Hit = Found | Missing | Question | Note


def lookup(reference: str) -> Wanted:
    """Return the read of one order."""
    return Wanted("lookup_order", {"order_id": reference})


def order_reads(turn: Turn, piece: Piece) -> Iterable[Wanted]:
    """Return the reads that tell which orders a piece is about, made or not."""
    for ref in piece.refs:
        yield lookup(ref.reference)
        if turn.made(lookup(ref.reference)) and turn.looked_up(ref.reference) is None:
            yield LIST_ORDERS
    if piece.refs:
        return
    topic = _topic(turn, piece)
    if topic is None:
        yield LIST_ORDERS
        return
    yield lookup(topic)
    order = turn.looked_up(topic)
    if turn.made(lookup(topic)) and (order is None or _names_another_thing(piece, order)):
        yield LIST_ORDERS


def fresh_reads(turn: Turn, wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Return the reads that this turn has not made yet, each once."""
    fresh: list[Wanted] = []
    for read in wanted:
        if read not in fresh and not turn.made(read):
            fresh.append(read)
    return tuple(fresh)


def find_orders(turn: Turn, piece: Piece) -> list[Hit]:
    """Return the orders a piece is about, from what this turn's reads showed."""
    if not piece.amounts and _FEE.search(piece.text):
        return [Question(f"I cannot see what that was by itself. {ASK_AMOUNT}")]
    if len(piece.refs) > 1 and _EITHER.search(piece.text):
        return [Question(f"{ASK_ORDER} {' or '.join(ref.reference for ref in piece.refs)}?")]
    if piece.refs:
        return _by_reference(turn, piece)
    if signed_out(turn):
        return [Note(SIGN_IN)]
    listed = turn.listed() or ()
    if piece.every and any(order.refundable for order in listed):
        return [Found(order) for order in listed if order.refundable]
    if piece.newest and listed:
        return _named(piece.texts, listed[:1]) or [Found(listed[0])]
    topic = _topic(turn, piece)
    order = turn.looked_up(topic) if topic is not None else None
    if order is not None:
        here = _named(points_at_earlier_item(turn, piece), [order])
        return here or _named(piece.texts, listed) or _unknown_item(piece, listed) or [Found(order)]
    return _named(piece.texts, listed) or _unknown_item(piece, listed) or [_candidate(listed)]


def signed_out(turn: Turn) -> bool:
    """Tell whether a tool said in this turn that the visitor is nobody it knows."""
    return any(
        step.result.get("error") == "not_verified" and step.name not in CONFIDENTIAL
        for step in turn.steps
    )


def which_item(order: SeenOrder, lines: Sequence[SeenLine]) -> Question:
    """Return the question which item of an order is meant."""
    items = ", ".join(dict.fromkeys(f"{line.name} ({line.price})" for line in lines))
    return Question(f"{ASK_ITEM} On {order.id} I see: {items}. Or do you mean everything?")


def _topic(turn: Turn, piece: Piece) -> str | None:
    return None if piece.newest or piece.every else turn.topic()


def _unknown_item(piece: Piece, listed: Sequence[SeenOrder]) -> list[Hit]:
    """Return the question about a thing that no order holds, nothing if there is no such thing."""
    open_orders = [order for order in listed if order.refundable]
    if not _unknown_noun(piece.text) or not open_orders:
        return []
    which = _which_order(open_orders)
    return [Question(f"I could not find that item among your orders. {which.text}")]


def _unknown_noun(text: str) -> bool:
    """Tell whether words ask for the refund of some thing, given that no line fits them."""
    of = _REFUND_OF.search(text)
    return of is not None and not (_NO_THINGS | _UNSPECIFIC).intersection(of[1].split())


def _names_another_thing(piece: Piece, order: SeenOrder) -> bool:
    """Tell whether words may name an item that this order does not hold."""
    if any(lines_named(text, order.lines) for text in piece.texts):
        return False
    return any(word not in _NO_THINGS for word in _NAMES_A_THING.findall(piece.text))


def _by_reference(turn: Turn, piece: Piece) -> list[Hit]:
    hits: list[Hit] = []
    listed = turn.listed() or ()
    for ref in piece.refs:
        order = turn.looked_up(ref.reference) or next(
            (order for order in listed if ref.names(order.id)), None
        )
        if order is None:
            hits.append(Missing(ref, SIGN_IN if signed_out(turn) else _missing_words(ref, listed)))
        else:
            strange = any(_unknown_noun(text) for text in piece.texts)
            hits += _named(piece.texts, [order]) or [Found(order, sure=not strange)]
    return hits


def _missing_words(ref: OrderRef, listed: Sequence[SeenOrder]) -> str:
    shown = listing(listed, SeenOrder.brief)
    others = f" Your orders are: {shown}." if shown else ""
    return f"I could not find the order {ref.reference} among your orders.{others}"


def _candidate(listed: Sequence[SeenOrder]) -> Hit:
    """Return the one order that can be meant where none was named, or the question."""
    open_orders = [order for order in listed if order.refundable]
    if len(open_orders) == 1:
        return Found(open_orders[0])
    if open_orders:
        return _which_order(open_orders)
    if len(listed) == 1:
        return Note(nothing_left_words(listed[0]))
    return Note(f"I see no order of yours with money left to refund. {OFFER_PERSON}")


def _which_order(orders: Sequence[SeenOrder]) -> Question:
    return Question(f"{ASK_ORDER} I see {listing(orders, SeenOrder.brief)}.")


def _named(texts: Sequence[str], orders: Sequence[SeenOrder]) -> list[Hit]:
    """Return the orders whose items the first text that names any speaks of."""
    for text in texts:
        chosen: dict[str, Found] = {}
        for segment in _SEGMENT.split(text):
            hit = _best_hit(segment, orders)
            if isinstance(hit, Question):
                hit = _best_hit(text, orders)
            if isinstance(hit, Question):
                return [hit]
            if hit is not None:
                before = chosen.get(hit.order.id, Found(hit.order)).lines
                lines = tuple(dict.fromkeys((*before, *hit.lines)))
                chosen[hit.order.id] = Found(hit.order, lines)
        if chosen:
            return list(chosen.values())
    return []


def _best_hit(text: str, orders: Sequence[SeenOrder]) -> Found | Question | None:
    best = set(lines_named(text, [line for order in orders for line in order.lines]))
    hits = [
        Found(order, lines)
        for order in orders
        if (lines := tuple(dict.fromkeys(line for line in order.lines if line in best)))
    ]
    hits = [hit for hit in hits if hit.order.refundable] or hits
    if len(hits) > 1:
        return _which_order([hit.order for hit in hits])
    if hits and len(hits[0].lines) > 1:
        return which_item(hits[0].order, hits[0].lines)
    return hits[0] if hits else None
