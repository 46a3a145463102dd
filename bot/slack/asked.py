"""Questions of the team about a request and what came back: on its card, and in full.

The words are the asker's, the customer's or the agent's, so they stand in literal carriers only.
"""

from agent.domain.approvals import ApprovalView
from agent.domain.asking import Standing, standing
from agent.domain.asks import Ask, AskedOf
from bot.slack import parts
from bot.slack.blocks import (
    Block,
    Row,
    line,
    lines,
    moment,
    quote,
    rich,
    word,
)
from bot.slack.text import NAME_LIMIT, chunks, clip, visible

# On a card stand so many questions, the newest, each text with so many characters as Slack counts.
_ON_CARD, _CARD_TEXT = 3, 300
_PIECE = 2_900


def on_card(view: ApprovalView, limit: int) -> list[Block]:
    """Return the newest questions and what came back, each text cut to `limit` at most.

    None of it is bound by the hash; Details has all of it whole.
    """
    if not view.asks:
        return []
    shown, most = view.asks[-_ON_CARD:], min(limit, _CARD_TEXT)
    earlier = len(view.asks) - len(shown)
    more = [word(f" · {earlier} earlier in Details", "italic")] if earlier else []
    # Two paragraphs beside each other would be drawn as one by some clients: rows wait for a quote.
    rows: list[Row] = [[word("Questions", "bold"), *more]]
    said: list[Block] = []
    for ask in shown:
        rows.append(_who_asked(ask))
        said += [lines(*rows), quote(cut(view, ask.question, most))]
        rows = [_who_answered(view, ask)]
        if ask.answer is not None:
            said += [lines(*rows), quote(cut(view, ask.answer, most))]
            rows = []
    return [rich(*said, *([lines(*rows)] if rows else []))]


def in_full(view: ApprovalView, *, revealed: bool = False) -> list[Block]:
    """Return every question with its answer whole, in blocks that Slack takes; the newest first.

    Masked unless `revealed`.
    """
    if not view.asks:
        return []
    said: list[Block] = [rich(line(word("Questions", "bold")))]
    for ask in reversed(view.asks):
        said += _in_pieces(_who_asked(ask), _shown(view, ask.question, revealed=revealed))
        answer = "" if ask.answer is None else _shown(view, ask.answer, revealed=revealed)
        said += _in_pieces(_who_answered(view, ask), answer)
    return said


def cut(view: ApprovalView, text: str, limit: int) -> str:
    """Return somebody's words as a channel may read them, `limit` of Slack's characters at most."""
    return clip(_shown(view, text), limit)


def answered_words(view: ApprovalView, ask: Ask) -> str:
    """Return what came back and from whom, truthfully also where it came too late."""
    who = "the agent" if ask.asked_of is AskedOf.AGENT else _customer(view)
    match standing(ask, view.approval):
        case Standing.ANSWERED if ask.late:
            return f"{who} answered after the request had ended"
        case Standing.ANSWERED:
            return f"{who} answered"
        case Standing.SILENT:
            return f"{who} could give no answer"
        case Standing.CLOSED:
            return "no answer came before the request ended"
        case Standing.OPEN:
            return "no answer yet"


def whom(ask: Ask) -> str:
    """Return whom a question is for."""
    return "the agent" if ask.asked_of is AskedOf.AGENT else "the customer"


def name(text: str) -> str:
    """Return a person's name fit to be read."""
    return clip(visible(text), NAME_LIMIT)


def _who_asked(ask: Ask) -> Row:
    # No mention: a card that is posted anew would call everybody who ever asked.
    return [word(name(ask.actor_name), "bold"), word(f" asked {whom(ask)} "), moment(ask.asked_at)]


def _who_answered(view: ApprovalView, ask: Ask) -> Row:
    words = answered_words(view, ask)
    told = word(f"{words[:1].upper()}{words[1:]}")
    return [told] if ask.answered_at is None else [told, word(" "), moment(ask.answered_at)]


def _customer(view: ApprovalView) -> str:
    return name(parts.customer_name(view)) or "the customer"


def _shown(view: ApprovalView, text: str, *, revealed: bool = False) -> str:
    return visible(text if revealed else parts.masked(view, text), lines=True)


def _in_pieces(heading: Row, text: str) -> list[Block]:
    """Return a heading and what was said below it, in blocks that Slack takes."""
    first, *more = chunks(text, _PIECE)
    said = [quote(first)] if first else []
    return [rich(line(*heading), *said), *(rich(quote(piece)) for piece in more)]
