"""The team asks: what is said to a colleague about a request, and to a customer who answers one."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from agent.domain.conversation import ChatMessage
from agent.domain.errors import InvalidInput
from agent.domain.money import parse_money
from agent.providers.offline_amounts import spoken_amounts, with_digits
from agent.providers.offline_answers import left_words, order_words
from agent.providers.offline_orders import find_refs
from agent.providers.offline_requests import amount_in, order_in
from agent.providers.offline_search import lookup
from agent.providers.offline_transcript import (
    CONFIDENTIAL,
    Call,
    Move,
    Say,
    Step,
    Turn,
    read_team_answer,
    steps_of,
)
from agent.providers.offline_words import Intent, intent_of, quote

_PASSED_ON = (
    "Thank you, I have passed that on to our team. I will tell you here as soon as they have "
    "decided."
)
# Whoever says one of these wants something of us, whatever the team has asked.
_OF_US = frozenset({Intent.HUMAN, Intent.WITHDRAW, Intent.NEVER_MIND})
_ASKS_MORE = frozenset({
    Intent.REFUND, Intent.CANCEL, Intent.COMPLAINT, Intent.EMAIL, Intent.DRAFT,
})  # fmt: skip
_FILES = re.compile(
    r"\b(?:photos?|pictures?|images?|videos?|screenshots?|attach\w*|files?|receipts?|proofs?)\b",
    re.IGNORECASE,
)
_NO_FILES = "No picture and no file was sent: this chat carries text alone."
_SCOPES: Mapping[str, str] = {
    "full": "all that is left on it",
    "partial": "a part of it",
    "unclear": "a guess, as it was not said exactly",
}
_MOST_WORDS, _QUOTED = 3, 300


def pass_on(turn: Turn) -> Move | None:
    """Return what is said to words that answer the team; None where they ask for more than that.

    The request that the team asks about is not proposed again, whatever the words are.
    """
    told = read_team_answer(turn)
    if told is None:
        return None
    intent = intent_of(turn.text)
    refs, masked = find_refs(with_digits(turn.text))
    elsewhere = any(not ref.names(order_in(told)) for ref in refs)
    if intent in _OF_US or (elsewhere and (intent in _ASKS_MORE or spoken_amounts(masked))):
        return None
    still = told.get("still_open")
    more = [f'"{quote(str(one), _QUOTED)}"' for one in still] if isinstance(still, list) else []
    return Say(f"{_PASSED_ON} They also ask: {' '.join(more)}" if more else _PASSED_ON)


def tell_team(turn: Turn, asked: Mapping[str, object], offered: frozenset[str]) -> Move:
    """Return the next move towards an answer that only the team reads."""
    order_id = order_in(asked)
    if order_id and "lookup_order" in offered and not turn.results("lookup_order"):
        return Call((lookup(order_id),))
    order = turn.looked_up(order_id) if order_id else None
    shown = [] if order is None else [f"The shop shows {order_words(order)} {left_words(order)}"]
    files = [_NO_FILES] if _FILES.search(str(asked.get("question"))) else []
    end = (
        "I know no more than that."
        if asked.get("tool") in CONFIDENTIAL
        else "I know no more than that; the customer can be asked as well."
    )
    words = [*files, *_wrote(turn.earlier), *_asked_for(turn, asked), *shown, end]
    return Say(" ".join(words))


def _wrote(earlier: Sequence[ChatMessage]) -> list[str]:
    said = [m.content for m in earlier if m.role == "user" and m.content.strip()]
    quoted = [f'"{quote(text, _QUOTED).rstrip(".")}"' for text in said[-_MOST_WORDS:]]
    return [f"The customer wrote {', then '.join(quoted)}."] if quoted else []


def _asked_for(turn: Turn, asked: Mapping[str, object]) -> list[str]:
    """Return what was asked for and why, as the call says it, and what people made of it."""
    step = _proposal(turn, asked)
    if step is None:
        return []
    given = step.arguments
    sure = given.get("confidence")
    about = [f"confidence {sure}"] if sure else []
    scope = _SCOPES.get(str(given.get("scope")))
    about += [scope] if scope else []
    signals = given.get("signals")
    about += [f"seen: {'; '.join(map(str, signals))}"] if isinstance(signals, list) else []
    what = {
        "issue_refund": f"a refund of {given.get('amount')} {given.get('currency')}",
        "send_email": "an e-mail",
    }.get(step.name, f"a flag with score {given.get('score')}")
    where = f" on {order_in(given)}" if order_in(given) else ""
    why = quote(str(given.get("reason") or "no reason"), _QUOTED)
    told = [f"I asked for {what}{where} ({', '.join(about) or 'nothing more stated'}): {why}."]
    now = amount_in(asked.get("amount"))
    if now and now != _amount(given):
        told.append(f"It stands at {now} now.")
    return told


def _amount(given: Mapping[str, object]) -> str:
    with suppress(InvalidInput):
        return str(parse_money(str(given.get("amount")), str(given.get("currency"))))
    return ""


def _proposal(turn: Turn, asked: Mapping[str, object]) -> Step | None:
    """Return the call that a question is about; after an edit the newest of its kind."""
    made = [step for step in steps_of(turn.earlier) if step.name == asked.get("tool")]
    exact = [s for s in made if s.result.get("approval_id") == asked.get("approval_id")]
    about = [s for s in made if order_in(s.arguments) == order_in(asked)]
    return next(reversed(exact or about or made), None)
