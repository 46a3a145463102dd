"""What the offline model does about each intent."""

import re
from collections.abc import Callable

from agent.providers import offline_answers as answers
from agent.providers.offline_again import ask_again
from agent.providers.offline_amounts import spoken_amounts, with_digits
from agent.providers.offline_mail import plan_draft, plan_email, send_draft
from agent.providers.offline_offers import (
    ASK_MAIL,
    ASK_REQUEST,
    OFFER_AGAIN,
    OFFER_SEND,
    SOMETHING_ELSE,
    asks_something,
    offered_refund,
    offers_person,
)
from agent.providers.offline_orders import find_refs
from agent.providers.offline_outcomes import stands_words
from agent.providers.offline_refund import plan_refund, take_offer
from agent.providers.offline_requests import EMAIL, waiting
from agent.providers.offline_search import (
    LIST_ORDERS,
    Found,
    Missing,
    find_orders,
    fresh_reads,
    lookup,
    order_reads,
    signed_out,
)
from agent.providers.offline_transcript import Call, Given, Move, Say, Turn, Wanted
from agent.providers.offline_wish import Piece, read_wish
from agent.providers.offline_withdraw import still_waiting_words, take_back
from agent.providers.offline_words import (
    Intent,
    intent_of,
    only_asks,
    plain_text,
    quote,
    says_firm_yes,
    says_no,
    says_yes,
)

_MAX_QUESTION = 500
_HOW_MUCH = re.compile(r"\bhow much\b|\bleft\b")
_SEVERAL = re.compile(r"\b(?:orders|purchases|everything i)\b")
# Said as an answer, these only add to the request before them.
_ADDS_TO_A_REQUEST = frozenset({
    Intent.REFUND, Intent.COMPLAINT, Intent.CANCEL, Intent.ORDER, Intent.FINE,
})  # fmt: skip
# What an e-mail is to say, or which request is meant, may be said in any words.
_IN_ANY_WORDS = frozenset({Intent.EMAIL, Intent.DRAFT, Intent.WITHDRAW, Intent.NEVER_MIND})
_ENDS_A_REQUEST = frozenset({
    Intent.ABOUT, Intent.HUMAN, Intent.NEWS, Intent.WITHDRAW, Intent.NEVER_MIND,
})  # fmt: skip
_PICKS = frozenset({
    None, Intent.FINE, Intent.ORDER, Intent.STATUS, Intent.REFUND, Intent.COMPLAINT,
    Intent.CANCEL, Intent.WITHDRAW,
})  # fmt: skip
_NEW_REFUND = re.compile(
    r"^(?:\W|please|no)*(?:refund (?:me|us|[$€£¥]?[0-9])|i(?:'d| would)? (?:want|like|need))"
)
_CANCEL_IT = re.compile(
    r"^(?:\W|please|no|oh|sorry|then|and)*(?:cancel|withdraw"
    r"|(?:cancel|stop|withdraw|undo|drop|revoke) (?:it|that|this|them))"
    r"(?: please| then| again)*\W*$"
)
_SEND_IT = re.compile(r"^(?:\W|yes|ok|okay|please|then|and|good)*send (?:it|that|this|the)\b")
_MAIL = re.compile(r"\be-?mails?\b")
_SMALL_TALK = frozenset({None, Intent.FINE, Intent.THANKS, Intent.HELLO})


def move_for(turn: Turn) -> Move:
    """Return what to say or to call next for a customer's message."""
    reply = _reply_to_offer(turn)
    if reply is not None:
        return reply
    intent = _intent(turn.asked.content)
    older = (_intent(text) for text in turn.thread()[1:])
    pending = next((found for found in older if found is not None), None)
    if pending is not None and _goes_on(turn, intent):
        asks_anew = intent is Intent.REFUND and pending not in _IN_ANY_WORDS
        intent = Intent.REFUND if asks_anew else pending
    return Say(answers.CLARIFY) if intent is None else _HANDLERS[intent](turn)


def _intent(content: str) -> Intent | None:
    """Return what a message is about; an amount alone asks for money, an order alone for news."""
    text = plain_text(content)
    intent = intent_of(text)
    refs, masked = find_refs(with_digits(text))
    if intent in _SMALL_TALK and spoken_amounts(masked):
        return Intent.REFUND
    return Intent.ORDER if intent is None and refs else intent


def _goes_on(turn: Turn, intent: Intent | None) -> bool:
    """Tell whether a message of an intent only adds to the request before it."""
    if intent is None or intent in _ADDS_TO_A_REQUEST:
        return True
    return ASK_MAIL in turn.last_said() and intent not in _ENDS_A_REQUEST


def _reply_to_offer(turn: Turn) -> Move | None:
    text, said = turn.text, turn.last_said()
    intent, offer = intent_of(text), offered_refund(said)
    short = intent in _SMALL_TALK and not re.search(r"[0-9]", text)
    if offer and ((short and says_yes(text)) or (intent is Intent.REFUND and _plain_yes(text))):
        return take_offer(turn, *offer)
    if short and says_yes(text):
        if OFFER_AGAIN in said:
            return ask_again(turn)
        if OFFER_SEND in said:
            return send_draft(turn)
        if offers_person(said):
            return _hand_off(turn, turn.last_asked())
    if short and says_no(text):
        return Say(answers.GOODBYE if SOMETHING_ELSE in said else answers.FINE)
    return _reply_about_request(turn, intent)


