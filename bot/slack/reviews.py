"""The review of an effect that ran without a person: what ran, why it is looked at, the answer."""

from agent.domain.approvals import ApprovalView
from agent.domain.reviews import Review, ReviewState
from bot.slack import buttons, parts
from bot.slack.blocks import (
    Block,
    actions,
    emoji,
    fallback,
    fields,
    header,
    lines,
    moment,
    quote,
    rich,
    weight,
    word,
)
from bot.slack.cards import BRIEF_LIMITS, BUDGET
from bot.slack.notices import Note
from bot.slack.states import look_of, outcome, subject, what
from bot.slack.text import NAME_LIMIT, NO_LIMIT, clip, headline, visible

_TITLE = 150
_WHY = {
    "large": "Large for one that runs without a person: all of these are looked at.",
    "share": "Picked by chance: a share of what runs without a person is looked at.",
}
_SIGNS = {
    ReviewState.OPEN: ("eyes", "👀", "Please look"),
    ReviewState.RIGHT: ("white_check_mark", "✅", "Looked right"),
    ReviewState.FLAGGED: ("warning", "⚠️", "Flagged"),
}


def review_note(view: ApprovalView, review: Review) -> Note:
    """Return the message of one review as it stands: two answers while open, then who gave which.

    The same function draws it when it is posted and again after the answer. What is too long for
    a message is cut, and Details shows it.
    """
    blocks: list[Block] = []
    for limit in (NO_LIMIT, *BRIEF_LIMITS):
        blocks = _blocks(view, review, limit)
        if weight(blocks) <= BUDGET:
            break
    return Note(blocks, fallback(f"{_title(view, review)}. {_answer_words(review)}".strip()))


def _blocks(view: ApprovalView, review: Review, limit: int) -> list[Block]:
    approval = view.approval
    look = look_of(approval)
    ran = [emoji(look.emoji), word(f" {look.verdict}", "bold")]
    came_of_it = clip(visible(outcome(approval)), limit)
    picked = clip(visible(_WHY.get(review.why, review.why)), limit)
    return [
        header(_title(view, review)),
        fields([(label, clip(value, limit)) for label, value in parts.facts(view)]),
        rich(lines(ran, [word(came_of_it)], [word(picked, "italic")])),
        *parts.money(approval, classic=True),
        parts.reasons(approval, limit),
        *parts.substance(view, limit),
        *parts.words(view, limit),
        *([parts.payload(approval)] if limit == NO_LIMIT else []),
        parts.small_print(approval),
        *_answer(view, review, limit),
    ]


def _title(view: ApprovalView, review: Review) -> str:
    approval = view.approval
    _, sign, told = _SIGNS[review.state]
    about = f"{subject(approval)} {look_of(approval).title} · {what(approval)}"
    return headline(f"{sign} {told} · {about}", _TITLE)


def _answer(view: ApprovalView, review: Review, limit: int) -> list[Block]:
    approval = view.approval
    row = f"review:{approval.id}:{review.state}"
    if review.state is ReviewState.OPEN:
        answers = (buttons.right_button(approval), buttons.flag_button(approval))
        return [actions(row, *answers, buttons.details_button(approval))]
    sign, _, told = _SIGNS[review.state]
    name = clip(visible(review.actor_name or "somebody"), NAME_LIMIT)
    signed = [word(" to "), word(name, "bold")]
    if review.state is ReviewState.FLAGGED:
        signed[0] = word(" by ")
    at = [] if review.answered_at is None else [word(" · "), moment(review.answered_at)]
    reason = clip(visible(review.reason or "", lines=True), limit)
    said = rich(
        lines([emoji(sign), word(f" {told}", "bold"), *signed, *at]),
        *([quote(reason)] if reason else []),
    )
    more = [] if limit == NO_LIMIT else [actions(row, buttons.details_button(approval))]
    return [said, *more]


def _answer_words(review: Review) -> str:
    if review.state is ReviewState.OPEN:
        return _WHY.get(review.why, "")
    reason = f": {visible(review.reason)}" if review.reason else ""
    return f"Answered by {visible(review.actor_name or 'somebody')}{reason}."
