"""Orders as the offline model meets them: named in a sentence, and shown by a tool's result."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from agent.domain.errors import InvalidInput
from agent.domain.money import MAX_MINOR, Money

_UNIT_AHEAD = r"(?![-.,/]?[0-9]|\w| ?(?:%|percent\b|usd\b|eur|dollar|buck|euro|pound|yen|cent))"
_DIGITS = r"(?P<id>w?[0-9]{3,12})"
# From the surest spelling to the loosest; a later pattern does not see what an earlier one took.
_SPELLINGS: tuple[re.Pattern[str], ...] = (
    re.compile(rf"\b(?P<prefix>ord)[ \-_#:.]*{_DIGITS}(?!\w)"),
    re.compile(rf"\b(?P<prefix>(?!ord|usd|eur)[a-z]{{2,5}})-{_DIGITS}(?![\w-])"),
    re.compile(rf"(?P<prefix>#)[ ]?{_DIGITS}(?!\w)"),
    re.compile(r"\b(?P<prefix>)(?P<id>w[0-9]{5,12})\b"),
    re.compile(
        r"\borders?(?: id| reference| ref)?(?P<prefix>) (?:number|no\.?|nr\.?|num|id)[ :#.\-]*"
        r"(?P<id>w?[0-9]{1,12})(?!\w)"
    ),
    re.compile(rf"\borders?(?P<prefix>)[ :#.\-]*(?:is )?{_DIGITS}{_UNIT_AHEAD}"),
    re.compile(
        r"\b(?:on|from"
        r"|(?:rest|half|thirds?|quarters?|all|everything|percent|part|some) (?:of|on|for))"
        rf" (?P<id>[0-9]{{4,12}}){_UNIT_AHEAD}"
    ),
)
_ALSO = re.compile(rf"(?P<gap> ?(?:,|and|&|or|plus) ?){_DIGITS}{_UNIT_AHEAD}")
_LONE = re.compile(rf"(?<![\w$€£¥.,\-]){_DIGITS}{_UNIT_AHEAD}")

_MEASURES = (
    r" (?:bags?|box(?:es)?|packs?|packets?|pieces?|units?|pairs?|bottles?"
    r"|of (?:them|these|those))\b"
)
_COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
# What customers call things that the shop calls otherwise.
_SYNONYMS = {
    "bookcase": "bookshelf", "carpet": "rug", "couch": "sofa", "cup": "mug", "machine": "maker",
    "earphone": "headphone", "headset": "headphone", "skillet": "pan", "turntable": "player",
}  # fmt: skip
# A name goes on after these with what the thing is made of or comes with.
_NAME_ENDS = re.compile(r" - |\(|,| (?:in|with|for|of|from)\b| [0-9]")
# Words that say nothing about which item is meant.
_SHORT = 3
_EMPTY = frozenset((
    "a", "an", "and", "any", "back", "black", "by", "card", "for", "from", "full", "half", "in",
    "it", "item", "its", "kit", "money", "my", "new", "of", "on", "one", "or", "order", "pack",
    "piece", "pieces", "refund", "set", "size", "that", "the", "this", "to", "white", "with",
    "off", "over", "out", "up",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class OrderRef:
    """An order as a customer named it; `loose` means that only the digits are sure."""

    reference: str
    loose: bool
    at: int

    def names(self, order_id: str) -> bool:
        """Tell whether the order of this id is the one meant."""
        mine, theirs = _key(self.reference), _key(order_id)
        return mine == theirs or (self.loose and _number(mine) == _number(theirs))


class _MoneyJson(BaseModel):
    minor: Annotated[int, Field(ge=-MAX_MINOR, le=MAX_MINOR)]
    currency: str


class _LineJson(BaseModel):
    name: str
    quantity: Annotated[int, Field(ge=0, le=1_000_000)]
    price: _MoneyJson
    final_sale: bool = False


class _OrderJson(BaseModel):
    order_id: str
    status: str
    fulfillment: str = ""
    placed_at: str = ""
    total: _MoneyJson
    refunded: _MoneyJson
    remaining: _MoneyJson
    lines: list[_LineJson] = []


@dataclass(frozen=True, slots=True)
class SeenLine:
    """One line of an order as a tool showed it; `price` is for one piece."""

    name: str
    quantity: int
    price: Money
    final_sale: bool = False

    @property
    def short_name(self) -> str:
        """Return the name without its variant."""
        return self.name.split(" - ", 1)[0]

    @property
    def kind(self) -> list[str]:
        """Return the words for what the thing is, its noun last; at least one word."""
        words = [word for word in _tokens(_NAME_ENDS.split(self.name, 1)[0]) if word not in _EMPTY]
        return words or _tokens(self.name) or [self.name]


@dataclass(frozen=True, slots=True)
class SeenOrder:
    """An order as a tool showed it."""

    id: str
    status: str
    fulfillment: str
    placed_at: str
    total: Money
    refunded: Money
    remaining: Money
    lines: tuple[SeenLine, ...]

    @property
    def refundable(self) -> bool:
        """Tell whether any money is left to pay back."""
        return self.remaining.minor > 0

    @property
    def returnable(self) -> Money:
        """Return what is left to refund besides final-sale items."""
        kept = sum(line.price.minor * line.quantity for line in self.lines if line.final_sale)
        return Money(max(self.remaining.minor - kept, 0), self.remaining.currency)

    def brief(self) -> str:
        """Return the order in a few words: id, items, total."""
        names = list(dict.fromkeys(line.short_name for line in self.lines))
        items = ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")  # noqa: PLR2004
        return f"{self.id} ({items}, {self.total})" if items else f"{self.id} ({self.total})"


def find_refs(text: str, *, bare: bool = False) -> tuple[tuple[OrderRef, ...], str]:
    """Return the orders named in plain text, and the text with their names blanked out.

    `bare` takes a lone number of three digits or more for an order too.
    """
    found: dict[str, OrderRef] = {}
    for spelling in (*_SPELLINGS, *((_LONE,) if bare else ())):
        place = 0
        while match := spelling.search(text, place):
            text, place = _take(text, match, found), match.end()
            while also := _ALSO.match(text, place):
                text, place = _take(text, also, found), also.end()
    return tuple(sorted(found.values(), key=lambda ref: ref.at)), text


def read_order(value: object) -> SeenOrder | None:
    """Return the order of a tool's JSON, None for anything else."""
    try:
        seen = _OrderJson.model_validate(value)
        return SeenOrder(
            id=seen.order_id,
            status=seen.status,
            fulfillment=seen.fulfillment,
            placed_at=seen.placed_at,
            total=_money(seen.total),
            refunded=_money(seen.refunded),
            remaining=_money(seen.remaining),
            lines=tuple(
                SeenLine(line.name, line.quantity, _money(line.price), line.final_sale)
                for line in seen.lines
            ),
        )
    except (ValidationError, InvalidInput):
        return None