def _reply_about_request(turn: Turn, intent: Intent | None) -> Move | None:
    """Return the answer to words that mean what was just asked, or a request that waits."""
    text, said = turn.text, turn.last_said()
    waits = bool(waiting(turn))
    if OFFER_SEND in said and _SEND_IT.search(text):
        return send_draft(turn)
    if ASK_REQUEST in said and intent in _PICKS and not _NEW_REFUND.search(text):
        return take_back(turn)
    if intent is Intent.NEVER_MIND and asks_something(said):
        return _fine(turn)
    if intent is Intent.NEVER_MIND and SOMETHING_ELSE in said and not waits:
        return Say(answers.GOODBYE)
    if intent is Intent.WITHDRAW and asks_something(said) and not waits:
        return Say(answers.FINE)
    if waits and not asks_something(said) and _CANCEL_IT.search(text):
        return take_back(turn)
    return None


def _fine(turn: Turn) -> Move:
    """Drop what was asked about; what waits for people goes on and is not kept quiet."""
    words = still_waiting_words(turn)
    return Say(f"All right. {words} {SOMETHING_ELSE}" if words else answers.FINE)


def _plain_yes(text: str) -> bool:
    return says_firm_yes(text) and not spoken_amounts(with_digits(text))


def _hand_off(turn: Turn, before: str = "") -> Move:
    words = " / ".join(text for text in (before, turn.asked.content) if text.strip())
    reason = f'The customer asks for a person: "{quote(words)}"'
    return Call((Wanted("hand_off", {"reason": reason}),))


def _refund(turn: Turn) -> Move:
    return plan_refund(turn, offer="" if only_asks(turn.text) else None)


def _news(turn: Turn) -> Move:
    refs, _ = find_refs(turn.text)
    wanted = [Wanted("refund_status", {}), *(lookup(ref.reference) for ref in refs)]
    reads = fresh_reads(turn, wanted)
    if reads:
        return Call(reads)
    if signed_out(turn):
        return Say(answers.SIGN_IN)
    found = turn.results("refund_status")[-1].result.get("requests")
    if not isinstance(found, list):
        return Say(answers.UNREADABLE_RESULT)
    requests = [one for one in found if isinstance(one, dict) and one.get("status") != "replaced"]
    if _MAIL.search(turn.text):
        requests = [one for one in requests if one.get("tool") == EMAIL] or requests
    asked = [r for r in requests if any(ref.names(str(r.get("order_id"))) for ref in refs)]
    orders = [order for ref in refs if (order := turn.looked_up(ref.reference))]
    if orders and not asked:
        return Say(" ".join(answers.no_request_words(order) for order in orders))
    return Say(stands_words(asked or requests))


def _policy(turn: Turn) -> Move:
    question: Given = {"question": quote(turn.asked.content, _MAX_QUESTION)}
    reads = fresh_reads(turn, [Wanted("check_policy", question)])
    if reads:
        return Call(reads)
    passages = turn.results("check_policy")[-1].result.get("passages")
    return Say(answers.passages_words(passages if isinstance(passages, list) else []))


def _status(turn: Turn) -> Move:
    piece = read_wish(turn)[0]
    several = not piece.refs and _SEVERAL.search(turn.text) is not None
    reads = fresh_reads(turn, [LIST_ORDERS] if several else order_reads(turn, piece))
    if reads:
        return Call(reads)
    if signed_out(turn):
        return Say(answers.SIGN_IN)
    listed = turn.listed() or ()
    hits = [] if several else find_orders(turn, piece)
    words = [hit.words for hit in hits if isinstance(hit, Missing)]
    found = [hit for hit in hits if isinstance(hit, Found)]
    shown = [hit.order for hit in found]
    if not words and (not found or _merely_likely(turn, piece, found)):
        shown = list(listed)
    words += [answers.order_words(order) for order in shown[: answers.MOST_LISTED]]
    if len(shown) > answers.MOST_LISTED:
        words.append(f"Older orders besides these: {len(shown) - answers.MOST_LISTED}.")
    if _HOW_MUCH.search(turn.text):
        words += [answers.left_words(order) for order in shown[: answers.MOST_LISTED]]
    return Say(" ".join(words) or answers.NO_ORDERS)


def _merely_likely(turn: Turn, piece: Piece, found: list[Found]) -> bool:
    """Tell whether an order was only taken because it alone can be refunded."""
    named = piece.refs or piece.newest or any(hit.lines for hit in found)
    return not named and turn.topic() is None


def _says(text: str) -> Callable[[Turn], Move]:
    return lambda _turn: Say(text)


_HANDLERS: dict[Intent, Callable[[Turn], Move]] = {
    Intent.ABOUT: _says(answers.ABOUT),
    Intent.HUMAN: _hand_off,
    Intent.AGAIN: ask_again,
    Intent.WITHDRAW: take_back,
    Intent.NEVER_MIND: take_back,
    Intent.DRAFT: plan_draft,
    Intent.EMAIL: plan_email,
    Intent.NEWS: _news,
    Intent.REPLACE: _says(answers.REPLACE),
    Intent.POLICY: _policy,
    Intent.REFUND: _refund,
    Intent.CANCEL: lambda turn: plan_refund(turn, offer=answers.CANCEL),
    Intent.COMPLAINT: lambda turn: plan_refund(turn, offer=answers.SORRY),
    Intent.STATUS: _status,
    Intent.ORDER: _status,
    Intent.THANKS: _says(answers.THANKED),
    Intent.BYE: _says(answers.GOODBYE),
    Intent.HELLO: _says(answers.GREETING),
    Intent.FINE: _says(answers.FINE),
}
