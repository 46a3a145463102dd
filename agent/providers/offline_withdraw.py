"""A request that still waits is taken back, when the customer does not want it any more."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.domain.errors import InvalidInput
from agent.domain.money import parse_money
from agent.providers.offline_amounts import Exact, spoken_amounts, with_digits
from agent.providers.offline_answers import SIGN_IN, UNABLE
from agent.providers.offline_offers import ASK_REQUEST, OFFER_PERSON, SOMETHING_ELSE
from agent.providers.offline_orders import OrderRef, find_refs
from agent.providers.offline_outcomes import request_words, stands_words, taken_back_words
from agent.providers.offline_requests import (
    EMAIL,
    PENDING,
    REFUND,
    Request,
    amount_in,
    order_in,
    requests_of,
    waiting,
)
from agent.providers.offline_search import fresh_reads
from agent.providers.offline_transcript import Call, Move, Say, Step, Turn, Wanted
from agent.providers.offline_wish import ordinal
from agent.providers.offline_words import Intent, intent_of, plain_text, says_yes

_TOOL = "withdraw_request"
_THE_ONE = Wanted(_TOOL, {})
_STATUS = Wanted("refund_status", {})
_ALL = re.compile(r"\b(?:all|both|everything|every one|each)\b")
_ALL_REQUESTS = re.compile(
    r"\b(?:all|both|every|each)(?: of)?(?: (?:my|the|these|those))?(?: (?:open|pending|waiting))?"
    r" (?:requests?|refunds?|e-?mails?|them)\b"
)
_MAIL = re.compile(r"\be-?mails?\b")
_MONEY = re.compile(r"\b(?:refunds?|money)\b")
_NOTHING = "Nothing of yours is waiting for our team, so there is nothing to take back."
_TOO_LATE = (
    "It is too late to take that back: it does not wait any more. Ask me at any time how it stands."
)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which of several requests is meant, as far as the customer said."""

    refs: tuple[OrderRef, ...] = ()
    amounts: tuple[Exact, ...] = ()
    tool: str = ""
    place: slice | None = None
    every: bool = False

    @property
    def names_one(self) -> bool:
        """Tell whether anything was said that not every request fits."""
        return bool(self.refs or self.amounts or self.tool or self.place)

    def fits(self, request: Mapping[str, object]) -> bool:
        """Tell whether a request can be the one meant."""
        order = order_in(request)
        return (
            (not self.refs or any(ref.names(order) for ref in self.refs))
            and (not self.amounts or any(_is(said, request) for said in self.amounts))
            and (not self.tool or request.get("tool", REFUND) == self.tool)
        )

    def pick(self, pending: Sequence[dict[str, object]]) -> list[dict[str, object]]:
        """Return the requests that may be meant, of those that wait."""
        listed = list(pending) if self.place is None else list(pending[self.place])
        return [request for request in listed if self.fits(request)]


def take_back(turn: Turn) -> Move:
    """Return the next move towards taking back what the customer does not want any more."""
    tries, choice = turn.results(_TOOL), _choice(turn)
    if tries and not _must_look(tries[-1]):
        return Say(_words(turn, tries))
    if not tries and _is_plain(turn, choice):
        return Call((_THE_ONE,))
    reads = fresh_reads(turn, [_STATUS])
    if reads:
        return Call(reads)
    pending = _pending(turn)
    meant = choice.pick(pending)
    sure = len(meant) == 1 and (not tries or _is_explicit(turn))
    if sure or (meant and choice.every):
        return Call(tuple(Wanted(_TOOL, {"approval_id": str(r["approval_id"])}) for r in meant))
    if pending:
        none = "" if meant else "I see none like that which still waits. "
        shown = "; ".join(request_words(request) for request in meant or pending)
        return Say(f"{none}{ASK_REQUEST} I see {shown}.")
    return Say(_nothing_words(turn, choice))


def still_waiting_words(turn: Turn) -> str:
    """Return what goes on waiting although the customer turned something down, if anything."""
    open_ones = waiting(turn)
    if not open_ones:
        return ""
    shown = "; ".join(request_words(_as_shown(request)) for request in open_ones)
    return f"This still waits for our team: {shown}. Tell me if I shall take it back."


