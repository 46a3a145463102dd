"""What of a customer a channel need not read: names, addresses and numbers are masked.

Masked is what can be told by its shape, and never what an approval binds: that is shown whole.
"""

import re
from dataclasses import dataclass

HIDDEN = "•••"

# Each pattern is bounded, or begins in one place of a word alone: no text makes the search slow.
_EMAIL = r"(?P<email>(?<![\w.%+'-])[\w.%+'-]++@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
_IBAN = r"(?P<iban>\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b)"
# A street with its number, as English or as German writes it.
_STREET = (
    r"(?P<street>\b\d{1,5}[A-Za-z]?,? (?:[A-Z][\w'.-]{1,30} ){1,4}"
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Square|Way)\b"
    r"|\b[A-ZÄÖÜ][a-zäöüß-]{2,40}(?:straße|strasse|str\.|weg|platz|gasse|allee) \d{1,4}[a-z]?\b)"
)
_NUMBER = r"(?P<number>(?<![\w.,])\+?\(?\d(?:[ ().\-/]{0,2}\d){6,24}(?!\w|[.,]\d))"
_PRIVATE = re.compile("|".join((_EMAIL, _IBAN, _STREET, _NUMBER)))
# A date and an amount of money are written like numbers of a telephone.
_PLAIN_NUMBER = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{1,3}(?:[., ]\d{3})+[.,]\d{2}"
)
_TAIL = 2


@dataclass(frozen=True, slots=True)
class Known:
    """What a text is masked for: the customer's name, and what the approval binds."""

    name: str = ""
    bound: frozenset[str] = frozenset()


def known(name: str, payload_text: str) -> Known:
    """Return what a text about one approval is masked for."""
    return Known(name, frozenset(found[0] for found in _PRIVATE.finditer(payload_text)))


def mask(text: str, about: Known) -> str:
    """Return the text without what identifies or reaches a person, each place marked by dots.

    What the approval binds stays: whoever decides on it must be able to compare.
    """
    named = _short_names(text, about.name)
    return _PRIVATE.sub(lambda found: _masked(found, about.bound), named)


def mask_name(name: str) -> str:
    """Return the first name and the initials of the others, e.g. `Clara N.`."""
    # By plain spaces only: any other blank is something that must be seen.
    first, *others = [part for part in name.split(" ") if part] or [""]
    return " ".join([first, *(f"{other[0]}." for other in others)])


def _short_names(text: str, name: str) -> str:
    short = mask_name(name)
    return text if short == name or not name.strip() else text.replace(name, short)


def _masked(found: re.Match[str], bound: frozenset[str]) -> str:
    whole = found[0]
    if whole in bound:
        return whole
    match found.lastgroup:
        case "email":
            local, _, domain = whole.partition("@")
            return f"{local[0]}{HIDDEN}@{domain}"
        case "street":
            return f"{whole[0]}{HIDDEN}"
        case _ if _PLAIN_NUMBER.fullmatch(whole):
            return whole
        case _:
            return HIDDEN + "".join([char for char in whole if char.isalnum()][-_TAIL:])
