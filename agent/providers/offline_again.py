"""The last request once more, where it came to nothing."""

import re
from collections.abc import Mapping

from agent.providers.offline_answers import CLARIFY
from agent.providers.offline_mail import mail_words
from agent.providers.offline_outcomes import edited_words, not_again_words
from agent.providers.offline_refund import proposal_words
from agent.providers.offline_requests import (
    EMAIL,
    REFUND,
    Request,
    amount_in,
    order_in,
    request_of,
    requests_of,
)
from agent.providers.offline_search import fresh_reads, lookup
from agent.providers.offline_transcript import (
    Call,
    Move,
    Say,
    Turn,
    Wanted,
    read_outcome,
    steps_of,
)

_NAMES_MAIL = re.compile(r"\be-?mails?\b")
_NAMES_MONEY = re.compile(r"\b(?:refund|money)")
_BOTH = frozenset({REFUND, EMAIL})
# In words of the agent's about one request.
_ABOUT_MAIL = re.compile(r"\b(?:[Tt]he e-mail|E-mails are)\b")
_ABOUT_MONEY = re.compile(r"\b(?:refunded|[Rr]efunds? (?:of|on|are))\b")


def ask_again(turn: Turn) -> Move:
    """Return the next move towards a request once more, if it came to nothing."""
    request = _just_told(turn)
    tool = _tool(turn) if request is None else request.tool
    proposal = turn.last_proposal(tool)
    if request is None and proposal is not None:
        request = request_of(turn, proposal)
    arguments = request.arguments if request else proposal.arguments if proposal else {}
    if not arguments or (tool == REFUND and not order_in(arguments)):
        return Say(CLARIFY)
    if turn.results(tool):
        told = mail_words(turn) if tool == EMAIL else proposal_words(turn)
        return Say(" ".join(dict.fromkeys(told)))
    refusal = None if request is None else _refusal(request)
    if refusal is not None:
        return Say(refusal)
    again = _same(tool, arguments, request)
    order = order_in(again.arguments)
    reads = fresh_reads(turn, [lookup(order)] if tool == REFUND else [])
    return Call(reads or (again,))


def _just_told(turn: Turn) -> Request | None:
    """Return the request whose outcome the customer heard last, if they have said nothing since."""
    for message in reversed(turn.earlier):
        if message.role == "user":
            return None
        outcome = read_outcome(message)
        if outcome is not None:
            named = outcome.get("approval_id")
            return next((one for one in requests_of(turn) if one.id == named), None)
    return None


def _tool(turn: Turn) -> str:
    """Return what is meant: what the words name, what was spoken of, else what came last."""
    said = turn.last_said()
    for mail, money in (
        (_NAMES_MAIL.search(turn.text), _NAMES_MONEY.search(turn.text)),
        (_ABOUT_MAIL.search(said), _ABOUT_MONEY.search(said)),
    ):
        if bool(mail) != bool(money):
            return EMAIL if mail else REFUND
    return next((s.name for s in reversed(steps_of(turn.earlier)) if s.name in _BOTH), REFUND)


def _refusal(request: Request) -> str | None:
    """Return why a request is not made once more, None where it may be."""
    if request.tool == EMAIL and request.edited is not None:
        return edited_words(request)
    return not_again_words(request)


def _same(tool: str, asked: Mapping[str, object], request: Request | None) -> Wanted:
    """Return the call of a proposal, with what a person made of it: an edit is final."""
    arguments = {name: _plain(value) for name, value in asked.items()}
    edited = None if request is None else request.edited
    if edited is None or tool != REFUND:
        return Wanted(tool, arguments)
    number, _, currency = amount_in(edited).replace(",", "").partition(" ")
    changed = {"order_id": order_in(edited), "amount": number, "currency": currency}
    return Wanted(tool, {**arguments, **changed, "scope": "partial"})


def _plain(value: object) -> str | list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value)