def _choice(turn: Turn) -> _Choice:
    """Read what names one request: an answer alone, else the newest words that name anything."""
    answers = ASK_REQUEST in turn.last_said()
    for content in turn.thread()[:1] if answers else turn.thread():
        text = with_digits(plain_text(content))
        refs, masked = find_refs(text, bare=answers)
        amounts = tuple(a for a in spoken_amounts(masked, bare=answers) if isinstance(a, Exact))
        mail, money = _MAIL.search(text), _MONEY.search(text)
        choice = _Choice(
            refs=refs,
            amounts=amounts,
            tool="" if bool(mail) == bool(money) else (EMAIL if mail else REFUND),
            place=ordinal(masked) if answers and not refs else None,
            every=(_ALL if answers else _ALL_REQUESTS).search(text) is not None,
        )
        if choice.names_one or choice.every:
            return choice
    return _Choice()


def _is_plain(turn: Turn, choice: _Choice) -> bool:
    """Tell whether the only request that waits can be meant, so that it needs no name."""
    open_ones = waiting(turn)
    if len(open_ones) == 1:
        return choice.place is None and choice.fits(_as_shown(open_ones[0]))
    return not open_ones and not choice.names_one and not choice.every


def _is_explicit(turn: Turn) -> bool:
    """Tell whether a request was spoken of, rather than `never mind` alone."""
    text = turn.text
    return intent_of(text) is Intent.WITHDRAW or ASK_REQUEST in turn.last_said() or says_yes(text)


def _must_look(tried: Step) -> bool:
    """Tell whether a try without a name found none or several."""
    unnamed = not tried.arguments.get("approval_id")
    return unnamed and tried.result.get("error") in ("ambiguous", "not_found")


def _pending(turn: Turn) -> list[dict[str, object]]:
    return [one for one in _shown(turn) if one.get("status") == PENDING and one.get("approval_id")]


def _shown(turn: Turn) -> list[dict[str, object]]:
    """Return what `refund_status` showed in this turn."""
    read = turn.results(_STATUS.name)
    rows = read[-1].result.get("requests") if read else None
    return [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []


def _words(turn: Turn, tries: Sequence[Step]) -> str:
    known = {str(one.get("approval_id")): one for one in _shown(turn)}
    known |= {one.id: _as_shown(one) for one in requests_of(turn)}
    meant = [one for one in tries if not _must_look(one)]
    told = [_try_words(known, one) for one in meant]
    done = all(one.result.get("ok") is True for one in meant)
    return " ".join(dict.fromkeys([*told, SOMETHING_ELSE] if done else told))


def _try_words(known: Mapping[str, dict[str, object]], tried: Step) -> str:
    if tried.result.get("ok") is True:
        return taken_back_words(known.get(str(tried.result.get("approval_id")), {}))
    match tried.result.get("error"):
        case "not_verified":
            return SIGN_IN
        case "not_found":
            return _NOTHING
        case "too_late_to_withdraw":
            return _TOO_LATE
        case _:
            return UNABLE


def _nothing_words(turn: Turn, choice: _Choice) -> str:
    """Return that nothing waits; and how what was spoken of stands, where it did once."""
    if any(step.result.get("error") == "not_verified" for step in turn.results(_STATUS.name)):
        return SIGN_IN if _is_explicit(turn) else f"{_NOTHING} {SOMETHING_ELSE}"
    ended = [one for one in _shown(turn) if choice.fits(one) and one.get("status") != "replaced"]
    if not _is_explicit(turn) or not ended:
        return f"{_NOTHING} {SOMETHING_ELSE}"
    return f"{_NOTHING} {stands_words(ended[:1])} {OFFER_PERSON}"


def _as_shown(request: Request) -> dict[str, object]:
    """Return a request of the transcript as `refund_status` shows one."""
    edited = request.edited or {}
    return {
        "approval_id": request.id,
        "tool": request.tool,
        "order_id": order_in(edited) or request.order_id,
        "amount": amount_in(edited) or request.amount,
    }


def _is(said: Exact, request: Mapping[str, object]) -> bool:
    """Tell whether an amount that was said is the one of a request."""
    shown = amount_in(request.get("amount"))
    number, currency = said.in_currency(shown.rpartition(" ")[2])
    try:
        return str(parse_money(number, currency)) == shown
    except InvalidInput:
        return False