def lines_named(text: str, lines: Sequence[SeenLine]) -> tuple[SeenLine, ...]:
    """Return the lines that plain text fits best, several if it fits them equally well."""
    said = {_common(word) for word in _tokens(text)}
    scores = [_score(line, said) for line in lines]
    best = max(scores, default=0)
    return tuple(line for line, score in zip(lines, scores, strict=True) if score == best > 0)


def pieces_meant(text: str, line: SeenLine) -> int | None:
    """Return how many pieces of a line plain text speaks of; None when it had to be guessed."""
    if line.quantity <= 1:
        return 1
    noun = line.kind[-1]
    of_noun = rf"(?: of)?(?: (?:the|my|these|those))?(?: \w+)? {re.escape(noun)}"
    if re.search(r"\bboth\b", text):
        return 2
    if re.search(r"\b(?:all|every|each)\b", text):
        return line.quantity
    counted_thing = rf"(?:{of_noun}|{_MEASURES})"
    if re.search(rf"\b(?:one|1|single|an?){counted_thing}", text):
        return 1
    if counted := re.search(rf"\b([2-9]|{'|'.join(_COUNTS)}){counted_thing}", text):
        return min(_COUNTS.get(counted[1]) or int(counted[1]), line.quantity)
    words = re.findall(r"[a-z0-9]+", text)
    plural = any(word != _stem(word) and _common(_stem(word)) == noun for word in words)
    return line.quantity if plural else None


def _take(text: str, match: re.Match[str], found: dict[str, OrderRef]) -> str:
    prefix, digits = match.groupdict().get("prefix"), match["id"]
    start = match.start("id") if prefix is None else match.start()
    if digits.startswith("w"):
        ref = OrderRef(f"#{digits.upper()}", loose=False, at=start)
    elif prefix == "#":
        ref = OrderRef(f"#{digits}", loose=True, at=start)
    else:
        named = (prefix or "ord").upper()
        ref = OrderRef(f"{named}-{digits}", loose=not prefix, at=start)
    found.setdefault(ref.reference, ref)
    return text[:start] + " " * (match.end() - start) + text[match.end() :]


def _money(seen: _MoneyJson) -> Money:
    return Money(seen.minor, seen.currency)


def _key(order_id: str) -> str:
    return re.sub(r"[^a-z0-9]", "", order_id.lower())


def _number(key: str) -> str:
    return key.lstrip("abcdefghijklmnopqrstuvwxyz").lstrip("0")


def _stem(word: str) -> str:
    if re.search(r"(?:ch|sh|x|ss)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > _SHORT and re.search(r"[^s]s$", word) else word


def _common(stem: str) -> str:
    return _SYNONYMS.get(stem, stem)


def _tokens(text: str) -> list[str]:
    return [_stem(word) for word in re.findall(r"[a-z0-9]+", text.lower())]


def _score(line: SeenLine, said: set[str]) -> int:
    """Rate how well words fit a line: what it is counts, its variant only breaks ties."""
    kind = line.kind
    hits = sum(20 for word in kind if word in said) + (10 if kind[-1] in said else 0)
    # "the chair" may be an armchair.
    inside = sum(5 for word in said if len(word) > _SHORT and kind[-1].endswith(word))
    if not hits + inside:
        return 0
    variant = said.intersection(_tokens(line.name)).difference(kind, _EMPTY)
    return hits + inside + min(len(variant), 4)
