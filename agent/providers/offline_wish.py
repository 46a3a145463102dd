"""What a customer wishes, read from one message or from a request and the answers about it."""

import re
from dataclasses import dataclass, replace

from agent.providers.offline_amounts import (
    Exact,
    Share,
    Spoken,
    Unreadable,
    spoken_amounts,
    with_digits,
)
from agent.providers.offline_offers import ASK_AMOUNT, ASK_ORDER
from agent.providers.offline_orders import OrderRef, find_refs
from agent.providers.offline_transcript import Turn
from agent.providers.offline_words import plain_text

_EVERYTHING = re.compile(
    r"\b(?:everything|all of it|all of them|all of the order|(?:whole|entire|complete) (?:order|lot"
    r"|thing|purchase|amount)|the lot|all (?:of )?(?:the|my) money|all (?:the )?items)\b"
)
_IN_FULL = re.compile(
    r"\b(?:in full|fully?|(?:full|whole|entire|total|complete) (?:refund|amount|price|sum|money)"
    r"|completely)\b"
)
_REST = re.compile(
    r"\b(?:the rest|what(?:'s| is|ever is|ever's)? (?:still )?left|remaining|remainder|left over)\b"
)
_VAGUE = re.compile(
    r"\b(?:some|part|portion|something|a bit|a little(?: bit)?)"
    r"(?: of)?(?: (?:my|the|it|that|this))?(?: money| back| refund| compensation| discount|\W*$)"
    r"|\b(?:partial(?:ly)?|compensat\w+|discount|price reduction|overcharged)\b"
    r"|\bcharged\b[^.?!]*\b(?:twice|double|too much|extra)\b"
)
_NEWEST = re.compile(
    r"\b(?:last|latest|newest|most recent) (?:order|purchase|delivery|parcel|package|one i"
    r"|thing i (?:bought|ordered))"
)
_EVERY = re.compile(r"\b(?:all|both|every|each)(?: of)?(?: my| the| these| those)? orders?\b")
_EACH = re.compile(r"\b(?:each|apiece|per order|every order|both orders)\b")
_POINTS_BACK = re.compile(r"\b(?:it|this|that|them|those|these|same)\b")
_CUT = re.compile(r"[,.](?![0-9])|[;&]|\b(?:and|plus|also|then)\b")
_ONE_OF_THEM = re.compile(
    r"\b(?:first|second|third|fourth|1st|2nd|3rd|4th|latter|former) (?:one|order)"
)
_ORDINALS: tuple[tuple[re.Pattern[str], slice], ...] = (
    (re.compile(r"\b(?:both|all|every)\b"), slice(None)),
    (re.compile(r"\b(?:first|1st|former|top|latest|newest|most recent)\b"), slice(0, 1)),
    (re.compile(r"\b(?:second|2nd)\b"), slice(1, 2)),
    (re.compile(r"\b(?:third|3rd)\b"), slice(2, 3)),
    (re.compile(r"\b(?:fourth|4th)\b"), slice(3, 4)),
    (re.compile(r"\b(?:last|bottom|latter|oldest)\b"), slice(-1, None)),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing asked for: which orders and how much of them.

    `texts` are the words to find items in, likeliest first.
    """

    texts: tuple[str, ...]
    refs: tuple[OrderRef, ...]
    amounts: tuple[Spoken, ...]

    @property
    def text(self) -> str:
        """Return the words of the newest message."""
        return self.texts[0]

    @property
    def amount(self) -> Exact | Share | None:
        """Return the one amount asked for, None if none was said or it is unreadable."""
        first = self.amounts[0] if self.amounts else None
        return None if isinstance(first, Unreadable) else first

    @property
    def everything(self) -> bool:
        """Tell whether the whole order is meant, whatever items were named."""
        return self._says(_EVERYTHING)

    @property
    def in_full(self) -> bool:
        """Tell whether the full price is meant, of an item or of an order."""
        return self._says(_IN_FULL)

    @property
    def rest(self) -> bool:
        """Tell whether it is about what is left to refund."""
        return self._says(_REST)

    @property
    def vague(self) -> bool:
        """Tell whether only a part is meant, without saying how much."""
        return self._says(_VAGUE)

    @property
    def newest(self) -> bool:
        """Tell whether the customer's last order is meant."""
        return self._says(_NEWEST)

    @property
    def every(self) -> bool:
        """Tell whether all of the customer's orders are meant."""
        return self._says(_EVERY)

    @property
    def each(self) -> bool:
        """Tell whether the amount is meant for each of several orders."""
        return self._says(_EACH)

    @property
    def points_back(self) -> bool:
        """Tell whether the words point at something said before."""
        return _POINTS_BACK.search(self.text) is not None

    def _says(self, pattern: re.Pattern[str]) -> bool:
        return any(pattern.search(text) for text in self.texts)


def read_wish(turn: Turn) -> tuple[Piece, ...]:
    """Return the things asked for, at least one; the newest words win over the older ones."""
    newest, *older = turn.thread()
    pieces = _pieces(_answer(turn, newest))
    if len(pieces) > 1 or not older:
        return pieces
    (piece,) = pieces
    for text in older:
        earlier = _pieces(_read(text))
        if len(earlier) > 1:
            return earlier if not piece.amounts else pieces
        (base,) = earlier
        says_how_much = bool(piece.amounts) or piece.everything or piece.in_full
        piece = Piece(
            texts=piece.texts + base.texts,
            refs=piece.refs or base.refs,
            amounts=piece.amounts if says_how_much else base.amounts,
        )
    return (piece,)


def ordinal(text: str) -> slice | None:
    """Return which of a list is meant by `the second one` or `both`, None for other words."""
    return next((which for pattern, which in _ORDINALS if pattern.search(text)), None)


def points_at_earlier_item(turn: Turn, piece: Piece) -> tuple[str, ...]:
    """Return the words to find items in, with the message before where `it` points there."""
    if not piece.points_back:
        return piece.texts
    return (*piece.texts, with_digits(plain_text(turn.last_asked())))


def _read(text: str) -> Piece:
    words = with_digits(plain_text(text))
    refs, masked = find_refs(words)
    amounts = spoken_amounts(masked)
    return Piece((masked,), refs, amounts if len(refs) > 1 else _distinct(amounts))


def _answer(turn: Turn, text: str) -> Piece:
    """Read the newest message, which may be a bare answer such as `1002` or `the first one`."""
    said = turn.last_said()
    piece = _read(text)
    if ASK_ORDER in said and not piece.refs:
        refs, masked = find_refs(piece.text, bare=True)
        piece = replace(piece, texts=(masked,), refs=refs, amounts=spoken_amounts(masked))
    answers = ASK_ORDER in said or _ONE_OF_THEM.search(piece.text)
    if answers and not piece.refs and not _NEWEST.search(piece.text):
        return replace(piece, refs=_by_ordinal(piece.text, said))
    if ASK_AMOUNT in said and not piece.amounts:
        return replace(piece, amounts=_distinct(spoken_amounts(piece.text, bare=True)))
    return piece


def _by_ordinal(text: str, said: str) -> tuple[OrderRef, ...]:
    listed, _ = find_refs(plain_text(said))
    place = ordinal(text)
    return () if place is None else listed[place]


def _pieces(piece: Piece) -> tuple[Piece, ...]:
    """Cut a message with several amounts between them, so that each part has one."""
    if len(piece.amounts) <= 1:
        return (piece,)
    text, cuts = piece.text, [0]
    for this, following in zip(piece.amounts, piece.amounts[1:], strict=False):
        places = [m.end() for m in _CUT.finditer(text, this.at + 1, following.at)]
        if not places:
            return (piece,)
        cuts.append(places[-1])
    bounds = zip(cuts, [*cuts[1:], len(text)], strict=True)
    parts = tuple(_part(piece, start, end) for start, end in bounds)
    # "$5 and $8 on ORD-1001": it is open what the first amount is for.
    named = [part for part in parts if part.refs]
    return (piece,) if named and len(named) < len(parts) else parts


def _part(piece: Piece, start: int, end: int) -> Piece:
    return Piece(
        texts=(piece.text[start:end],),
        refs=tuple(ref for ref in piece.refs if start <= ref.at < end),
        amounts=tuple(spoken for spoken in piece.amounts if start <= spoken.at < end),
    )


def _distinct(amounts: tuple[Spoken, ...]) -> tuple[Spoken, ...]:
    """Leave out what is only said again, as in `refund $5, just $5`."""
    kept: list[Spoken] = []
    for spoken in amounts:
        if not any(replace(spoken, at=0) == replace(other, at=0) for other in kept):
            kept.append(spoken)
    return tuple(kept)
