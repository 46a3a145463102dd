"""The customer's conversation for the eyes of people: who said what, and when."""

from agent.domain.conversation import MAX_RATING, EventType, LogEvent
from bot.slack.blocks import Block, line, moment, quote, rich, word
from bot.slack.paging import Entry
from bot.slack.text import NAME_LIMIT, chunks, clip, visible

_PIECE = 2_900
_HAND_OFFS = {"joined": "A person came", "ended": "The person left"}
_SPEAKERS = {"customer": "The customer", "agent": "The agent", "staff": "Our team"}


def chat_entry(event: LogEvent, said: str) -> Entry:
    """Return one event of the log; `said` is its text as it may be read here."""
    first, *more = chunks(visible(said, lines=True), _PIECE)
    heading = line(word(_speaker(event), "bold"), word(" · "), moment(event.at))
    return [rich(heading, quote(first)), *(_more(piece) for piece in more)]


def words_of(event: LogEvent) -> str:
    """Return the text of an event, or the status or the rating that it tells of."""
    if event.type is EventType.RATING:
        comment = str(event.data.get("comment", ""))
        score = f"{event.data.get('score')} of {MAX_RATING}"
        return f"{score}\n{comment}" if comment else score
    text = event.data.get("text")
    return text if isinstance(text, str) else str(event.data.get("status", ""))


def _speaker(event: LogEvent) -> str:
    match event.type:
        case EventType.MESSAGE:
            role, by = str(event.data.get("role")), event.data.get("by")
            if role == "staff" and isinstance(by, str):
                return clip(visible(by), NAME_LIMIT)
            return _SPEAKERS.get(role, visible(role))
        case EventType.APPROVAL:
            return "The chat shows"
        case EventType.HAND_OFF:
            return _HAND_OFFS.get(str(event.data.get("state")), "Handed to a person")
        case EventType.RATING:
            return "The customer rated the help"
        case _:
            return "The turn ended"


def _more(piece: str) -> Block:
    return rich(quote(piece))
