"""The amounts of money in a sentence: by sign, word, code, share, or a number that is asked for."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from iso4217 import Currency

from agent.domain.errors import InvalidInput
from agent.domain.money import Money, exponent

_MAX_NUMBER = 30
_MAX_PERCENT_DIGITS = 9
# Longer numbers are handed on as they stand: the gate refuses them anyway.
_MAX_EXACT_DIGITS = 20

_DOLLARS = ("USD", "CAD", "AUD", "NZD", "SGD", "HKD")
_CROWNS = ("SEK", "NOK", "DKK")
SIGNS: dict[str, tuple[str, ...]] = {
    "us$": ("USD",), "ca$": ("CAD",), "c$": ("CAD",), "au$": ("AUD",), "a$": ("AUD",),
    "nz$": ("NZD",), "hk$": ("HKD",), "s$": ("SGD",), "r$": ("BRL",), "$": _DOLLARS,
    "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₩": ("KRW",),
    "₺": ("TRY",), "₽": ("RUB",), "₴": ("UAH",), "₫": ("VND",), "₪": ("ILS",), "฿": ("THB",),
}  # fmt: skip
WORDS: dict[str, tuple[str, ...]] = {
    "us dollars?": ("USD",), "dollars?": _DOLLARS, "bucks?": _DOLLARS, "euros?": ("EUR",),
    "pounds": ("GBP",), "quid": ("GBP",), "yen": ("JPY",), "yuan": ("CNY",), "rmb": ("CNY",),
    "(?:swiss )?francs?": ("CHF",), "rupees": ("INR",), "kronor|kroner|crowns": _CROWNS,
    "zloty(?:s|ch)?": ("PLN",), "pesos": ("MXN",), "reais": ("BRL",), "won": ("KRW",),
}  # fmt: skip
HUNDREDTHS: dict[str, tuple[str, ...]] = {
    "cents?": (*_DOLLARS, "EUR"), "pence": ("GBP",),
}  # fmt: skip
# Codes that are English words are left out: "20 all" is not Albanian.
_ENGLISH = frozenset(
    ("all", "bam", "bob", "cop", "cup", "gel", "mad", "mop", "pen", "sos", "top", "try")
)
CODES = frozenset(c.code.lower() for c in Currency if c.exponent is not None) - _ENGLISH
_PERCENT = r"%|percent\b|per cent\b|pct\b"

_NUMBER_WORDS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "zero": 0,
}  # fmt: skip

_SCALES = {"hundred": 100, "thousand": 1000}


def _one_of(*words: str) -> str:
    return "|".join(words)


_UNITS = _one_of(
    _PERCENT,
    r"(?:\$|€|£|¥)(?! ?[0-9])",
    *(rf"(?:{word})\b" for word in (*WORDS, *HUNDREDTHS)),
    rf"(?:{_one_of(*sorted(CODES))})\b",
)
_SIGNS = _one_of(
    *(re.escape(sign) for sign in sorted(SIGNS, key=len, reverse=True)),
    rf"\b(?:{_one_of(*sorted(CODES))})(?![a-z])",
)
_AMOUNT = re.compile(
    rf"(?P<minus>-\s?)?(?:(?P<sign>{_SIGNS})\s?(?P<inner>-\s?)?)?"
    r"(?P<number>[0-9]+(?:[.,'][0-9]+)*|[.,][0-9]+)"
    rf"(?P<odd>e\+?[0-9]+|\^[0-9]+)?(?P<kilo>k\b)?(?:(?: |-(?=[a-z]))?(?P<unit>{_UNITS}))?"
)
_SAID_IN_WORDS = re.compile(
    rf"\b(?:{_one_of(*_NUMBER_WORDS, *_SCALES)})(?:[ -]|\b)"
    rf"(?:(?:and |{_one_of(*_NUMBER_WORDS, *_SCALES)})[ -]?){{0,12}}(?=\s?(?:{_UNITS}))"
)
_WITH_CENTS = re.compile(
    r"\b([0-9]{1,9}) (dollars?|bucks?|euros?|pounds)(?: and)? ([0-9]{1,2}) (?:cents?|pence)\b"
)
_NO_NUMBER = re.compile(r"(?<![a-z])[$€£¥]?\s?(?:nan|infinity|inf)\b")
_MINUS_WORD = re.compile(r"\b(?:minus|negative) (?=[$€£¥]?\s?[0-9])")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+")
# Is it a thousand or one? Only the customer knows.
_EITHER_WAY = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}")
_LOOKS_LIKE_PRICE = re.compile(r"[0-9]+[.,][0-9]{2}")

_ASKED_BEFORE = re.compile(
    r"\b(?:refund(?:ed)?|reimburse|credit|repay|give|get|have|want|need|like|pay|send|claim|amount"
    r"|back|overcharged|total)\b"
    r"(?: (?:me|us|my|him|her|the|just|only|about|around|roughly|back|of|at least|by|exactly|a"
    r"|is))*"
    r"[ :=]*$"
)
_ASKED_AFTER = re.compile(
    r" ?(?:$|[.,!?;:)]|(?:back|off|on|for|from|please|in|to|and|more|instead|now|only|too|extra"
    r"|thanks|thank|each|apiece|would|will|is)\b)"
)
_PAID_BEFORE = re.compile(
    r"\b(?:paid|paying|costs?|costing|worth|spent|price (?:is|was|of)|total (?:is|was|of)|charged"
    r"|bought (?:it|this|that|them)? ?(?:for|at)|above|over|under|below|more than|less than)"
    r"(?: (?:me|us|you|about|only|over|around|for|it|is|was|almost|nearly))* ?$"
)
_WANTED_AFTER_ALL = re.compile(r" ?(?:too much|extra|twice|more than|too many|in error|wrongly)")

_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "tenth": 10}
_SHARE = re.compile(
    r"\b(?:(?P<count>an?|one|two|three|four|[1-9])[ -])?(?:of a )?"
    rf"(?P<part>{_one_of(*_PARTS)})s?\b"
    r"(?! (?:an? )?(?:hour|day|week|month|year|past|zip|one|order))"
)
_WRITTEN_SHARE = re.compile(r"(?<![\w/.])([1-9])/([2-9]|10)(?![\w/])")


@dataclass(frozen=True, slots=True)
class Exact:
    """A number as it was said; `currencies` it can be, likeliest first, none if unsaid."""

    number: str
    currencies: tuple[str, ...]
    at: int

    def in_currency(self, of_order: str) -> tuple[str, str]:
        """Return plain decimal text and the currency meant, for an order in `of_order`."""
        fits = not self.currencies or of_order in self.currencies
        currency = of_order if fits else self.currencies[0]
        try:
            digits = exponent(currency)
        except InvalidInput:
            return self.number, currency
        whole, _, decimals = self.number.partition(".")
        if len(decimals) > digits or len(whole) > _MAX_EXACT_DIGITS:
            return self.number, currency
        return f"{Decimal(self.number):.{digits}f}", currency


@dataclass(frozen=True, slots=True)
class Share:
    """A part of something, such as half or 10 %."""

    part: Fraction
    at: int

    def of_money(self, base: Money) -> Money:
        """Return the part of `base`, rounded half up to the currency's units."""
        return Money(int(base.minor * self.part + Fraction(1, 2)), base.currency)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A number that can be meant in several ways, or in none."""

    text: str
    at: int


Spoken = Exact | Share | Unreadable


def with_digits(text: str) -> str:
    """Return plain text with `minus twenty dollars and five cents` as `-20.05 dollars`."""
    text = _MINUS_WORD.sub("-", _SAID_IN_WORDS.sub(_digits, text))
    return _WITH_CENTS.sub(lambda match: f"{match[1]}.{match[3]:0>2} {match[2]}", text)


def spoken_amounts(text: str, *, bare: bool = False) -> tuple[Spoken, ...]:
    """Return the amounts of plain text with digits, in order; `bare` takes any lone number for one.

    What was once paid is left out: it is not what is asked for.
    """
    found: list[Spoken] = [
        spoken
        for match in _AMOUNT.finditer(text)
        if (spoken := _read(text, match, bare=bare)) is not None
    ]
    found += [
        Unreadable(match.group().strip(), match.start()) for match in _NO_NUMBER.finditer(text)
    ]
    for match in _SHARE.finditer(text):
        if share := _share(match):
            found.append(share)
    for match in _WRITTEN_SHARE.finditer(text):
        found.append(Share(Fraction(int(match[1]), int(match[2])), match.start()))
    return tuple(sorted(found, key=lambda spoken: spoken.at))


def _read(text: str, match: re.Match[str], *, bare: bool) -> Spoken | None:
    before, after = text[: match.start()], text[match.end() :]
    sign, unit, number = match["sign"], match["unit"], match["number"]
    minus = match["minus"] or match["inner"]
    if not sign and before[-1:] and (before[-1].isalnum() or before[-1] in "#/.,_-"):
        return None
    if not unit and not match["odd"] and re.match(r"[^\W_]|[/_][\w]", after):
        return None
    percent = unit is not None and re.fullmatch(_PERCENT, unit) is not None
    marked = bool(sign or unit or _LOOKS_LIKE_PRICE.fullmatch(number))
    asked = bool(_ASKED_BEFORE.search(before[-80:]) and _ASKED_AFTER.match(after))
    if not (marked or asked or bare):
        return None
    if _PAID_BEFORE.search(before[-80:]) and not _WANTED_AFTER_ALL.match(after):
        return None
    plain = _plain_number(number)
    if plain is None or match["odd"] or re.match(r" ?- ?[0-9]", after):
        return Unreadable(match.group().strip(), match.start())
    value = _signed(plain, match, minus=bool(minus) and not before[-1:].isalnum())
    if percent and len(plain) > _MAX_PERCENT_DIGITS:
        return Unreadable(match.group().strip(), match.start())
    if percent:
        return Share(Fraction(value) / 100, match.start())
    return Exact(value, _currencies(sign, unit), match.start())


def _plain_number(number: str) -> str | None:
    """Return plain decimal text; None for locale forms and numbers beyond all sense."""
    if _GROUPED.fullmatch(number):
        number = number.replace(",", "")
    if len(number) > _MAX_NUMBER or not _DECIMAL.fullmatch(number):
        return None
    if _EITHER_WAY.fullmatch(number):
        return None
    return f"0{number}" if number.startswith(".") else number


def _signed(plain: str, match: re.Match[str], *, minus: bool) -> str:
    unit = match["unit"]
    if match["kilo"]:
        plain = f"{Decimal(plain) * 1000:f}"
    if unit and any(re.fullmatch(word, unit) for word in HUNDREDTHS):
        plain = f"{Decimal(plain) / 100:f}"
    return f"-{plain}" if minus else plain


def _currencies(sign: str | None, unit: str | None) -> tuple[str, ...]:
    for said in (sign, unit):
        if said is None:
            continue
        if said in SIGNS:
            return SIGNS[said]
        if said in CODES:
            return (said.upper(),)
        for words, currencies in (WORDS | HUNDREDTHS).items():
            if re.fullmatch(words, said):
                return currencies
    return ()


def _share(match: re.Match[str]) -> Share | None:
    """Read `half`, `a third`, `two thirds`; `the third` is an ordinal."""
    count, part = match["count"], match["part"]
    if count is None and not part.startswith("hal"):
        return None
    many = 1 if count is None else int(count) if count.isdigit() else _NUMBER_WORDS[count]
    return Share(Fraction(many, _PARTS[part]), match.start())


def _digits(match: re.Match[str]) -> str:
    """Turn `one hundred and fifty` into `150`."""
    total = current = 0
    for word in re.findall(r"[a-z]+", match.group()):
        current += _NUMBER_WORDS.get(word, 0)
        if scale := _SCALES.get(word):
            total, current = total + max(current, 1) * scale, 0
    return f"{total + current} "
