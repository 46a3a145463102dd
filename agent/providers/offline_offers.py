"""What the offline model asks and offers; an answer to it belongs to the request before it."""

import re

from agent.domain.money import Money
from agent.providers.offline_words import plain_text

ASK_ORDER = "Which order do you mean?"
ASK_ITEM = "Which item do you mean?"
ASK_AMOUNT = "How much would you like back?"
ASK_REQUEST = "Which request shall I take back?"
ASK_MAIL = "What shall the e-mail be about?"
OFFER_PERSON = "Would you like me to pass you to a person of our team?"
OFFER_AGAIN = "Shall I ask again?"
OFFER_SEND = "Shall I send it?"
SOMETHING_ELSE = "Is there anything else I can do for you?"

# After one of these the next message goes on with the same request.
QUESTIONS = (ASK_ORDER, ASK_ITEM, ASK_AMOUNT, ASK_REQUEST, ASK_MAIL)

_REFUND_OFFERED = re.compile(
    r"Shall I request a refund of (?P<amount>[0-9][0-9,.]*) (?P<currency>[A-Z]{3})"
    r" on (?P<order>\S+)\?"
)
_PERSON_OFFERED = re.compile(
    r"\b(?:pass|connect|hand|put|transfer)\b[^.!]{0,40}"
    r"\b(?:person|people|colleague|human|team)\b"
    r"|\b(?:talk|speak) to a (?:person|human|colleague)\b"
)


def offer_refund(amount: Money, order_id: str) -> str:
    """Return the question whether to request a refund."""
    return f"Shall I request a refund of {amount} on {order_id}?"


def offered_refund(said: str) -> tuple[str, str, str] | None:
    """Return plain amount, currency and order of a refund that the agent's words offer."""
    match = _REFUND_OFFERED.search(said)
    if match is None:
        return None
    return match["amount"].replace(",", ""), match["currency"], match["order"]


def offers_person(said: str) -> bool:
    """Tell whether what the agent said last offers a person of the team."""
    return _PERSON_OFFERED.search(plain_text(said)) is not None


def asks_something(said: str) -> bool:
    """Tell whether what the agent said last waits for a yes, a no or a choice."""
    asked = (*QUESTIONS, OFFER_AGAIN, OFFER_SEND)
    return (
        any(question in said for question in asked)
        or offered_refund(said) is not None
        or offers_person(said)
    )
