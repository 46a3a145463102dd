"""Plain signals of fraud in a customer's own words; anger and ordinary complaints are none.

The customer never reads of it: the flag goes along with whatever they asked for.
"""

import re
from dataclasses import dataclass

from agent.providers.offline_search import signed_out
from agent.providers.offline_transcript import Step, Turn, Wanted, steps_of
from agent.providers.offline_words import plain_text, quote

FLAG = "flag_for_fraud"
_CONFIDENCE = "0.95"
# By the number of signals; the policy's line lies between the second and the third.
_SCORES = ("0.40", "0.65", "0.90", "0.97")
_MAX_SENTENCE = 200

_SOMEBODY = r"(?:some(?:one|body) else|another person|a stranger|other people)(?:'s|s')?"
_I = r"\bi(?:'m| am|'ll| will|'ve| have| had| can| could| just)?\b"
_MANY = r"(?:[4-9]|[1-9][0-9]+|dozens of|a dozen|countless|hundreds of)"


@dataclass(frozen=True, slots=True)
class _Signal:
    """Words by which customers give themselves away, and what they show."""

    label: str
    pattern: re.Pattern[str]


_SIGNALS = (
    _Signal(
        "says that they use a card that is not theirs",
        re.compile(
            rf"{_I}[^.?!]{{0,40}}\b(?:pa(?:y|id|ying)|us(?:e|ed|ing)|order(?:ed)?|bought)\b"
            rf"[^.?!]{{0,60}}\b(?:{_SOMEBODY} (?:\w+ )?card|a stolen (?:\w+ )?card"
            r"|a card (?:that|which) (?:is not|isn't|was not|wasn't) mine|a card i found)\b"
        ),
    ),
    _Signal(
        "claims to have had many refunds",
        re.compile(
            rf"{_I}(?: already)?(?: (?:got|gotten|had|received|claimed|been paid))?(?: already)?"
            rf" {_MANY} refunds\b"
            rf"|{_I} (?:always|usually|regularly) (?:get|got|ask for|claim|collect)"
            r" (?:my |a |the )?(?:refunds?|money back)\b"
        ),
    ),
    _Signal(
        "wants the same money twice",
        re.compile(
            r"\b(?:get|have|be|collect|getting|collecting) (?:my |the |it |this )?"
            r"(?:money(?: back)?|refund|refunded|paid(?: back)?) twice\b"
            r"|\bboth the refund and (?:the|a) (?:chargeback|charge back)\b"
            r"|\b(?:refund|money)\b[^.?!]{0,60}\b(?:and|then)\b[^.?!]{0,40}"
            r"\b(?:chargeback|charge back)\b[^.?!]{0,20}\b(?:as well|too|on top)\b"
            r"|\beven (?:if|after|when|though) (?:you|i)\b[^.?!]{0,30}\b(?:refund|pa(?:y|id)|money)"
            r"[^.?!]{0,60}\b(?:chargeback|charge back|dispute)\b"
            r"|\b(?:chargeback|charge back|dispute)\b[^.?!]{0,60}"
            r"\beven (?:if|after|when) (?:you|i)\b[^.?!]{0,30}\b(?:refund|pa(?:y|id)|money)"
        ),
    ),
    _Signal(
        "announces a false claim",
        re.compile(
            r"\bi(?:'ll| will|'m going to| am going to| can)? (?:just |simply )?pretend\b"
            r"|\bi(?:'ll| will|'m going to| am going to) (?:just |simply )?(?:say|claim|tell them)"
            r" (?:that )?(?:it|they|the \w+) never (?:arrived|came)\b"
        ),
    ),
    _Signal(
        "speaks of forged proof",
        re.compile(
            rf"{_I}[^.?!]{{0,30}}\b(?:send|made|make|use|used|forge|forged|edit|edited)\b"
            r"[^.?!]{0,20}\b(?:fake|faked|forged|photoshopped) (?:photos?|pictures?|receipts?"
            r"|invoices?)\b"
        ),
    ),
    _Signal(
        "uses a false name",
        re.compile(rf"{_I}[^.?!]{{0,40}}\b(?:fake|false) (?:name|identity|account)s?\b"),
    ),
)


def flag_for(turn: Turn) -> Wanted | None:
    """Return the flag to propose in this turn, None where the message shows no new signal."""
    flagged = [step for step in steps_of(turn.earlier) if step.name == FLAG]
    now = _signals(turn.asked.content)
    fresh = [label for label in now if not _is_told(label, flagged)]
    if not fresh or turn.results(FLAG) or signed_out(turn):
        return None
    before = [m.content for m in turn.earlier if m.role == "user"]
    seen: dict[str, str] = {}
    for content in (*before, turn.asked.content):
        seen = _signals(content) | seen
    order = _order(turn)
    about: dict[str, str] = {} if order is None else {"order_id": order}
    return Wanted(
        FLAG,
        {
            **about,
            "score": _SCORES[min(len(seen), len(_SCORES)) - 1],
            "signals": [f'{label}: "{said}"' for label, said in seen.items()],
            "reason": f"The customer {'; '.join(seen)}.",
            "confidence": _CONFIDENCE,
        },
    )


def _signals(content: str) -> dict[str, str]:
    """Return the signals in a message, each with the sentence that shows it."""
    text = plain_text(content)
    found = {}
    for signal in _SIGNALS:
        match = signal.pattern.search(text)
        if match is not None:
            found[signal.label] = _sentence(text, match)
    return found


def _sentence(text: str, match: re.Match[str]) -> str:
    start = max(text.rfind(mark, 0, match.start()) for mark in ".?!") + 1
    ends = [at for mark in ".?!" if (at := text.find(mark, match.end())) >= 0]
    return quote(text[start : min(ends, default=len(text))].strip(), _MAX_SENTENCE)


def _is_told(label: str, flagged: list[Step]) -> bool:
    """Tell whether an earlier flag of this conversation named a signal."""
    return any(label in str(step.arguments.get("signals")) for step in flagged)


def _order(turn: Turn) -> str | None:
    """Return the one order that this turn looked up, None where it is open which is meant."""
    found = {
        order.id
        for step in turn.results("lookup_order")
        if (order := turn.looked_up(str(step.arguments.get("order_id")))) is not None
    }
    return next(iter(found)) if len(found) == 1 else None
