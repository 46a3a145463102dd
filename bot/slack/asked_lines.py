"""The lines under a card about a question: who asks what, and for the asker what came back."""

from agent.domain.approvals import ApprovalView, Status
from agent.domain.asks import Ask
from bot.slack import asked, parts
from bot.slack.blocks import Block, emoji, fallback, line, mention, moment, quote, rich, word
from bot.slack.notices import Note
from bot.slack.parts import People
from bot.slack.states import phrase
from bot.slack.text import clip, visible

# As Slack counts; a whole message has room for about 9,000.
_QUOTED, _FALLBACK = 6_000, 300


def question_line(view: ApprovalView, ask_id: str) -> Note:
    """Return the line under a card that says who asks whom what, and until when it helps."""
    ask = _named(view, ask_id)
    told = f"{asked.name(ask.actor_name)} asks {asked.whom(ask)}"
    blocks = [
        rich(
            line(emoji("speech_balloon"), word(f" {told}:")),
            quote(asked.cut(view, ask.question, _QUOTED)),
            *_until(view),
        )
    ]
    return Note(blocks, _fallback(view, told, ask.question))


def answer_line(view: ApprovalView, ask_id: str, people: People) -> Note:
    """Return the line under a card that tells the asker what came back."""
    ask = _named(view, ask_id)
    asker = mention(people.get(ask.actor_id), asked.name(ask.actor_name))
    told = asked.answered_words(view, ask)
    end = ":" if ask.answer is not None else "."
    said = [] if ask.answer is None else [quote(asked.cut(view, ask.answer, _QUOTED))]
    lead = line(emoji("speech_balloon"), word(" "), asker, word(f": {told}{end}"))
    blocks = [rich(lead, *said, *_until(view))]
    return Note(blocks, _fallback(view, told, ask.answer or ""))


def _named(view: ApprovalView, ask_id: str) -> Ask:
    for ask in view.asks:
        if ask.id == ask_id:
            return ask
    raise ValueError(f"{ask_id} is no question about {view.approval.id}")


def _until(view: ApprovalView) -> list[Block]:
    """Return the deadline in the reader's own time zone, while somebody can still decide."""
    if view.approval.status is not Status.PENDING:
        return []
    return [line(word("Decide by ", "italic"), moment(view.approval.expires_at))]


def _fallback(view: ApprovalView, told: str, text: str) -> str:
    said = f" {clip(visible(parts.masked(view, text)), _FALLBACK)}" if text else ""
    return fallback(f"💬 {visible(phrase(view.approval))}: {told}.{said}")
