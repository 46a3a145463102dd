"""Money as integer minor units; text goes through Decimal and never through float."""

import re
from dataclasses import dataclass
from decimal import Context, Decimal

from iso4217 import Currency
from typing_extensions import override

from agent.domain.errors import InvalidInput
from agent.domain.payload import Payload

# 10^12 minor units: above any refund, below 2^53 so that every JSON reader holds it exactly.
MAX_MINOR = 10**12 - 1

# The chart of ISO 4217; funds and metals without minor units are not money a shop takes.
_EXPONENTS = {c.code: c.exponent for c in Currency if c.exponent is not None}
# Wide enough for every number that _PLAIN lets through, so that nothing is rounded.
_EXACT = Context(prec=64)
_PLAIN = re.compile(r"-?[0-9]{1,24}(\.[0-9]{1,24})?")


@dataclass(frozen=True, slots=True, order=False)
class Money:
    """An amount of one currency: `minor` units (cents, yen) and the ISO 4217 code."""

    minor: int
    currency: str

    def __post_init__(self) -> None:
        """Refuse bools, floats and unknown currencies."""
        if isinstance(self.minor, bool) or not isinstance(self.minor, int):
            raise InvalidInput("amount", "minor units are a whole number")
        if self.currency not in _EXPONENTS:
            raise InvalidInput("currency", f"{self.currency!r} is not an ISO 4217 currency")

    @override
    def __str__(self) -> str:
        """Return the exact amount and its code, e.g. `1,240.00 EUR`."""
        return f"{self.plain(grouped=True)} {self.currency}"

    def plain(self, *, grouped: bool = False) -> str:
        """Return the decimal number alone, e.g. `1240.00`, all digits of the currency."""
        digits = exponent(self.currency)
        value = Decimal(self.minor).scaleb(-digits)
        return f"{value:,.{digits}f}" if grouped else f"{value:.{digits}f}"

    def plus(self, other: "Money") -> "Money":
        """Return the sum; raises InvalidInput for another currency."""
        return Money(self.minor + self._same(other).minor, self.currency)

    def minus(self, other: "Money") -> "Money":
        """Return the difference, maybe negative; raises InvalidInput for another currency."""
        return Money(self.minor - self._same(other).minor, self.currency)

    def exceeds(self, other: "Money") -> bool:
        """Tell whether this is more than `other`; raises InvalidInput for another currency."""
        return self.minor > self._same(other).minor

    def _same(self, other: "Money") -> "Money":
        if other.currency != self.currency:
            raise InvalidInput("currency", f"{other.currency} is not {self.currency}")
        return other


def exponent(currency: str) -> int:
    """Return how many decimals ISO 4217 gives the currency; raises InvalidInput if unknown."""
    if currency not in _EXPONENTS:
        raise InvalidInput("currency", f"{currency!r} is not an ISO 4217 currency")
    return _EXPONENTS[currency]


def parse_money(text: str, currency: str, *, field: str = "amount", padded: bool = False) -> Money:
    """Read a plain decimal number such as `20` or `20.00`.

    `padded` takes zeros beyond the currency's decimals, as exports write them (`24800.00` JPY);
    from people and models `2.500` USD is refused, for it may be a thousand in disguise.

    Raises InvalidInput for locale forms (`6,95`), exponents, NaN, infinities, more decimals
    than the currency has, or more than `MAX_MINOR`. Zero and negative numbers are read: what
    they mean is the gate's business.
    """
    digits = exponent(currency)
    cleaned = text.strip()
    if not _PLAIN.fullmatch(cleaned):
        raise InvalidInput(field, f"{text[:40]!r} is not a plain decimal number such as 20.00")
    scaled = Decimal(cleaned).scaleb(digits, _EXACT)
    written = len(cleaned.partition(".")[2])
    if scaled != scaled.to_integral_value() or (written > digits and not padded):
        raise InvalidInput(
            field, f"{cleaned[:40]} has more decimals than {currency} allows ({digits})"
        )
    if abs(scaled) > MAX_MINOR:
        raise InvalidInput(field, "the amount is too large")
    return Money(int(scaled), currency)


def money_json(amount: Money) -> Payload:
    """Return an amount as every JSON of the desk shows it: minor, currency, display."""
    return {"minor": amount.minor, "currency": amount.currency, "display": str(amount)}
